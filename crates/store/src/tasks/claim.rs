//! Leasing tasks: which server works on which task. A server claims runnable tasks and has them
//! until their leases end, are given back, or are void because the server was restarted. Each lease
//! raises the task's epoch; a chunk under an older epoch cannot commit. [`FairQueue`] chooses the
//! next tasks. Instants are those of the claiming server: if clocks differ, a lease may be taken
//! early, which costs a chunk and breaks nothing.

use caseload_model::task::TaskStatus;
use caseload_model::time::UnixMillis;

use super::fair_queue::{FairQueue, QueuePlace, QueuedTask};
use super::statements::{COLUMNS, COLUMNS_COUNT, TaskTables, task};
use crate::{ClaimTasks, ClaimedTask, StoreError, values};

/// The queue of all domains, in one transaction.
pub trait QueueStore: TaskTables {
    /// Marks new tasks as queued.
    fn mark_queued(&self, now: UnixMillis) -> Result<(), StoreError>;
    /// Leases a task and returns the epoch of the lease; `None` if another transaction locks it, or
    /// another server leased it first.
    fn lease(&self, place: &QueuePlace, command: &ClaimTasks) -> Result<Option<i64>, StoreError>;
}

/// The answer to a claim.
#[derive(Debug, Default)]
pub struct Claims {
    pub claimed: Vec<ClaimedTask>,
    /// Tasks that could not be leased because their rows are locked.
    pub locked: Vec<QueuePlace>,
}

/// Leases runnable tasks to a server.
pub fn claim(store: &impl QueueStore, command: &ClaimTasks) -> Result<Claims, StoreError> {
    store.mark_queued(command.now)?;
    let mut claims = Claims::default();
    for place in queue(store, command.now)?.choose(command.tasks_max) {
        match store.lease(&place, command)? {
            Some(epoch) => claims.claimed.extend(start(store, &place, epoch, command.now)?),
            None => claims.locked.push(place),
        }
    }
    Ok(claims)
}

fn queue<S: QueueStore>(store: &S, now: UnixMillis) -> Result<FairQueue, StoreError> {
    let select = format!(
        "SELECT domain_id, seq, task_id, writes, lease_server IS NOT NULL AND lease_until > ?1,
         not_before <= ?1 FROM {} q WHERE domain_id IN (SELECT id FROM domains)
         ORDER BY domain_id, writes, seq",
        S::QUEUE
    );
    let mut queue = FairQueue::default();
    store.each(&select, values![now], &mut |row| {
        let place = QueuePlace { domain: row.get(0)?, seq: row.get(1)?, id: row.get(2)? };
        let (writes, leased, due) = (row.get(3)?, row.get(4)?, row.get(5)?);
        queue.add(QueuedTask { place, writes, leased, due });
        Ok(())
    })?;
    Ok(queue)
}

/// Starts a task that was leased; `None` if its domain was removed a moment ago.
fn start(
    store: &impl QueueStore,
    place: &QueuePlace,
    lease_epoch: i64,
    now: UnixMillis,
) -> Result<Option<ClaimedTask>, StoreError> {
    let start = format!(
        "UPDATE tasks SET status = ?3, started_at = coalesce(started_at, greatest(?4, created_at)),
         queued_at = coalesce(queued_at, greatest(?4, created_at))
         WHERE domain_id = ?1 AND id = ?2 AND domain_id IN (SELECT id FROM domains)
         RETURNING {COLUMNS}, next_index,
         (SELECT d.name FROM domains d WHERE d.id = tasks.domain_id)"
    );
    let status = TaskStatus::Processing.code();
    store.find(&start, values![place.domain, place.id, status, now], |row| {
        Ok(ClaimedTask {
            domain: place.domain,
            domain_name: row.get(COLUMNS_COUNT + 1)?,
            task: task(row)?,
            lease_epoch,
            next_index: row.get(COLUMNS_COUNT)?,
        })
    })
}
