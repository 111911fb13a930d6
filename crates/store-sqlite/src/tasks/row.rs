//! Reading rows of tasks. A row that the model cannot read is damage, never a task with defaults.

use caseload_model::ids::DomainId;
use caseload_model::task::{Action, Counts, Family, Outcome, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::Fault;
use caseload_store::StoreError;

/// The columns that [`task`] reads, in its order.
pub(crate) const COLUMNS: &str = "id, action, status, outcome, dry_run, total, \
     succeeded, failed, unprocessed, created_at, queued_at, started_at, completed_at, expires_at, \
     parent_id";
/// How many there are: what a query selects behind them begins here.
pub(crate) const COLUMNS_COUNT: usize = 15;
/// How many unfinished writing tasks of the domain come before a task that waits for its start.
/// Tasks that only read wait for none.
pub(super) const POSITION: &str = "CASE WHEN status >= 3 THEN NULL WHEN writes = 0 THEN 0 ELSE
     (SELECT count(*) FROM tasks b WHERE b.domain_id = tasks.domain_id AND b.status < 4
      AND b.writes = 1 AND b.seq < tasks.seq) END";

/// A task, from a row that begins with [`COLUMNS`].
pub(crate) fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
    let time = |column| row.get::<_, Option<i64>>(column).map(|at| at.map(UnixMillis));
    let counts = Counts {
        total: row.get(5)?,
        succeeded: row.get(6)?,
        failed: row.get(7)?,
        unprocessed: row.get(8)?,
    };
    Ok(Task {
        id: row.get(0)?,
        action: word(row, 1, Action::from_code)?,
        status: word(row, 2, TaskStatus::from_code)?,
        outcome: match row.get::<_, Option<i64>>(3)? {
            Some(_) => Some(word(row, 3, Outcome::from_code)?),
            None => None,
        },
        dry_run: row.get(4)?,
        counts,
        created_at: UnixMillis(row.get(9)?),
        queued_at: time(10)?,
        started_at: time(11)?,
        completed_at: time(12)?,
        expires_at: time(13)?,
        parent_id: row.get(14)?,
        position: None,
    })
}

/// A word stored under its number.
fn word<T>(
    row: &Row<'_>,
    column: usize,
    from_code: impl FnOnce(i64) -> Option<T>,
) -> rusqlite::Result<T> {
    let code: i64 = row.get(column)?;
    from_code(code).ok_or_else(|| {
        let reason = format!("{code} stands for no word");
        rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, reason.into())
    })
}

/// The task of that id, where it belongs to the family.
pub(crate) fn of_family(
    conn: &Connection,
    domain: DomainId,
    family: Family,
    id: &str,
) -> Result<Option<Task>, Fault> {
    Ok(of_id(conn, domain, family, id)?.map(|held| held.task))
}

/// Unfinished tasks of all domains: those that no server has, and those that one has.
pub(crate) fn unfinished_by_lease(conn: &Connection) -> Result<(u64, u64), Fault> {
    // The planner cannot know that finished tasks are the many.
    let sql = "SELECT count(*) - count(lease_server), count(lease_server)
               FROM tasks INDEXED BY tasks_unfinished WHERE status < 4";
    let mut counts = conn.prepare_cached(sql)?;
    let (waiting, running): (u32, u32) =
        counts.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((waiting.into(), running.into()))
}

/// A task with what only the store knows of it.
pub(super) struct Held {
    pub(super) seq: i64,
    pub(super) domain: DomainId,
    pub(super) task: Task,
    pub(super) next_index: u32,
    pub(super) attempts: u32,
    /// Whether its end was asked for.
    pub(super) cancelled: bool,
    /// Until when a server works on it.
    pub(super) lease_until: Option<UnixMillis>,
}

/// The columns that [`held_row`] reads.
const HELD_COUNT: usize = 6;
const HELD: &str = "seq, next_index, attempts, domain_id, cancel_at IS NOT NULL, \
     CASE WHEN lease_server IS NULL THEN NULL ELSE lease_until END";

/// From a row that begins with [`COLUMNS`] and [`HELD`].
fn held_row(row: &Row<'_>) -> rusqlite::Result<Held> {
    Ok(Held {
        task: task(row)?,
        seq: row.get(COLUMNS_COUNT)?,
        next_index: row.get(COLUMNS_COUNT + 1)?,
        attempts: row.get(COLUMNS_COUNT + 2)?,
        domain: DomainId(row.get(COLUMNS_COUNT + 3)?),
        cancelled: row.get(COLUMNS_COUNT + 4)?,
        lease_until: row.get::<_, Option<i64>>(COLUMNS_COUNT + 5)?.map(UnixMillis),
    })
}

/// The task of that id, where it belongs to the family, with its place in the queue.
pub(super) fn of_id(
    conn: &Connection,
    domain: DomainId,
    family: Family,
    id: &str,
) -> Result<Option<Held>, Fault> {
    let sql = format!(
        "SELECT {COLUMNS}, {HELD}, {POSITION} FROM tasks
         WHERE domain_id = ?1 AND id = ?2 AND family = ?3"
    );
    Ok(conn
        .prepare_cached(&sql)?
        .query_row(params![domain.0, id, family.code()], |row| {
            let mut held = held_row(row)?;
            held.task.position = row.get(COLUMNS_COUNT + HELD_COUNT)?;
            Ok(held)
        })
        .optional()?)
}

/// The completed task of that id.
pub(super) fn completed(conn: &Connection, domain: DomainId, id: &str) -> Result<Held, Fault> {
    let sql = format!(
        "SELECT {COLUMNS}, {HELD} FROM tasks WHERE domain_id = ?1 AND id = ?2 AND status = 4"
    );
    Ok(conn
        .prepare_cached(&sql)?
        .query_row(params![domain.0, id], held_row)
        .optional()?
        .ok_or_else(|| StoreError::NotFound { what: format!("a completed task {id}") })?)
}

/// The unfinished task of that id, where `lease_epoch` is its current lease.
pub(super) fn held(
    conn: &Connection,
    domain: DomainId,
    id: &str,
    lease_epoch: i64,
) -> Result<Held, Fault> {
    let sql = format!(
        "SELECT {COLUMNS}, {HELD} FROM tasks
         WHERE domain_id = ?1 AND id = ?2 AND lease_epoch = ?3 AND status = ?4
           AND lease_server IS NOT NULL"
    );
    let held = conn
        .prepare_cached(&sql)?
        .query_row(params![domain.0, id, lease_epoch, TaskStatus::Processing.code()], held_row)
        .optional()?
        .ok_or(StoreError::LeaseLost)?;
    assert!(held.task.counts.is_conserved(), "the counts of a stored task do not add up");
    Ok(held)
}

/// Writes back what a step changed: state, counts, position. Everything else of a task is fixed.
pub(super) fn keep(conn: &Connection, held: &Held) -> Result<(), Fault> {
    let task = &held.task;
    task.assert_lawful();
    let changed = conn
        .prepare_cached(
            "UPDATE tasks SET status = ?2, outcome = ?3, succeeded = ?4, failed = ?5,
             unprocessed = ?6, completed_at = ?7, next_index = ?8, attempts = ?9,
             lease_server = CASE WHEN ?2 = 4 THEN NULL ELSE lease_server END
             WHERE seq = ?1",
        )?
        .execute(params![
            held.seq,
            task.status.code(),
            task.outcome.map(Outcome::code),
            task.counts.succeeded,
            task.counts.failed,
            task.counts.unprocessed,
            task.completed_at.map(|at| at.0),
            held.next_index,
            held.attempts,
        ])?;
    if changed == 1 { Ok(()) } else { Err(StoreError::LeaseLost.into()) }
}
