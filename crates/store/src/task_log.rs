//! The log line for the end of a task. The caller that gets a completed task back from the store
//! writes it: the worker that applied the last chunk, or the call that cancelled the task. It has
//! no data of the tenant's beyond the name of the domain.

use caseload_model::ids::DomainName;
use caseload_model::task::{Outcome, Task};

/// Logs the end of a task; does nothing if the task goes on.
pub fn log_end(domain: &DomainName, task: &Task) {
    let Some(outcome) = task.outcome else { return };
    let ended = task.completed_at.unwrap_or(task.created_at).0;
    let started = task.started_at.map_or(ended, |at| at.0);
    tracing::info!(
        task_id = task.id,
        domain = domain.as_str(),
        action = task.action.as_str(),
        dry_run = task.dry_run,
        outcome = Outcome::as_str(outcome),
        total = task.counts.total,
        succeeded = task.counts.succeeded,
        failed = task.counts.failed,
        unprocessed = task.counts.unprocessed,
        waited_ms = started - task.created_at.0,
        duration_ms = ended - started,
        "a task ended"
    );
}
