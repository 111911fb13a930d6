//! Leases: which server works on which task. Any number of servers claim tasks; a row that one of
//! them is about to lease is locked, and the others pass it over. Each lease raises the task's
//! epoch; a chunk under an older epoch cannot commit. [`FairQueue`] chooses the next tasks.
//! Instants are those of the claiming server: if clocks differ, a lease may be taken early, which
//! costs a chunk and breaks nothing.

use std::collections::HashSet;

use caseload_model::ids::DomainId;
use caseload_model::task::TaskStatus;
use caseload_store::tasks::{FairQueue, QueuedTask};
use caseload_store::{ClaimTasks, ClaimedTask, RenewLeases, StoreError};
use parking_lot::Mutex;
use tokio_postgres::Row;

use super::row::{self, COLUMNS, COLUMNS_COUNT, code};
use crate::engine::Client;
use crate::notify;
use crate::rows::{count, domain_name};

/// The leases whose claims were answered. Only these are renewed: a lease whose commit got no
/// answer may exist although no server works on the task, and has to end.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<HashSet<OwnLease>>);

/// A lease of a server of this program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct OwnLease {
    domain: i64,
    task_id: String,
    epoch: i64,
    server: String,
}

impl Leases {
    pub(crate) fn add(&self, server: &str, claimed: &[ClaimedTask]) {
        self.0.lock().extend(claimed.iter().map(|one| OwnLease {
            domain: one.domain.0,
            task_id: one.task.id.clone(),
            epoch: one.lease_epoch,
            server: server.to_owned(),
        }));
    }

    /// Removes a lease that was given back, was lost or has ended with its task.
    pub(crate) fn remove(&self, domain: DomainId, task_id: &str, epoch: i64) {
        let is_it =
            |own: &OwnLease| (own.domain, own.epoch) == (domain.0, epoch) && own.task_id == task_id;
        self.0.lock().retain(|own| !is_it(own));
    }

    /// Removes the leases of a server.
    pub(crate) fn remove_all(&self, server: &str) {
        self.0.lock().retain(|own| own.server != server);
    }

    /// The leases of a server.
    pub(crate) fn of(&self, server: &str) -> Vec<OwnLease> {
        self.0.lock().iter().filter(|own| own.server == server).cloned().collect()
    }
}

/// The answer to a claim.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) claimed: Vec<ClaimedTask>,
    /// Tasks that could not be leased because their rows are locked.
    pub(crate) locked: Vec<QueuePlace>,
}

pub(crate) async fn claim(client: &Client, command: &ClaimTasks) -> Result<Claims, StoreError> {
    mark_queued(client, command).await?;
    let mut claims = Claims::default();
    for place in queue(client, command).await?.choose(command.tasks_max) {
        match lease(client, command, &place).await? {
            LeaseAttempt::Leased(claimed) => claims.claimed.push(*claimed),
            LeaseAttempt::Locked => claims.locked.push(place),
            LeaseAttempt::Removed => {}
        }
    }
    Ok(claims)
}

/// Marks new tasks as queued. Rows that another server is marking are passed over.
async fn mark_queued(client: &Client, command: &ClaimTasks) -> Result<(), StoreError> {
    let mark = client
        .rows(
            "UPDATE task_queue q SET queued = TRUE FROM
             (SELECT domain_id, task_id FROM task_queue WHERE NOT queued FOR UPDATE SKIP LOCKED) new
             WHERE q.domain_id = new.domain_id AND q.task_id = new.task_id
             RETURNING q.domain_id, q.task_id",
            &[],
        )
        .await?;
    let queued = code(TaskStatus::Queued.code());
    for row in mark {
        let (domain, id): (i64, &[u8]) = (row.get(0), row.get(1));
        client
            .execute(
                "UPDATE tasks SET status = $3, queued_at = greatest($4, created_at)
                 WHERE domain_id = $1 AND id = $2 AND status = 1",
                &[&domain, &id, &queued, &command.now.0],
            )
            .await?;
    }
    Ok(())
}

/// A task's place in the queue, ordered as tasks of a domain are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueuePlace {
    seq: i64,
    pub(super) domain: i64,
    pub(super) id: Vec<u8>,
}

async fn queue(client: &Client, command: &ClaimTasks) -> Result<FairQueue<QueuePlace>, StoreError> {
    let rows = client
        .rows(
            "SELECT domain_id, seq, task_id, writes, lease_server IS NOT NULL AND lease_until > $1,
             not_before <= $1 FROM task_queue WHERE domain_id IN (SELECT id FROM domains)
             ORDER BY domain_id, writes, seq",
            &[&command.now.0],
        )
        .await?;
    let mut queue = FairQueue::default();
    for row in rows {
        let domain = row.get(0);
        let task = QueuedTask { domain, writes: row.get(3), leased: row.get(4), due: row.get(5) };
        queue.add(task, QueuePlace { seq: row.get(1), domain, id: row.get(2) });
    }
    Ok(queue)
}

/// The outcome of an attempt to lease a task.
enum LeaseAttempt {
    Leased(Box<ClaimedTask>),
    /// Another transaction locks its row, or another server leased it first.
    Locked,
    /// Its domain was removed a moment ago.
    Removed,
}

async fn lease(
    client: &Client,
    command: &ClaimTasks,
    place: &QueuePlace,
) -> Result<LeaseAttempt, StoreError> {
    let leased = client
        .row_opt(
            "UPDATE task_queue q SET lease_server = $3, lease_until = $4,
             lease_epoch = q.lease_epoch + 1, queued = TRUE FROM
             (SELECT domain_id, task_id FROM task_queue
             WHERE domain_id = $1 AND task_id = $2 AND (lease_server IS NULL OR lease_until <= $5)
             AND not_before <= $5
             FOR UPDATE SKIP LOCKED) free
             WHERE q.domain_id = $1 AND q.domain_id = free.domain_id AND q.task_id = free.task_id
             RETURNING q.lease_epoch",
            &[&place.domain, &place.id, &command.server, &command.lease_until.0, &command.now.0],
        )
        .await?;
    let Some(leased) = leased else { return Ok(LeaseAttempt::Locked) };
    let start = format!(
        "UPDATE tasks t SET status = $3,
         started_at = coalesce(started_at, greatest($4, t.created_at)),
         queued_at = coalesce(queued_at, greatest($4, t.created_at)) FROM domains d
         WHERE t.domain_id = $1 AND t.id = $2 AND d.id = t.domain_id
         RETURNING {COLUMNS}, t.next_index, d.name"
    );
    let processing = code(TaskStatus::Processing.code());
    let started =
        client.row_opt(&start, &[&place.domain, &place.id, &processing, &command.now.0]).await?;
    let Some(row) = started else { return Ok(LeaseAttempt::Removed) };
    Ok(LeaseAttempt::Leased(Box::new(claimed(place, &row, leased.get(0))?)))
}

fn claimed(place: &QueuePlace, row: &Row, lease_epoch: i64) -> Result<ClaimedTask, StoreError> {
    Ok(ClaimedTask {
        domain: DomainId(place.domain),
        domain_name: domain_name(row, COLUMNS_COUNT + 1)?,
        task: row::task(row)?,
        lease_epoch,
        next_index: count(row, COLUMNS_COUNT),
    })
}

/// Extends the leases that are still the server's.
pub(crate) async fn renew(
    client: &Client,
    command: &RenewLeases,
    leases: &[OwnLease],
) -> Result<(), StoreError> {
    let domains: Vec<i64> = leases.iter().map(|own| own.domain).collect();
    let ids: Vec<&[u8]> = leases.iter().map(|own| own.task_id.as_bytes()).collect();
    let epochs: Vec<i64> = leases.iter().map(|own| own.epoch).collect();
    // A row that is locked is being worked on: its next renewal will do.
    client
        .execute(
            "UPDATE task_queue q SET lease_until = greatest(q.lease_until, $2) FROM
             (SELECT l.domain_id, l.task_id FROM task_queue l
             JOIN unnest($3::bigint[], $4::bytea[], $5::bigint[]) AS own (domain_id, task_id, epoch)
          ON l.domain_id = own.domain_id AND l.task_id = own.task_id AND l.lease_epoch = own.epoch
             WHERE l.lease_server = $1 FOR UPDATE OF l SKIP LOCKED) mine
             WHERE q.domain_id = mine.domain_id AND q.task_id = mine.task_id",
            &[&command.server, &command.lease_until.0, &domains, &ids, &epochs],
        )
        .await?;
    Ok(())
}

pub(crate) async fn release(client: &Client, server: &str) -> Result<(), StoreError> {
    client
        .execute(
            "UPDATE task_queue SET lease_server = NULL, lease_until = 0 WHERE lease_server = $1",
            &[&server],
        )
        .await?;
    notify::work(client).await
}
