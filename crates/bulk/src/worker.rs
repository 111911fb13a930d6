//! The worker of one claimed task, from its first unprocessed entry to its completion. Every step
//! is a commit of the store. When the runner stops, the worker ends after its current chunk, and
//! the task resumes after the restart.

use std::time::Duration;

use caseload_model::time::UnixMillis;
use caseload_store::{ClaimedTask, FailAttempt, StoreError, log_end};

use crate::context::Context;
use crate::progress::{Progress, Stop};
use crate::{chunks, one_by_one};

/// Milliseconds before a task is tried again after a fault of the server.
const RETRY_AFTER_MS: i64 = 5_000;
/// Pause before a fault that could not be recorded is recorded again.
const RECORD_AGAIN: Duration = Duration::from_secs(1);

/// Runs a claimed task. A fault of the server, a panic included, counts against the task, unless
/// the disk cannot be written, the database is unreachable or the domain has reached its quota:
/// those faults pass.
pub(crate) async fn run(mut context: Context, claim: ClaimedTask) {
    let _in_progress = context.work.begin();
    let work = tokio::spawn(process(context.clone(), claim.clone()));
    let (fault, counted) = match work.await {
        Ok(Ok(()) | Err(StoreError::LeaseLost | StoreError::Closed)) => return,
        Ok(Err(error)) => (error.to_string(), !passes(&error)),
        Err(stopped) if stopped.is_panic() => ("a worker panicked".to_owned(), true),
        Err(_) => return,
    };
    tracing::error!(task_id = claim.task.id, %fault, "a bulk action task met a fault");
    // Until the fault is recorded, other servers cannot lease the task.
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
            Err(error) => context.outage.report(&error, "the fault could not be recorded"),
        }
        let _ = tokio::time::timeout(RECORD_AGAIN, context.stopping.changed()).await;
    }
}

/// Applies the task in chunks. Once these do not commit in time or servers died with them, its
/// entries are applied one by one, until the one that is the cause is parked.
async fn process(context: Context, claim: ClaimedTask) -> Result<(), StoreError> {
    let mut progress = Progress::of(&claim);
    let mut one_by_one = claim.one_by_one;
    loop {
        let stop = if one_by_one {
            one_by_one::apply(&context, &claim, &mut progress).await?
        } else {
            chunks::apply(&context, &claim, &mut progress).await?
        };
        match stop {
            Stop::Ended => return Ok(()),
            Stop::TooLong => one_by_one = true,
            Stop::Parked => one_by_one = false,
        }
    }
}

/// Whether a fault would stop any task and passes by itself.
const fn passes(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NotWritten(_) | StoreError::Unreachable(_) | StoreError::QuotaExceeded(_)
    )
}
