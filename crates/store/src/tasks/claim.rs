//! Leasing tasks: which server works on which task. A server claims runnable tasks and has them
//! until their leases end, are given back, or are void because the server was restarted. Each lease
//! raises the task's epoch; a chunk under an older epoch cannot commit. [`FairQueue`] chooses the
//! next tasks. Instants are those of the claiming server: if clocks differ, a lease may be taken
//! early, which costs a chunk and breaks nothing. A clock that was wrong for a moment delays no
//! task for longer than [`WAIT_MS_MAX`].

use caseload_model::task::TaskStatus;
use caseload_model::time::UnixMillis;

use super::fair_queue::{FairQueue, QueuePlace, QueuedTask};
use super::statements::{COLUMNS, COLUMNS_COUNT, TaskTables, task};
use super::trial::death;
use crate::sql::Query;
use crate::{ClaimTasks, ClaimedTask, StoreError};

/// A lease or a pause that ends later than this, in milliseconds from now, does not count: a clock
/// that was ahead has set it. No lease that a server may ask for is longer.
const WAIT_MS_MAX: i64 = 3_600_000;

/// The latest end of a lease or a pause that counts.
pub const fn latest_wait(now: UnixMillis) -> UnixMillis {
    UnixMillis(now.0.saturating_add(WAIT_MS_MAX))
}

/// The queue of all domains, in one transaction. A backend that waits for its database does so
/// without a thread that blocks: servers claim all the time.
pub trait QueueStore {
    type Tables: TaskTables;

    /// Marks new tasks as queued.
    fn mark_queued(&self, now: UnixMillis) -> impl Future<Output = Result<(), StoreError>>;
    /// Leases a task; `None` if another transaction locks it, or another server leased it first.
    fn lease(
        &self,
        place: &QueuePlace,
        command: &ClaimTasks,
    ) -> impl Future<Output = Result<Option<Leased>, StoreError>>;
    /// The answer to a query.
    fn ask<T>(&self, query: &Query<T>) -> impl Future<Output = Result<Vec<T>, StoreError>>;
}

/// A new lease of a task.
#[derive(Debug, Clone, Copy)]
pub struct Leased {
    pub epoch: i64,
    /// Whether a server died that had the task: its lease ran out instead of being given back, and
    /// not for want of the store.
    pub after_death: bool,
}

/// The answer to a claim.
#[derive(Debug, Default)]
pub struct Claims {
    pub claimed: Vec<ClaimedTask>,
    /// Tasks that could not be leased because their rows are locked.
    pub locked: Vec<QueuePlace>,
}

/// Leases runnable tasks to a server.
pub async fn claim<S: QueueStore>(store: &S, command: &ClaimTasks) -> Result<Claims, StoreError> {
    store.mark_queued(command.now).await?;
    let mut queue = FairQueue::default();
    for task in store.ask(&unfinished::<S::Tables>(command.now)).await? {
        queue.add(task);
    }
    let mut claims = Claims::default();
    for place in queue.choose(command.tasks_max) {
        let Some(leased) = store.lease(&place, command).await? else {
            claims.locked.push(place);
            continue;
        };
        if leased.after_death {
            store.ask(&death(place.domain, &place.id)).await?;
        }
        // There is none if its domain was removed a moment ago.
        if let Some(started) = store.ask(&start(&place, command.now)).await?.pop() {
            claims.claimed.push(ClaimedTask { lease_epoch: leased.epoch, ..started });
        }
    }
    Ok(claims)
}

/// All unfinished tasks.
fn unfinished<T: TaskTables>(now: UnixMillis) -> Query<QueuedTask> {
    let select = format!(
        "SELECT domain_id, seq, task_id, writes,
         lease_server IS NOT NULL AND lease_until > ?1 AND lease_until <= ?2,
         not_before <= ?1 OR not_before > ?2
         FROM {} q WHERE domain_id IN (SELECT id FROM domains)
         ORDER BY domain_id, writes, seq",
        T::QUEUE
    );
    Query::new(select, [now.into(), latest_wait(now).into()], |row| {
        let place = QueuePlace { domain: row.get(0)?, seq: row.get(1)?, id: row.get(2)? };
        let (writes, leased, due) = (row.get(3)?, row.get(4)?, row.get(5)?);
        Ok(QueuedTask { place, writes, leased, due })
    })
}

/// Starts a task that was leased. The claimed task has no epoch yet.
fn start(place: &QueuePlace, now: UnixMillis) -> Query<ClaimedTask> {
    let start = format!(
        "UPDATE tasks SET status = ?3, started_at = coalesce(started_at, greatest(?4, created_at)),
         queued_at = coalesce(queued_at, greatest(?4, created_at)),
         checksum = checksum + coalesce(started_at, greatest(?4, created_at))
             - coalesce(started_at, 0) + coalesce(queued_at, greatest(?4, created_at))
             - coalesce(queued_at, 0)
         WHERE domain_id = ?1 AND id = ?2 AND domain_id IN (SELECT id FROM domains)
         RETURNING {COLUMNS}, next_index, one_by_one,
         (SELECT d.name FROM domains d WHERE d.id = tasks.domain_id), domain_id"
    );
    let status = TaskStatus::Processing.code();
    let values = [place.domain.into(), place.id.as_str().into(), status.into(), now.into()];
    Query::new(start, values, |row| {
        Ok(ClaimedTask {
            domain: row.get(COLUMNS_COUNT + 3)?,
            domain_name: row.get(COLUMNS_COUNT + 2)?,
            task: task(row)?,
            lease_epoch: 0,
            next_index: row.get(COLUMNS_COUNT)?,
            one_by_one: row.get(COLUMNS_COUNT + 1)?,
        })
    })
}
