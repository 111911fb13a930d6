//! Reading rows of tasks and of the queue. A row that the model cannot read is damage, never a task
//! with defaults. A task that is being changed is locked by its row in the queue, which goes first:
//! what is read of it after that is as its last change left it.

use caseload_model::ids::DomainId;
use caseload_model::task::{Action, Counts, Family, Outcome, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use tokio_postgres::Row;

use super::super::engine::Client;
use super::super::rows::{count, instant, optional_instant, text};
use caseload_store::StoreError;

/// The columns that [`task`] reads, in its order.
pub(crate) const COLUMNS: &str = "t.id, t.action, t.status, t.outcome, t.dry_run, \
     t.total, t.succeeded, t.failed, t.unprocessed, t.created_at, t.queued_at, t.started_at, \
     t.completed_at, t.expires_at, t.parent_id";
/// How many there are: what a query selects behind them begins here.
pub(crate) const COLUMNS_COUNT: usize = 15;
/// How many unfinished writing tasks of the domain come before a task that waits for its start.
/// Tasks that only read wait for none.
pub(super) const POSITION: &str = "CASE WHEN t.status >= 3 THEN NULL WHEN NOT t.writes THEN 0
     ELSE (SELECT count(*) FROM task_queue b WHERE b.domain_id = t.domain_id
     AND b.domain_id = $1 AND b.writes AND b.seq < t.seq) END";

/// A task, from a row that begins with [`COLUMNS`].
pub(crate) fn task(row: &Row) -> Result<Task, StoreError> {
    let outcome = row.get::<_, Option<i16>>(3);
    let has_parent = row.get::<_, Option<&[u8]>>(14).is_some();
    Ok(Task {
        id: text(row, 0)?,
        action: word(row.get(1), Action::from_code)?,
        status: word(row.get(2), TaskStatus::from_code)?,
        outcome: outcome.map(|code| word(code, Outcome::from_code)).transpose()?,
        dry_run: row.get(4),
        counts: Counts {
            total: count(row, 5),
            succeeded: count(row, 6),
            failed: count(row, 7),
            unprocessed: count(row, 8),
        },
        created_at: instant(row, 9),
        queued_at: optional_instant(row, 10),
        started_at: optional_instant(row, 11),
        completed_at: optional_instant(row, 12),
        expires_at: optional_instant(row, 13),
        parent_id: has_parent.then(|| text(row, 14)).transpose()?,
        position: None,
    })
}

/// A word stored under its number.
fn word<T>(code: i16, from_code: impl FnOnce(i64) -> Option<T>) -> Result<T, StoreError> {
    from_code(code.into())
        .ok_or_else(|| StoreError::Corrupt(format!("{code} stands for no word of a task")))
}

/// The number a word is stored under.
pub(super) fn code(code: i64) -> i16 {
    i16::try_from(code).expect("the words of tasks have small numbers")
}

/// The task of that id, where it belongs to the family, with its place in the queue.
pub(crate) async fn of_family(
    client: &Client,
    domain: DomainId,
    family: Family,
    id: &str,
) -> Result<Option<Task>, StoreError> {
    let select = format!(
        "SELECT {COLUMNS}, {POSITION} FROM tasks t
         WHERE t.domain_id = $1 AND t.id = $2 AND t.family = $3"
    );
    let found = client.row_opt(&select, &[&domain.0, &id.as_bytes(), &code(family.code())]).await?;
    found.as_ref().map(with_position).transpose()
}

/// A task, from a row of [`COLUMNS`] and [`POSITION`].
pub(super) fn with_position(row: &Row) -> Result<Task, StoreError> {
    let position: Option<i64> = row.get(COLUMNS_COUNT);
    Ok(Task { position: position.map(|tasks| tasks as u32), ..task(row)? })
}

/// Bytes of the database, and [`unfinished_by_lease`].
pub(crate) async fn sizes(client: &Client) -> Result<(u64, (u64, u64)), StoreError> {
    let size: i64 = client.row("SELECT pg_database_size(current_database())", &[]).await?.get(0);
    Ok((size.unsigned_abs(), unfinished_by_lease(client).await?))
}

/// Unfinished tasks of all domains: those that no server has, and those that one has.
async fn unfinished_by_lease(client: &Client) -> Result<(u64, u64), StoreError> {
    let counts = client
        .row(
            "SELECT count(*) - count(lease_server), count(lease_server) FROM task_queue
             WHERE domain_id IN (SELECT id FROM domains)",
            &[],
        )
        .await?;
    Ok((counts.get::<_, i64>(0).unsigned_abs(), counts.get::<_, i64>(1).unsigned_abs()))
}

/// A task with what only the store knows of it. Its queue row is locked where it has one.
pub(super) struct Held {
    pub(super) domain: DomainId,
    pub(super) task: Task,
    pub(super) next_index: u32,
    pub(super) attempts: u32,
    /// Whether its end was asked for.
    pub(super) cancelled: bool,
}

/// The lease on an unfinished task.
pub(super) struct Lease {
    pub(super) server: Option<String>,
    pub(super) epoch: i64,
    pub(super) until: UnixMillis,
}

impl Lease {
    /// Whether it is held, and of that epoch.
    pub(super) fn is_current(&self, epoch: i64) -> bool {
        self.server.is_some() && self.epoch == epoch
    }
}

/// Locks the queue row of a task, from its domain and its id.
pub(super) const LOCK_LEASE: &str = "SELECT lease_server, lease_epoch, lease_until FROM task_queue
                                     WHERE domain_id = $1 AND task_id = $2 FOR UPDATE";

/// From what [`LOCK_LEASE`] finds; `None` where the task is completed or not there.
pub(super) fn lease(found: Option<&Row>) -> Option<Lease> {
    found.map(|row| Lease { server: row.get(0), epoch: row.get(1), until: instant(row, 2) })
}

/// What [`held_row`] reads, of a task of a domain by its id.
pub(super) fn select_held() -> String {
    format!(
        "SELECT {COLUMNS}, t.next_index, t.attempts, t.cancel_at IS NOT NULL FROM tasks t
         WHERE t.domain_id = $1 AND t.id = $2"
    )
}

/// From a row of [`select_held`].
pub(super) fn held_row(domain: DomainId, row: &Row) -> Result<Held, StoreError> {
    let held = Held {
        domain,
        task: task(row)?,
        next_index: count(row, COLUMNS_COUNT),
        attempts: count(row, COLUMNS_COUNT + 1),
        cancelled: row.get(COLUMNS_COUNT + 2),
    };
    assert!(held.task.counts.is_conserved(), "the counts of a stored task do not add up");
    Ok(held)
}

/// The task of that id, whatever its state.
pub(super) async fn of_id(
    client: &Client,
    domain: DomainId,
    id: &str,
) -> Result<Option<Held>, StoreError> {
    let found = client.row_opt(&select_held(), &[&domain.0, &id.as_bytes()]).await?;
    found.map(|row| held_row(domain, &row)).transpose()
}

/// The task of that id with its lease, locked; no lease where it is completed.
pub(super) async fn locked(
    client: &Client,
    domain: DomainId,
    id: &str,
) -> Result<Option<(Held, Option<Lease>)>, StoreError> {
    let found = client.row_opt(LOCK_LEASE, &[&domain.0, &id.as_bytes()]).await?;
    let held = of_id(client, domain, id).await?;
    Ok(held.map(|held| (held, lease(found.as_ref()))))
}

/// The unfinished task of that id, locked, where `lease_epoch` is its current lease.
pub(super) async fn held(
    client: &Client,
    domain: DomainId,
    id: &str,
    lease_epoch: i64,
) -> Result<Held, StoreError> {
    match locked(client, domain, id).await? {
        Some((held, Some(lease))) if lease.is_current(lease_epoch) => Ok(held),
        _ => Err(StoreError::LeaseLost),
    }
}

/// Writes back what a step changed: state, counts, position. Everything else of a task is fixed. A
/// completed task leaves the queue.
pub(super) async fn keep(client: &Client, held: &Held) -> Result<(), StoreError> {
    let task = &held.task;
    task.assert_lawful();
    let changed = client
        .execute(
            "UPDATE tasks SET status = $3, outcome = $4, succeeded = $5, failed = $6,
             unprocessed = $7, completed_at = $8, next_index = $9, attempts = $10
             WHERE domain_id = $1 AND id = $2",
            &[
                &held.domain.0,
                &task.id.as_bytes(),
                &code(task.status.code()),
                &task.outcome.map(|outcome| code(outcome.code())),
                &(task.counts.succeeded as i32),
                &(task.counts.failed as i32),
                &(task.counts.unprocessed as i32),
                &task.completed_at.map(|at| at.0),
                &(held.next_index as i32),
                &(held.attempts as i32),
            ],
        )
        .await?;
    if changed != 1 {
        return Err(StoreError::LeaseLost);
    }
    if task.status == TaskStatus::Completed {
        let delete = "DELETE FROM task_queue WHERE domain_id = $1 AND task_id = $2";
        client.execute(delete, &[&held.domain.0, &task.id.as_bytes()]).await?;
    }
    Ok(())
}
