//! `POST /v1/{domain}/issues/{issue_id}/private-notes`: adds a note that only agents see.

use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::issue::write::{NoteRequest, read_note};
use caseload_store::AddNote;

use super::id::{InvalidIssueId, IssueId};
use super::write_call::{FormRules, Read, WriteCall, write_error};
use crate::http::auth::Caller;
use crate::http::form::NoFiles;
use crate::http::idempotency;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// `POST /v1/{domain}/issues/{issue_id}/private-notes`
pub(crate) async fn add_note(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = WriteCall::new(&state, &caller, "adding a note", Some(id), &query)?;
    let form = FormRules { read: read_note, references: NoteRequest::references };
    let Read { origin, request, held: _held, .. } = call.read(request, NoFiles, form).await?;
    let command = AddNote { origin, issue_id: id?.known()?, request };
    Ok(idempotency::created(state.store.add_note(command).await.map_err(write_error)?))
}
