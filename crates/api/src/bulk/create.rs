//! `POST …/bulk_actions`: reads the form as it arrives, has its payload checked, compressed and,
//! where it is long, staged, and answers 201 once the store has all of it. Nothing of a refused
//! request is kept.

use axum::RequestExt;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use caseload_model::task::{Action, Family};
use caseload_model::time::UnixMillis;
use caseload_store::{CreateTask, Idempotent, StoredAnswer};
use futures_util::StreamExt;
use http::HeaderMap;

use super::BulkPath;
use super::staging::Staging;
use super::submission::{Form, Submission, Submitted};
use super::view::TaskView;
use crate::form::body::{self, FormKind, broken_escape, broken_multipart, in_time, unread};
use crate::form::{Decoder, FieldSink, unpacked};
use crate::idempotency::{self, Answering};
use crate::problem::Problem;
use crate::query::QueryPairs;
use crate::{ApiConfig, AppState, Caller};

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
    let _mark = Answering::begin(&state, &caller, key.as_deref()).await?;
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

/// A task without entries.
pub(super) fn new_task(
    state: &AppState,
    caller: &Caller,
    action: Action,
) -> Result<CreateTask, Problem> {
    let now = state.clock.now();
    let kept = i64::try_from(state.config.keep_results.as_millis()).unwrap_or(i64::MAX);
    Ok(CreateTask {
        domain: caller.domain_id,
        id: fresh_task_id(now)?,
        action,
        dry_run: false,
        total: 0,
        staged: 0,
        blocks: Vec::new(),
        now,
        expires_at: UnixMillis(now.0.saturating_add(kept)),
        unfinished_max: state.config.unfinished_tasks_max,
        parent_id: None,
        idempotency: None,
    })
}

/// Hands the task to the store and answers 201; a repeat under `key` gets the first answer. The
/// answer is written before the store has the task, so that both are kept together.
pub(super) async fn accept(
    state: &AppState,
    caller: &Caller,
    mut command: CreateTask,
    key: Option<(String, [u8; 32])>,
) -> Result<Response, Problem> {
    let view = TaskView::new(&command.accepted(), &caller.domain_name);
    let body = serde_json::to_vec(&view).map_err(|error| {
        tracing::error!(%error, "a task cannot be written as JSON");
        Problem::internal()
    })?;
    let answer = StoredAnswer { location: view.links.this, body };
    command.idempotency = key.map(|(text, content)| {
        let key = idempotency::kept_key(text, content, command.now, command.expires_at);
        (key, answer.clone())
    });
    let id = command.id.clone();
    let accepted = state.store.create_task(command).await;
    if !matches!(accepted, Ok(Idempotent::Done(_))) {
        // No task comes for what waits for it.
        drop(state.store.fresh().and_then(|fresh| fresh.take(&id)));
    }
    match accepted? {
        Idempotent::Replayed(first) => Ok(idempotency::created(first)),
        Idempotent::Done(task) => {
            tracing::info!(
                task = task.id,
                action = task.action.as_str(),
                entries = task.counts.total,
                key = caller.key_id,
                key_name = caller.key_name,
                "a task was accepted"
            );
            Ok(idempotency::created(answer))
        }
    }
}

/// A UUID of version 7: ids of tasks sort by the time of their making.
pub(super) fn fresh_task_id(now: UnixMillis) -> Result<String, Problem> {
    let mut random = [0; 10];
    getrandom::fill(&mut random).map_err(|error| {
        tracing::error!(%error, "no randomness for the id of a task");
        Problem::internal()
    })?;
    let millis = u64::try_from(now.0).unwrap_or_default();
    Ok(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string())
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
