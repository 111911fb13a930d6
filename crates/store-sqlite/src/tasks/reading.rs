//! Reading the records of a chunk of a get action, on a few readers in parallel. Each reader takes
//! the next run of entries, reads and packs its records, and comes back for another run; the runs
//! are then joined in their order. Each reader has a snapshot of its own: get actions read
//! committed data and promise no more. Invariant: the joined records are those of the entries from
//! the chunk's first one on, without a gap; records after a run that ended early are dropped, and
//! the next chunk reads them again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use caseload_store::tasks::{ChunkBlocks, PlannedChunk, READ_BYTES_MAX, Records, read_slice};
use caseload_store::{ApplyChunk, ChunkEntries, StoreError};
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::Fault;
use crate::engine::{Engine, WriteContext};
use crate::tx::DomainTx;

/// Readers that one chunk has at most.
const READERS_MAX: usize = 4;
/// Entries of a run at most, and of the first runs, which show how long records are.
const RUN_ENTRIES: usize = 500;
const FIRST_RUN_ENTRIES: usize = 50;
/// Bytes of records that a run is planned to have, and after which it ends early.
const RUN_BYTES: usize = 1 << 20;
const RUN_BYTES_MAX: usize = 4 << 20;
/// Entries that are read between two looks at the bytes of a run.
const STEP_ENTRIES: usize = 50;
/// Entries that the writer reads at a time: each may cost a read of the disk.
const WRITER_ENTRIES: usize = 200;

/// The records of a get action, as much as one chunk may hold.
pub(super) async fn read_chunk(
    engine: &Engine,
    command: ApplyChunk,
) -> Result<(PlannedChunk, ApplyChunk), Fault> {
    let reading = Arc::new(Reading::begin(command)?);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runs = reading.command.entries.work.len().div_ceil(RUN_ENTRIES);
    let (work, domain) = (reading.clone(), reading.command.domain);
    engine
        .readers()
        .read_side_by_side(domain, cores.min(runs).min(READERS_MAX), move |conn| {
            work.read_runs(conn)
        })
        .await?;
    let reading = Arc::into_inner(reading)
        .ok_or_else(|| StoreError::Unavailable("a reader did not end".to_owned()))?;
    Ok(reading.join()?)
}

/// The same, on the writer while no other command wants it: its page cache has the pages that were
/// written last, which a reader would read from the file again.
pub(super) fn read_on_writer(
    tx: DomainTx<'_>,
    context: &WriteContext<'_>,
    command: &ApplyChunk,
) -> Result<PlannedChunk, StoreError> {
    let mut entries = ChunkBlocks::begin(command)?;
    let mut records = Records::new(entries.next_index());
    let mut read = 0;
    loop {
        let bytes_each = records.line_bytes().checked_div(read);
        let slice = entries.slice(run_entries(bytes_each).min(WRITER_ENTRIES));
        records.expect((entries.work().len() - slice.start) * bytes_each.unwrap_or(0));
        read += slice.len();
        read_slice(&tx, entries.part().1, slice, &mut records)?;
        if context.should_yield()
            || records.line_bytes() >= READ_BYTES_MAX
            || !entries.more(|| context.has_waiters())?
        {
            return PlannedChunk::new(records, entries);
        }
    }
}

/// The state that the readers of a chunk share.
struct Reading {
    command: ApplyChunk,
    state: Mutex<State>,
}

struct State {
    entries: ChunkBlocks,
    /// How many runs were begun.
    begun: usize,
    /// Entries that were read so far, and bytes of their records.
    read: usize,
    bytes: usize,
    stopped: bool,
    done: BTreeMap<usize, FinishedRun>,
}

/// Some entries of a block, for one reader.
struct Run {
    number: usize,
    part_number: usize,
    part: ChunkEntries,
    entries: Range<usize>,
    bytes_expected: usize,
}

/// The records of a run.
struct FinishedRun {
    records: Records,
    /// If it ended early: the number of the block, and the position in it.
    early: Option<(usize, usize)>,
}

impl Run {
    /// Reads the run, or the first part of it if its records are long.
    fn read(&self, tx: DomainTx<'_>) -> Result<FinishedRun, StoreError> {
        let Self { part, entries, .. } = self;
        let mut records = Records::new(part.index_before(entries.start));
        records.expect(self.bytes_expected);
        let mut at = entries.start;
        while at < entries.end && records.line_bytes() < RUN_BYTES_MAX {
            let step = at..entries.end.min(at + STEP_ENTRIES);
            at = step.end;
            read_slice(&tx, part, step, &mut records)?;
        }
        records.close_block()?;
        Ok(FinishedRun { records, early: (at < entries.end).then_some((self.part_number, at)) })
    }
}

/// How many entries a run has if the records so far had this many bytes each.
fn run_entries(bytes_each: Option<usize>) -> usize {
    bytes_each.map_or(FIRST_RUN_ENTRIES, |bytes| (RUN_BYTES / bytes.max(1)).clamp(1, RUN_ENTRIES))
}

impl Reading {
    fn begin(command: ApplyChunk) -> Result<Self, Fault> {
        let state = State {
            entries: ChunkBlocks::begin(&command)?,
            begun: 0,
            read: 0,
            bytes: 0,
            stopped: false,
            done: BTreeMap::new(),
        };
        Ok(Self { command, state: Mutex::new(state) })
    }

    /// Reads one run after another until none is left.
    fn read_runs(&self, conn: &Connection) -> Result<(), Fault> {
        let tx = DomainTx { conn, domain: self.command.domain };
        while let Some(run) = self.next_run()? {
            let done = run.read(tx).inspect_err(|_| self.state.lock().stopped = true)?;
            let mut state = self.state.lock();
            state.read += run.entries.len();
            state.bytes += done.records.line_bytes();
            state.stopped |= done.early.is_some();
            state.done.insert(run.number, done);
        }
        Ok(())
    }

    /// The next run.
    fn next_run(&self) -> Result<Option<Run>, Fault> {
        let mut state = self.state.lock();
        if state.stopped || state.bytes >= READ_BYTES_MAX || !state.entries.more(|| false)? {
            return Ok(None);
        }
        let bytes_each = state.bytes.checked_div(state.read);
        let entries = state.entries.slice(run_entries(bytes_each));
        let (part_number, part) = state.entries.part();
        let bytes_expected = entries.len() * bytes_each.unwrap_or(0) * 9 / 8;
        let part = part.clone();
        let run = Run { number: state.begun, part_number, part, entries, bytes_expected };
        state.begun += 1;
        Ok(Some(run))
    }

    /// The records of all runs up to the first that ended early.
    fn join(self) -> Result<(PlannedChunk, ApplyChunk), StoreError> {
        let State { mut entries, done, begun, .. } = self.state.into_inner();
        assert_eq!(done.len(), begun, "a run of a chunk has no records");
        let mut records = Records::new(self.command.entries.next_index());
        for FinishedRun { records: of_run, early } in done.into_values() {
            records.join(of_run);
            if let Some((part_number, from)) = early {
                entries.back_to(part_number, from);
                break;
            }
        }
        Ok((PlannedChunk::new(records, entries)?, self.command))
    }
}
