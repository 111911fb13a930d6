//! Payloads that were just accepted, as they arrived: the task that follows at once need not read,
//! unpack and decode them again. Only a help: a payload is durable in the store all the same, and
//! whoever finds nothing here, or not all of it, reads it there. Invariant: all payloads together
//! have a bounded number of bytes, those that still arrive included; of a payload the blocks from
//! its beginning on are here, without a gap.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use caseload_model::payload::Block;

/// Bytes of entries of one payload, and of all.
const PAYLOAD_BYTES_MAX: usize = 16 << 20;
const ALL_BYTES_MAX: usize = 32 << 20;
/// How long a payload waits for its task, which may have been refused.
const KEPT: Duration = Duration::from_mins(1);

/// The payloads of one server.
#[derive(Debug, Default)]
pub struct FreshPayloads {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By the id of the task.
    payloads: HashMap<String, (Instant, FreshBlocks)>,
    /// Of all blocks, wherever they are.
    bytes: usize,
}

/// The blocks of one payload, in their order.
#[derive(Debug)]
pub struct FreshBlocks {
    of: Arc<FreshPayloads>,
    blocks: VecDeque<Block>,
    bytes: usize,
    /// A block found no room: none that follows is kept.
    ended: bool,
}

impl FreshPayloads {
    /// For the blocks of a payload that begins to arrive.
    pub fn begin(self: &Arc<Self>) -> FreshBlocks {
        FreshBlocks { of: self.clone(), blocks: VecDeque::new(), bytes: 0, ended: false }
    }

    /// Keeps a payload for the task of that id, which is about to be accepted.
    pub fn keep(&self, task_id: &str, blocks: FreshBlocks) {
        let now = Instant::now();
        let is_old = |since: Instant| now.duration_since(since) >= KEPT;
        let mut state = self.state();
        // Dropped without the lock: they give back their bytes.
        let old: Vec<_> = state.payloads.extract_if(|_, kept| is_old(kept.0)).collect();
        let before = state.payloads.insert(task_id.to_owned(), (now, blocks));
        drop(state);
        drop((old, before));
    }

    /// The payload of a task, where it is here; it is not any more.
    pub fn take(&self, task_id: &str) -> Option<FreshBlocks> {
        self.state().payloads.remove(task_id).map(|(_, blocks)| blocks)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FreshBlocks {
    /// Adds the block that follows, where there is room.
    pub fn add(&mut self, block: Block) {
        let bytes = block.bytes.len();
        let mut state = self.of.state();
        self.ended |= self.bytes + bytes > PAYLOAD_BYTES_MAX || state.bytes + bytes > ALL_BYTES_MAX;
        if !self.ended {
            state.bytes += bytes;
            drop(state);
            self.bytes += bytes;
            self.blocks.push_back(block);
        }
    }

    /// The next block with an entry at or after `from_index`; it is nobody else's any more.
    pub fn next_from(&mut self, from_index: u32) -> Option<Block> {
        while let Some(block) = self.blocks.pop_front() {
            self.bytes -= block.bytes.len();
            self.of.state().bytes -= block.bytes.len();
            if block.entries.last().is_some_and(|last| last.index >= from_index) {
                return Some(block);
            }
        }
        None
    }
}

impl Drop for FreshBlocks {
    fn drop(&mut self) {
        self.of.state().bytes -= self.bytes;
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
    fn blocks_are_kept_from_the_beginning_on_as_far_as_there_is_room() {
        let all = Arc::new(FreshPayloads::default());
        let mut first = all.begin();
        first.add(block(0, PAYLOAD_BYTES_MAX - 1));
        first.add(block(1, 2));
        first.add(block(2, 1));
        assert_eq!(first.blocks.len(), 1, "behind a gap nothing is kept");
        all.keep("first", first);
        let mut second = all.begin();
        for index in 0..5 {
            second.add(block(index, PAYLOAD_BYTES_MAX / 4));
        }
        assert_eq!(second.blocks.len(), 4);
        let mut third = all.begin();
        third.add(block(0, 1));
        third.add(block(1, 1));
        assert_eq!(third.blocks.len(), 1, "all of them are bounded");
        assert_eq!(second.next_from(2).unwrap().entries[0].index, 2);
        let mut first = all.take("first").unwrap();
        assert!(all.take("first").is_none());
        assert!(first.next_from(1).is_none());
        drop((first, second, third));
        assert_eq!(all.state().bytes, 0, "whatever goes gives its room back");
    }
}
