//! `POST …/bulk_actions`: reads the form as it arrives, has its payload checked, compressed and,
//! where it is long, staged, and answers 201 once the store has all of it. Nothing of a refused
//! request is kept.

use axum::RequestExt;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::task::Family;
use caseload_store::CreateTask;
use futures_util::StreamExt;
use http::HeaderMap;

use super::accept::{accept, new_task};
use super::path::BulkPath;
use super::staging::Staging;
use super::submission::{Form, Submission, Submitted};
use crate::form::body::{self, FormKind, broken_escape, broken_multipart, in_time, unread};
use crate::form::{Decoder, FieldSink, unpacked};
use crate::problem::Problem;
use crate::query::QueryPairs;
use crate::{ApiConfig, AppState, Caller, idempotency};

const ACCEPTED_TYPES: &str = "application/x-www-form-urlencoded with the fields action and payload \
                              (a JSON array), or multipart/form-data with the fields action and \
                              payload (a file of JSON lines)";

/// Accepts a task.
pub(crate) async fn create(
    State(state): State<AppState>,
    caller: Caller,
    BulkPath(family): BulkPath,
    query: QueryPairs,
    request: Request,
) -> Result<Response, Problem> {
    let form = form(request.headers())?;
    body::check_length(&request, &state.config)?;
    let mut faults = query.unknown(&[]);
    let key = idempotency::key(request.headers(), &mut faults);
    let _mark = idempotency::begin(&state, &caller, key.as_deref()).await?;
    let staging = Staging::new(&state, &caller)?;
    let submission = Submission::new(form, family, key.is_some(), faults, staging);
    let submission = read(request, form, &state.config, submission).await?;
    let Submitted { action, dry_run, mut payload } = submission.finish(&caller).await?;
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
    // Only now: a refused task, or a repeat, has its staged blocks discarded.
    drop(payload);
    answer
}

/// Reads a request to the path of `family` and makes no task of it.
pub(crate) async fn read_only(
    request: Request,
    family: Family,
    state: &AppState,
    caller: &Caller,
) -> Result<Submitted, Problem> {
    let form = form(request.headers())?;
    body::check_length(&request, &state.config)?;
    let staging = Staging::new(state, caller)?;
    let submission = Submission::new(form, family, true, Vec::new(), staging);
    read(request, form, &state.config, submission).await?.finish(caller).await
}

/// The form of the body, by its content type.
fn form(headers: &HeaderMap) -> Result<Form, Problem> {
    Ok(match body::kind(headers, ACCEPTED_TYPES)? {
        FormKind::Urlencoded => Form::A,
        FormKind::Multipart => Form::B,
    })
}

/// Feeds the body, unpacked, to `submission`.
async fn read(
    request: Request,
    form: Form,
    config: &ApiConfig,
    mut submission: Submission,
) -> Result<Submission, Problem> {
    let request = unpacked(request)?;
    match form {
        Form::A => read_urlencoded(request, config, &mut submission).await?,
        Form::B => read_multipart(request, config, &mut submission).await?,
    }
    Ok(submission)
}

async fn read_urlencoded(
    request: Request,
    config: &ApiConfig,
    submission: &mut Submission,
) -> Result<(), Problem> {
    let mut body = request.into_limited_body().into_data_stream();
    let mut decoder = Decoder::default();
    while let Some(piece) = in_time(config, body.next()).await? {
        let piece: Bytes = piece.map_err(|error| unread(&error, config))?;
        decoder.push(&piece, submission).map_err(broken_escape)?;
        submission.settle().await?;
    }
    decoder.finish(submission).map_err(broken_escape)
}

async fn read_multipart(
    request: Request,
    config: &ApiConfig,
    submission: &mut Submission,
) -> Result<(), Problem> {
    let mut parts = body::multipart(request).await?;
    let broken = |error| broken_multipart(&error, config);
    while let Some(mut part) = in_time(config, parts.next_field()).await?.map_err(broken)? {
        submission.begin(part.name().unwrap_or_default());
        while let Some(piece) = in_time(config, part.chunk()).await?.map_err(broken)? {
            submission.data(&piece);
            submission.settle().await?;
        }
        submission.end();
    }
    Ok(())
}
