//! `POST …/bulk_actions`: reads the form as it arrives, has the payload checked, compressed and, if
//! it is long, staged, and answers 201 once the store has all of it. A refused request leaves
//! nothing in the store.

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::task::{Family, TaskOrigin};
use caseload_store::CreateTask;
use http::header;

use super::accept::{accept, new_task};
use super::path::BulkPath;
use super::staging::Staging;
use super::task_form::{TaskForm, TaskRequest};
use crate::http::auth::Caller;
use crate::http::base_url::OwnUrls;
use crate::http::form::body::{self, FormKind};
use crate::http::form::body_reader::{BodyReader, check_length};
use crate::http::form::{BrokenForm, read_form};
use crate::http::idempotency;
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// The memory of a small upload, apart from its bytes.
const SMALL_UPLOAD_BYTES: usize = 256 << 10;

const ACCEPTED_TYPES: &str = "application/x-www-form-urlencoded with the fields action and payload \
                              (a JSON array), multipart/form-data with the fields action and \
                              payload (a file of JSON lines), or application/json with an object \
                              that has the members action and payload (an array)";

/// Accepts a task.
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    BulkPath { family, .. }: BulkPath,
    query: QueryPairs,
    own_urls: OwnUrls,
    mut request: Request,
) -> Result<Response, Problem> {
    let kind = body::kind(&mut request, ACCEPTED_TYPES).await?;
    check_length(&request, state.config.body_bytes_max as u64)?;
    let mut faults = query.unknown(&[]);
    let key = idempotency::key(request.headers(), &mut faults);
    let _mark = idempotency::begin(&state, &caller, key.as_deref()).await?;
    let own_urls = if family == Family::Issues { own_urls } else { OwnUrls::default() };
    let staging = Staging::new(&state, &caller).with_own_urls(own_urls);
    let form = TaskForm::new(kind, family, key.is_some(), faults, staging);
    let (form, _memory) = read(request, kind, &state, &caller, form).await?;
    let TaskRequest { action, dry_run, upsert, file_name, mut payload } =
        form.finish(&caller).await?;
    let mode = [u8::from(dry_run)];
    let hash = payload.hash.as_ref().map_or(&[][..], <[u8; 32]>::as_slice);
    let mut content = vec![b"create".as_slice(), action.as_str().as_bytes(), &mode, hash];
    if upsert {
        content.push(b"upsert");
    }
    let content = idempotency::content_hash(&content);
    let part = payload.staging.take().await?.pop().ok_or_else(Problem::internal)?;
    let new = new_task(&state, &caller, action)?;
    let origin =
        TaskOrigin { file_name, content_length: Some(payload.content_length), ..new.origin };
    let command = CreateTask {
        id: part.task_id,
        total: payload.read,
        staged: part.staged,
        blocks: part.blocks,
        dry_run,
        upsert,
        origin,
        ..new
    };
    let answer = accept(&state, &caller, command, key.map(|key| (key, content))).await;
    // Dropping it earlier would discard the staged blocks of a task that the store is accepting.
    drop(payload);
    answer
}

/// Reads a request to the path of `family` without creating a task.
pub(crate) async fn read_only(
    mut request: Request,
    family: Family,
    state: &AppState,
    caller: &Caller,
) -> Result<TaskRequest, Problem> {
    let kind = body::kind(&mut request, ACCEPTED_TYPES).await?;
    check_length(&request, state.config.body_bytes_max as u64)?;
    let staging = Staging::new(state, caller);
    let form = TaskForm::new(kind, family, true, Vec::new(), staging);
    let (form, _memory) = read(request, kind, state, caller, form).await?;
    form.finish(caller).await
}

/// Feeds the decompressed body to `form`. The memory is that of reading the upload.
async fn read(
    request: Request,
    kind: FormKind,
    state: &AppState,
    caller: &Caller,
    form: TaskForm,
) -> Result<(TaskForm, Memory), Problem> {
    let stated = request.body().size_hint().exact();
    let stated = stated.filter(|_| !request.headers().contains_key(header::CONTENT_ENCODING));
    let small = stated.map_or(usize::MAX, |bytes| SMALL_UPLOAD_BYTES + 4 * bytes as usize);
    let bytes = form.memory_bytes().min(small);
    let memory = state.memory.take(Some(caller.domain_id), bytes).await?;
    let headers = request.headers().clone();
    let body = BodyReader::of_upload(state, caller.domain_id, request).await?;
    let (form, read) = read_form(kind, &headers, body, &state.cpu, form).await?;
    match read {
        Ok(()) => Ok((form, memory)),
        Err(BrokenForm::Json(broken)) => Err(form.refuse_broken(broken).await),
        Err(broken) => Err(broken.into()),
    }
}
