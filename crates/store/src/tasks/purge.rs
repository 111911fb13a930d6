//! Purging expired rows in steps that take a few milliseconds, so that other writes hardly wait:
//! some blocks of a completed task or of an upload that was given up, some of the state of a dry
//! run, a file that no message claimed, or some idempotency keys.
//! The rows of tasks stay. Blocks go an hour after their task's `expires_at`, so that a download
//! that began before it is not cut short; after `expires_at` no download begins.

use caseload_model::time::UnixMillis;

use super::accept::discard_step;
use super::statements::{PAYLOAD, RECORDS, TaskStore, delete_some};
use crate::failpoint::{self, Failpoint};
use crate::idempotency::CommandStore;
use crate::sql::Sql;
use crate::{StoreError, attachments, dry_run, values};

/// Milliseconds that a download may go on after its records have expired.
const GRACE_MS: i64 = 3_600_000;
/// Milliseconds after which an upload is given up if there is no sign that it continues.
const UPLOAD_IDLE_MS: i64 = 3_600_000;
/// How long a staged file waits for its message, in milliseconds.
const STAGED_MS_MAX: i64 = 3_600_000;
/// Blocks, each of about a megabyte before compression, that one step removes of payload and of
/// records.
const STEP_BLOCKS: u32 = 1;
/// Idempotency keys that one step removes.
const STEP_KEYS: u32 = 200;
/// How far the purge of a task is.
const BEGUN: i64 = 1;
const DONE: i64 = 2;

/// Statements that find expired rows, in one domain or in all, in one transaction. Rows that
/// another server is purging are passed over.
pub trait ExpiryStore {
    type Tasks: TaskStore;

    /// The first row of a table that meets a condition with `?1`, with its domain's tasks.
    fn first(
        &self,
        table: &str,
        condition: &str,
        at: UnixMillis,
    ) -> Result<Option<(Self::Tasks, String)>, StoreError>;
    /// Deletes at most `keys_max` expired idempotency keys; how many were deleted.
    fn delete_expired_keys(&self, now: UnixMillis, keys_max: u32) -> Result<u64, StoreError>;
}

/// One step; false if nothing was left to do.
pub fn purge_step(store: &impl ExpiryStore, now: UnixMillis) -> Result<bool, StoreError> {
    let before = |ms| UnixMillis(now.0.saturating_sub(ms));
    let expired = "status = 4 AND purge < 2 AND expires_at <= ?1 ORDER BY expires_at";
    if let Some((tasks, id)) = store.first("tasks", expired, before(GRACE_MS))? {
        let deleted = delete_some(&tasks, &id, RECORDS, STEP_BLOCKS)?
            + delete_some(&tasks, &id, PAYLOAD, STEP_BLOCKS)?;
        let state = if deleted > 0 { BEGUN } else { DONE };
        let note = "UPDATE tasks SET purge = ?3 WHERE domain_id = ?1 AND id = ?2";
        tasks.change(note, values![tasks.domain(), id, state])?;
        failpoint::reached(Failpoint::PurgeBeforeCommit);
        return Ok(true);
    }
    if let Some((tasks, run)) = store.first("dry_runs", "ended_at <= ?1", now)? {
        dry_run::purge_step(&tasks, &run)?;
        return Ok(true);
    }
    if let Some((tasks, id)) = store.first("uploads", "touched_at <= ?1", before(UPLOAD_IDLE_MS))? {
        return discard_step(&tasks, &id);
    }
    let staged = "issue_id IS NULL AND created_at <= ?1";
    if let Some((domain, id)) = store.first("attachments", staged, before(STAGED_MS_MAX))? {
        attachments::discard(&domain, &[id])?;
        return Ok(true);
    }
    Ok(store.delete_expired_keys(now, STEP_KEYS)? > 0)
}
