//! The entries of a chunk, slice by slice: first those of the part it was given, then those of the
//! parts that its feed has in time. A chunk that waits for a part has its transaction open, so it
//! waits only for a moment, and not at all while somebody else wants to write. A chunk that the
//! database undid is gone through again with the same parts. Invariant: entries come in the order
//! of the payload, and none is passed over.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use caseload_model::task::Action;

use crate::{ApplyChunk, ChunkPart, ChunkWork, Fed, StoreError};

/// Bytes of payload blocks after which a chunk takes no further part.
const CHUNK_BYTES_MAX: usize = 8 << 20;
/// How long a chunk waits for its next part in all, and at a time.
const WAIT_MAX: Duration = Duration::from_millis(10);
const WAIT_STEP: Duration = Duration::from_micros(500);

/// Where a chunk stands among its entries.
pub(crate) struct Parts<'c> {
    command: &'c ApplyChunk,
    part: ChunkPart,
    /// Bytes of all parts so far.
    bytes: usize,
    done: usize,
    /// All parts as they were taken, the present one included. Dropping their entries takes time
    /// that is not the writer's.
    taken: Vec<ChunkPart>,
    /// Parts that were taken before, which come again ahead of the feed's.
    again: VecDeque<ChunkPart>,
}

impl<'c> Parts<'c> {
    /// Begins with the part that the command gives.
    pub(crate) fn begin(command: &'c ApplyChunk) -> Result<Self, StoreError> {
        let part = command.part.clone();
        check(command, &part)?;
        let bytes = part.block.bytes.len();
        let taken = vec![part.clone()];
        Ok(Self { command, part, bytes, done: 0, taken, again: VecDeque::new() })
    }

    /// Begins once more after `taken` were taken and what was done with them is undone. None of
    /// them can be had from the feed again.
    pub(crate) fn begin_again(
        command: &'c ApplyChunk,
        taken: Vec<ChunkPart>,
    ) -> Result<Self, StoreError> {
        Ok(Self { again: taken.into_iter().skip(1).collect(), ..Self::begin(command)? })
    }

    /// Index, in the task, of the next entry.
    pub(crate) fn next_index(&self) -> u32 {
        if self.part.from < self.part.work.len() {
            entry_index(&self.part.work, self.part.from)
        } else {
            entry_index(&self.part.work, self.part.from - 1) + 1
        }
    }

    /// The next entries of the part, at most `entries_max`; they count as done.
    pub(crate) fn slice(&mut self, entries_max: usize) -> Range<usize> {
        let slice = self.part.from..self.part.work.len().min(self.part.from + entries_max);
        self.done += slice.len();
        self.part.from = slice.end;
        slice
    }

    /// The part that the slice is of.
    pub(crate) const fn part(&self) -> &ChunkPart {
        &self.part
    }

    pub(crate) fn work(&self) -> &ChunkWork {
        &self.part.work
    }

    pub(crate) fn payload(&self) -> &[u8] {
        &self.part.block.bytes
    }

    /// Whether there are more entries. Waits a moment for the next part unless it is `urged` on.
    pub(crate) fn more(&mut self, urged: impl Fn() -> bool) -> Result<bool, StoreError> {
        if self.part.from < self.part.work.len() {
            return Ok(true);
        }
        if let Some(part) = self.again.pop_front() {
            return self.take(part);
        }
        let Some(feed) = self.command.more.as_ref().filter(|_| self.bytes < CHUNK_BYTES_MAX) else {
            return Ok(false);
        };
        let until = Instant::now() + WAIT_MAX;
        loop {
            match feed.take(until.min(Instant::now() + WAIT_STEP)) {
                Fed::Part(part) => return self.take(part),
                Fed::Ended => return Ok(false),
                Fed::Late if urged() || Instant::now() >= until => return Ok(false),
                Fed::Late => {}
            }
        }
    }

    /// Goes on with a part that follows.
    fn take(&mut self, part: ChunkPart) -> Result<bool, StoreError> {
        check(self.command, &part)?;
        if entry_index(&part.work, part.from) < self.next_index() {
            return Err(misfit(self.command));
        }
        self.bytes += part.block.bytes.len();
        self.taken.push(part.clone());
        self.part = part;
        Ok(true)
    }

    /// How many entries are done, the part that has entries left, and all parts as they were taken.
    pub(crate) fn end(self) -> (usize, Option<ChunkPart>, Vec<ChunkPart>) {
        let left = self.part.from < self.part.work.len();
        (self.done, left.then_some(self.part), self.taken)
    }
}

/// Whether the part has entries, of the kind that the command asks for.
fn check(command: &ApplyChunk, part: &ChunkPart) -> Result<(), StoreError> {
    let fits = work_fits(command.action, &part.work) && part.from < part.work.len();
    if fits { Ok(()) } else { Err(misfit(command)) }
}

pub(crate) fn misfit(command: &ApplyChunk) -> StoreError {
    let id = &command.task_id;
    StoreError::Corrupt(format!("a chunk of task {id} is not what the task asks for"))
}

const fn work_fits(action: Action, work: &ChunkWork) -> bool {
    matches!(
        (action, work),
        (Action::CreateCoreProfiles, ChunkWork::CreateCoreProfiles(_))
            | (Action::UpdateCoreProfiles, ChunkWork::UpdateCoreProfiles(_))
            | (Action::UpdateAppProfiles, ChunkWork::UpdateAppProfiles(_))
            | (Action::GetCoreProfiles, ChunkWork::GetCoreProfiles(_))
            | (Action::GetAppProfiles, ChunkWork::GetAppProfiles(_))
            | (Action::ImportIssues, ChunkWork::ImportIssues(_))
    )
}

/// The index, in its task, of the entry at `at`.
fn entry_index(work: &ChunkWork, at: usize) -> u32 {
    match work {
        ChunkWork::CreateCoreProfiles(entries) => entries[at].entry.index,
        ChunkWork::UpdateCoreProfiles(entries) => entries[at].entry.index,
        ChunkWork::UpdateAppProfiles(entries) => entries[at].entry.index,
        ChunkWork::GetCoreProfiles(entries) => entries[at].entry.index,
        ChunkWork::GetAppProfiles(entries) => entries[at].entry.index,
        ChunkWork::ImportIssues(entries) => entries[at].entry.index,
    }
}
