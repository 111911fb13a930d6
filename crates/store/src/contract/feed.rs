//! Validated blocks of one task, in order, on their way from whoever validates them to the store
//! that applies them: the store may take the next one while its transaction is open, so that
//! validating one block and writing the one before go on side by side. A feed holds a bounded
//! number of bytes; whoever fills it waits for room. It carries nothing that the payload does not
//! hold: what is left in a feed that is dropped is validated anew.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Bytes of entries that a feed may hold, and feeds that share a limit.
#[derive(Debug, Clone)]
pub struct FeedLimits {
    /// What each may hold whatever the others do.
    pub own_bytes: usize,
    /// What one may hold at most.
    pub bytes_max: usize,
    /// What all may hold before none takes more than its own.
    pub shared_bytes: usize,
    held: Arc<AtomicUsize>,
}

impl FeedLimits {
    pub fn new(own_bytes: usize, bytes_max: usize, shared_bytes: usize) -> Self {
        Self { own_bytes, bytes_max, shared_bytes, held: Arc::default() }
    }
}

/// A bounded queue of parts with one side that fills it and one that takes.
#[derive(Debug)]
pub struct ChunkFeed {
    limits: FeedLimits,
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
    /// A feed that has room while it holds fewer bytes of entries than `limits` says.
    pub fn new(limits: FeedLimits) -> Self {
        Self { limits, state: Mutex::default(), filled: Condvar::new(), changed: Notify::new() }
    }

    /// Adds a part behind the others.
    pub fn push(&self, part: ChunkPart) {
        self.add(part, VecDeque::push_back);
    }

    /// Gives a part back that was taken: it is the next one again.
    pub fn give_back(&self, part: ChunkPart) {
        self.add(part, VecDeque::push_front);
    }

    fn add(&self, part: ChunkPart, put: fn(&mut VecDeque<ChunkPart>, ChunkPart)) {
        let mut state = self.state();
        let bytes = part.block.bytes.len();
        state.bytes += bytes;
        self.limits.held.fetch_add(bytes, Ordering::Relaxed);
        put(&mut state.parts, part);
        drop(state);
        self.wake();
    }

    /// Waits until there is room. What others hold keeps a feed waiting only while it has parts of
    /// its own to be taken.
    pub async fn room(&self) {
        self.until(|state| self.has_room(state.bytes).then_some(())).await;
    }

    fn has_room(&self, bytes: usize) -> bool {
        let FeedLimits { own_bytes, bytes_max, shared_bytes, held } = &self.limits;
        bytes < *own_bytes || bytes < *bytes_max && held.load(Ordering::Relaxed) < *shared_bytes
    }

    /// Says that no part follows.
    pub fn end(&self) {
        self.state().ended = true;
        self.wake();
    }

    /// The next part, as soon as it is there; `None` where none follows.
    pub async fn next(&self) -> Option<ChunkPart> {
        self.until(|state| match self.take_from(state) {
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
            let fed = self.take_from(&mut state);
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

impl ChunkFeed {
    fn take_from(&self, state: &mut State) -> Fed {
        match state.parts.pop_front() {
            Some(part) => {
                let bytes = part.block.bytes.len();
                state.bytes -= bytes;
                self.limits.held.fetch_sub(bytes, Ordering::Relaxed);
                Fed::Part(part)
            }
            None if state.ended => Fed::Ended,
            None => Fed::Late,
        }
    }
}

impl Drop for ChunkFeed {
    fn drop(&mut self) {
        let left = self.state().bytes;
        self.limits.held.fetch_sub(left, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use caseload_model::payload::Block;
    use tokio::time::timeout;

    use super::*;

    fn part(bytes: usize) -> ChunkPart {
        let block = Block { bytes: vec![0; bytes], entries: Vec::new() };
        let work = ChunkWork::GetAppProfiles(Vec::new());
        ChunkPart { block: Arc::new(block), work: Arc::new(work), from: 0 }
    }

    async fn has_room(feed: &ChunkFeed) -> bool {
        timeout(Duration::from_millis(5), feed.room()).await.is_ok()
    }

    #[tokio::test]
    async fn feeds_share_a_limit_and_each_keeps_a_share_of_its_own() {
        let limits = FeedLimits::new(2, 8, 10);
        let feeds = [(); 3].map(|()| ChunkFeed::new(limits.clone()));
        feeds[0].push(part(7));
        assert!(has_room(&feeds[0]).await, "one may hold more than its share");
        feeds[0].push(part(1));
        assert!(!has_room(&feeds[0]).await, "one holds all that one may");
        feeds[1].push(part(2));
        assert!(!has_room(&feeds[1]).await, "all hold what all may");
        assert!(has_room(&feeds[2]).await, "an empty feed has its share");
        assert!(matches!(feeds[0].take(Instant::now()), Fed::Part(_)));
        assert!(has_room(&feeds[1]).await, "what is taken makes room for others");
        let [first, second, third] = feeds;
        drop((first, second));
        third.push(part(7));
        assert!(has_room(&third).await, "what a dropped feed held is nobody's");
        third.next().await.unwrap();
        assert_eq!(limits.held.load(Ordering::Relaxed), 0);
    }
}
