//! The entries of a chunk, slice by slice: first those of the part it was given, then those of the
//! parts that its feed has in time. A chunk that waits for a part has its transaction open, so it
//! waits only for a moment, and not at all while somebody else wants to write. A chunk that the
//! database undid is gone through again with the same parts. Invariant: entries come in the order
//! of the payload, and none is passed over.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::task::Action;

use crate::{ApplyChunk, ChunkEntries, ChunkWork, EntrySource, NextEntries, StoreError};

/// Bytes of payload blocks after which a chunk takes no further part, unless told.
const CHUNK_BYTES_MAX: usize = 8 << 20;
/// How long a chunk waits for its next part in all, unless told, and at a time.
const WAIT_MAX: Duration = Duration::from_millis(10);
const WAIT_STEP: Duration = Duration::from_micros(500);

/// Where a chunk stands among its entries.
#[derive(Debug)]
pub struct Parts {
    action: Action,
    task_id: String,
    feed: Option<Arc<dyn EntrySource>>,
    part: ChunkEntries,
    /// Bytes of all parts so far.
    bytes: usize,
    /// Bytes after which no further part is taken.
    bytes_max: usize,
    /// How long the next part is waited for.
    wait_max: Duration,
    done: usize,
    /// All parts as they were taken, the present one included. Dropping their entries takes time
    /// that is not the writer's.
    taken: Vec<ChunkEntries>,
    /// Parts that were taken before, which come again ahead of the feed's.
    again: VecDeque<ChunkEntries>,
}

impl Parts {
    /// Begins with the part that the command gives.
    pub fn begin(command: &ApplyChunk) -> Result<Self, StoreError> {
        let part = command.entries.clone();
        let parts = Self {
            action: command.action,
            task_id: command.task_id.clone(),
            feed: command.following.clone(),
            bytes: part.block.bytes.len(),
            bytes_max: CHUNK_BYTES_MAX,
            wait_max: WAIT_MAX,
            done: 0,
            taken: vec![part.clone()],
            part,
            again: VecDeque::new(),
        };
        parts.check(&parts.part)?;
        Ok(parts)
    }

    /// Begins once more after `taken` were taken and what was done with them is undone. None of
    /// them can be had from the feed again.
    pub fn begin_again(command: &ApplyChunk, taken: Vec<ChunkEntries>) -> Result<Self, StoreError> {
        Ok(Self { again: taken.into_iter().skip(1).collect(), ..Self::begin(command)? })
    }

    /// Takes no further part after so many bytes, and waits so long for each.
    pub fn within(self, bytes_max: usize, wait_max: Duration) -> Self {
        Self { bytes_max, wait_max, ..self }
    }

    /// Index, in the task, of the next entry.
    pub fn next_index(&self) -> u32 {
        self.part.next_index()
    }

    /// The next entries of the part, at most `entries_max`; they count as done.
    pub fn slice(&mut self, entries_max: usize) -> Range<usize> {
        let slice = self.part.from..self.part.work.len().min(self.part.from + entries_max);
        self.done += slice.len();
        self.part.from = slice.end;
        slice
    }

    /// How many entries count as done.
    pub const fn done(&self) -> usize {
        self.done
    }

    /// The present part and its number; its `from` is behind what counts as done.
    pub const fn part(&self) -> (usize, &ChunkEntries) {
        (self.taken.len() - 1, &self.part)
    }

    /// Goes back to the entry at `from` of the part of that number: neither it nor any that follows
    /// is done. Parts behind that one are given back to where they came from.
    pub fn back_to(&mut self, number: usize, from: usize) {
        let behind = self.taken.split_off(number + 1);
        let whole = |part: &ChunkEntries| part.work.len() - part.from;
        let present = self.taken[number].clone();
        let begun = behind.iter().map(whole).sum::<usize>() + whole(&present);
        self.done -= begun - whole(&self.part) - (from - present.from);
        for part in behind.into_iter().rev() {
            self.bytes -= part.block.bytes.len();
            match &self.feed {
                Some(feed) => feed.give_back(part),
                None => self.again.push_front(part),
            }
        }
        self.part = ChunkEntries { from, ..present };
    }

    pub fn work(&self) -> &ChunkWork {
        &self.part.work
    }

    pub fn payload(&self) -> &[u8] {
        &self.part.block.bytes
    }

    /// Whether there are more entries. Waits a moment for the next part unless it is `urged` on.
    pub fn more(&mut self, urged: impl Fn() -> bool) -> Result<bool, StoreError> {
        if self.part.from < self.part.work.len() {
            return Ok(true);
        }
        if let Some(part) = self.again.pop_front() {
            return self.take(part);
        }
        let room = self.bytes < self.bytes_max;
        let Some(feed) = self.feed.clone().filter(|_| room) else { return Ok(false) };
        let until = Instant::now() + self.wait_max;
        loop {
            match feed.take(until.min(Instant::now() + WAIT_STEP)) {
                NextEntries::Ready(part) => return self.take(part),
                NextEntries::Ended => return Ok(false),
                NextEntries::NotYet if urged() || Instant::now() >= until => return Ok(false),
                NextEntries::NotYet => {}
            }
        }
    }

    /// Goes on with a part that follows.
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

    /// How many entries are done, the part that has entries left, and all parts as they were taken.
    pub fn end(self) -> (usize, Option<ChunkEntries>, Vec<ChunkEntries>) {
        let left = self.part.from < self.part.work.len();
        (self.done, left.then_some(self.part), self.taken)
    }

    /// Whether the part has entries, of the kind that the task asks for.
    fn check(&self, part: &ChunkEntries) -> Result<(), StoreError> {
        let fits = work_fits(self.action, &part.work) && part.from < part.work.len();
        if fits { Ok(()) } else { Err(misfit(&self.task_id)) }
    }
}

pub fn misfit(task_id: &str) -> StoreError {
    StoreError::Corrupt(format!("a chunk of task {task_id} is not what the task asks for"))
}

impl ChunkEntries {
    /// Index, in the task, of the next entry to apply.
    pub fn next_index(&self) -> u32 {
        self.index_before(self.from)
    }

    /// Index, in the task, of the first entry behind those before `at`.
    pub fn index_before(&self, at: usize) -> u32 {
        if at < self.work.len() {
            entry_index(&self.work, at)
        } else {
            entry_index(&self.work, at - 1) + 1
        }
    }
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
