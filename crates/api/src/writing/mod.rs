//! Writing issues over HTTP: create, message, private note, edit, bulk edit. A handler reads the
//! form, has the model read the request out of it, and hands that to the store; the bytes of the
//! answer come back. Everything that is wrong with a request is told at once, what it refers to
//! included; then nothing was written and nothing stays of its files.

mod files;

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::write::{
    BulkEditRequest, CreateRequest, EditRequest, MessageRequest, NoteRequest, Read, References,
    read_bulk_edit, read_create, read_edit, read_message, read_note,
};
use caseload_model::key::Access;
use caseload_store::{
    AddMessage, AddNote, CreateIssue, EditIssue, EditIssues, KeptAnswer, Once, StoreError, Writing,
};
use http::header;
use http::request::Parts;

use crate::form::{self, Fields, NoFiles};
use crate::idempotency::{self, Answering};
use crate::problem::{Fault, Problem};
use crate::query::QueryPairs;
use crate::{AppState, Caller};
use files::Staged;

#[cfg(test)]
pub(crate) use files::FILE_FIELDS;

/// The issue in the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IssueId(Option<u64>);

impl FromRequestParts<AppState> for IssueId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let path: Result<Path<(String, String)>, PathRejection> =
            Path::from_request_parts(parts, state).await;
        match path.as_ref().map(|Path((_, id))| id.as_str()) {
            // Digits beyond 64 bits are an id that no issue has.
            Ok(id) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) => {
                Ok(Self(id.parse().ok()))
            }
            _ => {
                let detail = "the id of an issue is a whole number: digits only, such as 28";
                Err(Problem::faults(vec![Fault::parameter(
                    "issue-id",
                    ErrorCode::InvalidValue,
                    detail,
                )]))
            }
        }
    }
}

impl IssueId {
    fn known(self) -> Result<u64, Problem> {
        self.0.ok_or_else(unknown_issue)
    }
}

fn unknown_issue() -> Problem {
    Problem::new(ErrorCode::NotFound, "the domain has no issue of that id")
}

/// What every writing handler begins with.
struct Call<'c> {
    state: &'c AppState,
    caller: &'c Caller,
    faults: Vec<Fault>,
}

impl<'c> Call<'c> {
    fn new(
        state: &'c AppState,
        caller: &'c Caller,
        query: &QueryPairs,
        what: &str,
    ) -> Result<Self, Problem> {
        caller.may(Access::Write, what)?;
        Ok(Self { state, caller, faults: query.unknown(&[]) })
    }

    /// The request, where it and its form have no faults; else all of them, and what of its
    /// references leads nowhere.
    async fn request<T>(
        mut self,
        form: Fields,
        files: Vec<Fault>,
        (request, faults): Read<T>,
        references: impl Fn(&T) -> References,
    ) -> Result<T, Problem> {
        self.faults.extend(form.faults);
        self.faults.extend(faults.into_iter().map(Fault::from));
        self.faults.extend(files);
        if self.faults.is_empty() {
            return Ok(request);
        }
        let (store, domain) = (&self.state.store, self.caller.domain_id);
        let more = store.reference_faults(domain, references(&request)).await?;
        self.faults.extend(more.into_iter().map(Fault::from));
        Err(Problem::faults(self.faults))
    }
}

/// The part of a command that all share. `content` tells the request from others.
fn writing(
    state: &AppState,
    caller: &Caller,
    key: Option<String>,
    content: [u8; 32],
) -> Result<Writing, Problem> {
    let now = state.clock.now();
    Ok(Writing {
        domain: caller.domain_id,
        domain_name: caller.domain_name.clone(),
        now,
        random: random()?,
        key_name: caller.key_name.clone(),
        idempotency: key.map(|text| idempotency::kept_key(text, content, now, now)),
    })
}

fn random() -> Result<u64, Problem> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| {
        tracing::error!(%error, "no randomness for an id");
        Problem::internal()
    })?;
    Ok(u64::from_be_bytes(random))
}

/// A hash of what a request asks for: the call, the issue, the fields in whatever order and
/// spelling they came, the files.
fn content(call: &str, issue: Option<u64>, form: &Fields, files: [u8; 32]) -> [u8; 32] {
    let mut fields: Vec<(String, &str)> =
        form.pairs.iter().map(|(name, value)| (name.replace('_', "-"), value.as_str())).collect();
    fields.sort_unstable();
    let issue = issue.unwrap_or_default().to_be_bytes();
    let mut parts: Vec<&[u8]> = vec![call.as_bytes(), &issue, &files];
    for (name, value) in &fields {
        parts.extend([name.as_bytes(), value.as_bytes()]);
    }
    idempotency::content_hash(&parts)
}

/// `POST /v1/{domain}/issues`
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let mut call = Call::new(&state, &caller, &query, "creating an issue")?;
    let key = idempotency::key(request.headers(), &mut call.faults);
    let _mark = Answering::begin(&state, &caller, key.as_deref()).await?;
    let mut files = Staged::new(&state, &caller);
    let form = form::read(request, &state.config, &mut files).await?;
    let content = content("create issue", None, &form, files.content());
    let read = read_create(&form.pairs);
    let file_faults = std::mem::take(&mut files.faults);
    let request = call.request(form, file_faults, read, CreateRequest::references).await?;
    let command = CreateIssue {
        on: writing(&state, &caller, key, content)?,
        request,
        attachments: files.files.clone(),
    };
    created(state.store.create_issue(command).await, &mut files)
}

/// `POST /v1/{domain}/issues/{issue_id}/messages`
pub(crate) async fn message(
    State(state): State<AppState>,
    caller: Caller,
    id: IssueId,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let mut call = Call::new(&state, &caller, &query, "adding a message")?;
    let key = idempotency::key(request.headers(), &mut call.faults);
    let _mark = Answering::begin(&state, &caller, key.as_deref()).await?;
    let mut files = Staged::new(&state, &caller);
    let form = form::read(request, &state.config, &mut files).await?;
    let content = content("add message", id.0, &form, files.content());
    let read = read_message(&form.pairs);
    let file_faults = std::mem::take(&mut files.faults);
    let request = call.request(form, file_faults, read, MessageRequest::references).await?;
    let command = AddMessage {
        on: writing(&state, &caller, key, content)?,
        issue_id: id.known()?,
        request,
        attachments: files.files.clone(),
    };
    created(state.store.add_message(command).await, &mut files)
}

/// `POST /v1/{domain}/issues/{issue_id}/private-notes`
pub(crate) async fn note(
    State(state): State<AppState>,
    caller: Caller,
    id: IssueId,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let mut call = Call::new(&state, &caller, &query, "adding a note")?;
    let key = idempotency::key(request.headers(), &mut call.faults);
    let _mark = Answering::begin(&state, &caller, key.as_deref()).await?;
    let form = form::read(request, &state.config, &mut NoFiles).await?;
    let content = content("add note", id.0, &form, [0; 32]);
    let read = read_note(&form.pairs);
    let request = call.request(form, Vec::new(), read, NoteRequest::references).await?;
    let on = writing(&state, &caller, key, content)?;
    let command = AddNote { on, issue_id: id.known()?, request };
    match state.store.add_note(command).await.map_err(told)? {
        Once::Done(answer) | Once::Repeated(answer) => Ok(idempotency::created(answer)),
    }
}

/// `PUT /v1/{domain}/issues/{issue_id}`
pub(crate) async fn edit(
    State(state): State<AppState>,
    caller: Caller,
    id: IssueId,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = Call::new(&state, &caller, &query, "editing an issue")?;
    let form = form::read(request, &state.config, &mut NoFiles).await?;
    let read = read_edit(&form.pairs);
    let request = call.request(form, Vec::new(), read, EditRequest::references).await?;
    let on = writing(&state, &caller, None, [0; 32])?;
    let command = EditIssue { on, issue_id: id.known()?, request };
    Ok(edited(state.store.edit_issue(command).await.map_err(told)?))
}

/// `PUT /v1/{domain}/issues`
pub(crate) async fn edit_many(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let call = Call::new(&state, &caller, &query, "editing issues")?;
    let form = form::read(request, &state.config, &mut NoFiles).await?;
    let read = read_bulk_edit(&form.pairs);
    let request = call.request(form, Vec::new(), read, BulkEditRequest::references).await?;
    let command = EditIssues { on: writing(&state, &caller, None, [0; 32])?, request };
    Ok(edited(state.store.edit_issues(command).await.map_err(told)?))
}

/// 201 with the answer, the first time and each time after. The files of a repeat are not needed.
fn created(
    written: Result<Once<KeptAnswer>, StoreError>,
    files: &mut Staged<'_>,
) -> Result<Response, Problem> {
    match written.map_err(told)? {
        Once::Done(answer) => {
            files.claimed();
            Ok(idempotency::created(answer))
        }
        Once::Repeated(first) => Ok(idempotency::created(first)),
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
