//! Reading the records of a chunk of a get action, on a few readers side by side where the
//! writer is busy with something else ([`apply`](super::apply) has the other case). Each takes
//! the next run of entries, reads and packs its records, and comes back for another run; the
//! runs are put together in their order. A reader has a snapshot of its own: get actions read
//! committed data and promise no more. Invariant: the records that are kept are those of the
//! entries from the chunk's first one on, without a gap; what was read behind a run that ended
//! early is dropped and read again by the next chunk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use caseload_model::ids::DomainId;
use rusqlite::Connection;

use super::super::engine::Engine;
use super::super::profiles;
use super::apply::{Planned, assert_each_entry_has_a_record};
use crate::Fault;
use caseload_store::parts::Parts;
use caseload_store::records::Records;
use caseload_store::{ApplyChunk, ChunkEntries, ChunkWork, StoreError};

/// Readers that one chunk has at most.
const READERS_MAX: usize = 4;
/// Entries of a run at most, and of the first ones, which tell how long records are.
const RUN_ENTRIES: usize = 500;
const FIRST_RUN_ENTRIES: usize = 50;
/// Bytes of records that a run is to have at most, and after which it ends early.
const RUN_BYTES: usize = 1 << 20;
const RUN_BYTES_MAX: usize = 4 << 20;
/// Entries that are read before the bytes of their records are looked at.
const STEP_ENTRIES: usize = 50;
/// Bytes of records after which no further run is begun.
pub(super) const READ_BYTES_MAX: usize = 16 << 20;

/// The records of a get action, as much as one chunk may hold.
pub(super) async fn read_chunk(
    engine: &Engine,
    command: ApplyChunk,
) -> Result<(Planned, ApplyChunk), Fault> {
    let reading = Arc::new(Reading::begin(command)?);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = reading.command.entries.work.len().div_ceil(RUN_ENTRIES);
    let work = reading.clone();
    engine
        .read_side_by_side(cores.min(runs).min(READERS_MAX), move |conn| work.read_runs(conn))
        .await?;
    let reading = Arc::into_inner(reading)
        .ok_or_else(|| StoreError::Unavailable("a reader did not end".to_owned()))?;
    Ok(reading.put_together())
}

/// Adds the records of some entries of a part.
pub(super) fn add(
    conn: &Connection,
    domain: DomainId,
    part: &ChunkEntries,
    entries: Range<usize>,
    records: &mut Records,
) -> Result<(), Fault> {
    let (count, behind, payload) = (entries.len(), entries.end, &part.block.bytes);
    let open = records.open();
    let before = open.succeeded + open.failed;
    match &*part.work {
        ChunkWork::GetCoreProfiles(all) => {
            profiles::get_core(conn, domain, payload, &all[entries], open)?;
        }
        ChunkWork::GetAppProfiles(all) => {
            profiles::get_app(conn, domain, payload, &all[entries], open)?;
        }
        _ => return Err(StoreError::Corrupt("a writing action among gets".to_owned()).into()),
    }
    assert_each_entry_has_a_record(open.succeeded + open.failed - before, count);
    Ok(records.added(part.index_before(behind))?)
}

/// What the readers of a chunk share.
struct Reading {
    command: ApplyChunk,
    state: Mutex<State>,
}

struct State {
    parts: Parts,
    /// Runs that were begun.
    begun: usize,
    /// Entries that were read so far, and bytes of their records.
    read: usize,
    bytes: usize,
    stopped: bool,
    done: BTreeMap<usize, Done>,
}

/// Some entries of a part, to be read by one reader.
struct Run {
    number: usize,
    part_number: usize,
    part: ChunkEntries,
    entries: Range<usize>,
    bytes_expected: usize,
}

/// The records of a run.
struct Done {
    records: Records,
    /// Where it ended early: the number of the part, and the place in it.
    early: Option<(usize, usize)>,
}

/// How many entries a run has where records so far had this many bytes each.
pub(super) fn run_entries(bytes_each: Option<usize>) -> usize {
    bytes_each.map_or(FIRST_RUN_ENTRIES, |bytes| (RUN_BYTES / bytes.max(1)).clamp(1, RUN_ENTRIES))
}

impl Reading {
    fn begin(command: ApplyChunk) -> Result<Self, Fault> {
        let state = State {
            parts: Parts::begin(&command)?,
            begun: 0,
            read: 0,
            bytes: 0,
            stopped: false,
            done: BTreeMap::new(),
        };
        Ok(Self { command, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads one run after the other until there is none.
    fn read_runs(&self, conn: &Connection) -> Result<(), Fault> {
        while let Some(run) = self.next_run()? {
            let done = self.read(conn, &run).inspect_err(|_| self.state().stopped = true)?;
            let mut state = self.state();
            state.read += run.entries.len();
            state.bytes += done.records.line_bytes();
            state.stopped |= done.early.is_some();
            state.done.insert(run.number, done);
        }
        Ok(())
    }

    /// The next run.
    fn next_run(&self) -> Result<Option<Run>, Fault> {
        let mut state = self.state();
        if state.stopped || state.bytes >= READ_BYTES_MAX || !state.parts.more(|| false)? {
            return Ok(None);
        }
        let bytes_each = state.bytes.checked_div(state.read);
        let entries = state.parts.slice(run_entries(bytes_each));
        let (part_number, part) = state.parts.part();
        let bytes_expected = entries.len() * bytes_each.unwrap_or(0) * 9 / 8;
        let part = part.clone();
        let run = Run { number: state.begun, part_number, part, entries, bytes_expected };
        state.begun += 1;
        Ok(Some(run))
    }

    fn read(&self, conn: &Connection, run: &Run) -> Result<Done, Fault> {
        let Run { part, entries, .. } = run;
        let mut records = Records::new(part.index_before(entries.start));
        records.expect(run.bytes_expected);
        let mut at = entries.start;
        while at < entries.end && records.line_bytes() < RUN_BYTES_MAX {
            let step = at..entries.end.min(at + STEP_ENTRIES);
            at = step.end;
            add(conn, self.command.domain, part, step, &mut records)?;
        }
        records.close_block()?;
        Ok(Done { records, early: (at < entries.end).then_some((run.part_number, at)) })
    }

    /// The records of all runs up to the first that ended early.
    fn put_together(self) -> (Planned, ApplyChunk) {
        let State { mut parts, done, begun, .. } =
            self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(done.len(), begun, "a run of a chunk has no records");
        let mut records = Records::new(self.command.entries.next_index());
        for Done { records: of_run, early } in done.into_values() {
            records.join(of_run);
            if let Some((part_number, from)) = early {
                parts.back_to(part_number, from);
                break;
            }
        }
        let (done, rest, spent) = parts.end();
        ((records, done, rest, spent), self.command)
    }
}
