//! The worker of one claimed task, from its first unprocessed entry to its completion. Every step
//! is a commit of the store. When the runner stops, the worker ends after its current chunk, and
//! the task resumes after the restart.

use std::time::Duration;

use caseload_model::time::UnixMillis;
use caseload_store::{ClaimedTask, FailAttempt, OutageLog, StoreError, log_end};
use tokio::time::Instant;

use crate::chunks;
use crate::context::Context;
use crate::progress::Progress;

/// Milliseconds before a task is tried again after a fault of the server.
const RETRY_AFTER_MS: i64 = 5_000;
/// Pause before a fault that could not be recorded is recorded again.
const RECORD_AGAIN: Duration = Duration::from_secs(1);

/// Runs a claimed task. A fault of the server, a panic included, counts against the task, unless
/// the disk cannot be written, the database is unreachable or the domain has reached its quota:
/// those faults pass. A task that a caller has cancelled is given back without being read, which
/// ends it: servers may die with its entries.
pub(crate) async fn run(mut context: Context, claim: ClaimedTask) {
    let _in_progress = context.work.begin();
    let counted = if claim.cancel_requested {
        false
    } else {
        let Some(counted) = work(&context, &claim).await else { return };
        counted
    };
    // Until the fault is recorded, other servers cannot lease the task.
    let mut log = OutageLog::default();
    while !*context.stopping.borrow() {
        let now = context.clock.now();
        let failed = context.store.fail_attempt(FailAttempt {
            domain: claim.domain,
            task_id: claim.task.id.clone(),
            lease_epoch: claim.lease_epoch,
            now,
            counted,
            retry_at: UnixMillis(now.0 + RETRY_AFTER_MS),
        });
        match failed.await {
            Ok(task) => return log_end(&claim.domain_name, &task),
            Err(StoreError::LeaseLost | StoreError::Closed) => return,
            Err(error) if log.fails(Instant::now().into_std()).is_some() => {
                context.outage.report(&error, "the fault could not be recorded");
            }
            Err(_) => {}
        }
        let _ = tokio::time::timeout(RECORD_AGAIN, context.stopping.changed()).await;
    }
}

/// Applies the entries of a task. `None` if its lease is over, else whether the fault that ended
/// the work counts against the task.
async fn work(context: &Context, claim: &ClaimedTask) -> Option<bool> {
    let task_id = &claim.task.id;
    match tokio::spawn(process(context.clone(), claim.clone())).await {
        Ok(Ok(())) => {
            context.outage.quota_has_room(claim.domain);
            None
        }
        Ok(Err(StoreError::LeaseLost | StoreError::Closed)) => None,
        Ok(Err(fault)) => {
            if fault.outage().is_some() {
                context.outage.report(&fault, "a bulk action task waits");
            } else if matches!(fault, StoreError::QuotaExceeded(_)) {
                context.outage.quota_reached(claim, &fault);
            } else {
                tracing::error!(task_id, %fault, "a bulk action task met a fault");
            }
            Some(!passes(&fault))
        }
        Err(stopped) if stopped.is_panic() => {
            let fault = "a worker panicked";
            tracing::error!(task_id, fault, "a bulk action task met a fault");
            Some(true)
        }
        Err(_) => None,
    }
}

async fn process(context: Context, claim: ClaimedTask) -> Result<(), StoreError> {
    chunks::apply(&context, &claim, &mut Progress::of(&claim)).await
}

/// Whether a fault would stop any task and passes by itself.
fn passes(error: &StoreError) -> bool {
    error.outage().is_some()
        || matches!(error, StoreError::NotWritten(_) | StoreError::QuotaExceeded(_))
}
