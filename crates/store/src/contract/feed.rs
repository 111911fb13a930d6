//! Validated blocks of one task, in order, on their way from whoever validates them to the store
//! that applies them: the store may take the next one while its transaction is open, so that
//! validating one block and writing the one before go on side by side. A feed holds a bounded
//! number of bytes; whoever fills it waits for room. It carries nothing that the payload does not
//! hold: what is left in a feed that is dropped is validated anew.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use caseload_model::payload::Block;
use tokio::sync::Notify;

use super::ChunkWork;

/// Entries of one block of a task, validated, and how many of them are done.
#[derive(Debug, Clone)]
pub struct ChunkPart {
    /// The bytes that the entries of `work` point into.
    pub block: Arc<Block>,
    pub work: Arc<ChunkWork>,
    /// Position in `work` of the next entry to apply.
    pub from: usize,
}

/// What came of waiting for a part.
#[derive(Debug)]
pub enum Fed {
    Part(ChunkPart),
    /// None yet.
    Late,
    /// None ever.
    Ended,
}

/// A bounded queue of parts with one side that fills it and one that takes.
#[derive(Debug)]
pub struct ChunkFeed {
    bytes_max: usize,
    state: Mutex<State>,
    /// For those who block until a part is there.
    filled: Condvar,
    /// For those who do so without blocking, on either side.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    parts: VecDeque<ChunkPart>,
    bytes: usize,
    ended: bool,
}

impl ChunkFeed {
    /// A feed that has room while it holds fewer than `bytes_max` bytes of entries.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, state: Mutex::default(), filled: Condvar::new(), changed: Notify::new() }
    }

    /// Adds a part behind the others.
    pub fn push(&self, part: ChunkPart) {
        let mut state = self.state();
        state.bytes += part.block.bytes.len();
        state.parts.push_back(part);
        drop(state);
        self.wake();
    }

    /// Waits until there is room.
    pub async fn room(&self) {
        self.until(|state| (state.bytes < self.bytes_max).then_some(())).await;
    }

    /// Says that no part follows.
    pub fn end(&self) {
        self.state().ended = true;
        self.wake();
    }

    /// The next part, as soon as it is there; `None` where none follows.
    pub async fn next(&self) -> Option<ChunkPart> {
        self.until(|state| match state.take() {
            Fed::Part(part) => Some(Some(part)),
            Fed::Ended => Some(None),
            Fed::Late => None,
        })
        .await
    }

    /// The next part, waited for at most until `deadline`. Blocks.
    pub fn take(&self, deadline: Instant) -> Fed {
        let mut state = self.state();
        loop {
            let fed = state.take();
            let left = deadline.saturating_duration_since(Instant::now());
            if !matches!(fed, Fed::Late) || left == Duration::ZERO {
                drop(state);
                self.changed.notify_waiters();
                return fed;
            }
            let waited = self.filled.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    async fn until<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before looking: a change in between is not missed.
            changed.as_mut().enable();
            let found = look(&mut self.state());
            if let Some(found) = found {
                self.changed.notify_waiters();
                return found;
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.filled.notify_all();
        self.changed.notify_waiters();
    }
}

impl State {
    fn take(&mut self) -> Fed {
        match self.parts.pop_front() {
            Some(part) => {
                self.bytes -= part.block.bytes.len();
                Fed::Part(part)
            }
            None if self.ended => Fed::Ended,
            None => Fed::Late,
        }
    }
}
