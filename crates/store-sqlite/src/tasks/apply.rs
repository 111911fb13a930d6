//! Applying a chunk: effects, records, counts and position in one transaction, and the
//! completion when nothing is left. Entries are planned in slices; between two slices a chunk
//! ends early when it has run for a while and another command waits. Get actions read on the
//! writer while nobody else wants it, because its page cache holds what was written last, and
//! which readers would have to read anew; otherwise they read beside it and only store their
//! records there. So does a dry run: it is planned from one snapshot, slice by slice, each on
//! what the ones before it would have left; it is one chunk, because nothing that it would have
//! left is there for the next one.

use std::ops::Range;

use caseload_model::record::ChunkRecords;
use caseload_model::task::{Action, Outcome, Task};
use caseload_model::time::UnixMillis;
use rusqlite::Connection;

use super::super::domains;
use super::super::engine::{Engine, Weight, WriteContext};
use super::super::issues::Import;
use super::super::profiles::{self, Change};
use super::end::complete;
use super::reading;
use super::records;
use super::row::{self, Held};
use crate::Fault;
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::parts::{Parts, misfit};
use caseload_store::records::Records;
use caseload_store::{ApplyChunk, ChunkApplied, ChunkEntries, ChunkWork, StoreError};

/// Entries that are planned and written at a time.
const SLICE_ENTRIES: usize = 1000;
/// Entries of a get action that are read at a time: each may cost a look at the disk.
const GET_ENTRIES: usize = 200;

/// What a chunk came to, and its parts, which nobody needs any more.
type Applied = (ChunkApplied, Vec<ChunkEntries>);
/// What was planned on a reader: records, number of entries, the part with entries left, and all
/// its parts, which nobody needs any more.
pub(super) type Planned = (Records, usize, Option<ChunkEntries>, Vec<ChunkEntries>);

pub(crate) async fn apply(engine: &Engine, command: ApplyChunk) -> Result<ChunkApplied, Fault> {
    let on_writer = if command.action.writes() { !command.dry_run } else { engine.is_idle() };
    let (applied, spent) = if on_writer {
        let written = engine.write_weighing(Weight::Long, move |conn, context| {
            let applied = write_chunk(conn, &command, context)?;
            note_end(&applied.0, command.now, context);
            Ok((applied, command))
        });
        let ((applied, spent), command) = written.await?;
        (applied, (spent, command))
    } else {
        let (planned, command) = if command.action.writes() {
            // All of a task in one go: it takes as long as it takes.
            engine.read_within(None, move |conn| Ok((dry_run(conn, &command)?, command))).await?
        } else {
            reading::read_chunk(engine, command).await?
        };
        let weight = Weight::of_bytes(planned.0.packed_bytes());
        let keep = move |conn: &Connection, context: &WriteContext<'_>| {
            keep_planned(conn, planned, command, context)
        };
        engine.write_weighing(weight, keep).await?
    };
    // Thousands of entries: neither the writer nor who waits for this answer is kept by them.
    drop(tokio::task::spawn_blocking(move || drop(spent)));
    Ok(applied)
}

/// Stores what was planned on a reader.
fn keep_planned(
    conn: &Connection,
    (mut records, done, rest, spent): Planned,
    command: ApplyChunk,
    context: &WriteContext<'_>,
) -> Result<(ChunkApplied, (Vec<ChunkEntries>, ApplyChunk)), Fault> {
    let mut held = held(conn, &command)?;
    let applied = if held.cancelled {
        stop(conn, &command, &mut held)?
    } else {
        let task = finish(conn, &command, held, &mut records)?;
        ChunkApplied { task, done, rest }
    };
    note_end(&applied, command.now, context);
    Ok((applied, (spent, command)))
}

/// Where a task completed, the domain's next writing task may begin.
fn note_end(applied: &ChunkApplied, now: UnixMillis, context: &WriteContext<'_>) {
    if applied.task.outcome.is_some() {
        context.made_runnable(now);
    }
}

/// The task, where this chunk is its next one and comes from the holder of its lease.
fn held(conn: &Connection, command: &ApplyChunk) -> Result<Held, Fault> {
    domains::demand(conn, command.domain).map_err(|_| StoreError::LeaseLost)?;
    let held = row::held(conn, command.domain, &command.task_id, command.lease_epoch)?;
    if held.task.action != command.action || held.task.dry_run != command.dry_run {
        return Err(misfit(&command.task_id).into());
    }
    if Parts::begin(command)?.next_index() < held.next_index {
        // These entries were applied before: whoever sends them again works from an old state.
        return Err(StoreError::LeaseLost.into());
    }
    Ok(held)
}

/// What the slices of one chunk share, of whatever action it is.
struct Changes {
    profiles: Change,
    issues: Import,
}

/// Entries of a dry run to plan at a time. An import is planned at once: its slices do not know of
/// each other what is not stored.
const fn slice_entries(command: &ApplyChunk) -> usize {
    match command.action {
        Action::ImportIssues => usize::MAX,
        _ => SLICE_ENTRIES,
    }
}

fn write_chunk(
    conn: &Connection,
    command: &ApplyChunk,
    context: &WriteContext<'_>,
) -> Result<Applied, Fault> {
    let mut held = held(conn, command)?;
    if held.cancelled {
        return Ok((stop(conn, command, &mut held)?, Vec::new()));
    }
    let mut parts = Parts::begin(command)?;
    let mut records = Records::new(parts.next_index());
    let mut changes = Changes { profiles: Change::new(command), issues: Import::new(command) };
    loop {
        if command.action.writes() {
            let slice = parts.slice(SLICE_ENTRIES);
            let added = write_slice(conn, &parts, &mut changes, slice)?;
            records.add(added, parts.next_index())?;
        } else {
            let bytes_each = records.line_bytes().checked_div(parts.done());
            let slice = parts.slice(reading::run_entries(bytes_each).min(GET_ENTRIES));
            let left = parts.work().len() - slice.start;
            records.expect(left * bytes_each.unwrap_or(0));
            reading::add(conn, command.domain, parts.part().1, slice, &mut records)?;
        }
        if context.should_yield()
            || records.line_bytes() >= reading::READ_BYTES_MAX
            || !parts.more(|| context.is_waited_for())?
        {
            break;
        }
    }
    changes.profiles.finish(conn)?;
    changes.issues.finish(conn)?;
    let (done, rest, spent) = parts.end();
    let task = finish(conn, command, held, &mut records)?;
    Ok((ChunkApplied { task, done, rest }, spent))
}

fn write_slice(
    conn: &Connection,
    parts: &Parts,
    changes: &mut Changes,
    slice: Range<usize>,
) -> Result<ChunkRecords, Fault> {
    let payload = parts.payload();
    let change = &mut changes.profiles;
    let count = slice.len();
    let records = match parts.work() {
        ChunkWork::CreateCoreProfiles(entries) => {
            profiles::create(conn, change, payload, &entries[slice])
        }
        ChunkWork::UpdateCoreProfiles(entries) => {
            profiles::update_core(conn, change, payload, &entries[slice])
        }
        ChunkWork::UpdateAppProfiles(entries) => {
            profiles::update_app(conn, change, payload, &entries[slice])
        }
        ChunkWork::ImportIssues(_) => changes.issues.import(conn, parts.part().1, slice),
        ChunkWork::GetCoreProfiles(_) | ChunkWork::GetAppProfiles(_) => {
            Err(StoreError::Corrupt("a get action on the writer".to_owned()).into())
        }
    }?;
    assert_each_entry_has_a_record(records.succeeded + records.failed, count);
    Ok(records)
}

/// The records of a dry run, from the snapshot that `conn` is in.
fn dry_run(conn: &Connection, command: &ApplyChunk) -> Result<Planned, Fault> {
    let mut parts = Parts::begin(command)?;
    let mut records = Records::new(parts.next_index());
    let mut changes = Changes { profiles: Change::new(command), issues: Import::new(command) };
    loop {
        let slice = parts.slice(slice_entries(command));
        let added = write_slice(conn, &parts, &mut changes, slice)?;
        records.add(added, parts.next_index())?;
        if !parts.more(|| false)? {
            break;
        }
    }
    let (done, rest, spent) = parts.end();
    records.close_block()?;
    Ok((records, done, rest, spent))
}

/// Ends a task whose end was asked for, instead of applying more of it.
fn stop(conn: &Connection, command: &ApplyChunk, held: &mut Held) -> Result<ChunkApplied, Fault> {
    complete(conn, held, Outcome::Cancelled, command.now)?;
    row::keep(conn, held)?;
    Ok(ChunkApplied { task: held.task.clone(), done: 0, rest: None })
}

/// Stores records, counts and position, and completes the task when nothing is left of it. Whether
/// its end was asked for is looked at before each chunk: no chunk is undone for it.
fn finish(
    conn: &Connection,
    command: &ApplyChunk,
    mut held: Held,
    records: &mut Records,
) -> Result<Task, Fault> {
    failpoint::reached(Failpoint::ChunkAfterEffects);
    records.close_block()?;
    records::keep(conn, records, command.domain, &command.task_id)?;
    let (succeeded, failed) = records.counts();
    let counts = held.task.counts.after_chunk(succeeded, failed);
    held.task.counts = counts;
    held.next_index = records.next_index();
    if counts.unprocessed == 0 {
        complete(conn, &mut held, Task::outcome_by_counts(&counts), command.now)?;
    }
    row::keep(conn, &held)?;
    failpoint::reached(Failpoint::ChunkBeforeCommit);
    Ok(held.task)
}

pub(super) fn assert_each_entry_has_a_record(records: u32, entries: usize) {
    assert_eq!(records as usize, entries, "a plan does not answer each entry once");
}
