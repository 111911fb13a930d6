//! Applying a chunk: effects, records, counts and position in one transaction, and the completion
//! when nothing is left. The task's row in the queue is locked first: a server that lost its lease
//! finds another epoch there and commits nothing. Get actions and dry runs read from one snapshot
//! and only store their records afterwards. All of it runs on a thread of its own, because
//! planning, packing and waiting for parts block. A chunk that the database undid is tried again
//! with the same parts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::record::ChunkRecords;
use caseload_model::task::{Action, Outcome, Task};
use tokio::runtime::Handle;
use tokio::try_join;
use tokio_postgres::types::ToSql;

use super::super::domains::DEMAND;
use super::super::engine::{Client, Engine, TRIES_MAX, too_many_conflicts};
use super::super::issues::Import;
use super::super::profiles::{self, CLOCK, Change};
use super::end::complete;
use super::records;
use super::row::{self, Held};
use caseload_store::parts::{Parts, misfit};
use caseload_store::records::Records;
use caseload_store::{ApplyChunk, ChunkApplied, ChunkEntries, ChunkWork, StoreError};

/// Entries that are planned and written at a time.
const SLICE_ENTRIES: usize = 2000;
/// Entries that a get action reads at a time, and bytes of records after which its chunk ends.
const READ_SLICE_ENTRIES: usize = 200;
const READ_BYTES_MAX: usize = 16 << 20;
/// How long a chunk goes on to take further slices. Nobody waits for one of profiles but who wants
/// to end its task. Every writer of the domain waits for one of issues: where one does, it ends
/// after the first of these, and otherwise goes on for longer, because what each chunk writes once
/// is much and grows less than its issues do.
const PROFILES_MAX: Duration = Duration::from_millis(500);
const ISSUES_WAITED_FOR_MAX: Duration = Duration::from_millis(30);
const ISSUES_MAX: Duration = Duration::from_secs(1);
/// Bytes of payload blocks of a chunk of issues, which are held until it is committed.
const ISSUES_BYTES_MAX: usize = 32 << 20;
/// How long a chunk of issues waits for its next part: it keeps nobody but writers of its domain,
/// and a chunk more costs more than that.
const ISSUES_WAIT_MAX: Duration = Duration::from_millis(50);

/// What was planned from a snapshot.
struct Planned {
    records: Records,
    done: usize,
    rest: Option<ChunkEntries>,
    taken: Vec<ChunkEntries>,
}

pub(crate) async fn apply(
    engine: &Arc<Engine>,
    command: ApplyChunk,
) -> Result<ChunkApplied, StoreError> {
    let (engine, runtime) = (Arc::clone(engine), Handle::current());
    let applying = tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            let (applied, taken) = if command.action.writes() && !command.dry_run {
                write(&engine, &command).await?
            } else {
                read_and_keep(&engine, &command).await?
            };
            Ok((applied, (taken, command)))
        })
    });
    let applied = applying.await.unwrap_or_else(|e| {
        Err(StoreError::Unavailable(format!("a chunk panicked and was undone: {e}")))
    });
    let (applied, spent) = applied?;
    // Thousands of entries: who waits for this answer is not kept by them.
    drop(tokio::task::spawn_blocking(move || drop(spent)));
    Ok(applied)
}

/// What a try of a chunk works on.
struct Try<'c> {
    command: &'c ApplyChunk,
    parts: Parts,
}

async fn write(
    engine: &Engine,
    command: &ApplyChunk,
) -> Result<(ChunkApplied, Vec<ChunkEntries>), StoreError> {
    let mut parts = Parts::begin(command)?;
    for _ in 0..TRIES_MAX {
        let mut one = Try { command, parts: bounded(parts, command.action) };
        let written =
            engine.write_once(&mut one, |client, one| Box::pin(write_chunk(client, one))).await;
        let (done, rest, taken) = one.parts.end();
        match written {
            Ok(Written::Applied(task)) => return Ok((ChunkApplied { task, done, rest }, taken)),
            Ok(Written::Stopped(task)) => {
                return Ok((ChunkApplied { task, done: 0, rest: None }, taken));
            }
            Err(StoreError::Contended) => parts = Parts::begin_again(command, taken)?,
            Err(fault) => return Err(fault),
        }
    }
    Err(too_many_conflicts())
}

/// Parts as far as a chunk of the action takes them.
fn bounded(parts: Parts, action: Action) -> Parts {
    match action {
        Action::ImportIssues => parts.within(ISSUES_BYTES_MAX, ISSUES_WAIT_MAX),
        _ => parts,
    }
}

/// The task after a chunk.
enum Written {
    Applied(Task),
    /// Its end was asked for: nothing of the chunk was applied.
    Stopped(Task),
}

async fn write_chunk(client: &Client, one: &mut Try<'_>) -> Result<Written, StoreError> {
    let Try { command, parts } = one;
    let (mut held, mut profiles) = begin(client, command).await?;
    if held.cancelled {
        return stop(client, command, &mut held).await;
    }
    let mut issues = Import::new(client, command);
    let mut records = Records::new(parts.next_index());
    let begun = Instant::now();
    let until = begun + longest(command.action);
    loop {
        let added = plan_slice(client, parts, &mut profiles, &mut issues, SLICE_ENTRIES).await?;
        records.add(added, parts.next_index())?;
        let may_wait =
            command.action == Action::ImportIssues && begun.elapsed() >= ISSUES_WAITED_FOR_MAX;
        if Instant::now() >= until
            || (may_wait && issues.is_waited_for().await?)
            || !parts.more(|| Instant::now() >= until)?
        {
            break;
        }
    }
    records.close_block()?;
    let ((), task) = try_join!(issues.finish(), finish(client, command, held, &records))?;
    // Last of all: it locks the domain's clock.
    profiles.finish(client).await?;
    Ok(Written::Applied(task))
}

const fn longest(action: Action) -> Duration {
    match action {
        Action::ImportIssues => ISSUES_MAX,
        _ => PROFILES_MAX,
    }
}

/// The task, where this chunk is its next one and comes from the holder of its lease. Locks it, and
/// keeps its domain from being removed.
async fn begin(client: &Client, command: &ApplyChunk) -> Result<(Held, Change), StoreError> {
    let (domain, id) = (command.domain, command.task_id.as_bytes());
    let (of_task, of_domain): ([&(dyn ToSql + Sync); 2], [&(dyn ToSql + Sync); 1]) =
        ([&domain.0, &id], [&domain.0]);
    let lock = client.prepare(row::LOCK_LEASE).await?;
    let demand = client.prepare(DEMAND).await?;
    let select = client.prepare(&row::select_held()).await?;
    let clock = client.prepare(CLOCK).await?;
    // Sent at once, run one after the other: what follows the lock sees what it waited for.
    let (lease, there, found, clock) = try_join!(
        client.prepared_row_opt(&lock, &of_task),
        client.prepared_row_opt(&demand, &of_domain),
        client.prepared_row_opt(&select, &of_task),
        client.prepared_row_opt(&clock, &of_domain),
    )?;
    let lease = row::lease(lease.as_ref()).filter(|lease| lease.is_current(command.lease_epoch));
    let (Some(_), Some(_), Some(found), Some(clock)) = (lease, there, found, clock) else {
        return Err(StoreError::LeaseLost);
    };
    let held = row::held_row(domain, &found)?;
    if held.task.action != command.action || held.task.dry_run != command.dry_run {
        return Err(misfit(&command.task_id));
    }
    if Parts::begin(command)?.next_index() < held.next_index {
        // These entries were applied before: whoever sends them again works from an old state.
        return Err(StoreError::LeaseLost);
    }
    Ok((held, Change::new(command, &clock)))
}

/// Plans the next entries, and writes what they come to unless it is a dry run.
async fn plan_slice(
    client: &Client,
    parts: &mut Parts,
    change: &mut Change,
    issues: &mut Import<'_>,
    entries_max: usize,
) -> Result<ChunkRecords, StoreError> {
    let slice = parts.slice(entries_max);
    let (count, payload) = (slice.len(), parts.payload());
    let records = match parts.work() {
        ChunkWork::CreateCoreProfiles(entries) => {
            profiles::create(client, change, payload, &entries[slice]).await
        }
        ChunkWork::UpdateCoreProfiles(entries) => {
            profiles::update_core(client, change, payload, &entries[slice]).await
        }
        ChunkWork::UpdateAppProfiles(entries) => {
            profiles::update_app(client, change, payload, &entries[slice]).await
        }
        ChunkWork::ImportIssues(entries) => issues.import(payload, &entries[slice]).await,
        ChunkWork::GetCoreProfiles(_) | ChunkWork::GetAppProfiles(_) => {
            Err(StoreError::Corrupt("a get action that writes".to_owned()))
        }
    }?;
    assert_each_entry_has_a_record(records.succeeded + records.failed, count);
    Ok(records)
}

/// Plans from a snapshot, and stores the records.
async fn read_and_keep(
    engine: &Engine,
    command: &ApplyChunk,
) -> Result<(ChunkApplied, Vec<ChunkEntries>), StoreError> {
    let planned = if command.action.writes() {
        // All of a task in one go: it takes as long as it takes.
        engine
            .read_at_leisure(command, |client, command| Box::pin(dry_run(client, command)))
            .await?
    } else {
        engine.read(None, command, |client, command| Box::pin(read_chunk(client, command))).await?
    };
    let Planned { records, done, rest, taken } = planned;
    let kept = engine.write((command, records), |client, (command, records)| {
        Box::pin(async move {
            let (mut held, _) = begin(client, command).await?;
            if held.cancelled {
                return stop(client, command, &mut held).await;
            }
            finish(client, command, held, records).await.map(Written::Applied)
        })
    });
    Ok(match kept.await? {
        Written::Applied(task) => (ChunkApplied { task, done, rest }, taken),
        Written::Stopped(task) => (ChunkApplied { task, done: 0, rest: None }, taken),
    })
}

/// The records of a get action, as much as one chunk may hold.
async fn read_chunk(client: &Client, command: &ApplyChunk) -> Result<Planned, StoreError> {
    let mut parts = Parts::begin(command)?;
    let mut records = Records::new(parts.next_index());
    loop {
        let slice = parts.slice(READ_SLICE_ENTRIES);
        let (domain, count, payload) = (command.domain, slice.len(), parts.payload());
        let open = records.open();
        let before = open.succeeded + open.failed;
        match parts.work() {
            ChunkWork::GetCoreProfiles(entries) => {
                profiles::get_core(client, domain, payload, &entries[slice], open).await?;
            }
            ChunkWork::GetAppProfiles(entries) => {
                profiles::get_app(client, domain, payload, &entries[slice], open).await?;
            }
            _ => return Err(StoreError::Corrupt("a writing action that reads".to_owned())),
        }
        assert_each_entry_has_a_record(open.succeeded + open.failed - before, count);
        records.added(parts.next_index())?;
        if records.line_bytes() >= READ_BYTES_MAX || !parts.more(|| false)? {
            break;
        }
    }
    planned(parts, records)
}

/// The records of a dry run, from the snapshot that the transaction is in.
async fn dry_run(client: &Client, command: &ApplyChunk) -> Result<Planned, StoreError> {
    let mut parts = Parts::begin(command)?;
    let mut records = Records::new(parts.next_index());
    let clock = client.row_opt(CLOCK, &[&command.domain.0]).await?;
    let mut profiles = Change::new(command, &clock.ok_or(StoreError::LeaseLost)?);
    let mut issues = Import::new(client, command);
    // An import is planned at once: its slices do not know of each other what is not stored.
    let at_once = if command.action == Action::ImportIssues { usize::MAX } else { SLICE_ENTRIES };
    loop {
        let added = plan_slice(client, &mut parts, &mut profiles, &mut issues, at_once).await?;
        records.add(added, parts.next_index())?;
        if !parts.more(|| false)? {
            break;
        }
    }
    planned(parts, records)
}

fn planned(parts: Parts, mut records: Records) -> Result<Planned, StoreError> {
    records.close_block()?;
    let (done, rest, taken) = parts.end();
    Ok(Planned { records, done, rest, taken })
}

/// Ends a task whose end was asked for, instead of applying more of it.
async fn stop(
    client: &Client,
    command: &ApplyChunk,
    held: &mut Held,
) -> Result<Written, StoreError> {
    complete(client, held, Outcome::Cancelled, command.now).await?;
    row::keep(client, held).await?;
    Ok(Written::Stopped(held.task.clone()))
}

/// Stores records, counts and position, and completes the task when nothing is left of it. Whether
/// its end was asked for is looked at before each chunk: no chunk is undone for it.
async fn finish(
    client: &Client,
    command: &ApplyChunk,
    mut held: Held,
    records: &Records,
) -> Result<Task, StoreError> {
    records::keep(client, records, command.domain, &command.task_id).await?;
    let (succeeded, failed) = records.counts();
    let counts = held.task.counts.after_chunk(succeeded, failed);
    held.task.counts = counts;
    held.next_index = records.next_index();
    if counts.unprocessed == 0 {
        complete(client, &mut held, Task::outcome_by_counts(&counts), command.now).await?;
    }
    row::keep(client, &held).await?;
    Ok(held.task)
}

fn assert_each_entry_has_a_record(records: u32, entries: usize) {
    assert_eq!(records as usize, entries, "a plan does not answer each entry once");
}
