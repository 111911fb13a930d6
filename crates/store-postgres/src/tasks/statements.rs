//! The statements of the task rules ([`TaskStore`]) and of the purge. A task is locked by its row
//! in `task_queue`, which goes first: the columns that are read after that are as the last change
//! left them.

use caseload_model::ids::DomainId;
use caseload_model::task::{Task, TaskStatus};
use caseload_model::time::UnixMillis;
use caseload_store::tasks::{
    self as rules, Blocks, ExpiryStore, Lease, LockedTask, PurgeState, TaskStore, already_exists,
    kind_code, require_room,
};
use caseload_store::{CreateTask, PackedBlock, RecordKind, StoreError};
use tokio::join;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::row::{self, COLUMNS, COLUMNS_COUNT, code};
use crate::engine::{BlockingClient, Client, CopyRows, constraint, store_error};
use crate::notify;
use crate::rows::{count, instant, text};
use crate::tx::DomainTx;

/// Locks the queue row of a task, from its domain and its id.
pub(super) const LOCK: &str = "SELECT lease_server IS NOT NULL, lease_epoch, lease_until
                               FROM task_queue WHERE domain_id = $1 AND task_id = $2 FOR UPDATE";
const PAYLOAD: &str = "payload_blocks (domain_id, task_id, first_index, last_index, bytes)";

/// The columns of a task that the rules read, by its domain and its id.
pub(super) fn select() -> String {
    format!(
        "SELECT {COLUMNS}, t.next_index, t.attempts, t.cancel_at IS NOT NULL FROM tasks t
         WHERE t.domain_id = $1 AND t.id = $2"
    )
}

/// From the rows of [`LOCK`] and [`select`].
pub(super) fn locked(queued: Option<&Row>, row: &Row) -> Result<LockedTask, StoreError> {
    let lease = queued.filter(|queued| queued.get(0));
    Ok(LockedTask {
        task: row::task(row)?,
        next_index: count(row, COLUMNS_COUNT),
        attempts: count(row, COLUMNS_COUNT + 1),
        cancel_requested: row.get(COLUMNS_COUNT + 2),
        lease: lease.map(|queued| Lease { epoch: queued.get(1), until: instant(queued, 2) }),
    })
}

/// Writes the state of a task back; see [`TaskStore::save`].
pub(super) async fn save(
    client: &Client,
    domain: i64,
    locked: &LockedTask,
) -> Result<(), StoreError> {
    let LockedTask { task, next_index, attempts, .. } = locked;
    let id = task.id.as_bytes();
    let update = client
        .prepare(
            "UPDATE tasks SET status = $3, outcome = $4, succeeded = $5, failed = $6,
             unprocessed = $7, completed_at = $8, next_index = $9, attempts = $10, warnings = $11
             WHERE domain_id = $1 AND id = $2",
        )
        .await?;
    let columns: [&(dyn ToSql + Sync); 11] = [
        &domain,
        &id,
        &code(task.status.code()),
        &task.outcome.map(|outcome| code(outcome.code())),
        &(task.counts.succeeded as i32),
        &(task.counts.failed as i32),
        &(task.counts.unprocessed as i32),
        &task.completed_at.map(|at| at.0),
        &(*next_index as i32),
        &(*attempts as i32),
        &i64::from(task.warnings),
    ];
    let update = async {
        let changed = client.prepared_execute(&update, &columns).await?;
        if changed == 1 { Ok(()) } else { Err(StoreError::LeaseLost) }
    };
    if task.status != TaskStatus::Completed {
        return update.await;
    }
    let delete = "DELETE FROM task_queue WHERE domain_id = $1 AND task_id = $2";
    let (delete, notify) = (client.prepare(delete).await?, notify::prepare(client).await?);
    let key: [&(dyn ToSql + Sync); 2] = [&domain, &id];
    let (updated, left, notified) = join!(
        update,
        client.prepared_execute(&delete, &key),
        notify::prepared_work(client, &notify),
    );
    updated.and(left).and(notified)
}

impl TaskStore for DomainTx<'_> {
    fn lock(&self, id: &str) -> Result<Option<LockedTask>, StoreError> {
        let (client, id) = (self.client(), id.as_bytes());
        let params: [&(dyn ToSql + Sync); 2] = [&self.domain.0, &id];
        let (queued, found) = self.wait(async {
            let (lock, select) = (client.prepare(LOCK).await?, client.prepare(&select()).await?);
            // Sent together, executed in this order: the read sees the state after the lock's wait.
            let (queued, found) = join!(
                client.prepared_row_opt(&lock, &params),
                client.prepared_row_opt(&select, &params),
            );
            Ok((queued?, found?))
        })?;
        found.map(|row| locked(queued.as_ref(), &row)).transpose()
    }

    fn read(&self, id: &str) -> Result<Option<LockedTask>, StoreError> {
        let found = self.row_opt(&select(), &[&self.domain.0, &id.as_bytes()])?;
        found.map(|row| locked(None, &row)).transpose()
    }

    fn save(&self, locked: &LockedTask) -> Result<(), StoreError> {
        self.wait(save(self.client(), self.domain.0, locked))
    }

    fn request_cancel(&self, id: &str, now: UnixMillis) -> Result<(), StoreError> {
        let update = "UPDATE tasks SET cancel_at = coalesce(cancel_at, $3)
                      WHERE domain_id = $1 AND id = $2";
        self.execute(update, &[&self.domain.0, &id.as_bytes(), &now.0]).map(drop)
    }

    fn end_lease(&self, id: &str, retry_at: UnixMillis) -> Result<(), StoreError> {
        let update = "UPDATE task_queue SET lease_server = NULL, lease_until = 0, not_before = $3
                      WHERE domain_id = $1 AND task_id = $2";
        self.execute(update, &[&self.domain.0, &id.as_bytes(), &retry_at.0]).map(drop)
    }

    fn unfinished(&self) -> Result<u32, StoreError> {
        Ok(self.wait(self.client().row(UNFINISHED, &[&self.domain.0]))?.get::<_, i64>(0) as u32)
    }

    fn insert(&self, command: &CreateTask, first_index: u32) -> Result<Option<Task>, StoreError> {
        self.wait(insert(self.client(), command, first_index))
    }

    fn note_retry(&self, id: &str, retry: &str) -> Result<Option<String>, StoreError> {
        // If another transaction notes a retry, this waits for its end and then finds that one.
        let note = "UPDATE tasks SET retried_by = $3
                    WHERE domain_id = $1 AND id = $2 AND retried_by IS NULL";
        let (id, retry) = (id.as_bytes(), retry.as_bytes());
        if self.execute(note, &[&self.domain.0, &id, &retry])? > 0 {
            return Ok(None);
        }
        let select = "SELECT retried_by FROM tasks WHERE domain_id = $1 AND id = $2";
        self.row_opt(select, &[&self.domain.0, &id])?.map(|row| text(&row, 0)).transpose()
    }

    fn touch_upload(&self, id: &str, now: UnixMillis) -> Result<(), StoreError> {
        let touch = "INSERT INTO uploads AS u (domain_id, id, touched_at) VALUES ($1, $2, $3)
                     ON CONFLICT (domain_id, id) DO UPDATE SET touched_at = excluded.touched_at
                     WHERE u.domain_id = $1";
        self.execute(touch, &[&self.domain.0, &id.as_bytes(), &now.0]).map(drop)
    }

    fn take_upload(&self, id: &str) -> Result<bool, StoreError> {
        let take = "DELETE FROM uploads WHERE domain_id = $1 AND id = $2 AND touched_at > 0";
        Ok(self.execute(take, &[&self.domain.0, &id.as_bytes()])? > 0)
    }

    fn give_up_upload(&self, id: &str) -> Result<bool, StoreError> {
        let give_up = "UPDATE uploads SET touched_at = 0 WHERE domain_id = $1 AND id = $2";
        Ok(self.execute(give_up, &[&self.domain.0, &id.as_bytes()])? > 0)
    }

    fn delete_upload(&self, id: &str) -> Result<(), StoreError> {
        let delete = "DELETE FROM uploads WHERE domain_id = $1 AND id = $2";
        self.execute(delete, &[&self.domain.0, &id.as_bytes()]).map(drop)
    }

    fn payload_ranges(&self, id: &str) -> Result<Vec<(u32, u32)>, StoreError> {
        let select = "SELECT first_index, last_index FROM payload_blocks
                      WHERE domain_id = $1 AND task_id = $2";
        let found = self.rows(select, &[&self.domain.0, &id.as_bytes()])?;
        Ok(found.iter().map(|row| (count(row, 0), count(row, 1))).collect())
    }

    fn payload_blocks(
        &self,
        id: &str,
        last_indexes: Option<&[u32]>,
    ) -> Result<Vec<PackedBlock>, StoreError> {
        let last_indexes = last_indexes.map(numbers);
        let found = self.rows(
            "SELECT first_index, last_index, bytes FROM payload_blocks
             WHERE domain_id = $1 AND task_id = $2
             AND ($3::int[] IS NULL OR last_index = ANY ($3)) ORDER BY last_index",
            &[&self.domain.0, &id.as_bytes(), &last_indexes],
        )?;
        let block = |row: &Row| PackedBlock {
            first_index: count(row, 0),
            last_index: count(row, 1),
            bytes: row.get(2),
        };
        Ok(found.iter().map(block).collect())
    }

    fn insert_payload(&self, id: &str, blocks: &[PackedBlock]) -> Result<(), StoreError> {
        if blocks.is_empty() {
            return Ok(());
        }
        let mut rows = CopyRows::new();
        for PackedBlock { first_index, last_index, bytes } in blocks {
            assert!(first_index <= last_index, "a payload block ends before it begins");
            rows.row(5).add(self.domain.0).add(id);
            rows.add(*first_index as i32).add(*last_index as i32).add(&bytes[..]);
        }
        self.wait(async {
            let copy = self.client().prepare_copy(PAYLOAD).await?;
            self.client().copy_rows(&copy, rows).await.map_err(|error| match constraint(&error) {
                Some(_) => already_exists(id),
                None => store_error(error),
            })
        })
    }

    fn delete_payload(&self, id: &str, last_indexes: &[u32]) -> Result<(), StoreError> {
        let delete = "DELETE FROM payload_blocks
                      WHERE domain_id = $1 AND task_id = $2 AND last_index = ANY ($3)";
        self.execute(delete, &[&self.domain.0, &id.as_bytes(), &numbers(last_indexes)]).map(drop)
    }

    fn error_blocks(&self, id: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        let select = "SELECT bytes FROM record_blocks
                      WHERE domain_id = $1 AND task_id = $2 AND kind = $3";
        let errors = code(kind_code(RecordKind::Errors));
        let found = self.rows(select, &[&self.domain.0, &id.as_bytes(), &errors])?;
        Ok(found.iter().map(|row| row.get(0)).collect())
    }

    fn delete_some(&self, id: &str, blocks: Blocks, blocks_max: u32) -> Result<u64, StoreError> {
        let delete = match blocks {
            Blocks::Payload => {
                "DELETE FROM payload_blocks WHERE domain_id = $1 AND task_id = $2 AND last_index IN
          (SELECT last_index FROM payload_blocks WHERE domain_id = $1 AND task_id = $2 LIMIT $3)"
            }
            Blocks::Records => {
                "DELETE FROM record_blocks WHERE domain_id = $1 AND task_id = $2
                 AND (kind, first_index) IN (SELECT kind, first_index FROM record_blocks
                 WHERE domain_id = $1 AND task_id = $2 LIMIT $3)"
            }
        };
        self.execute(delete, &[&self.domain.0, &id.as_bytes(), &i64::from(blocks_max)])
    }

    fn set_purge_state(&self, id: &str, state: PurgeState) -> Result<(), StoreError> {
        let update = "UPDATE tasks SET purge = $3 WHERE domain_id = $1 AND id = $2";
        self.execute(update, &[&self.domain.0, &id.as_bytes(), &(state as i16)]).map(drop)
    }
}

const UNFINISHED: &str = "SELECT count(*) FROM task_queue WHERE domain_id = $1";

/// Adds an accepted task. Its place in the order of acceptance comes from the domain's clock, which
/// is locked last of all: it is the order of the commits. Its time is set under the same lock.
async fn insert(
    client: &Client,
    command: &CreateTask,
    first_index: u32,
) -> Result<Option<Task>, StoreError> {
    let (domain, family) = (command.domain.0, code(command.action.family().code()));
    let params: [&(dyn ToSql + Sync); 1] = [&domain];
    let of_family: [&(dyn ToSql + Sync); 2] = [&domain, &family];
    let clock = client
        .prepare(
            "UPDATE domain_clocks SET last_task_seq = last_task_seq + 1 WHERE domain_id = $1
             RETURNING last_task_seq",
        )
        .await?;
    let last = client
        .prepare(
            "SELECT created_at FROM tasks WHERE domain_id = $1 AND family = $2
             ORDER BY seq DESC LIMIT 1",
        )
        .await?;
    let (unfinished, notify) = (client.prepare(UNFINISHED).await?, notify::prepare(client).await?);
    // Read after the lock of the clock: no other server accepts a task before this commit.
    let (notified, clock, unfinished, last) = join!(
        notify::prepared_work(client, &notify),
        client.prepared_row(&clock, &params),
        client.prepared_row(&unfinished, &params),
        client.prepared_row_opt(&last, &of_family),
    );
    // The first fault is the cause: after it, the transaction refuses the other statements.
    notified?;
    let (seq, writes): (i64, _) = (clock?.get(0), command.action.writes());
    require_room(command, unfinished?.get::<_, i64>(0) as u32)?;
    let task = command.accepted(last?.map(|row| instant(&row, 0)));
    let inserted = client
        .execute(
            "INSERT INTO tasks (domain_id, id, family, action, writes, dry_run, status,
             total, unprocessed, next_index, created_at, expires_at, parent_id, seq)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12, $13)
             ON CONFLICT (domain_id, id) DO NOTHING",
            &[
                &domain,
                &command.id.as_bytes(),
                &family,
                &code(command.action.code()),
                &writes,
                &command.dry_run,
                &code(TaskStatus::Created.code()),
                &(command.total as i32),
                &(first_index as i32),
                &task.created_at.0,
                &task.expires_at.map(|at| at.0),
                &task.parent_id.as_ref().map(String::as_bytes),
                &seq,
            ],
        )
        .await?;
    if inserted == 0 {
        return Ok(None);
    }
    let queue = "INSERT INTO task_queue (domain_id, task_id, seq, writes) VALUES ($1, $2, $3, $4)";
    client.execute(queue, &[&domain, &command.id.as_bytes(), &seq, &writes]).await?;
    Ok(Some(task))
}

/// Purges a step in the first domain that has something expired; false if none has.
pub(crate) fn purge_step(db: &BlockingClient<'_>, now: UnixMillis) -> Result<bool, StoreError> {
    let domains = db.wait(db.client().rows("SELECT id FROM domains ORDER BY id", &[]))?;
    for domain in domains {
        let tx = DomainTx { db, domain: DomainId(domain.get(0)) };
        if rules::purge_step(&tx, now)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl ExpiryStore for DomainTx<'_> {
    type Tasks = Self;

    fn expired_task(&self, at: UnixMillis) -> Result<Option<(Self, String)>, StoreError> {
        self.find(
            "SELECT id FROM tasks WHERE domain_id = $1 AND status = 4 AND purge < 2
             AND expires_at <= $2 ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED",
            at,
        )
    }

    fn idle_upload(&self, at: UnixMillis) -> Result<Option<(Self, String)>, StoreError> {
        self.find(
            "SELECT id FROM uploads WHERE domain_id = $1 AND touched_at <= $2 LIMIT 1
             FOR UPDATE SKIP LOCKED",
            at,
        )
    }

    fn delete_expired_keys(&self, now: UnixMillis, keys_max: u32) -> Result<u64, StoreError> {
        self.execute(
            "DELETE FROM idempotency_keys WHERE domain_id = $1 AND key IN
             (SELECT key FROM idempotency_keys WHERE domain_id = $1 AND expires_at <= $2
             LIMIT $3 FOR UPDATE SKIP LOCKED)",
            &[&self.domain.0, &now.0, &i64::from(keys_max)],
        )
    }
}

impl DomainTx<'_> {
    fn find(&self, sql: &str, at: UnixMillis) -> Result<Option<(Self, String)>, StoreError> {
        let found = self.row_opt(sql, &[&self.domain.0, &at.0])?;
        found.map(|row| Ok((*self, text(&row, 0)?))).transpose()
    }
}

fn numbers(indexes: &[u32]) -> Vec<i32> {
    indexes.iter().map(|index| *index as i32).collect()
}
