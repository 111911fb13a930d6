//! Leases: which server works on which task. Any number of servers claim tasks; a row that one of
//! them is about to lease is locked, and the others pass it over.

use std::collections::HashSet;

use caseload_model::ids::DomainId;
use caseload_model::task::TaskStatus;
use caseload_model::time::UnixMillis;
use caseload_store::sql::{Query, Row};
use caseload_store::tasks::{Leased, QueuePlace, QueueStore, latest_wait};
use caseload_store::{ClaimTasks, ClaimedTask, RenewLeases, StoreError};
use parking_lot::Mutex;

use crate::engine::Client;
use crate::notify;
use crate::tx::{DomainTx, ReadRow};

/// New tasks that a claim marks as queued.
const NEW_MAX: i64 = 100;

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

impl QueueStore for Client {
    type Tables = DomainTx<'static>;

    async fn mark_queued(&self, now: UnixMillis) -> Result<(), StoreError> {
        for (domain, id) in new_tasks(self).await? {
            mark_queued(self, domain, &id, now).await?;
        }
        Ok(())
    }

    async fn postpone(&self, place: &QueuePlace, until: UnixMillis) -> Result<(), StoreError> {
        let end = "UPDATE task_queue SET lease_server = NULL, lease_until = 0, not_before = $3
                   WHERE domain_id = $1 AND task_id = $2";
        self.execute(end, &[&place.domain.0, &place.id.as_bytes(), &until.0]).await.map(drop)
    }

    async fn give_back(&self, place: &QueuePlace) -> Result<(), StoreError> {
        let end = "UPDATE task_queue SET lease_server = NULL, lease_until = 0, queued = FALSE
                   WHERE domain_id = $1 AND task_id = $2";
        self.execute(end, &[&place.domain.0, &place.id.as_bytes()]).await.map(drop)
    }

    async fn lease(
        &self,
        place: &QueuePlace,
        command: &ClaimTasks,
    ) -> Result<Option<Leased>, StoreError> {
        let ClaimTasks { server, lease_until, now, .. } = command;
        let (id, deaths_since) = (place.id.as_bytes(), command.deaths_since());
        let leased = self
            .row_opt(
                "UPDATE task_queue q SET lease_server = $3, lease_until = $4,
                 lease_epoch = q.lease_epoch + 1, queued = TRUE, not_before = 0 FROM
                 (SELECT domain_id, task_id,
                 lease_server IS NOT NULL AND lease_server <> $3 AND lease_until >= $7 AS died
                 FROM task_queue
                 WHERE domain_id = $1 AND task_id = $2
                 AND (not_before <= $5 OR not_before > $6)
                 AND (lease_server IS NULL OR lease_until <= $5 OR lease_until > $6)
                 FOR UPDATE SKIP LOCKED) free, domains d
                 WHERE q.domain_id = $1 AND q.task_id = $2 AND q.domain_id = free.domain_id
                 AND q.task_id = free.task_id AND d.id = $1
                 RETURNING q.lease_epoch, free.died, d.name, d.placeholders",
                &[
                    &place.domain.0,
                    &id,
                    server,
                    &lease_until.0,
                    &now.0,
                    &latest_wait(*now).0,
                    &deaths_since.0,
                ],
            )
            .await?;
        let leased = leased.map(|row| {
            let row: &dyn Row = &ReadRow(&row);
            Ok(Leased {
                epoch: row.get(0)?,
                domain_name: row.get(2)?,
                placeholders: row.get(3)?,
                after_death: row.get(1)?,
            })
        });
        leased.transpose()
    }

    async fn ask<T>(&self, query: &Query<T>) -> Result<Vec<T>, StoreError> {
        self.answer_to(query).await
    }
}

/// The domains and ids of some tasks that are not marked as queued, without those that another
/// server is marking.
pub(super) async fn new_tasks(client: &Client) -> Result<Vec<(DomainId, Vec<u8>)>, StoreError> {
    let new = "SELECT domain_id, task_id FROM task_queue WHERE NOT queued LIMIT $1
               FOR UPDATE SKIP LOCKED";
    let new = client.rows(new, &[&NEW_MAX]).await?;
    Ok(new.iter().map(|row| (DomainId(row.get(0)), row.get(1))).collect())
}

/// Marks a task as queued whose place the transaction has locked, unless only that is visible.
pub(super) async fn mark_queued(
    client: &Client,
    domain: DomainId,
    id: &[u8],
    now: UnixMillis,
) -> Result<(), StoreError> {
    let queued = TaskStatus::Queued.code() as i16;
    let seen = client
        .execute(
            "UPDATE tasks SET status = CASE WHEN status = 1 THEN $3 ELSE status END,
             queued_at = coalesce(queued_at, greatest($4, created_at))
             WHERE domain_id = $1 AND id = $2 AND status < 4",
            &[&domain.0, &id, &queued, &now.0],
        )
        .await?;
    if seen == 0 {
        return Ok(());
    }
    let mark = "UPDATE task_queue SET queued = TRUE WHERE domain_id = $1 AND task_id = $2";
    client.execute(mark, &[&domain.0, &id]).await.map(drop)
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
