//! `POST /v1/{domain}/issues`: creates an issue with its first message and the files of it.

use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::issue::write::{CreateRequest, read_create};
use caseload_store::CreateIssue;

use super::file_upload::FileUpload;
use super::write_call::{FormRules, Read, WriteCall, created};
use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// `POST /v1/{domain}/issues`
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = WriteCall::new(&state, &caller, "creating an issue", None, &query)?;
    let files = FileUpload::new(&state, &caller);
    let form = FormRules { read: read_create, references: CreateRequest::references };
    let Read { origin, request, mut files, held: _held } = call.read(request, files, form).await?;
    let command = CreateIssue { origin, request, attachments: files.files.clone() };
    created(state.store.create_issue(command).await, &mut files)
}
