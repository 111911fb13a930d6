//! `POST …/bulk_actions/{task_id}/retry`: a new task of the entries that failed or were not
//! processed. It needs the same access as creating the task, and takes no fields. A retry is a task
//! like any other and has the same limits. Its entries keep the index and line that they have in
//! the parent. A task has at most one retry, so that no entry is run twice by mistake; the store
//! decides between two that arrive together. The retry itself can be retried.

use axum::extract::State;
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::task::TaskStatus;
use caseload_store::{CreateTask, StoreError};
use http::HeaderMap;

use super::accept::{accept, new_task};
use super::no_fields::NoFields;
use super::path::OwnTask;
use crate::problem::Problem;
use crate::query::QueryPairs;
use crate::{AppState, idempotency};

/// `Retry-After` while the parent runs, in seconds.
const RETRY_SECONDS: u64 = 1;

/// A new task of the entries that failed or were not processed.
pub(crate) async fn retry(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
    fields: NoFields,
) -> Result<Response, Problem> {
    let mut faults = [query.unknown(&[]), fields.0].concat();
    let key = idempotency::key(&headers, &mut faults);
    Problem::check(faults)?;
    let OwnTask { caller, task } = own;
    caller.require(task.action.access_of(task.dry_run), "retrying this task")?;
    let _mark = idempotency::begin(&state, &caller, key.as_deref()).await?;
    let content = idempotency::content_hash(&[b"retry", task.id.as_bytes()]);
    // A repeat receives the first answer, even if the parent has changed since.
    if let Some(first) = idempotency::first_answer(&state, &caller, key.as_deref(), content).await?
    {
        return Ok(first);
    }
    if task.status != TaskStatus::Completed {
        let detail = format!(
            "the task is {} ({} %); it can be retried once its status is completed",
            task.status.as_str(),
            task.progress()
        );
        return Err(Problem::new(ErrorCode::NotCompleted, detail).retry_after(RETRY_SECONDS));
    }
    if let Some(by) = task.retried_by {
        return Err(StoreError::AlreadyRetried { by }.into());
    }
    if task.expires_at.is_some_and(|end| end <= state.clock.now()) {
        let detail = "the entries of this task have expired, at the time in its expires_at";
        return Err(Problem::new(ErrorCode::Expired, detail));
    }
    if task.retryable_entries() == 0 {
        let detail = "every entry of the task succeeded; there is nothing to retry";
        return Err(Problem::new(ErrorCode::NothingToRetry, detail));
    }
    // The payload is in memory as a whole until the store has it again.
    let bytes = state.config.body_bytes_max;
    let _memory = state.memory.take(Some(caller.domain_id), bytes).await?;
    let blocks = state.store.retry_payload(caller.domain_id, &task.id).await?;
    let command = CreateTask {
        total: task.retryable_entries(),
        blocks,
        dry_run: task.dry_run,
        parent_id: Some(task.id),
        ..new_task(&state, &caller, task.action)?
    };
    accept(&state, &caller, command, key.map(|key| (key, content))).await
}
