//! `POST …/{task_id}/cancel` and `POST …/{task_id}/retry`. Both need the access that handing the
//! task in needs, and take no fields. A retry is a new task like any other, with the limits of one
//! and with the parent's entries in the parent's places.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::task::TaskStatus;
use caseload_store::{CancelTask, CreateTask, StoreError};
use http::HeaderMap;

use super::OwnTask;
use super::create::{accept, new_task};
use super::no_fields::NoFields;
use super::view::TaskView;
use crate::AppState;
use crate::idempotency::{self, Answering};
use crate::problem::Problem;
use crate::query::QueryPairs;

/// Seconds after which a running task is worth asking again.
const RETRY_SECONDS: u64 = 1;

/// Ends a task at the next edge of a chunk; the task as it is then, or is still.
pub(crate) async fn cancel(
    State(state): State<AppState>,
    query: QueryPairs,
    own: OwnTask,
    fields: NoFields,
) -> Result<Json<TaskView>, Problem> {
    Problem::check([query.unknown(&[]), fields.0].concat())?;
    let OwnTask { caller, task } = own;
    caller.may(task.action.access_of(task.dry_run), "cancelling this task")?;
    let cancelled = state.store.cancel_task(CancelTask {
        domain: caller.domain_id,
        family: task.action.family(),
        task_id: task.id,
        now: state.clock.now(),
    });
    match cancelled.await {
        Ok(task) => {
            tracing::info!(task = task.id, key = caller.key_id, "the end of a task was asked for");
            Ok(Json(TaskView::new(&task, &caller.domain_name)))
        }
        Err(StoreError::TaskCompleted) => {
            let detail = "the task is completed; there is nothing left of it to cancel";
            Err(Problem::new(ErrorCode::AlreadyCompleted, detail))
        }
        Err(error) => Err(error.into()),
    }
}

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
    caller.may(task.action.access_of(task.dry_run), "retrying this task")?;
    let _mark = Answering::begin(&state, &caller, key.as_deref()).await?;
    let content = idempotency::content_hash(&[b"retry", task.id.as_bytes()]);
    // A repeat is answered whatever became of the parent meanwhile.
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
    if task.expires_at.is_some_and(|end| end <= state.clock.now()) {
        let detail = "the entries of this task are no longer kept; expires_at of the task says \
                      until when they were";
        return Err(Problem::new(ErrorCode::Expired, detail));
    }
    if task.retryable_entries() == 0 {
        let detail = "every entry of the task succeeded; there is nothing to retry";
        return Err(Problem::new(ErrorCode::NothingToRetry, detail));
    }
    let blocks = state.store.entries_left(caller.domain_id, &task.id).await?;
    let command = CreateTask {
        total: task.retryable_entries(),
        blocks,
        dry_run: task.dry_run,
        parent_id: Some(task.id),
        ..new_task(&state, &caller, task.action)?
    };
    accept(&state, &caller, command, key.map(|key| (key, content))).await
}
