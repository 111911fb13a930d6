//! `DELETE /v1/{domain}/issues/{issue_id}`: deletes one issue as an entry of `delete_issues` does.

use axum::extract::State;
use axum::response::Response;
use caseload_store::DeleteIssue;
use http::HeaderMap;

use super::id::{InvalidIssueId, IssueId, unknown_issue};
use super::write_call::write_error;
use crate::http::auth::Caller;
use crate::http::idempotency;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::http::single_write::Deletion;
use crate::state::AppState;

/// `DELETE /v1/{domain}/issues/{issue_id}`
pub(crate) async fn delete(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let id = id.map(IssueId::number).map_err(Into::into);
    let (of, request) = ((&state, &caller), (&headers, &query));
    let Deletion { id, origin, held: _held } =
        Deletion::read(of, "deleting an issue", id, request).await?;
    let command = DeleteIssue { origin, issue_id: id.ok_or_else(unknown_issue)? };
    Ok(idempotency::deleted(state.store.delete_issue(command).await.map_err(write_error)?))
}
