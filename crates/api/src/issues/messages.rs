//! `POST /v1/{domain}/issues/{issue_id}/messages`: adds a message and its files to an issue.

use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::issue::write::{MessageRequest, read_message};
use caseload_store::AddMessage;

use super::file_upload::FileUpload;
use super::id::{InvalidIssueId, IssueId};
use super::write_call::{FormRules, Read, WriteCall, created};
use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// `POST /v1/{domain}/issues/{issue_id}/messages`
pub(crate) async fn add_message(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = WriteCall::new(&state, &caller, "adding a message", Some(id), &query)?;
    let files = FileUpload::new(&state, &caller);
    let form = FormRules { read: read_message, references: MessageRequest::references };
    let Read { origin, request, mut files, held: _held } = call.read(request, files, form).await?;
    let (issue_id, attachments) = (id?.known()?, files.files.clone());
    let command = AddMessage { origin, issue_id, request, attachments };
    created(state.store.add_message(command).await, &mut files)
}
