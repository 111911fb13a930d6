//! `POST …/bulk_actions`: reads the form as it arrives, has the payload checked, compressed and, if
//! it is long, staged, and answers 201 once the store has all of it. A refused request leaves
//! nothing in the store.

use axum::RequestExt;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::task::Family;
use caseload_store::CreateTask;
use futures_util::StreamExt;

use super::accept::{accept, new_task};
use super::path::BulkPath;
use super::staging::Staging;
use super::task_form::{TaskForm, TaskRequest};
use crate::base_url::OwnUrls;
use crate::form::body::{self, FormKind, broken_escape, broken_multipart, in_time, read_error};
use crate::form::{BrokenJson, Decoder, FieldSink, ObjectDecoder, decompressed};
use crate::problem::Problem;
use crate::query::QueryPairs;
use crate::{ApiConfig, AppState, Caller, idempotency};

const ACCEPTED_TYPES: &str = "application/x-www-form-urlencoded with the fields action and payload \
                              (a JSON array), multipart/form-data with the fields action and \
                              payload (a file of JSON lines), or application/json with an object \
                              that has the members action and payload (an array)";

/// Accepts a task.
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    BulkPath(family): BulkPath,
    query: QueryPairs,
    own_urls: OwnUrls,
    request: Request,
) -> Result<Response, Problem> {
    let kind = body::kind(request.headers(), ACCEPTED_TYPES)?;
    body::check_length(&request, &state.config)?;
    let mut faults = query.unknown(&[]);
    let key = idempotency::key(request.headers(), &mut faults);
    let _mark = idempotency::begin(&state, &caller, key.as_deref()).await?;
    let own_urls = if family == Family::Issues { own_urls } else { OwnUrls::default() };
    let staging = Staging::new(&state, &caller)?.with_own_urls(own_urls);
    let form = TaskForm::new(kind, family, key.is_some(), faults, staging);
    let form = read(request, kind, &state.config, form).await?;
    let TaskRequest { action, dry_run, mut payload } = form.finish(&caller).await?;
    let content = idempotency::content_hash(&[
        b"create",
        action.as_str().as_bytes(),
        &[u8::from(dry_run)],
        payload.hash.as_ref().map_or(&[], <[u8; 32]>::as_slice),
    ]);
    let (staged, blocks) = payload.staging.take().await?;
    let command = CreateTask {
        id: payload.staging.task_id().to_owned(),
        total: payload.entries,
        staged,
        blocks,
        dry_run,
        ..new_task(&state, &caller, action)?
    };
    let answer = accept(&state, &caller, command, key.map(|key| (key, content))).await;
    // Dropping it earlier would discard the staged blocks of a task that the store is accepting.
    drop(payload);
    answer
}

/// Reads a request to the path of `family` without creating a task.
pub(crate) async fn read_only(
    request: Request,
    family: Family,
    state: &AppState,
    caller: &Caller,
) -> Result<TaskRequest, Problem> {
    let kind = body::kind(request.headers(), ACCEPTED_TYPES)?;
    body::check_length(&request, &state.config)?;
    let staging = Staging::new(state, caller)?;
    let form = TaskForm::new(kind, family, true, Vec::new(), staging);
    read(request, kind, &state.config, form).await?.finish(caller).await
}

/// Feeds the decompressed body to `form`.
async fn read(
    request: Request,
    kind: FormKind,
    config: &ApiConfig,
    mut form: TaskForm,
) -> Result<TaskForm, Problem> {
    let request = decompressed(request)?;
    match kind {
        FormKind::Urlencoded => read_urlencoded(request, config, &mut form).await?,
        FormKind::Multipart => read_multipart(request, config, &mut form).await?,
        FormKind::Json => {
            if let Err(broken) = read_json(request, config, &mut form).await? {
                return Err(form.refuse_broken(broken).await);
            }
        }
    }
    Ok(form)
}

/// Reads one object. The inner error is broken grammar, which the form may know more about.
async fn read_json(
    request: Request,
    config: &ApiConfig,
    form: &mut TaskForm,
) -> Result<Result<(), BrokenJson>, Problem> {
    let mut body = request.into_limited_body().into_data_stream();
    let mut decoder = ObjectDecoder::default();
    while let Some(piece) = in_time(config, body.next()).await? {
        let piece: Bytes = piece.map_err(|error| read_error(&error, config))?;
        if let Err(broken) = decoder.push(&piece, form) {
            return Ok(Err(broken));
        }
        form.settle().await?;
    }
    Ok(decoder.finish())
}

async fn read_urlencoded(
    request: Request,
    config: &ApiConfig,
    form: &mut TaskForm,
) -> Result<(), Problem> {
    let mut body = request.into_limited_body().into_data_stream();
    let mut decoder = Decoder::default();
    while let Some(piece) = in_time(config, body.next()).await? {
        let piece: Bytes = piece.map_err(|error| read_error(&error, config))?;
        decoder.push(&piece, form).map_err(broken_escape)?;
        form.settle().await?;
    }
    decoder.finish(form).map_err(broken_escape)
}

async fn read_multipart(
    request: Request,
    config: &ApiConfig,
    form: &mut TaskForm,
) -> Result<(), Problem> {
    let mut parts = body::multipart(request).await?;
    let broken = |error| broken_multipart(&error, config);
    while let Some(mut part) = in_time(config, parts.next_field()).await?.map_err(broken)? {
        form.begin(part.name().unwrap_or_default());
        while let Some(piece) = in_time(config, part.chunk()).await?.map_err(broken)? {
            form.data(&piece);
            form.settle().await?;
        }
        form.end();
    }
    Ok(())
}
