//! Purging expired rows in steps that take a few milliseconds, so that other writes hardly wait:
//! some blocks of a completed task or of an upload that was given up, or some idempotency keys.
//! The rows of tasks stay. Blocks go an hour after their task's `expires_at`, so that a download
//! that began before it is not cut short; after `expires_at` no download begins.

use caseload_model::time::UnixMillis;

use super::accept::discard_step;
use super::statements::{Blocks, PurgeState, TaskStore};
use crate::StoreError;
use crate::failpoint::{self, Failpoint};

/// Milliseconds that a download may go on after its records have expired.
const GRACE_MS: i64 = 3_600_000;
/// Milliseconds after which an upload without a new block is given up.
const UPLOAD_IDLE_MS: i64 = 3_600_000;
/// Blocks, each of about a megabyte before compression, that one step removes of payload and of
/// records.
const STEP_BLOCKS: u32 = 1;
/// Idempotency keys that one step removes.
const STEP_KEYS: u32 = 200;

/// Statements that find expired rows, in one domain or in all, in one transaction. Rows that
/// another server is purging are passed over.
pub trait ExpiryStore {
    type Tasks: TaskStore;

    /// A completed task that is not purged and expired at or before `at`, with its domain's tasks.
    fn expired_task(&self, at: UnixMillis) -> Result<Option<(Self::Tasks, String)>, StoreError>;
    /// An upload whose last block came at or before `at`, with its domain's tasks.
    fn idle_upload(&self, at: UnixMillis) -> Result<Option<(Self::Tasks, String)>, StoreError>;
    /// Deletes at most `keys_max` expired idempotency keys; how many were deleted.
    fn delete_expired_keys(&self, now: UnixMillis, keys_max: u32) -> Result<u64, StoreError>;
}

/// One step; false if nothing was left to do.
pub fn purge_step(store: &impl ExpiryStore, now: UnixMillis) -> Result<bool, StoreError> {
    let before = |ms| UnixMillis(now.0.saturating_sub(ms));
    if let Some((tasks, id)) = store.expired_task(before(GRACE_MS))? {
        let deleted = tasks.delete_some(&id, Blocks::Records, STEP_BLOCKS)?
            + tasks.delete_some(&id, Blocks::Payload, STEP_BLOCKS)?;
        let state = if deleted > 0 { PurgeState::Begun } else { PurgeState::Done };
        tasks.set_purge_state(&id, state)?;
        failpoint::reached(Failpoint::PurgeBeforeCommit);
        return Ok(true);
    }
    if let Some((tasks, id)) = store.idle_upload(before(UPLOAD_IDLE_MS))? {
        return discard_step(&tasks, &id);
    }
    Ok(store.delete_expired_keys(now, STEP_KEYS)? > 0)
}
