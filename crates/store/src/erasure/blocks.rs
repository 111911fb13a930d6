//! The blocks of tasks that hold an erased person: of each task, two passes over its payload and
//! its records. The first finds the entries, the second rewrites the blocks that have one of them,
//! or counts or collects them.
//! Writing tasks that wait in the queue are left alone: they were accepted later. Invariant: the
//! keys of blocks and the numbers of entries and of lines stay.

use std::time::{Duration, Instant};

use caseload_model::erasure::{
    ErasureCounts, PersonEntry, PersonTask, PersonTasks, Traces, erase_entries,
};
use caseload_model::payload::{Block, Entry};
use caseload_model::task::Action;

use super::progress::{Pass, Phase, Progress};
use crate::checksum::{self, PAYLOAD_BLOCKS, RECORD_BLOCKS};
use crate::pack::pack;
use crate::tasks::{TaskStore, kind_code, stored_payload_block};
use crate::{RecordKind, StoreError, pack_block, unpack_block, values};

/// How long a search takes at a time: a snapshot that is open for long delays other work.
const SEARCH_TIME: Duration = Duration::from_millis(500);
/// Bytes of unpacked blocks after which a step ends.
const STEP_BYTES: usize = 16 << 20;
/// Tasks without blocks that a step passes over.
const STEP_TASKS: usize = 500;
/// Blocks that are read at a time.
const BLOCKS_AT_ONCE: u64 = 8;

/// A task whose blocks are looked at.
struct Found {
    seq: u64,
    id: String,
    action: Action,
}

/// Whether blocks are rewritten, or only searched until a time, counted, or shown as they are.
enum Mode {
    Rewrite,
    Search(Instant),
    Count,
    Collect(Vec<PersonTask>),
}

impl Mode {
    /// Whether a step has done enough, after so many unpacked bytes.
    fn is_over(&self, progress: &Progress, bytes: usize) -> bool {
        match self {
            Self::Search(until) => !progress.pass.searches() || Instant::now() >= *until,
            Self::Rewrite => progress.pass.searches() || bytes >= STEP_BYTES,
            Self::Count | Self::Collect(_) => bytes >= STEP_BYTES,
        }
    }
}

/// Rewrites the next blocks, up to those that have not been searched.
pub(super) fn rewrite(
    store: &impl TaskStore,
    own: &str,
    progress: &mut Progress,
    traces: &Traces<'_>,
) -> Result<(), StoreError> {
    go_on(store, (own, &mut Mode::Rewrite), progress, traces)
}

/// Goes over the next blocks until one is to be rewritten, or for a while. It writes nothing.
pub(super) fn search(
    store: &impl TaskStore,
    own: &str,
    progress: &mut Progress,
    traces: &Traces<'_>,
) -> Result<(), StoreError> {
    go_on(store, (own, &mut Mode::Search(Instant::now() + SEARCH_TIME)), progress, traces)
}

/// Adds the entries and the records that hold the person to the counts.
pub(super) fn count(
    store: &impl TaskStore,
    traces: &Traces<'_>,
    counts: ErasureCounts,
) -> Result<ErasureCounts, StoreError> {
    let mut progress = Progress { phase: Phase::Tasks, counts, ..Progress::default() };
    while progress.phase == Phase::Tasks {
        go_on(store, ("", &mut Mode::Count), &mut progress, traces)?;
    }
    Ok(progress.counts)
}

/// The person's entries and records of the tasks after a place. It ends after a step, or after the
/// task that the step leaves unfinished if that is the first one.
pub(super) fn collect(
    store: &impl TaskStore,
    traces: &Traces<'_>,
    after: u64,
) -> Result<PersonTasks, StoreError> {
    let mut progress = Progress { phase: Phase::Tasks, after, ..Progress::default() };
    let mut mode = Mode::Collect(Vec::new());
    while progress.phase == Phase::Tasks && progress.after == after {
        go_on(store, ("", &mut mode), &mut progress, traces)?;
    }
    let next = (progress.phase == Phase::Tasks).then_some(progress.after);
    let Mode::Collect(mut tasks) = mode else { return Ok(PersonTasks::default()) };
    // An unfinished task comes as a whole, in the next part.
    tasks.retain(|task| next.is_none_or(|next| task.seq <= next));
    Ok(PersonTasks { tasks, next })
}

fn go_on(
    store: &impl TaskStore,
    (own, mode): (&str, &mut Mode),
    progress: &mut Progress,
    traces: &Traces<'_>,
) -> Result<(), StoreError> {
    let mut bytes = 0;
    for _ in 0..STEP_TASKS {
        let Some(task) = next(store, own, progress.after)? else {
            // A step ends the phase: SQLite clears the remains before the next one.
            if !matches!(mode, Mode::Search(_)) {
                progress.end_phase();
            }
            return Ok(());
        };
        if progress.after_text != task.id {
            let Progress { phase, after, counts, .. } = *progress;
            let after_text = task.id.clone();
            *progress = Progress { phase, after, after_text, counts, ..Progress::default() };
        }
        while progress.after < task.seq {
            if mode.is_over(progress, bytes) {
                return Ok(());
            }
            let mut pass = BlockPass { store, task: &task, traces, mode: &mut *mode, bytes: 0 };
            if !pass.go_on(progress)? {
                end_pass(progress, &task);
            }
            bytes += pass.bytes;
        }
    }
    Ok(())
}

/// The first task after a place in the order of acceptance.
fn next(store: &impl TaskStore, own: &str, after: u64) -> Result<Option<Found>, StoreError> {
    let select = "SELECT seq, id, action FROM tasks WHERE domain_id = ?1 AND seq > ?2
         AND id <> ?3 AND purge < 2 AND NOT (writes AND status < 4) ORDER BY seq LIMIT 1";
    store.find(select, values![store.domain(), after, own], |row| {
        Ok(Found { seq: row.get(0)?, id: row.get(1)?, action: row.word(2, Action::from_code)? })
    })
}

/// Goes to the next pass, or to the end of the task. Only a get action has records of the person
/// that no entry names.
fn end_pass(progress: &mut Progress, task: &Found) {
    let is_clean = progress.indexes.is_empty() && task.action.writes();
    let next = Pass::ALL.into_iter().find(|pass| *pass > progress.pass);
    match next {
        Some(Pass::EraseRecords) if is_clean => progress.after = task.seq,
        Some(pass) => (progress.pass, progress.block) = (pass, 0),
        None => progress.after = task.seq,
    }
}

/// A pass over the blocks of a task.
struct BlockPass<'p, S> {
    store: &'p S,
    task: &'p Found,
    traces: &'p Traces<'p>,
    mode: &'p mut Mode,
    /// Bytes of unpacked blocks.
    bytes: usize,
}

/// Lines of records as they are stored.
struct StoredRecords {
    /// The kind, the first and the next index, and the number of lines.
    numbers: [u64; 4],
    bytes: Vec<u8>,
}

impl<S: TaskStore> BlockPass<'_, S> {
    /// Goes over some blocks; false if none is left.
    fn go_on(&mut self, progress: &mut Progress) -> Result<bool, StoreError> {
        match progress.pass {
            Pass::FindInPayload | Pass::ErasePayload => self.payload(progress),
            Pass::FindInRecords | Pass::EraseRecords => self.records(progress),
        }
    }

    fn payload(&mut self, progress: &mut Progress) -> Result<bool, StoreError> {
        let select = format!(
            "SELECT {} FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2
             AND last_index >= ?3 ORDER BY last_index LIMIT ?4",
            PAYLOAD_BLOCKS.select()
        );
        let domain = self.store.domain();
        let bound = values![domain, self.task.id, progress.block, BLOCKS_AT_ONCE];
        let blocks = self.store.list(&select, bound, stored_payload_block)?;
        for packed in &blocks {
            let block = decoded(&packed.bytes)?;
            self.bytes += block.bytes.len();
            if progress.pass == Pass::FindInPayload {
                self.traces.find_entries(self.task.action, &block, &mut progress.indexes);
            } else if let Some(erased) = erase_entries(&block, &progress.indexes) {
                let pairs = block.entries.iter().zip(&erased.entries);
                for (old, _) in pairs.filter(|(a, b)| block.bytes_of(a) != erased.bytes_of(b)) {
                    progress.counts.entries += 1;
                    self.show_entry(&block, old);
                }
                self.replace_payload(packed.bytes.len(), &erased)?;
            }
            progress.block = u64::from(packed.last_index) + 1;
        }
        Ok(!blocks.is_empty())
    }

    /// Adds to the task that is collected.
    fn show(&mut self, add: impl FnOnce(&mut PersonTask)) {
        let Mode::Collect(tasks) = &mut *self.mode else { return };
        let Found { seq, id, action } = self.task;
        if tasks.last().is_none_or(|last| last.seq != *seq) {
            let (entries, results, errors) = (Vec::new(), Vec::new(), Vec::new());
            let (seq, id, action) = (*seq, id.clone(), *action);
            tasks.push(PersonTask { seq, id, action, entries, results, errors });
        }
        if let Some(task) = tasks.last_mut() {
            add(task);
        }
    }

    fn show_entry(&mut self, block: &Block, entry: &Entry) {
        self.show(|task| {
            let rows = block.rows_of(entry).map(|(_, row)| row.to_vec()).collect();
            let (index, line, text) = (entry.index, entry.line, block.bytes_of(entry).to_vec());
            task.entries.push(PersonEntry { index, line, text, rows });
        });
    }

    /// Adds the lines that an erasure would change.
    fn show_records(&mut self, kind: u64, lines: &[u8], erased: &[u8]) {
        let is_error = u64::try_from(kind_code(RecordKind::Errors)) == Ok(kind);
        let lines_of = |text| <[u8]>::split_inclusive(text, |byte| *byte == b'\n');
        for (line, _) in lines_of(lines).zip(lines_of(erased)).filter(|(old, new)| old != new) {
            let line = line.trim_ascii_end().to_vec();
            self.show(|task| {
                let list = if is_error { &mut task.errors } else { &mut task.results };
                list.push(line);
            });
        }
    }

    fn replace_payload(&self, old: usize, block: &Block) -> Result<(), StoreError> {
        if !matches!(self.mode, Mode::Rewrite) {
            return Ok(());
        }
        let (domain, id, new) = (self.store.domain(), &self.task.id, pack_block(block)?);
        let sum = checksum::of(values![domain, id, new.first_index, new.last_index, new.bytes]);
        let update = "UPDATE payload_blocks SET bytes = ?4, checksum = ?5
                      WHERE domain_id = ?1 AND task_id = ?2 AND last_index = ?3";
        let values = values![domain, id, new.last_index, new.bytes, sum];
        self.changed(update, values, new.bytes.len() as i64 - old as i64)
    }

    fn records(&mut self, progress: &mut Progress) -> Result<bool, StoreError> {
        let select = format!(
            "SELECT {} FROM record_blocks WHERE domain_id = ?1 AND task_id = ?2
             AND (kind > ?3 OR kind = ?3 AND first_index >= ?4)
             ORDER BY kind, first_index LIMIT ?5",
            RECORD_BLOCKS.select()
        );
        let (kind, first) = (progress.block >> 32, progress.block & u64::from(u32::MAX));
        let domain = self.store.domain();
        let bound = values![domain, self.task.id, kind, first, BLOCKS_AT_ONCE];
        let blocks = self.store.list(&select, bound, |row| {
            RECORD_BLOCKS.require(row)?;
            let numbers = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?];
            Ok(StoredRecords { numbers, bytes: row.get(6)? })
        })?;
        for stored in &blocks {
            let [kind, first_index, ..] = stored.numbers;
            let text = unpack_block(&stored.bytes)?;
            self.bytes += text.len();
            if progress.pass == Pass::FindInRecords {
                self.traces.find_records(self.task.action, &text, &mut progress.indexes);
            } else if let Some(erased) = self.traces.erase_records(&text, &progress.indexes) {
                progress.counts.records += erased.erased;
                self.show_records(kind, &text, &erased.lines);
                self.replace_records(stored, &pack(&erased.lines)?)?;
            }
            progress.block = (kind << 32 | first_index) + 1;
        }
        Ok(!blocks.is_empty())
    }

    fn replace_records(&self, old: &StoredRecords, bytes: &[u8]) -> Result<(), StoreError> {
        if !matches!(self.mode, Mode::Rewrite) {
            return Ok(());
        }
        let (domain, id) = (self.store.domain(), &self.task.id);
        let [kind, first_index, next_index, lines] = old.numbers;
        let row = values![domain, id, kind, first_index, next_index, lines, bytes];
        let sum = checksum::of(row);
        let update = "UPDATE record_blocks SET bytes = ?5, checksum = ?6
                      WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3 AND first_index = ?4";
        let values = values![domain, id, kind, first_index, bytes, sum];
        self.changed(update, values, bytes.len() as i64 - old.bytes.len() as i64)
    }

    /// Runs a statement that changes one block, unless it was purged in between.
    fn changed(
        &self,
        update: &str,
        values: &[crate::sql::Value<'_>],
        more_bytes: i64,
    ) -> Result<(), StoreError> {
        let changed = self.store.change(update, values)?;
        if changed == 0 { Ok(()) } else { self.store.store_bytes(more_bytes) }
    }
}

/// A block of a payload, from its stored bytes.
pub(super) fn decoded(bytes: &[u8]) -> Result<Block, StoreError> {
    let damaged = |fault| StoreError::Corrupt(format!("a payload block: {fault}"));
    Block::decode(unpack_block(bytes)?).map_err(damaged)
}
