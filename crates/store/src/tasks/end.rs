//! How a task ends: with its last entry, with a fault of the server's, or because a caller
//! cancelled it. A task without a lease is cancelled at once; a leased one is marked, and its
//! server ends it before the next chunk. Invariant: when a task ends, its payload is cut down to
//! the entries that a retry needs.

use caseload_model::change::{Author, Batch, ChangeAction, Effect, Resource};
use caseload_model::task::{Action, Outcome, TASK_ATTEMPTS_MAX, Task, TaskStatus};
use caseload_model::time::UnixMillis;

use super::records::PackedRecords;
use super::retry_payload;
use super::statements::{LockedTask, TaskStore};
use crate::changes::log;
use crate::dry_run;
use crate::erasure::progress;
use crate::failpoint::{self, Failpoint};
use crate::{CancelTask, FailAttempt, StoreError, values};

impl LockedTask {
    /// Whether the lease of that epoch is the current one.
    pub(super) fn is_leased(&self, epoch: i64) -> bool {
        assert!(self.task.counts.is_conserved(), "the counts of a stored task do not add up");
        self.task.status == TaskStatus::Processing
            && self.lease.is_some_and(|lease| lease.epoch == epoch)
    }
}

/// Writes the state of a task back.
pub(super) fn save(store: &impl TaskStore, locked: &LockedTask) -> Result<(), StoreError> {
    locked.task.assert_lawful();
    store.save(locked)
}

/// Ends the task; the caller saves it, and logs the effect. `unsaved` are records that are not
/// stored yet.
pub(super) fn complete(
    store: &impl TaskStore,
    locked: &mut LockedTask,
    outcome: Outcome,
    now: UnixMillis,
    unsaved: &[PackedRecords],
) -> Result<Effect, StoreError> {
    locked.task.complete(outcome, now);
    // An import of issues has a state without being a dry run.
    if locked.task.dry_run || locked.task.import_id.is_some() {
        dry_run::end(store, (&locked.task.id, locked.task.import_id.as_deref()), now)?;
    }
    if locked.task.action == Action::ErasePerson {
        progress::forget(store, &locked.task.id)?;
    }
    retry_payload::trim(store, locked, unsaved)?;
    failpoint::reached(Failpoint::TaskEnding);
    Ok(Effect::new(Resource::Task, &*locked.task.id, ChangeAction::Completed))
}

/// Cancels a task, or asks its server to.
pub fn cancel(store: &impl TaskStore, command: &CancelTask) -> Result<Task, StoreError> {
    let by = store.require_caller(command.key.as_deref(), command.now)?;
    let (task, effect) = cancel_by(store, command)?;
    log(store, &Batch::new(command.now, by, effect.into_iter().collect()))?;
    Ok(task)
}

/// [`cancel`] for a caller whose key was looked at. Also returns the effect, if the task has ended.
pub(super) fn cancel_by(
    store: &impl TaskStore,
    command: &CancelTask,
) -> Result<(Task, Option<Effect>), StoreError> {
    let unfinished = |found: Option<LockedTask>| {
        let found = found
            .filter(|found| found.task.action.family() == command.family)
            .ok_or_else(|| StoreError::NotFound { what: format!("task {}", command.task_id) })?;
        match found.task.status {
            TaskStatus::Completed => Err(StoreError::TaskCompleted),
            _ => Ok(found),
        }
    };
    let is_running =
        |found: &LockedTask| found.lease.is_some_and(|lease| lease.until > command.now);
    // Without a lock: the chunk that is running has locked the task, and it may be a long one.
    let found = unfinished(store.read(&command.task_id)?)?;
    if is_running(&found) && request_cancel(store, command)? {
        return Ok((found.task, None));
    }
    let mut locked = unfinished(store.lock(&command.task_id)?)?;
    if is_running(&locked) {
        request_cancel(store, command)?;
        return Ok((locked.task, None));
    }
    let effect = complete(store, &mut locked, Outcome::Cancelled, command.now, &[])?;
    save(store, &locked)?;
    failpoint::reached(Failpoint::CancelBeforeCommit);
    Ok((locked.task, Some(effect)))
}

/// Asks the server that works on a task to end it before its next chunk; false if the task was
/// completed a moment ago.
fn request_cancel(store: &impl TaskStore, command: &CancelTask) -> Result<bool, StoreError> {
    let changed = store.change(
        "UPDATE tasks SET cancel_at = coalesce(cancel_at, ?3)
         WHERE domain_id = ?1 AND id = ?2 AND status < 4",
        values![store.domain(), command.task_id, command.now],
    )?;
    failpoint::reached(Failpoint::CancelBeforeCommit);
    Ok(changed > 0)
}

/// Gives a task back, and counts the fault if it is the task's own. The last attempt completes the
/// task; its unprocessed entries stay counted as such.
pub fn fail_attempt(store: &impl TaskStore, command: &FailAttempt) -> Result<Task, StoreError> {
    let mut locked = store
        .lock(&command.task_id)?
        .filter(|locked| locked.is_leased(command.lease_epoch))
        .ok_or(StoreError::LeaseLost)?;
    locked.attempts += u32::from(command.counted);
    let outcome = match () {
        () if locked.attempts >= TASK_ATTEMPTS_MAX => Some(Outcome::Failed),
        () => locked.cancel_requested.then_some(Outcome::Cancelled),
    };
    let ended = outcome.map(|outcome| complete(store, &mut locked, outcome, command.now, &[]));
    let effects = ended.transpose()?.into_iter().collect();
    save(store, &locked)?;
    store.end_lease(&command.task_id, command.retry_at)?;
    let by = Author::Task { id: command.task_id.clone() };
    log(store, &Batch::new(command.now, by, effects))?;
    Ok(locked.task)
}
