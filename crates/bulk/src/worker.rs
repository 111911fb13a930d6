//! The worker of one claimed task, from its first unprocessed entry to its completion. Every step
//! is a commit of the store. When the runner stops, the worker ends after its current chunk, and
//! the task resumes after the restart.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::task::TaskStatus;
use caseload_model::time::UnixMillis;
use caseload_store::{ApplyChunk, ClaimedTask, FailAttempt, StoreError, log_end};
use tokio::task::JoinSet;

use crate::context::Context;
use crate::entry_queue::EntryQueue;
use crate::entry_reader::EntryReader;

/// Milliseconds before a task is tried again after a fault of the server.
const RETRY_AFTER_MS: i64 = 5_000;
/// Pause before a fault that could not be recorded is recorded again.
const RECORD_AGAIN: Duration = Duration::from_secs(1);

/// Runs a claimed task. A fault of the server, a panic included, counts against the task, unless
/// the disk cannot be written or the database is unreachable: those faults pass.
pub(crate) async fn run(mut context: Context, claim: ClaimedTask) {
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

/// Applies the entries of the task while the reader validates the next ones.
async fn process(context: Context, claim: ClaimedTask) -> Result<(), StoreError> {
    let queue = Arc::new(EntryQueue::new(context.queue_limits.clone()));
    let mut reading = JoinSet::new();
    reading.spawn(EntryReader::new(&claim).fill(context.store.clone(), queue.clone()));
    let mut rest = None;
    while !*context.stopping.borrow() {
        let entries = match rest.take() {
            Some(entries) => entries,
            None => match queue.next().await {
                Some(entries) => entries,
                None => return Err(ended_early(reading).await),
            },
        };
        let applied = context.store.apply_chunk(ApplyChunk {
            domain: claim.domain,
            domain_name: claim.domain_name.clone(),
            task_id: claim.task.id.clone(),
            action: claim.task.action,
            dry_run: claim.task.dry_run,
            lease_epoch: claim.lease_epoch,
            entries,
            following: Some(queue.clone()),
            now: context.clock.now(),
        });
        let applied = applied.await?;
        if applied.task.status == TaskStatus::Completed {
            log_end(&claim.domain_name, &applied.task);
            break;
        }
        assert!(applied.done > 0, "the store applied nothing of a chunk");
        rest = applied.rest;
    }
    Ok(())
}

/// Whether a fault would stop any task and passes by itself.
const fn passes(error: &StoreError) -> bool {
    matches!(error, StoreError::NotWritten(_) | StoreError::Unreachable(_))
}

/// The reason why the queue ended before its task.
async fn ended_early(mut reading: JoinSet<Result<(), StoreError>>) -> StoreError {
    match reading.join_next().await {
        Some(Ok(Err(error))) => error,
        Some(Err(stopped)) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
        _ => StoreError::Corrupt("a payload ends before its task".to_owned()),
    }
}
