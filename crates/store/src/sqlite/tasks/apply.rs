//! Applying a chunk: effects, records, counts and position in one transaction, and the completion
//! when nothing is left. Entries are planned in slices; between two slices a chunk ends early when
//! it has run for a while and another command waits. Get actions read beside the writer and only
//! store their records there. So does a dry run: it is planned from one snapshot, slice by slice,
//! each on what the ones before it would have left; it is one chunk, because nothing that it would
//! have left is there for the next one.

use std::ops::Range;
use std::sync::Arc;

use caseload_model::record::ChunkRecords;
use caseload_model::task::{Action, Outcome, Task};
use rusqlite::Connection;

use super::super::domains;
use super::super::engine::{Engine, WriteContext};
use super::super::issues::Import;
use super::super::kill::{self, Place};
use super::super::profiles::{self, Change};
use super::end::complete;
use super::records::Records;
use super::row::{self, Held};
use crate::{ApplyChunk, ChunkApplied, ChunkWork, StoreError};

/// Entries that are planned and written at a time.
const SLICE_ENTRIES: usize = 500;
/// Entries that a get action reads at a time, and bytes of records after which its chunk ends.
const READ_SLICE_ENTRIES: usize = 100;
const READ_BYTES_MAX: usize = 16 << 20;

pub(in crate::sqlite) async fn apply(
    engine: &Engine,
    command: ApplyChunk,
) -> Result<ChunkApplied, StoreError> {
    if command.action.writes() && !command.dry_run {
        return engine.write(move |conn, context| write_chunk(conn, &command, context)).await;
    }
    let command = Arc::new(command);
    let reading = command.clone();
    let (records, done) = if command.action.writes() {
        // All of a task in one go: it takes as long as it takes.
        engine.read_within(None, move |conn| dry_run(conn, &reading)).await?
    } else {
        engine.read(move |conn| read_chunk(conn, &reading)).await?
    };
    engine
        .write(move |conn, _| {
            let mut held = held(conn, &command)?;
            if held.cancelled {
                return stop(conn, &command, &mut held);
            }
            let task = finish(conn, &command, held, &records)?;
            Ok(ChunkApplied { task, done })
        })
        .await
}

/// The task, where this chunk is its next one and comes from the holder of its lease.
fn held(conn: &Connection, command: &ApplyChunk) -> Result<Held, StoreError> {
    domains::demand(conn, command.domain).map_err(|_| StoreError::LeaseLost)?;
    let held = row::held(conn, command.domain, &command.task_id, command.lease_epoch)?;
    let fits = work_fits(command.action, &command.work)
        && held.task.action == command.action
        && held.task.dry_run == command.dry_run;
    if !fits || command.from >= command.work.len() {
        return Err(StoreError::Corrupt(format!(
            "a chunk of task {} is not what the task asks for",
            command.task_id
        )));
    }
    if entry_index(&command.work, command.from) < held.next_index {
        // These entries were applied before: whoever sends them again works from an old state.
        return Err(StoreError::LeaseLost);
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
fn slice_entries(command: &ApplyChunk) -> usize {
    match command.action {
        Action::ImportIssues => command.work.len(),
        _ => SLICE_ENTRIES,
    }
}

fn write_chunk(
    conn: &Connection,
    command: &ApplyChunk,
    context: &WriteContext<'_>,
) -> Result<ChunkApplied, StoreError> {
    let mut held = held(conn, command)?;
    if held.cancelled {
        return stop(conn, command, &mut held);
    }
    let mut records = Records::new(entry_index(&command.work, command.from));
    let mut changes = Changes { profiles: Change::new(command), issues: Import::new(command) };
    let mut at = command.from;
    while at < command.work.len() {
        let slice = at..command.work.len().min(at + SLICE_ENTRIES);
        at = slice.end;
        let next_index = entry_index(&command.work, at - 1) + 1;
        let added = write_slice(conn, command, &mut changes, slice)?;
        records.add(added, next_index)?;
        if context.should_yield() {
            break;
        }
    }
    changes.profiles.finish(conn)?;
    changes.issues.finish(conn)?;
    records.close_block()?;
    let task = finish(conn, command, held, &records)?;
    Ok(ChunkApplied { task, done: at - command.from })
}

fn write_slice(
    conn: &Connection,
    command: &ApplyChunk,
    changes: &mut Changes,
    slice: Range<usize>,
) -> Result<ChunkRecords, StoreError> {
    let payload = &command.block.bytes;
    let change = &mut changes.profiles;
    let records = match &*command.work {
        ChunkWork::CreateCoreProfiles(entries) => {
            profiles::create(conn, change, payload, &entries[slice.clone()])
        }
        ChunkWork::UpdateCoreProfiles(entries) => {
            profiles::update_core(conn, change, payload, &entries[slice.clone()])
        }
        ChunkWork::UpdateAppProfiles(entries) => {
            profiles::update_app(conn, change, payload, &entries[slice.clone()])
        }
        ChunkWork::ImportIssues(entries) => {
            changes.issues.import(conn, payload, &entries[slice.clone()])
        }
        ChunkWork::GetCoreProfiles(_) | ChunkWork::GetAppProfiles(_) => {
            Err(StoreError::Corrupt("a get action on the writer".to_owned()))
        }
    }?;
    assert_each_entry_has_a_record(&records, slice.len());
    Ok(records)
}

/// The records of a get action, as much as one chunk may hold, with the number of its entries.
fn read_chunk(conn: &Connection, command: &ApplyChunk) -> Result<(Records, usize), StoreError> {
    let payload = &command.block.bytes;
    if command.from >= command.work.len() {
        return Err(StoreError::Corrupt("a chunk without entries".to_owned()));
    }
    let mut records = Records::new(entry_index(&command.work, command.from));
    let mut at = command.from;
    while at < command.work.len() && records.bytes() < READ_BYTES_MAX {
        let slice = at..command.work.len().min(at + READ_SLICE_ENTRIES);
        at = slice.end;
        let count = slice.len();
        let added = match &*command.work {
            ChunkWork::GetCoreProfiles(entries) => {
                profiles::get_core(conn, command.domain, payload, &entries[slice])?
            }
            ChunkWork::GetAppProfiles(entries) => {
                profiles::get_app(conn, command.domain, payload, &entries[slice])?
            }
            _ => return Err(StoreError::Corrupt("a writing action on a reader".to_owned())),
        };
        assert_each_entry_has_a_record(&added, count);
        records.add(added, entry_index(&command.work, at - 1) + 1)?;
    }
    records.close_block()?;
    Ok((records, at - command.from))
}

/// The records of a dry run, from the snapshot that `conn` is in.
fn dry_run(conn: &Connection, command: &ApplyChunk) -> Result<(Records, usize), StoreError> {
    if command.from >= command.work.len() {
        return Err(StoreError::Corrupt("a chunk without entries".to_owned()));
    }
    let mut records = Records::new(entry_index(&command.work, command.from));
    let mut changes = Changes { profiles: Change::new(command), issues: Import::new(command) };
    let mut at = command.from;
    while at < command.work.len() {
        let slice = at..command.work.len().min(at + slice_entries(command));
        at = slice.end;
        let added = write_slice(conn, command, &mut changes, slice)?;
        records.add(added, entry_index(&command.work, at - 1) + 1)?;
    }
    records.close_block()?;
    Ok((records, at - command.from))
}

/// Ends a task whose end was asked for, instead of applying more of it.
fn stop(
    conn: &Connection,
    command: &ApplyChunk,
    held: &mut Held,
) -> Result<ChunkApplied, StoreError> {
    complete(conn, held, Outcome::Cancelled, command.now)?;
    row::keep(conn, held)?;
    Ok(ChunkApplied { task: held.task.clone(), done: 0 })
}

/// Stores records, counts and position, and completes the task when nothing is left of it. Whether
/// its end was asked for is looked at before each chunk: no chunk is undone for it.
fn finish(
    conn: &Connection,
    command: &ApplyChunk,
    mut held: Held,
    records: &Records,
) -> Result<Task, StoreError> {
    kill::reached(Place::Effects);
    records.keep(conn, command.domain, &command.task_id)?;
    let (succeeded, failed) = records.counts();
    let counts = held.task.counts.after_chunk(succeeded, failed);
    held.task.counts = counts;
    held.next_index = records.next_index();
    if counts.unprocessed == 0 {
        complete(conn, &mut held, Task::outcome_by_counts(&counts), command.now)?;
    }
    row::keep(conn, &held)?;
    kill::reached(Place::Recorded);
    Ok(held.task)
}

fn assert_each_entry_has_a_record(records: &ChunkRecords, entries: usize) {
    let count = records.succeeded as usize + records.failed as usize;
    assert_eq!(count, entries, "a plan does not answer each entry once");
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
