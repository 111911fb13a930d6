//! The statements of the task rules ([`TaskStore`]), of idempotency keys and of the purge.

use caseload_model::ids::DomainId;
use caseload_model::task::{Outcome, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use caseload_store::tasks::{
    Blocks, ExpiryStore, Lease, LockedTask, PurgeState, TaskStore, already_exists, kind_code,
};
use caseload_store::{CreateTask, PackedBlock, RecordKind, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::row::{self, COLUMNS, COLUMNS_COUNT};
use crate::Fault;
use crate::issues::numbers;
use crate::tx::DomainTx;

impl TaskStore for DomainTx<'_> {
    fn lock(&self, id: &str) -> Result<Option<LockedTask>, StoreError> {
        self.read(id)
    }

    fn read(&self, id: &str) -> Result<Option<LockedTask>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, next_index, attempts, cancel_at IS NOT NULL,
             iif(lease_server IS NULL, NULL, lease_epoch), lease_until
             FROM tasks WHERE domain_id = ?1 AND id = ?2"
        );
        self.row(&sql, params![self.domain.0, id], |row| {
            let epoch: Option<i64> = row.get(COLUMNS_COUNT + 3)?;
            let until = UnixMillis(row.get(COLUMNS_COUNT + 4)?);
            Ok(LockedTask {
                task: row::task(row)?,
                next_index: row.get(COLUMNS_COUNT)?,
                attempts: row.get(COLUMNS_COUNT + 1)?,
                cancel_requested: row.get(COLUMNS_COUNT + 2)?,
                lease: epoch.map(|epoch| Lease { epoch, until }),
            })
        })
    }

    fn save(&self, locked: &LockedTask) -> Result<(), StoreError> {
        let LockedTask { task, next_index, attempts, .. } = locked;
        let changed = self.execute(
            "UPDATE tasks SET status = ?3, outcome = ?4, succeeded = ?5, failed = ?6,
             unprocessed = ?7, completed_at = ?8, next_index = ?9, attempts = ?10, warnings = ?11,
             lease_server = iif(?3 = 4, NULL, lease_server)
             WHERE domain_id = ?1 AND id = ?2",
            params![
                self.domain.0,
                task.id,
                task.status.code(),
                task.outcome.map(Outcome::code),
                task.counts.succeeded,
                task.counts.failed,
                task.counts.unprocessed,
                task.completed_at.map(|at| at.0),
                next_index,
                attempts,
                task.warnings,
            ],
        )?;
        if changed == 1 { Ok(()) } else { Err(StoreError::LeaseLost) }
    }

    fn request_cancel(&self, id: &str, now: UnixMillis) -> Result<(), StoreError> {
        self.execute(
            "UPDATE tasks SET cancel_at = coalesce(cancel_at, ?3)
             WHERE domain_id = ?1 AND id = ?2",
            params![self.domain.0, id, now.0],
        )?;
        Ok(())
    }

    fn end_lease(&self, id: &str, retry_at: UnixMillis) -> Result<(), StoreError> {
        self.execute(
            "UPDATE tasks SET lease_server = NULL, lease_until = 0, not_before = ?3
             WHERE domain_id = ?1 AND id = ?2",
            params![self.domain.0, id, retry_at.0],
        )?;
        Ok(())
    }

    fn unfinished(&self) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM tasks WHERE domain_id = ?1 AND status < 4";
        Ok(self.row(sql, [self.domain.0], |row| Ok(row.get(0)?))?.unwrap_or_default())
    }

    fn insert(&self, command: &CreateTask, first_index: u32) -> Result<Option<Task>, StoreError> {
        let last = self.row(
            "SELECT created_at FROM tasks WHERE domain_id = ?1 AND family = ?2
             ORDER BY seq DESC LIMIT 1",
            [self.domain.0, command.action.family().code()],
            |row| Ok(UnixMillis(row.get(0)?)),
        )?;
        let task = command.accepted(last);
        let inserted = self.execute(
            "INSERT INTO tasks (domain_id, id, family, action, writes, dry_run, status, total,
             unprocessed, next_index, created_at, expires_at, parent_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT DO NOTHING",
            params![
                self.domain.0,
                command.id,
                command.action.family().code(),
                command.action.code(),
                command.action.writes(),
                command.dry_run,
                TaskStatus::Created.code(),
                command.total,
                first_index,
                task.created_at.0,
                task.expires_at.map(|at| at.0),
                task.parent_id,
            ],
        )?;
        Ok((inserted == 1).then_some(task))
    }

    fn note_retry(&self, id: &str, retry: &str) -> Result<Option<String>, StoreError> {
        let note = "UPDATE tasks SET retried_by = ?3
                    WHERE domain_id = ?1 AND id = ?2 AND retried_by IS NULL";
        if self.execute(note, params![self.domain.0, id, retry])? > 0 {
            return Ok(None);
        }
        let select = "SELECT retried_by FROM tasks WHERE domain_id = ?1 AND id = ?2";
        self.row(select, params![self.domain.0, id], |row| Ok(row.get(0)?))
    }

    fn touch_upload(&self, id: &str, now: UnixMillis) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO uploads (domain_id, id, touched_at) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET touched_at = excluded.touched_at",
            params![self.domain.0, id, now.0],
        )?;
        Ok(())
    }

    fn take_upload(&self, id: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM uploads WHERE domain_id = ?1 AND id = ?2 AND touched_at > 0";
        Ok(self.execute(sql, params![self.domain.0, id])? > 0)
    }

    fn give_up_upload(&self, id: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE uploads SET touched_at = 0 WHERE domain_id = ?1 AND id = ?2";
        Ok(self.execute(sql, params![self.domain.0, id])? > 0)
    }

    fn delete_upload(&self, id: &str) -> Result<(), StoreError> {
        let sql = "DELETE FROM uploads WHERE domain_id = ?1 AND id = ?2";
        self.execute(sql, params![self.domain.0, id]).map(drop)
    }

    fn payload_ranges(&self, id: &str) -> Result<Vec<(u32, u32)>, StoreError> {
        self.rows(
            "SELECT first_index, last_index FROM payload_blocks
             WHERE domain_id = ?1 AND task_id = ?2",
            params![self.domain.0, id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    fn payload_blocks(
        &self,
        id: &str,
        last_indexes: Option<&[u32]>,
    ) -> Result<Vec<PackedBlock>, StoreError> {
        let wanted = numbers(last_indexes.unwrap_or_default().iter().copied());
        self.rows(
            "SELECT first_index, last_index, bytes FROM payload_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND (?3 OR last_index IN rarray(?4))
             ORDER BY last_index",
            params![self.domain.0, id, last_indexes.is_none(), wanted],
            |row| {
                let (first_index, last_index) = (row.get(0)?, row.get(1)?);
                Ok(PackedBlock { first_index, last_index, bytes: row.get(2)? })
            },
        )
    }

    fn insert_payload(&self, id: &str, blocks: &[PackedBlock]) -> Result<(), StoreError> {
        for PackedBlock { first_index, last_index, bytes } in blocks {
            assert!(first_index <= last_index, "a payload block ends before it begins");
            let inserted = self.execute(
                "INSERT INTO payload_blocks (domain_id, task_id, first_index, last_index, bytes)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                params![self.domain.0, id, first_index, last_index, bytes],
            )?;
            if inserted == 0 {
                return Err(already_exists(id));
            }
        }
        Ok(())
    }

    fn delete_payload(&self, id: &str, last_indexes: &[u32]) -> Result<(), StoreError> {
        let sql = "DELETE FROM payload_blocks
                   WHERE domain_id = ?1 AND task_id = ?2 AND last_index = ?3";
        self.execute_each(sql, last_indexes, |last| (self.domain.0, id, last)).map(drop)
    }

    fn error_blocks(&self, id: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.rows(
            "SELECT bytes FROM record_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3",
            params![self.domain.0, id, kind_code(RecordKind::Errors)],
            |row| Ok(row.get(0)?),
        )
    }

    fn delete_some(&self, id: &str, blocks: Blocks, blocks_max: u32) -> Result<u64, StoreError> {
        let table = match blocks {
            Blocks::Payload => "payload_blocks",
            Blocks::Records => "record_blocks",
        };
        let sql = format!(
            "DELETE FROM {table} WHERE seq IN
             (SELECT seq FROM {table} WHERE domain_id = ?1 AND task_id = ?2 LIMIT ?3)"
        );
        self.execute(&sql, params![self.domain.0, id, blocks_max])
    }

    fn set_purge_state(&self, id: &str, state: PurgeState) -> Result<(), StoreError> {
        let sql = "UPDATE tasks SET purge = ?3 WHERE domain_id = ?1 AND id = ?2";
        self.execute(sql, params![self.domain.0, id, state as i64]).map(drop)
    }
}

/// Expired rows of all domains.
pub(crate) struct Expiry<'c>(pub(crate) &'c Connection);

impl<'c> ExpiryStore for Expiry<'c> {
    type Tasks = DomainTx<'c>;

    fn expired_task(&self, at: UnixMillis) -> Result<Option<(DomainTx<'c>, String)>, StoreError> {
        self.find(
            "SELECT domain_id, id FROM tasks
             WHERE status = 4 AND purge < 2 AND expires_at <= ?1 ORDER BY expires_at LIMIT 1",
            at,
        )
    }

    fn idle_upload(&self, at: UnixMillis) -> Result<Option<(DomainTx<'c>, String)>, StoreError> {
        self.find("SELECT domain_id, id FROM uploads WHERE touched_at <= ?1 LIMIT 1", at)
    }

    fn delete_expired_keys(&self, now: UnixMillis, keys_max: u32) -> Result<u64, StoreError> {
        let delete = || -> Result<_, Fault> {
            let mut delete = self.0.prepare_cached(
                "DELETE FROM idempotency_keys WHERE (domain_id, key) IN
                 (SELECT domain_id, key FROM idempotency_keys WHERE expires_at <= ?1 LIMIT ?2)",
            )?;
            Ok(delete.execute(params![now.0, keys_max])? as u64)
        };
        Ok(delete()?)
    }
}

impl<'c> Expiry<'c> {
    fn find(
        &self,
        sql: &str,
        at: UnixMillis,
    ) -> Result<Option<(DomainTx<'c>, String)>, StoreError> {
        let conn = self.0;
        let find = || -> Result<_, Fault> {
            let found = conn.prepare_cached(sql)?.query_row([at.0], |row| {
                Ok((DomainTx { conn, domain: DomainId(row.get(0)?) }, row.get(1)?))
            });
            Ok(found.optional()?)
        };
        Ok(find()?)
    }
}
