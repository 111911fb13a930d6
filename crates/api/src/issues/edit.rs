//! `PUT /v1/{domain}/issues/{issue_id}` and `PUT /v1/{domain}/issues`: edit one issue, or many in
//! one transaction.

use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::issue::write::{BulkEditRequest, EditRequest, read_bulk_edit, read_edit};
use caseload_store::{EditIssue, EditIssues};

use super::id::{InvalidIssueId, IssueId};
use super::write_call::{FormRules, Read, WriteCall, write_error};
use crate::http::auth::Caller;
use crate::http::form::NoFiles;
use crate::http::idempotency;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// `PUT /v1/{domain}/issues/{issue_id}`
pub(crate) async fn edit(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = WriteCall::new(&state, &caller, "editing an issue", Some(id), &query)?;
    let form = FormRules { read: read_edit, references: EditRequest::references };
    let Read { origin, request, held: _held, .. } = call.read(request, NoFiles, form).await?;
    let command = EditIssue { origin, issue_id: id?.known()?, request };
    Ok(idempotency::changed(state.store.edit_issue(command).await.map_err(write_error)?))
}

/// `PUT /v1/{domain}/issues`
pub(crate) async fn edit_many(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = WriteCall::new(&state, &caller, "editing issues", None, &query)?;
    let form = FormRules { read: read_bulk_edit, references: BulkEditRequest::references };
    let Read { origin, request, held: _held, .. } = call.read(request, NoFiles, form).await?;
    let command = EditIssues { origin, request };
    Ok(idempotency::changed(state.store.edit_issues(command).await.map_err(write_error)?))
}
