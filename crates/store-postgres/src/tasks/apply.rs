//! The transaction of a chunk on PostgreSQL. It runs on a thread of its own, because planning,
//! packing and waiting for blocks block. A server that lost its lease finds another epoch in the
//! task's locked row and commits nothing. A chunk that the database undid is tried again with the
//! same blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::task::{Action, Family};
use caseload_store::checksum;
use caseload_store::erasure::{Prepared, Searched, prepare};
use caseload_store::profiles::ProfileClock;
use caseload_store::tasks::{
    CHUNK_WORK_MAX, ChunkBlocks, ChunkEnd, ChunkStart, ChunkStore, PackedRecords, PlannedChunk,
    kind_code, plan_dry_run, read_chunk, store_planned, write_chunk,
};
use caseload_store::{ApplyChunk, ChunkApplied, StoreError, values};
use parking_lot::Mutex;
use tokio::join;
use tokio_postgres::types::ToSql;

use super::statements::{lock, locked, save, select};
use crate::domains::LOCK_DOMAIN;
use crate::engine::{
    BlockingClient, Client, CopyRows, Engine, Nodes, READ_BUDGET, first_cause, store_error,
};
use crate::issues::Import;
use crate::profiles::{self, ADVANCE, CLOCK};
use crate::tx::DomainTx;

/// How long a chunk takes further slices. Only a caller that cancels the task waits for a chunk of
/// profiles. Every writer of the domain waits for a chunk of issues: it ends after the first of
/// these times if a writer waits. If none waits it goes on, because the fixed cost of a chunk is
/// high and grows less than its number of issues.
const PROFILES_MAX: Duration = Duration::from_millis(500);
const ISSUES_WAITED_FOR_MAX: Duration = Duration::from_millis(30);
const ISSUES_MAX: Duration = Duration::from_secs(1);
/// Bytes of payload blocks of a chunk of issues, which are held until it is committed.
const ISSUES_BYTES_MAX: usize = 32 << 20;
/// How long a chunk of issues waits for its next block: only writers of its domain wait with it,
/// and one more chunk costs more than that.
const ISSUES_WAIT_MAX: Duration = Duration::from_millis(50);

/// Waits until the task that wrote to the domain before has ended on the domain's node, too: its
/// changes may become visible there a moment after it has left the queue.
const EARLIER: &str =
    "SELECT 1 FROM tasks WHERE domain_id = $1 AND status = 3 AND writes FOR UPDATE";
const RECORDS: &str =
    "record_blocks (domain_id, task_id, kind, first_index, next_index, lines, bytes, checksum)";

pub(crate) async fn apply(
    engine: &Engine,
    command: ApplyChunk,
) -> Result<ChunkApplied, StoreError> {
    let command = Arc::new(command);
    if command.action.writes() && !command.dry_run {
        return write(engine, command).await;
    }
    let planned = Arc::new(plan(engine, &command).await?);
    let (work, chunk) = (command.clone(), planned.clone());
    let applied = engine
        .write_blocking(move |db| {
            let mut tx = Chunk::new(db, &work);
            let applied = store_planned(&mut tx, &work, &chunk)?;
            tx.tx.end()?;
            Ok(applied)
        })
        .await?;
    drop_aside((planned, command));
    Ok(applied)
}

async fn write(engine: &Engine, command: Arc<ApplyChunk>) -> Result<ChunkApplied, StoreError> {
    // The blocks that a try took from the feed: the next try begins with them.
    let taken = Arc::new(Mutex::new(Vec::new()));
    let (work, blocks) = (command.clone(), taken.clone());
    let searched = search_for_erasure(engine, &command).await?;
    let applied = engine.write_blocking(move |db| {
        let again = std::mem::take(&mut *blocks.lock());
        let mut entries = ChunkBlocks::begin_again(&work, again)?;
        if work.action == Action::ImportIssues {
            entries = entries.within(ISSUES_BYTES_MAX, ISSUES_WAIT_MAX);
        }
        let mut chunk = Chunk::new(db, &work);
        let (applied, all) = write_chunk(&mut chunk, &work, entries, searched.as_deref());
        *blocks.lock() = all;
        let applied = applied?;
        chunk.tx.end()?;
        Ok(applied)
    });
    let applied = applied.await?;
    drop_aside((taken, command));
    Ok(applied)
}

/// The search before the next step of an erasure.
async fn search_for_erasure(
    engine: &Engine,
    command: &Arc<ApplyChunk>,
) -> Result<Option<Box<Searched>>, StoreError> {
    if command.action != Action::ErasePerson {
        return Ok(None);
    }
    let work = command.clone();
    let read = engine.read_blocking_at_leisure(command.domain, move |db| {
        prepare(&DomainTx { db, domain: work.domain }, &work.task_id)
    });
    Ok(match read.await? {
        Prepared::Searched(searched) => Some(searched),
        Prepared::Nothing | Prepared::Ending => None,
    })
}

/// Plans from a snapshot.
async fn plan(engine: &Engine, command: &Arc<ApplyChunk>) -> Result<PlannedChunk, StoreError> {
    let (work, domain) = (command.clone(), command.domain);
    if command.action.writes() {
        // All of a task in one go: it takes as long as it takes.
        let plan = engine.read_blocking_at_leisure(domain, move |db| {
            let Chunk { tx, mut import, .. } = Chunk::new(db, &work);
            plan_dry_run(&tx, &mut import, &work)
        });
        return plan.await;
    }
    let read = move |db: &BlockingClient<'_>| read_chunk(&Chunk::new(db, &work).tx, &work);
    engine.read_blocking(domain, READ_BUDGET, false, move |db, _| read(db)).await
}

/// Thousands of entries: the caller does not wait until they are dropped.
fn drop_aside(spent: impl Send + 'static) {
    drop(tokio::task::spawn_blocking(move || drop(spent)));
}

/// The transaction of a chunk.
struct Chunk<'c> {
    tx: DomainTx<'c>,
    import: Import<'c>,
    action: Action,
    /// When the task was locked.
    begun: Instant,
}

impl<'c> Chunk<'c> {
    fn new(db: &'c BlockingClient<'c>, command: &ApplyChunk) -> Self {
        let tx = DomainTx { db, domain: command.domain };
        let import = Import::new(tx, command);
        Self { tx, import, action: command.action, begun: Instant::now() }
    }
}

impl<'c> ChunkStore for Chunk<'c> {
    type Statements = DomainTx<'c>;
    type Import = Import<'c>;

    const SLICE_ENTRIES: usize = 2000;

    fn statements(&self) -> DomainTx<'c> {
        self.tx
    }

    fn import(&mut self) -> &mut Import<'c> {
        &mut self.import
    }

    fn begin(&mut self, id: &str) -> Result<Option<ChunkStart>, StoreError> {
        let (client, domain, id) = (self.tx.client(), self.tx.domain.0, id.as_bytes());
        let (of_task, of_domain): ([&(dyn ToSql + Sync); 2], [&(dyn ToSql + Sync); 1]) =
            ([&domain, &id], [&domain]);
        let writes_profiles = self.action.writes() && self.action.family() == Family::Identity;
        let lock_profiles = if writes_profiles { profiles::IN_CHUNK } else { "" };
        let read_clock = format!("{CLOCK}{lock_profiles}");
        let (queued, there, found, clock) = self.tx.wait(async {
            let (lock, lock_domain) =
                (client.prepare(&lock()).await?, client.prepare(LOCK_DOMAIN).await?);
            let select = client.prepare(&select()).await?;
            let clock = client.prepare(&read_clock).await?;
            let earlier = match client.nodes() {
                Nodes::Many if self.action.writes() => Some(client.prepare(EARLIER).await?),
                _ => None,
            };
            let wait = async {
                let Some(earlier) = &earlier else { return Ok(Vec::new()) };
                client.prepared_rows(earlier, &of_domain).await
            };
            // Sent together, executed in this order: the reads see the state after the lock's wait.
            let (queued, there, waited, found, clock) = join!(
                client.prepared_row_opt(&lock, &of_task),
                client.prepared_row_opt(&lock_domain, &of_domain),
                wait,
                client.prepared_row_opt(&select, &of_task),
                client.prepared_row_opt(&clock, &of_domain),
            );
            // The first fault is the cause: after it, the transaction refuses the other statements.
            let (queued, there, _) = (queued?, there?, waited?);
            Ok((queued, there, found?, clock?))
        })?;
        self.begun = Instant::now();
        self.tx.db.limit_work(CHUNK_WORK_MAX);
        let (Some(_), Some(found), Some(clock)) = (there, found, clock) else { return Ok(None) };
        Ok(Some(ChunkStart {
            task: locked(&found, queued.as_ref())?,
            clock: profiles::clock(&clock)?,
        }))
    }

    fn should_end(&mut self) -> Result<bool, StoreError> {
        let may_wait =
            self.action == Action::ImportIssues && self.begun.elapsed() >= ISSUES_WAITED_FOR_MAX;
        Ok(self.should_not_wait()
            || self.import.is_upsert()
            || may_wait && self.import.has_waiters()?)
    }

    fn should_not_wait(&self) -> bool {
        let longest = match self.action {
            Action::ImportIssues => ISSUES_MAX,
            _ => PROFILES_MAX,
        };
        self.begun.elapsed() >= longest
    }

    fn finish(&mut self, end: &ChunkEnd<'_>) -> Result<(), StoreError> {
        let (tx, client, domain) = (self.tx, self.tx.client(), self.tx.domain.0);
        tx.wait(async {
            let answers = join!(
                self.import.finish(end.imported),
                copy_records(client, domain, &end.task.task.id, end.records),
                save(client, tx.domain, end.task),
            );
            first_cause(<[_; 3]>::from(answers))?;
            let Some(ProfileClock { last_id, last_change, .. }) = end.clock else { return Ok(()) };
            // Last of all: it locks the domain's clock.
            client.execute(ADVANCE, &[&domain, &last_id, &last_change.0]).await.map(drop)
        })
    }
}

async fn copy_records(
    client: &Client,
    domain: i64,
    task_id: &str,
    records: &[PackedRecords],
) -> Result<(), StoreError> {
    let mut rows = CopyRows::new();
    for PackedRecords { kind, first_index, next_index, lines, bytes } in records {
        let kind = kind_code(*kind);
        let row = values![domain, task_id, kind, first_index, next_index, lines, bytes];
        rows.row(8).add(domain).add(task_id).add(kind as i16);
        rows.add(*first_index as i32).add(*next_index as i32).add(*lines as i32);
        rows.add(&bytes[..]).add(checksum::of(row));
    }
    let copy = client.prepare_copy(RECORDS).await?;
    client.copy_rows(&copy, rows).await.map_err(store_error)
}
