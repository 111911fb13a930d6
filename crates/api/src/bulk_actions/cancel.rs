//! `POST …/bulk_actions/{task_id}/cancel`: ends a task early. It needs the access that creating the
//! task needs, and takes no fields.

use axum::Json;
use axum::extract::State;
use caseload_model::error_code::ErrorCode;
use caseload_store::{CancelTask, StoreError};

use super::no_fields::NoFields;
use super::path::OwnTask;
use super::view::TaskView;
use crate::AppState;
use crate::problem::Problem;
use crate::query::QueryPairs;

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
