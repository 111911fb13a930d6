//! The statements of tasks that only this database has: those of the rules ([`TaskStore`]) and of
//! the purge. A task is locked by its row in `task_queue`, which goes first: the columns that are
//! read after that are as the last change left them.

use caseload_model::ids::DomainId;
use caseload_model::task::{Family, TaskStatus};
use caseload_model::time::UnixMillis;
use caseload_store::checksum;
use caseload_store::dry_run::StateStore;
use caseload_store::sql::Sql;
use caseload_store::tasks::{
    self as rules, ExpiryStore, LAST_TIME, LEASE_COLUMNS, LockedTask, NextPlace, SAVED_COLUMNS,
    TaskLimits, TaskStore, TaskTables, already_exists, select_task,
};
use caseload_store::{CreateTask, PackedBlock, StoreError, values};
use tokio::join;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::engine::{BlockingClient, Client, CopyRows, is_duplicate, store_error};
use crate::notify;
use crate::rows::instant;
use crate::tx::{DomainTx, ReadRow, bound, native, parameters};

/// Reads the lease of a task, from its domain and its id.
fn select_lease(lock: &str) -> String {
    format!("SELECT {LEASE_COLUMNS} FROM task_queue WHERE domain_id = $1 AND task_id = $2{lock}")
}

/// Locks the queue row of a task and reads its lease.
pub(super) fn lock() -> String {
    select_lease(FOR_UPDATE)
}

const FOR_UPDATE: &str = " FOR UPDATE";
const PAYLOAD: &str =
    "payload_blocks (domain_id, task_id, first_index, last_index, bytes, checksum)";

impl TaskTables for DomainTx<'_> {
    const QUEUE: &'static str = "task_queue";
    const UNFINISHED: &'static str = "tasks b WHERE b.status < 4 AND";
    const IS_NEW: &'static str = "NOT queued";
}

/// Reads a task whose queue row is locked, and locks its own row: on a cluster the transaction that
/// locked the queue row before may not have ended on the node of the task.
pub(super) fn select() -> String {
    native(&select_task("")) + FOR_UPDATE
}

/// The task of a row of [`select`], with the lease of a row of [`lock`].
pub(super) fn locked(task: &Row, queued: Option<&Row>) -> Result<LockedTask, StoreError> {
    let lease = queued.map(|row| rules::lease(&ReadRow(row), 0)).transpose()?;
    rules::locked(&ReadRow(task), lease.flatten())
}

/// Writes the state of a task back; see [`TaskStore::save`].
pub(super) async fn save(
    client: &Client,
    domain: DomainId,
    locked: &LockedTask,
) -> Result<(), StoreError> {
    let save = format!("UPDATE tasks SET {SAVED_COLUMNS} WHERE domain_id = $1 AND id = $2");
    let save = client.prepare(&native(&save)).await?;
    let saved = bound(&locked.saved(domain));
    let columns = parameters(&saved);
    let update = async {
        let changed = client.prepared_execute(&save, &columns).await?;
        if changed == 1 { Ok(()) } else { Err(StoreError::LeaseLost) }
    };
    if locked.task.status != TaskStatus::Completed {
        return update.await;
    }
    let delete = "DELETE FROM task_queue WHERE domain_id = $1 AND task_id = $2";
    let (delete, notify) = (client.prepare(delete).await?, notify::prepare(client).await?);
    let (updated, left, notified) = join!(
        update,
        client.prepared_execute(&delete, &columns[..2]),
        notify::prepared_work(client, &notify),
    );
    updated.and(left).and(notified)
}

/// The lease and the task, by two statements.
fn read_both(
    tx: &DomainTx<'_>,
    id: &str,
    lease: &str,
    task: &str,
) -> Result<Option<LockedTask>, StoreError> {
    let (client, id) = (tx.client(), id.as_bytes());
    let params: [&(dyn ToSql + Sync); 2] = [&tx.domain.0, &id];
    let (queued, found) =
        tx.wait(async {
            let (lease, task) = (client.prepare(lease).await?, client.prepare(task).await?);
            // Sent together, executed in this order: the task is read after the wait for the lock.
            Ok(join!(
                client.prepared_row_opt(&lease, &params),
                client.prepared_row_opt(&task, &params),
            ))
        })?;
    // The first fault is the cause: after it, the transaction refuses the other statement.
    let queued = queued?;
    found?.map(|task| locked(&task, queued.as_ref())).transpose()
}

impl StateStore for DomainTx<'_> {
    fn put_state(&self, run: &str, rows: &[(&[u8], &[u8])]) -> Result<(), StoreError> {
        let (keys, values): (Vec<&[u8]>, Vec<&[u8]>) = rows.iter().copied().unzip();
        let put = "INSERT INTO dry_run_state (domain_id, run_id, key, value)
             SELECT $1, $2, n.key, n.value FROM unnest($3::bytea[], $4::bytea[]) AS n (key, value)
             ON CONFLICT (domain_id, run_id, key) DO UPDATE SET value = excluded.value";
        self.change(put, values![self.domain, run, keys, values]).map(drop)
    }
}

impl TaskStore for DomainTx<'_> {
    fn read(&self, id: &str) -> Result<Option<LockedTask>, StoreError> {
        read_both(self, id, &select_lease(""), &native(&select_task("")))
    }

    fn lock(&self, id: &str) -> Result<Option<LockedTask>, StoreError> {
        read_both(self, id, &lock(), &select())
    }

    fn save(&self, locked: &LockedTask) -> Result<(), StoreError> {
        self.wait(save(self.client(), self.domain, locked))
    }

    fn end_lease(&self, id: &str, retry_at: UnixMillis) -> Result<(), StoreError> {
        let end = "UPDATE task_queue SET lease_server = NULL, lease_until = 0, not_before = $3
                   WHERE domain_id = $1 AND task_id = $2";
        self.change(end, values![self.domain, id, retry_at]).map(drop)
    }

    /// The place comes from the domain's clock, which is locked last of all: the order of
    /// acceptance is the order of the commits. The last time is read under the same lock.
    fn next_places(
        &self,
        count: u32,
        family: Family,
        limits: TaskLimits,
    ) -> Result<NextPlace, StoreError> {
        let (client, family, count) = (self.client(), family.code() as i16, i64::from(count));
        let of_family: [&(dyn ToSql + Sync); 2] = [&self.domain.0, &family];
        let counted: [&(dyn ToSql + Sync); 2] = [&self.domain.0, &count];
        let params: [&(dyn ToSql + Sync); 1] = [&self.domain.0];
        self.wait(async {
            let clock = "UPDATE domain_clocks SET last_task_seq = last_task_seq + $2
                         WHERE domain_id = $1 RETURNING last_task_seq - $2 + 1";
            let unfinished = "SELECT count(*) FROM task_queue WHERE domain_id = $1";
            let (clock, notify) = (client.prepare(clock).await?, notify::prepare(client).await?);
            let unfinished = client.prepare(unfinished).await?;
            let last = client.prepare(&native(LAST_TIME)).await?;
            // Read after the lock of the clock: no other server accepts a task before this commit.
            let (notified, clock, unfinished, last) = join!(
                notify::prepared_work(client, &notify),
                client.prepared_row(&clock, &counted),
                client.prepared_row(&unfinished, &params),
                client.prepared_row_opt(&last, &of_family),
            );
            // The first fault is the cause: after it, the transaction refuses the other statements.
            notified?;
            let place = clock?.get(0);
            limits.require(unfinished?.get::<_, i64>(0) as u32)?;
            Ok((Some(place), last?.map(|row| instant(&row, 0))))
        })
    }

    fn enqueue(&self, command: &CreateTask, place: Option<i64>) -> Result<(), StoreError> {
        let enqueue =
            "INSERT INTO task_queue (domain_id, task_id, seq, writes) VALUES ($1, $2, $3, $4)";
        let writes = command.action.writes();
        self.change(enqueue, values![self.domain, command.id, place, writes]).map(drop)
    }

    fn insert_payload(&self, id: &str, blocks: &[PackedBlock]) -> Result<(), StoreError> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut rows = CopyRows::new();
        for PackedBlock { first_index, last_index, bytes } in blocks {
            assert!(first_index <= last_index, "a payload block ends before it begins");
            let row = values![self.domain, id, first_index, last_index, bytes];
            rows.row(6).add(self.domain.0).add(id);
            rows.add(*first_index as i32).add(*last_index as i32);
            rows.add(&bytes[..]).add(checksum::of(row));
        }
        self.wait(async {
            let copy = self.client().prepare_copy(PAYLOAD).await?;
            self.client().copy_rows(&copy, rows).await.map_err(|error| {
                if is_duplicate(&error) { already_exists(id) } else { store_error(error) }
            })
        })
    }
}

/// Purges a step in the first domain that has something expired; false if none has.
pub(crate) fn purge_step(db: &BlockingClient<'_>, now: UnixMillis) -> Result<bool, StoreError> {
    let domains = db.list("SELECT id FROM domains ORDER BY id", &[], |row| row.get(0))?;
    for domain in domains {
        let tx = DomainTx { db, domain };
        if rules::purge_step(&tx, now)? {
            tx.end()?;
            return Ok(true);
        }
    }
    Ok(false)
}

impl ExpiryStore for DomainTx<'_> {
    type Tasks = Self;

    fn first(
        &self,
        table: &str,
        condition: &str,
        at: UnixMillis,
    ) -> Result<Option<(Self, String)>, StoreError> {
        let select = format!(
            "SELECT id FROM {table} WHERE domain_id = $2 AND {condition} LIMIT 1
             FOR UPDATE SKIP LOCKED"
        );
        let found = self.find(&select, values![at, self.domain], |row| row.get(0))?;
        Ok(found.map(|id| (*self, id)))
    }

    fn delete_expired_keys(&self, now: UnixMillis, keys_max: u32) -> Result<u64, StoreError> {
        self.change(
            "DELETE FROM idempotency_keys WHERE domain_id = $1 AND key IN
             (SELECT key FROM idempotency_keys WHERE domain_id = $1 AND expires_at <= $2
             LIMIT $3 FOR UPDATE SKIP LOCKED)",
            values![self.domain, now, keys_max],
        )
    }
}
