//! `POST …/bulk_actions/{task_id}/cancel`: ends a task early. It needs the same access as creating
//! the task, and takes no fields.

use axum::Json;
use axum::extract::State;
use caseload_model::error_code::ErrorCode;
use caseload_store::{CancelTask, StoreError, log_end};

use super::no_fields::NoFields;
use super::path::OwnTask;
use super::view::TaskView;
use crate::http::base_url::BaseUrl;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// Ends a task after its current chunk. Answers with the task, which may still be running.
pub(crate) async fn cancel(
    State(state): State<AppState>,
    query: QueryPairs,
    own: OwnTask,
    base: BaseUrl,
    fields: NoFields,
) -> Result<Json<TaskView>, Problem> {
    Problem::check([query.unknown(&[]), fields.0].concat())?;
    let OwnTask { caller, task } = own;
    caller.require(task.action.access_of(task.dry_run), "cancelling this task")?;
    let cancelled = state.store.cancel_task(CancelTask {
        domain: caller.domain_id,
        key: Some(caller.key_id.clone()),
        family: task.action.family(),
        task_id: task.id,
        now: state.clock.now(),
    });
    match cancelled.await {
        Ok(task) => {
            tracing::info!(task_id = task.id, key = caller.key_id, "a task is to be cancelled");
            // A running task ends, and is logged, at its server.
            log_end(&caller.domain_name, &task);
            Ok(Json(TaskView::new(&task, &caller.domain_name, &base)))
        }
        Err(StoreError::TaskCompleted) => {
            let detail = "the task is already completed and cannot be cancelled";
            Err(Problem::new(ErrorCode::AlreadyCompleted, detail))
        }
        Err(error) => Err(error.into()),
    }
}
