//! The payload cache: blocks of payloads that were just accepted, so that a task that starts at
//! once need not read, unpack and decode them. A cache miss costs only time; the store has every
//! payload durably. Invariant: all payloads together have a bounded number of bytes, including
//! those that are still arriving. The blocks of a payload are here from its beginning on, without a
//! gap.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::payload::Block;
use parking_lot::Mutex;

/// Bytes of the entries of one payload, and of all payloads.
const PAYLOAD_BYTES_MAX: usize = 16 << 20;
const ALL_BYTES_MAX: usize = 32 << 20;
/// How long a payload waits for its task, which may have been refused.
const EXPIRES_AFTER: Duration = Duration::from_mins(1);

/// The cached payloads of one server.
#[derive(Debug, Default)]
pub struct PayloadCache {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By the id of the task.
    payloads: HashMap<String, (Instant, CachedPayload)>,
    /// Of all blocks, including those that callers hold.
    bytes: usize,
}

/// The cached blocks of one payload, in order.
#[derive(Debug)]
pub struct CachedPayload {
    cache: Arc<PayloadCache>,
    blocks: VecDeque<Block>,
    bytes: usize,
    /// A block found no room, so later blocks are not cached.
    ended: bool,
}

impl PayloadCache {
    /// An empty payload, for blocks that are about to arrive.
    pub fn begin(self: &Arc<Self>) -> CachedPayload {
        CachedPayload { cache: self.clone(), blocks: VecDeque::new(), bytes: 0, ended: false }
    }

    /// Stores the payload of a task that is about to be created.
    pub fn insert(&self, task_id: &str, payload: CachedPayload) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let expired = |since: Instant| now.duration_since(since) >= EXPIRES_AFTER;
        let old: Vec<_> = state.payloads.extract_if(|_, (since, _)| expired(*since)).collect();
        let before = state.payloads.insert(task_id.to_owned(), (now, payload));
        // Dropping a payload locks the cache to free its bytes.
        drop(state);
        drop((old, before));
    }

    /// Removes and returns the payload of a task.
    pub fn take(&self, task_id: &str) -> Option<CachedPayload> {
        self.state.lock().payloads.remove(task_id).map(|(_, payload)| payload)
    }
}

impl CachedPayload {
    /// Adds the block that follows, if there is room.
    pub fn add(&mut self, block: Block) {
        let bytes = block.bytes.len();
        let mut state = self.cache.state.lock();
        self.ended |= self.bytes + bytes > PAYLOAD_BYTES_MAX || state.bytes + bytes > ALL_BYTES_MAX;
        if !self.ended {
            state.bytes += bytes;
            drop(state);
            self.bytes += bytes;
            self.blocks.push_back(block);
        }
    }

    /// Removes and returns the next block with an entry at or after `from_index`.
    pub fn next_from(&mut self, from_index: u32) -> Option<Block> {
        while let Some(block) = self.blocks.pop_front() {
            self.bytes -= block.bytes.len();
            self.cache.state.lock().bytes -= block.bytes.len();
            if block.entries.last().is_some_and(|last| last.index >= from_index) {
                return Some(block);
            }
        }
        None
    }
}

impl Drop for CachedPayload {
    fn drop(&mut self) {
        self.cache.state.lock().bytes -= self.bytes;
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use caseload_model::payload::Entry;

    use super::*;

    fn block(index: u32, bytes: usize) -> Block {
        let entry = Entry { index, line: index + 1, range: 0..bytes, oversize: None };
        Block { bytes: vec![b'x'; bytes], entries: vec![entry] }
    }

    #[test]
    fn blocks_are_cached_from_the_beginning_on_while_there_is_room() {
        let all = Arc::new(PayloadCache::default());
        let mut first = all.begin();
        first.add(block(0, PAYLOAD_BYTES_MAX - 1));
        first.add(block(1, 2));
        first.add(block(2, 1));
        assert_eq!(first.blocks.len(), 1, "blocks after a gap are not cached");
        all.insert("first", first);
        let mut second = all.begin();
        for index in 0..5 {
            second.add(block(index, PAYLOAD_BYTES_MAX / 4));
        }
        assert_eq!(second.blocks.len(), 4);
        let mut third = all.begin();
        third.add(block(0, 1));
        third.add(block(1, 1));
        assert_eq!(third.blocks.len(), 1, "all payloads together are bounded");
        assert_eq!(second.next_from(2).unwrap().entries[0].index, 2);
        let mut first = all.take("first").unwrap();
        assert!(all.take("first").is_none());
        assert!(first.next_from(1).is_none());
        drop((first, second, third));
        assert_eq!(all.state.lock().bytes, 0, "dropped payloads free their bytes");
    }
}
