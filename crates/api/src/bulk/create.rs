//! `POST …/bulk_actions`: reads the form as it arrives, has its payload checked, compressed and,
//! where it is long, staged, and answers 201 once the store has all of it. Nothing of a refused
//! request is kept.

use std::error::Error;
use std::time::Duration;

use axum::RequestExt;
use axum::body::{Bytes, HttpBody};
use axum::extract::multipart::MultipartError;
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::task::{Action, Family};
use caseload_model::time::UnixMillis;
use caseload_store::{CreateTask, KeptAnswer, Once};
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::LengthLimitError;

use super::BulkPath;
use super::staging::Staging;
use super::submission::{Form, Submission, Submitted};
use super::unpack::{BrokenPacking, caused_by, unpacked};
use super::urlencoded::{BrokenEscape, Decoder, FieldSink};
use super::view::TaskView;
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
    check_length(&request, &state.config)?;
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
    let (staged, blocks) = payload.staging.take();
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
    check_length(&request, &state.config)?;
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
    let answer = KeptAnswer { location: view.links.this, body };
    command.idempotency = key.map(|(text, content)| {
        let key = idempotency::kept_key(text, content, command.now, command.expires_at);
        (key, answer.clone())
    });
    match state.store.create_task(command).await? {
        Once::Repeated(first) => Ok(idempotency::created(first)),
        Once::Done(task) => {
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
    let unsupported = |detail| Err(Problem::new(ErrorCode::UnsupportedMediaType, detail));
    let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let given = String::from_utf8_lossy(given);
    match given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => Ok(Form::A),
        "multipart/form-data" => Ok(Form::B),
        "" => unsupported(format!("the request has no Content-Type; send {ACCEPTED_TYPES}")),
        other => {
            let shown: String = other.chars().take(100).collect();
            unsupported(format!("{shown:?} is not supported here; send {ACCEPTED_TYPES}"))
        }
    }
}

/// Refuses a body that says itself that it is too large, before any of it is read.
fn check_length(request: &Request, config: &ApiConfig) -> Result<(), Problem> {
    let length = request.body().size_hint().exact();
    if length.is_some_and(|length| length > config.body_bytes_max as u64) {
        return Err(too_large(config));
    }
    Ok(())
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
    let mut parts = Multipart::from_request(request, &()).await.map_err(|_| {
        let detail = "the Content-Type multipart/form-data needs a boundary; HTTP clients add it \
                      when they build the form";
        Problem::new(ErrorCode::InvalidRequest, detail)
    })?;
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

/// What `read` gives, unless the client stops sending for too long.
async fn in_time<T>(config: &ApiConfig, read: impl Future<Output = T>) -> Result<T, Problem> {
    let pause: Duration = config.body_pause_max;
    tokio::time::timeout(pause, read).await.map_err(|_| {
        let detail =
            format!("nothing of the body arrived for {} s; send it again", pause.as_secs());
        Problem::new(ErrorCode::InvalidRequest, detail)
    })
}

fn too_large(config: &ApiConfig) -> Problem {
    let detail = format!(
        "the body has more than {} bytes, packed or unpacked; send the entries in several requests",
        config.body_bytes_max
    );
    Problem::new(ErrorCode::TooLarge, detail)
}

fn unread(error: &(dyn Error + 'static), config: &ApiConfig) -> Problem {
    if caused_by::<LengthLimitError>(error) {
        return too_large(config);
    }
    let detail = if caused_by::<BrokenPacking>(error) {
        "the body cannot be unpacked: it is not what its Content-Encoding says, or it stops early"
    } else {
        "the body ended before it was complete; send it again"
    };
    Problem::new(ErrorCode::InvalidRequest, detail)
}

fn broken_escape(BrokenEscape(at): BrokenEscape) -> Problem {
    let detail = format!(
        "the body is no urlencoded form: the % at byte {at} is not followed by two hexadecimal \
         digits; write % as %25, or let an HTTP client encode the form"
    );
    Problem::new(ErrorCode::InvalidRequest, detail)
}

fn broken_multipart(error: &MultipartError, config: &ApiConfig) -> Problem {
    if caused_by::<LengthLimitError>(error) || caused_by::<BrokenPacking>(error) {
        return unread(error, config);
    }
    tracing::debug!(%error, "a multipart body is broken");
    let detail = "the body is no multipart/form-data with the boundary that its Content-Type \
                  names, or it ended before it was complete";
    Problem::new(ErrorCode::InvalidRequest, detail)
}
