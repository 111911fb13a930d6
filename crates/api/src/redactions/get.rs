//! `GET /v1/{domain}/redactions/{redaction_id}`: the state of a redaction, from the log of changes
//! or from the task that erases a person.

use axum::Json;
use axum::extract::{Path, State};
use caseload_model::erasure::{DONE, RedactionId, redaction_status};
use caseload_model::error_code::ErrorCode;
use caseload_model::task::{Action, Family};
use caseload_model::time::UnixMillis;
use caseload_store::GetRedaction;
use serde::Serialize;

use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// The state of a redaction.
#[derive(Debug, Serialize)]
pub(crate) struct RedactionView {
    redaction_id: String,
    status: &'static str,
    /// Those that were redacted; the receipt of a task has its own.
    issue_ids: Vec<u64>,
    /// Of a redaction of a person.
    task_id: Option<String>,
    created_at: UnixMillis,
    completed_at: Option<UnixMillis>,
}

/// `GET /v1/{domain}/redactions/{redaction_id}`
pub(crate) async fn get(
    State(state): State<AppState>,
    caller: Caller,
    Path((_, redaction_id)): Path<(String, String)>,
    query: QueryPairs,
) -> Result<Json<RedactionView>, Problem> {
    Problem::check(query.unknown(&[]))?;
    let domain = caller.domain_id;
    let view = if let Ok(id) = redaction_id.parse::<RedactionId>() {
        state.store.redaction(GetRedaction { domain, id }).await?.map(|logged| RedactionView {
            redaction_id,
            status: DONE,
            issue_ids: logged.issue_ids,
            task_id: None,
            created_at: logged.at,
            completed_at: Some(logged.at),
        })
    } else {
        let task = state.store.task(domain, Family::Issues, &redaction_id).await?;
        task.filter(|task| task.action == Action::ErasePerson).map(|task| RedactionView {
            redaction_id,
            status: redaction_status(&task),
            issue_ids: Vec::new(),
            created_at: task.created_at,
            completed_at: task.completed_at,
            task_id: Some(task.id),
        })
    };
    let unknown = "the domain has no redaction with this id; it may be older than the changes that \
                   are stored";
    view.map(Json).ok_or_else(|| Problem::new(ErrorCode::NotFound, unknown))
}
