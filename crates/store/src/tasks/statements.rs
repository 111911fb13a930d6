//! Tasks as the rules read and write them. A rule contains its own statements; those that differ
//! between databases are methods of [`TaskStore`], which decide nothing.
//! Invariant: a task that was locked stays as it was read until the transaction ends.

use caseload_model::ids::DomainId;
use caseload_model::task::{
    Action, Counts, Family, Outcome, Submitter, Task, TaskOrigin, TaskStatus,
};
use caseload_model::time::UnixMillis;

use super::task_limits::TaskLimits;
use crate::idempotency::CommandStore;
use crate::sql::{Row, ToValue, Value};
use crate::{CreateTask, PackedBlock, StoreError, values};

/// A task with the columns that only the store uses, as the transaction that changes it reads it.
#[derive(Debug, Clone)]
pub struct LockedTask {
    pub task: Task,
    /// Index of the first entry that is not processed.
    pub next_index: u32,
    /// Attempts that a fault of the server's ended.
    pub attempts: u32,
    pub cancel_requested: bool,
    /// The domain's last change of a profile before the task's first one.
    pub changes_before: Option<UnixMillis>,
    /// The lease of the server that works on the task.
    pub lease: Option<Lease>,
}

/// A server's right to work on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Goes up with each lease of the task.
    pub epoch: i64,
    pub until: UnixMillis,
}

/// The tables of tasks, which two databases arrange in two ways.
pub trait TaskTables {
    /// Unfinished tasks: a table with the columns `domain_id`, `task_id`, `seq`, `writes`,
    /// `not_before`, `lease_server` and `lease_until`. No statement joins it with another table of
    /// the domain: it may be on another node.
    const QUEUE: &'static str;
    /// The same tasks as the table `b` with the columns `domain_id`, `seq` and `writes`, from the
    /// rows of the tasks themselves, up to the next term of a condition.
    const UNFINISHED: &'static str;
    /// Whether a task of [`Self::QUEUE`] may have to be marked as queued: a condition.
    const IS_NEW: &'static str;
}

/// The tasks of one domain, in one transaction. A task is named by its id.
pub trait TaskStore: CommandStore + TaskTables {
    /// Reads a task without a lock.
    fn read(&self, id: &str) -> Result<Option<LockedTask>, StoreError>;
    /// Reads a task and locks it.
    fn lock(&self, id: &str) -> Result<Option<LockedTask>, StoreError> {
        self.read(id)
    }
    /// Writes state, counts and position of a locked task. A completed task loses its lease, leaves
    /// the queue and wakes the servers: another task of the domain may be runnable.
    fn save(&self, task: &LockedTask) -> Result<(), StoreError>;
    /// Ends the lease. No server takes the task before `retry_at`.
    fn end_lease(&self, id: &str, retry_at: UnixMillis) -> Result<(), StoreError>;

    /// The first of the next `count` places in the order of acceptance, or `None` if the table
    /// numbers its rows itself, and the time of the last task of the family. A database with
    /// concurrent transactions makes sure, with [`TaskLimits::require`], that no other one filled
    /// the queue.
    fn next_places(
        &self,
        count: u32,
        family: Family,
        limits: TaskLimits,
    ) -> Result<NextPlace, StoreError> {
        let _ = (count, limits);
        let family = family.code();
        Ok((None, self.find(LAST_TIME, values![self.domain(), family], |row| row.get(0))?))
    }
    /// Adds a new task to the queue, if that is a table of its own.
    fn enqueue(&self, _: &CreateTask, _place: Option<i64>) -> Result<(), StoreError> {
        Ok(())
    }

    /// [`StoreError::AlreadyExists`] if one of these blocks is there.
    fn insert_payload(&self, id: &str, blocks: &[PackedBlock]) -> Result<(), StoreError>;
}

/// A place in the order of acceptance, and the time of the last task before it.
pub type NextPlace = (Option<i64>, Option<UnixMillis>);

/// The time of the last task of a family.
pub const LAST_TIME: &str = "SELECT created_at FROM tasks WHERE domain_id = ?1 AND family = ?2
     ORDER BY seq DESC LIMIT 1";

/// The columns that [`task`] reads, in its order.
pub const COLUMNS: &str = "id, action, status, outcome, dry_run, total, succeeded, failed, \
     unprocessed, created_at, queued_at, started_at, completed_at, expires_at, parent_id, \
     retried_by, warnings, run_by, file_name, content_length, submitted_key, submitted_key_name, \
     upsert, deaths, next_try_at, import_id";
/// How many there are: further columns of a query begin here.
pub const COLUMNS_COUNT: usize = 26;

/// A task, from a row that begins with [`COLUMNS`]. A row that cannot be read is damage, never a
/// task with defaults.
pub fn task(row: &dyn Row) -> Result<Task, StoreError> {
    let outcome: Option<i64> = row.get(3)?;
    Ok(Task {
        id: row.get(0)?,
        action: row.word(1, Action::from_code)?,
        status: row.word(2, TaskStatus::from_code)?,
        outcome: outcome.map(|_| row.word(3, Outcome::from_code)).transpose()?,
        dry_run: row.get(4)?,
        upsert: row.get::<Option<i64>>(22)?.is_some(),
        counts: Counts {
            total: row.get(5)?,
            succeeded: row.get(6)?,
            failed: row.get(7)?,
            unprocessed: row.get(8)?,
        },
        created_at: row.get(9)?,
        queued_at: row.get(10)?,
        started_at: row.get(11)?,
        completed_at: row.get(12)?,
        expires_at: row.get(13)?,
        parent_id: row.get(14)?,
        retried_by: row.get(15)?,
        warnings: row.get(16)?,
        run_by: row.get(17)?,
        origin: origin(row, 18)?,
        position: None,
        deaths: row.get(23)?,
        next_try_at: row.get(24)?,
        import_id: row.get(25)?,
    })
}

/// Key and file, from four columns of a row.
pub(super) fn origin(row: &dyn Row, first: usize) -> Result<TaskOrigin, StoreError> {
    let (file_name, content_length) = (row.get(first)?, row.get(first + 1)?);
    let key_name: Option<String> = row.get(first + 3)?;
    let submitted_by = row
        .get::<Option<String>>(first + 2)?
        .map(|key_id| Submitter { key_id, key_name: key_name.unwrap_or_default() });
    Ok(TaskOrigin { file_name, content_length, submitted_by })
}

/// The columns of a task that the rules change, with the places of [`LockedTask::saved`].
pub const SAVED_COLUMNS: &str = "status = ?3, outcome = ?4, succeeded = ?5, failed = ?6, \
     unprocessed = ?7, completed_at = ?8, next_index = ?9, attempts = ?10, warnings = ?11, \
     deaths = ?12, next_try_at = ?13, changes_before = ?14";

impl LockedTask {
    /// The domain, the id, and the values of [`SAVED_COLUMNS`].
    pub fn saved(&self, domain: DomainId) -> [Value<'_>; 14] {
        let Self { task, next_index, attempts, changes_before, .. } = self;
        let counts = &task.counts;
        [
            Value::Int(domain.0),
            Value::Text(&task.id),
            Value::Int(task.status.code()),
            task.outcome.map_or(Value::Null, |outcome| Value::Int(outcome.code())),
            counts.succeeded.to_value(),
            counts.failed.to_value(),
            counts.unprocessed.to_value(),
            task.completed_at.to_value(),
            next_index.to_value(),
            attempts.to_value(),
            task.warnings.to_value(),
            task.deaths.to_value(),
            task.next_try_at.to_value(),
            changes_before.to_value(),
        ]
    }
}

/// The columns of [`lease`].
pub const LEASE_COLUMNS: &str = "lease_server IS NOT NULL, lease_epoch, lease_until";

/// A lease, from the columns of a row that begin at `first`.
pub fn lease(row: &dyn Row, first: usize) -> Result<Option<Lease>, StoreError> {
    let is_leased: bool = row.get(first)?;
    let lease = || Ok(Lease { epoch: row.get(first + 1)?, until: row.get(first + 2)? });
    is_leased.then(lease).transpose()
}

/// How many columns of [`select_task`] are read by [`locked`]: further ones begin here.
pub const LOCKED_COUNT: usize = COLUMNS_COUNT + 4;

/// The statement that reads the task `?2` of the domain `?1`, with these further columns.
pub fn select_task(further: &str) -> String {
    format!(
        "SELECT {COLUMNS}, next_index, attempts, cancel_at IS NOT NULL, changes_before{further}
         FROM tasks
         WHERE domain_id = ?1 AND id = ?2"
    )
}

/// A task, from a row of [`select_task`], with its lease.
pub fn locked(row: &dyn Row, lease: Option<Lease>) -> Result<LockedTask, StoreError> {
    Ok(LockedTask {
        task: task(row)?,
        next_index: row.get(COLUMNS_COUNT)?,
        attempts: row.get(COLUMNS_COUNT + 1)?,
        cancel_requested: row.get(COLUMNS_COUNT + 2)?,
        changes_before: row.get(COLUMNS_COUNT + 3)?,
        lease,
    })
}

/// A kind of compressed blocks of a task: their table, and the columns of its key after the task.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocks(&'static str, &'static str);

pub(super) const PAYLOAD: Blocks = Blocks("payload_blocks", "last_index");
pub(super) const RECORDS: Blocks = Blocks("record_blocks", "kind, first_index");

/// Deletes at most `blocks_max` blocks of a task; how many were deleted.
pub(super) fn delete_some(
    store: &impl TaskStore,
    id: &str,
    Blocks(table, key): Blocks,
    blocks_max: u32,
) -> Result<u64, StoreError> {
    let delete = format!(
        "DELETE FROM {table} WHERE domain_id = ?1 AND task_id = ?2 AND ({key}) IN
         (SELECT {key} FROM {table} WHERE domain_id = ?1 AND task_id = ?2 LIMIT ?3)
         RETURNING length(bytes)"
    );
    let removed: Vec<i64> =
        store.list(&delete, values![store.domain(), id, blocks_max], |row| row.get(0))?;
    if !removed.is_empty() {
        store.store_bytes(-removed.iter().sum::<i64>())?;
    }
    Ok(removed.len() as u64)
}
