//! `POST …/{task_id}/cancel`: ends a task or an import early. It needs the same access as creating
//! the task, and takes no fields.

use axum::Json;
use axum::extract::State;
use caseload_model::error_code::ErrorCode;
use caseload_model::task::Outcome;
use caseload_store::{CancelTask, StoreError, log_end};

use super::no_fields::NoFields;
use super::path::OwnTask;
use super::subject::{Subject, SubjectKind};
use crate::http::base_url::BaseUrl;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::imports::View;
use crate::state::AppState;

/// Ends a task after its current chunk. Answers with the record, which may still be running.
pub(crate) async fn cancel(
    State(state): State<AppState>,
    query: QueryPairs,
    own: OwnTask,
    base: BaseUrl,
    fields: NoFields,
) -> Result<Json<View>, Problem> {
    Problem::check([query.unknown(&[]), fields.0].concat())?;
    let OwnTask { caller, subject } = own;
    let (task, kind, noun) = (&subject.task, subject.kind(), subject.noun());
    let doing = format!("cancelling this {noun}");
    caller.require(task.action.access_of(task.dry_run), &doing)?;
    let command = CancelTask {
        domain: caller.domain_id,
        key: Some(caller.key_id.clone()),
        family: task.action.family(),
        task_id: task.id.clone(),
        now: state.clock.now(),
    };
    let cancelled = match kind {
        SubjectKind::Task => state.store.cancel_task(command).await.map(Subject::from),
        SubjectKind::Import => state.store.cancel_import(command).await.map(Subject::from),
    };
    match cancelled {
        Ok(subject) => {
            let (id, key) = (&subject.task.id, &caller.key_id);
            tracing::info!(id, key, "{noun} is to be cancelled");
            // A running task ends, and is logged, at its server.
            let ended = subject.tasks().iter().filter(|t| t.outcome == Some(Outcome::Cancelled));
            ended.for_each(|task| log_end(&caller.domain_name, task));
            Ok(Json(View::new(&subject, &caller.domain_name, &base)))
        }
        Err(StoreError::TaskCompleted) => {
            let detail = format!("the {noun} is already completed and cannot be cancelled");
            Err(Problem::new(ErrorCode::AlreadyCompleted, detail))
        }
        Err(error) => Err(error.into()),
    }
}
