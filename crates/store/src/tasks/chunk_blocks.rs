//! The entries of a chunk, slice by slice: first those of the block in the command, then those of
//! the blocks that its source has ready in time. A chunk has its transaction open while it waits
//! for a block, so it waits for a moment only, and not at all if another command wants to write. If
//! the database undid a chunk, the next try gets the same blocks. Invariant: entries come in the
//! order of the payload, and none is passed over.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::task::Action;

use crate::{ApplyChunk, ChunkEntries, ChunkWork, EntrySource, NextEntries, StoreError};

/// Bytes of payload blocks after which a chunk takes no further block, by default.
const CHUNK_BYTES_MAX: usize = 8 << 20;
/// How long a chunk waits for its next block, by default, and how long between two looks at whether
/// it is to end instead.
const WAIT_MAX: Duration = Duration::from_millis(10);
const WAIT_STEP: Duration = Duration::from_micros(500);

/// The blocks of a chunk, and its position in them.
#[derive(Debug)]
pub struct ChunkBlocks {
    action: Action,
    task_id: String,
    source: Option<Arc<dyn EntrySource>>,
    part: ChunkEntries,
    /// Bytes of all blocks so far.
    bytes: usize,
    bytes_max: usize,
    wait_max: Duration,
    done: usize,
    /// All blocks as they were taken, the present one included. The writer does not spend its time
    /// on dropping their entries.
    taken: Vec<ChunkEntries>,
    /// Blocks that an earlier try took: they come before those of the source.
    again: VecDeque<ChunkEntries>,
}

impl ChunkBlocks {
    /// Begins with the block in the command.
    pub fn begin(command: &ApplyChunk) -> Result<Self, StoreError> {
        let part = command.entries.clone();
        let entries = Self {
            action: command.action,
            task_id: command.task_id.clone(),
            source: command.following.clone(),
            bytes: part.block.bytes.len(),
            bytes_max: CHUNK_BYTES_MAX,
            wait_max: WAIT_MAX,
            done: 0,
            taken: vec![part.clone()],
            part,
            again: VecDeque::new(),
        };
        entries.check(&entries.part)?;
        Ok(entries)
    }

    /// Begins again after a try that took `taken` was undone. The source does not have
    /// these blocks again.
    pub fn begin_again(command: &ApplyChunk, taken: Vec<ChunkEntries>) -> Result<Self, StoreError> {
        Ok(Self { again: taken.into_iter().skip(1).collect(), ..Self::begin(command)? })
    }

    /// Takes no further block after so many bytes, and waits so long for each.
    #[must_use]
    pub fn within(self, bytes_max: usize, wait_max: Duration) -> Self {
        Self { bytes_max, wait_max, ..self }
    }

    /// Index, in the task, of the next entry.
    pub fn next_index(&self) -> u32 {
        self.part.next_index()
    }

    /// The next entries of the block, at most `entries_max`; they count as done.
    pub fn slice(&mut self, entries_max: usize) -> Range<usize> {
        let end = self.part.work.len().min(self.part.from.saturating_add(entries_max));
        let slice = self.part.from..end;
        self.done += slice.len();
        self.part.from = slice.end;
        slice
    }

    /// The present block and its number. Its `from` is the first entry that is not done.
    pub const fn part(&self) -> (usize, &ChunkEntries) {
        (self.taken.len() - 1, &self.part)
    }

    /// Goes back to the entry at `from` of the block of that number: neither it nor an entry after
    /// it is done. Later blocks go back to the source.
    pub fn back_to(&mut self, number: usize, from: usize) {
        let behind = self.taken.split_off(number + 1);
        let whole = |part: &ChunkEntries| part.work.len() - part.from;
        let present = self.taken[number].clone();
        let begun = behind.iter().map(whole).sum::<usize>() + whole(&present);
        self.done -= begun - whole(&self.part) - (from - present.from);
        for part in behind.into_iter().rev() {
            self.bytes -= part.block.bytes.len();
            self.give_back(part);
        }
        self.part = ChunkEntries { from, ..present };
    }

    pub fn work(&self) -> &ChunkWork {
        &self.part.work
    }

    pub fn payload(&self) -> &[u8] {
        &self.part.block.bytes
    }

    /// Whether there are more entries. Waits a moment for the next block, but not while
    /// `should_not_wait`.
    pub fn more(&mut self, should_not_wait: impl Fn() -> bool) -> Result<bool, StoreError> {
        if self.part.from < self.part.work.len() {
            return Ok(true);
        }
        if let Some(part) = self.again.pop_front() {
            return self.take(part);
        }
        let room = self.bytes < self.bytes_max;
        let Some(source) = self.source.clone().filter(|_| room) else { return Ok(false) };
        let until = Instant::now() + self.wait_max;
        loop {
            match source.take(until.min(Instant::now() + WAIT_STEP)) {
                NextEntries::Ready(part) => return self.take(part),
                NextEntries::Ended => return Ok(false),
                NextEntries::NotYet if should_not_wait() || Instant::now() >= until => {
                    return Ok(false);
                }
                NextEntries::NotYet => {}
            }
        }
    }

    /// Goes on with the next block.
    fn take(&mut self, part: ChunkEntries) -> Result<bool, StoreError> {
        self.check(&part)?;
        if part.next_index() < self.next_index() {
            return Err(misfit(&self.task_id));
        }
        self.bytes += part.block.bytes.len();
        self.taken.push(part.clone());
        self.part = part;
        Ok(true)
    }

    /// Returns a block to the source, as the next one.
    fn give_back(&self, part: ChunkEntries) {
        if let Some(source) = &self.source {
            source.give_back(part);
        }
    }

    /// How many entries are done, the block that has entries left, and all blocks as they were
    /// taken. Blocks that an earlier try took and this one did not go back to the source.
    pub fn end(mut self) -> (usize, Option<ChunkEntries>, Vec<ChunkEntries>) {
        while let Some(part) = self.again.pop_back() {
            self.give_back(part);
        }
        let left = self.part.from < self.part.work.len();
        (self.done, left.then_some(self.part), self.taken)
    }

    /// Fails unless the block has entries to apply, of the task's action.
    fn check(&self, part: &ChunkEntries) -> Result<(), StoreError> {
        let fits = part.work.action() == self.action && part.from < part.work.len();
        if fits { Ok(()) } else { Err(misfit(&self.task_id)) }
    }
}

/// The fault of a chunk that does not belong to its task.
pub(super) fn misfit(task_id: &str) -> StoreError {
    StoreError::Corrupt(format!("a chunk does not have the action of its task {task_id}"))
}

impl ChunkEntries {
    /// Index, in the task, of the next entry to apply.
    pub fn next_index(&self) -> u32 {
        self.index_before(self.from)
    }

    /// Index, in the task, of the entry at `at`, or the index after the block's last entry.
    pub fn index_before(&self, at: usize) -> u32 {
        if at < self.work.len() {
            self.work.entry(at).index
        } else {
            self.work.entry(at - 1).index + 1
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use caseload_model::ids::{DomainId, DomainName};
    use caseload_model::payload::{Block, Entry};
    use caseload_model::record::PreparedEntry;
    use caseload_model::time::{Clock, UnixMillis};
    use parking_lot::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Blocks(Mutex<VecDeque<ChunkEntries>>);

    impl EntrySource for Blocks {
        fn take(&self, _: Instant) -> NextEntries {
            self.0.lock().pop_front().map_or(NextEntries::Ended, NextEntries::Ready)
        }

        fn give_back(&self, entries: ChunkEntries) {
            self.0.lock().push_front(entries);
        }
    }

    fn block(index: u32) -> ChunkEntries {
        let entry = Entry { index, line: index + 1, range: 0..1, oversize: None, of_row: false };
        let block = Block { bytes: vec![b'x'], entries: vec![entry.clone()], ..Block::default() };
        let work = ChunkWork::GetAppProfiles(vec![PreparedEntry {
            entry,
            item: Ok("p".into()),
            warnings: Vec::new(),
        }]);
        ChunkEntries { block: Arc::new(block), work: Arc::new(work), from: 0 }
    }

    #[test]
    fn blocks_that_only_an_undone_try_took_go_back_to_their_source_in_order() {
        let source = Arc::new(Blocks::default());
        source.0.lock().extend([block(1), block(2), block(3)]);
        let command = ApplyChunk {
            domain: DomainId(1),
            domain_name: DomainName::parse("acme").unwrap(),
            task_id: "t".to_owned(),
            action: Action::GetAppProfiles,
            dry_run: false,
            upsert: false,
            import_id: None,
            lease_epoch: 1,
            entries: block(0),
            following: Some(source.clone()),
            clock: Clock::stopped(UnixMillis(0)),
        };
        let mut first = ChunkBlocks::begin(&command).unwrap();
        for _ in 0..4 {
            first.slice(1);
            first.more(|| true).unwrap();
        }
        let (done, rest, taken) = first.end();
        assert_eq!((done, rest.is_none(), taken.len()), (4, true, 4));
        assert!(source.0.lock().is_empty());
        let mut second = ChunkBlocks::begin_again(&command, taken).unwrap();
        second.slice(1);
        assert!(second.more(|| true).unwrap(), "the next try has the same blocks");
        second.slice(1);
        let (done, _, taken) = second.end();
        assert_eq!((done, taken.len()), (2, 2));
        let left: Vec<u32> = source.0.lock().iter().map(ChunkEntries::next_index).collect();
        assert_eq!(left, [2, 3]);
    }
}
