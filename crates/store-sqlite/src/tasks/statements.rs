//! The statements of tasks that only this database has: those of the rules ([`TaskStore`],
//! [`QueueStore`], [`ExpiryStore`]), and leases. A task is in the queue as long as its row says
//! that it is not completed.

use std::collections::BTreeSet;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::task::TaskStatus;
use caseload_model::time::UnixMillis;
use caseload_store::checksum::sealed;
use caseload_store::dry_run::StateStore;
use caseload_store::sql::{Query, Sql};
use caseload_store::tasks::{
    self as rules, ClaimResult, Claims, ExpiryStore, LEASE_COLUMNS, LOCKED_COUNT, Leased,
    LockedTask, QueuePlace, QueueStore, SAVED_COLUMNS, TaskStore, TaskTables, already_exists,
    select_task,
};
use caseload_store::webhooks::end_all_leases;
use caseload_store::{ClaimTasks, ClaimedTask, PackedBlock, RenewLeases, StoreError, values};
use futures_util::FutureExt as _;

use crate::tx::{DomainTx, Tx};

impl TaskTables for DomainTx<'_> {
    /// The planner cannot know that nearly all tasks are finished.
    const QUEUE: &'static str = "(SELECT domain_id, id AS task_id, seq, writes, not_before,
         lease_server, lease_until FROM tasks INDEXED BY tasks_unfinished WHERE status < 4)";
    const UNFINISHED: &'static str = "tasks b INDEXED BY tasks_unfinished WHERE b.status < 4 AND";
    /// A statement that marks none costs less here than the status of each task in the queue.
    const IS_NEW: &'static str = "TRUE";
}

impl TaskStore for DomainTx<'_> {
    fn read(&self, id: &str) -> Result<Option<LockedTask>, StoreError> {
        let select = select_task(&format!(", {LEASE_COLUMNS}"));
        self.find(&select, values![self.domain, id], |row| {
            rules::locked(row, rules::lease(row, LOCKED_COUNT)?)
        })
    }

    fn save(&self, locked: &LockedTask) -> Result<(), StoreError> {
        let save = format!(
            "UPDATE tasks SET {SAVED_COLUMNS}, lease_server = iif(?3 = 4, NULL, lease_server)
             WHERE domain_id = ?1 AND id = ?2"
        );
        let changed = self.change(&save, &locked.saved(self.domain))?;
        if changed == 1 { Ok(()) } else { Err(StoreError::LeaseLost) }
    }

    fn end_lease(&self, id: &str, retry_at: UnixMillis) -> Result<(), StoreError> {
        let end = "UPDATE tasks SET lease_server = NULL, lease_until = 0, not_before = ?3
                   WHERE domain_id = ?1 AND id = ?2";
        self.change(end, values![self.domain, id, retry_at]).map(drop)
    }

    fn insert_payload(&self, id: &str, blocks: &[PackedBlock]) -> Result<(), StoreError> {
        for PackedBlock { first_index, last_index, bytes } in blocks {
            assert!(first_index <= last_index, "a payload block ends before it begins");
            let inserted = self.change(
                "INSERT INTO payload_blocks
                 (domain_id, task_id, first_index, last_index, bytes, checksum)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
                &sealed(values![self.domain, id, first_index, last_index, bytes]),
            )?;
            if inserted == 0 {
                return Err(already_exists(id));
            }
        }
        Ok(())
    }
}

impl StateStore for DomainTx<'_> {
    fn put_state(&self, run: &str, rows: &[(&[u8], &[u8])]) -> Result<(), StoreError> {
        self.execute_each(
            "INSERT OR REPLACE INTO dry_run_state (domain_id, run_id, key, value)
             VALUES (?1, ?2, ?3, ?4)",
            rows,
            |(key, value)| (self.domain.0, run, key, value),
        )
        .map(drop)
    }
}

impl QueueStore for Tx<'_> {
    type Tables = DomainTx<'static>;

    async fn mark_queued(&self, now: UnixMillis) -> Result<(), StoreError> {
        let mark = "UPDATE tasks SET status = ?1, queued_at = max(?2, created_at)
                    WHERE status = 1";
        self.change(mark, values![TaskStatus::Queued.code(), now]).map(drop)
    }

    async fn lease(
        &self,
        place: &QueuePlace,
        command: &ClaimTasks,
    ) -> Result<Option<Leased>, StoreError> {
        let ClaimTasks { server, lease_until, .. } = command;
        let lost = "SELECT lease_until = 0 OR lease_until >= ?3 FROM tasks
                    WHERE seq = ?1 AND lease_server <> ?2";
        let since = command.deaths_since();
        let after_death = self.find(lost, values![place.seq, server, since], |row| row.get(0))?;
        let after_death = after_death.unwrap_or_default();
        self.find(
            "UPDATE tasks SET lease_server = ?2, lease_until = ?3, lease_epoch = lease_epoch + 1,
             not_before = 0 WHERE seq = ?1 RETURNING lease_epoch,
             (SELECT d.name FROM domains d WHERE d.id = tasks.domain_id),
             (SELECT d.placeholders FROM domains d WHERE d.id = tasks.domain_id)",
            values![place.seq, server, lease_until],
            |row| {
                let (epoch, domain_name) = (row.get(0)?, row.get(1)?);
                Ok(Leased { epoch, domain_name, placeholders: row.get(2)?, after_death })
            },
        )
    }

    async fn postpone(&self, place: &QueuePlace, until: UnixMillis) -> Result<(), StoreError> {
        let end = "UPDATE tasks SET lease_server = NULL, lease_until = 0, not_before = ?2
                   WHERE seq = ?1";
        self.change(end, values![place.seq, until]).map(drop)
    }

    /// Lease and task are one row: a leased task always begins, unless it is postponed.
    async fn give_back(&self, _: &QueuePlace) -> Result<(), StoreError> {
        Ok(())
    }

    async fn ask<T>(&self, query: &Query<T>) -> Result<Vec<T>, StoreError> {
        Sql::ask(self, query)
    }
}

/// Bytes of a payload up to which its first block comes with the lease.
const LEASED_PAYLOAD_BYTES_MAX: u64 = 512 << 10;

/// Leases runnable tasks to a server. No statement waits for another thread. The first block of a
/// short payload comes with its task: the writer has just written it, and a reader would have to be
/// woken for it.
pub(crate) fn claim(tx: Tx<'_>, command: &ClaimTasks) -> Result<Claims, StoreError> {
    let mut claims = at_once(rules::claim(&tx, command))?;
    for claimed in &mut claims.claimed {
        let ClaimedTask { domain, task, next_index, .. } = &*claimed;
        if task.origin.content_length.is_some_and(|bytes| bytes <= LEASED_PAYLOAD_BYTES_MAX) {
            let block = Sql::ask(&tx, &rules::payload_block(*domain, &task.id, *next_index));
            // The worker meets the damage of a block itself. Other tasks are leased all the same.
            claimed.first_block = block.ok().and_then(|mut found| found.pop()).map(Arc::from);
        }
    }
    Ok(claims)
}

/// The tasks that a server would claim.
pub(crate) fn choose(tx: Tx<'_>, command: &ClaimTasks) -> Result<Vec<QueuePlace>, StoreError> {
    at_once(rules::choose(&tx, command, &BTreeSet::new())).map(|choice| choice.places)
}

/// Leases a task and starts it.
pub(crate) fn begin(
    tx: Tx<'_>,
    place: &QueuePlace,
    command: &ClaimTasks,
) -> Result<ClaimResult, StoreError> {
    at_once(rules::begin(&tx, place, command, 0))
}

fn at_once<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let done = work.now_or_never();
    done.unwrap_or_else(|| Err(StoreError::Unavailable("a statement waits".to_owned())))
}

/// Voids every lease and every upload, when a server opens the store alone: no server works on a
/// task, and no request adds blocks to an upload. A lease that was not given back is that of a
/// server that died: the next claim finds that it ran out.
pub(crate) fn void_leases_and_uploads(tx: Tx<'_>) -> Result<(), StoreError> {
    tx.change("UPDATE tasks SET lease_until = 0 WHERE lease_server IS NOT NULL", &[])?;
    tx.change("UPDATE uploads SET touched_at = 0", &[])?;
    end_all_leases(&tx)
}

pub(crate) fn renew(tx: Tx<'_>, command: &RenewLeases) -> Result<(), StoreError> {
    let renew = "UPDATE tasks SET lease_until = max(lease_until, ?2) WHERE lease_server = ?1";
    tx.change(renew, values![command.server, command.lease_until]).map(drop)
}

pub(crate) fn release(tx: Tx<'_>, server: &str) -> Result<(), StoreError> {
    let release = "UPDATE tasks SET lease_server = NULL, lease_until = 0 WHERE lease_server = ?1";
    tx.change(release, values![server]).map(drop)
}

impl<'c> ExpiryStore for Tx<'c> {
    type Tasks = DomainTx<'c>;

    fn first(
        &self,
        table: &str,
        condition: &str,
        at: UnixMillis,
    ) -> Result<Option<(DomainTx<'c>, String)>, StoreError> {
        let select = format!("SELECT domain_id, id FROM {table} WHERE {condition} LIMIT 1");
        let found: Option<(DomainId, String)> =
            self.find(&select, values![at], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.map(|(domain, id)| (DomainTx { conn: self.0, domain }, id)))
    }

    fn delete_expired_keys(&self, now: UnixMillis, keys_max: u32) -> Result<u64, StoreError> {
        self.change(
            "DELETE FROM idempotency_keys WHERE (domain_id, key) IN
             (SELECT domain_id, key FROM idempotency_keys WHERE expires_at <= ?1 LIMIT ?2)",
            values![now, keys_max],
        )
    }
}
