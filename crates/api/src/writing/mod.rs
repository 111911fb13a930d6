//! Writing issues over HTTP: create, message, private note, edit, bulk edit. A handler reads its
//! call, hands the typed request to the store as a command, and the bytes of the answer come back.
//! Everything that is wrong with a request is told at once, what it refers to included; then
//! nothing was written and nothing stays of its files.

mod call;
mod files;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use caseload_model::issue::write::{
    BulkEditRequest, CreateRequest, EditRequest, MessageRequest, NoteRequest, read_bulk_edit,
    read_create, read_edit, read_message, read_note,
};
use caseload_store::{
    AddMessage, AddNote, CreateIssue, EditIssue, EditIssues, Idempotent, StoreError, StoredAnswer,
};
use http::header;

use crate::form::NoFiles;
use crate::idempotency;
use crate::issues::{IssueId, NoIssueId, unknown_issue};
use crate::problem::Problem;
use crate::query::QueryPairs;
use crate::{AppState, Caller};
use call::{Call, Form};
use files::Staged;

#[cfg(test)]
pub(crate) use files::FILE_FIELDS;

/// `POST /v1/{domain}/issues`
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = Call::new(&state, &caller, "creating an issue", None, &query)?;
    let mut files = Staged::new(&state, &caller);
    let form = Form { read: read_create, references: CreateRequest::references };
    let (on, request, _mark) = call.post(request, &mut files, form).await?;
    let command = CreateIssue { on, request, attachments: files.files.clone() };
    created(state.store.create_issue(command).await, &mut files)
}

/// `POST /v1/{domain}/issues/{issue_id}/messages`
pub(crate) async fn message(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, NoIssueId>,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = Call::new(&state, &caller, "adding a message", Some(id), &query)?;
    let mut files = Staged::new(&state, &caller);
    let form = Form { read: read_message, references: MessageRequest::references };
    let (on, request, _mark) = call.post(request, &mut files, form).await?;
    let (issue_id, attachments) = (id?.known()?, files.files.clone());
    let command = AddMessage { on, issue_id, request, attachments };
    created(state.store.add_message(command).await, &mut files)
}

/// `POST /v1/{domain}/issues/{issue_id}/private-notes`
pub(crate) async fn note(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, NoIssueId>,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = Call::new(&state, &caller, "adding a note", Some(id), &query)?;
    let form = Form { read: read_note, references: NoteRequest::references };
    let (on, request, _mark) = call.post(request, &mut NoFiles, form).await?;
    let command = AddNote { on, issue_id: id?.known()?, request };
    match state.store.add_note(command).await.map_err(told)? {
        Idempotent::Done(answer) | Idempotent::Replayed(answer) => Ok(idempotency::created(answer)),
    }
}

/// `PUT /v1/{domain}/issues/{issue_id}`
pub(crate) async fn edit(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, NoIssueId>,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = Call::new(&state, &caller, "editing an issue", Some(id), &query)?;
    let form = Form { read: read_edit, references: EditRequest::references };
    let (on, request) = call.put(request, form).await?;
    let command = EditIssue { on, issue_id: id?.known()?, request };
    Ok(edited(state.store.edit_issue(command).await.map_err(told)?))
}

/// `PUT /v1/{domain}/issues`
pub(crate) async fn edit_many(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = Call::new(&state, &caller, "editing issues", None, &query)?;
    let form = Form { read: read_bulk_edit, references: BulkEditRequest::references };
    let (on, request) = call.put(request, form).await?;
    let command = EditIssues { on, request };
    Ok(edited(state.store.edit_issues(command).await.map_err(told)?))
}

/// 201 with the answer, the first time and each time after. The files of a repeat are not needed.
fn created(
    written: Result<Idempotent<StoredAnswer>, StoreError>,
    files: &mut Staged<'_>,
) -> Result<Response, Problem> {
    match written.map_err(told)? {
        Idempotent::Done(answer) => {
            files.claimed();
            Ok(idempotency::created(answer))
        }
        Idempotent::Replayed(first) => Ok(idempotency::created(first)),
    }
}

fn edited(body: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// The only thing that a writing call may not find is its issue.
fn told(error: StoreError) -> Problem {
    match error {
        StoreError::NotFound { .. } => unknown_issue(),
        other => other.into(),
    }
}
