//! Validated entries of one task, in order, on their way from the thread that validates them to the
//! store that applies them. The store may take the next entries while its transaction is open, so
//! validating one block and applying the one before overlap. A queue holds a bounded number of
//! bytes; the side that fills it waits for room. It has no entry that the payload lacks: entries in
//! a queue that is dropped are validated again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use caseload_store::{ChunkEntries, EntrySource, NextEntries};
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// The bytes of entries that a queue may hold. Queues with clones of one value share a limit.
#[derive(Debug, Clone)]
pub struct QueueLimits {
    /// Bytes that each queue may hold, however much the others hold.
    pub own_bytes: usize,
    /// Bytes that one queue may hold at most.
    pub bytes_max: usize,
    /// Once all queues hold this many bytes, none may hold more than its own.
    pub shared_bytes: usize,
    held: Arc<AtomicUsize>,
}

impl QueueLimits {
    pub fn new(own_bytes: usize, bytes_max: usize, shared_bytes: usize) -> Self {
        Self { own_bytes, bytes_max, shared_bytes, held: Arc::default() }
    }
}

/// A bounded queue that one side fills and the other side empties.
#[derive(Debug)]
pub struct EntryQueue {
    limits: QueueLimits,
    state: Mutex<State>,
    /// Wakes threads that block until entries are there.
    filled: Condvar,
    /// Wakes tasks that wait, on either side.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<ChunkEntries>,
    bytes: usize,
    ended: bool,
}

impl EntryQueue {
    /// An empty queue within `limits`.
    pub fn new(limits: QueueLimits) -> Self {
        Self { limits, state: Mutex::default(), filled: Condvar::new(), changed: Notify::new() }
    }

    /// Adds entries at the end.
    pub fn push(&self, entries: ChunkEntries) {
        self.add(entries, VecDeque::push_back);
    }

    fn add(&self, entries: ChunkEntries, put: fn(&mut VecDeque<ChunkEntries>, ChunkEntries)) {
        let bytes = entries.block.bytes.len();
        let mut state = self.state.lock();
        state.bytes += bytes;
        self.limits.held.fetch_add(bytes, Ordering::Relaxed);
        put(&mut state.entries, entries);
        drop(state);
        self.wake();
    }

    /// Waits until there is room. The bytes of other queues keep a queue waiting only while it has
    /// entries of its own to be taken.
    pub async fn room(&self) {
        self.until(|state| self.has_room(state.bytes).then_some(())).await;
    }

    fn has_room(&self, bytes: usize) -> bool {
        let QueueLimits { own_bytes, bytes_max, shared_bytes, held } = &self.limits;
        bytes < *own_bytes || bytes < *bytes_max && held.load(Ordering::Relaxed) < *shared_bytes
    }

    /// Declares that no entries follow.
    pub fn end(&self) {
        self.state.lock().ended = true;
        self.wake();
    }

    /// Waits for the next entries; `None` if none follow.
    pub async fn next(&self) -> Option<ChunkEntries> {
        self.until(|state| match self.take_from(state) {
            NextEntries::Ready(entries) => Some(Some(entries)),
            NextEntries::Ended => Some(None),
            NextEntries::NotYet => None,
        })
        .await
    }

    async fn until<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before looking, so that no change in between is missed.
            changed.as_mut().enable();
            let found = look(&mut self.state.lock());
            if let Some(found) = found {
                self.changed.notify_waiters();
                return found;
            }
            changed.await;
        }
    }

    fn take_from(&self, state: &mut State) -> NextEntries {
        match state.entries.pop_front() {
            Some(entries) => {
                let bytes = entries.block.bytes.len();
                state.bytes -= bytes;
                self.limits.held.fetch_sub(bytes, Ordering::Relaxed);
                NextEntries::Ready(entries)
            }
            None if state.ended => NextEntries::Ended,
            None => NextEntries::NotYet,
        }
    }

    fn wake(&self) {
        self.filled.notify_all();
        self.changed.notify_waiters();
    }
}

impl EntrySource for EntryQueue {
    fn take(&self, deadline: Instant) -> NextEntries {
        let mut state = self.state.lock();
        loop {
            let next = self.take_from(&mut state);
            let waits = matches!(next, NextEntries::NotYet) && Instant::now() < deadline;
            if !waits {
                drop(state);
                self.changed.notify_waiters();
                return next;
            }
            self.filled.wait_until(&mut state, deadline);
        }
    }

    fn give_back(&self, entries: ChunkEntries) {
        self.add(entries, VecDeque::push_front);
    }
}

impl Drop for EntryQueue {
    fn drop(&mut self) {
        self.limits.held.fetch_sub(self.state.get_mut().bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use std::time::Duration;

    use caseload_model::payload::Block;
    use caseload_store::ChunkWork;
    use tokio::time::timeout;

    use super::*;

    fn entries(bytes: usize) -> ChunkEntries {
        let block = Block { bytes: vec![0; bytes], ..Block::default() };
        let work = ChunkWork::GetAppProfiles(Vec::new());
        ChunkEntries { block: Arc::new(block), work: Arc::new(work), from: 0 }
    }

    async fn has_room(queue: &EntryQueue) -> bool {
        timeout(Duration::from_millis(5), queue.room()).await.is_ok()
    }

    #[tokio::test]
    async fn queues_share_a_limit_and_each_has_a_share_of_its_own() {
        let limits = QueueLimits::new(2, 8, 10);
        let queues = [(); 3].map(|()| EntryQueue::new(limits.clone()));
        queues[0].push(entries(7));
        assert!(has_room(&queues[0]).await, "one queue may hold more than its share");
        queues[0].push(entries(1));
        assert!(!has_room(&queues[0]).await, "one queue is full");
        queues[1].push(entries(2));
        assert!(!has_room(&queues[1]).await, "all queues together are full");
        assert!(has_room(&queues[2]).await, "an empty queue has its share");
        assert!(matches!(queues[0].take(Instant::now()), NextEntries::Ready(_)));
        assert!(has_room(&queues[1]).await, "taken entries make room for others");
        let [first, second, third] = queues;
        drop((first, second));
        third.push(entries(7));
        assert!(has_room(&third).await, "a dropped queue frees its bytes");
        third.next().await.unwrap();
        assert_eq!(limits.held.load(Ordering::Relaxed), 0);
    }
}
