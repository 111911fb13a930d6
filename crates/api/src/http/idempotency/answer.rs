//! The first answer to a request with a key: whether the store has one, and how the server sends
//! it.

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_store::{Idempotent, StoreError, StoredAnswer};
use http::header::{self, HeaderName};
use http::{HeaderValue, StatusCode};

use super::in_progress::InProgressMark;
use crate::http::auth::Caller;
use crate::http::base_url::PathsInBody;
use crate::http::problem::Problem;
use crate::state::AppState;

/// `Retry-After` while the first request is still being answered, in seconds.
const RETRY_SECONDS: u64 = 1;
/// `true` in an answer that the store had from an earlier request with the same key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Marks the key of the request, if it has one, for the life of the mark. Refuses the request while
/// another one has the mark and no answer yet.
pub(crate) async fn begin(
    state: &AppState,
    caller: &Caller,
    key: Option<&str>,
) -> Result<Option<InProgressMark>, Problem> {
    let Some(text) = key else { return Ok(None) };
    if let Some(mark) = state.keys_in_progress.mark(caller.domain_id, text) {
        return Ok(Some(mark));
    }
    let stored = state.store.stored_answer(caller.domain_id, text).await?;
    if stored.is_some() {
        return Ok(None);
    }
    let detail = "the first request with this idempotency key is still being answered; send \
                  this one again to get its answer";
    let problem = Problem::new(ErrorCode::IdempotencyInProgress, detail);
    Err(problem.retry_after(RETRY_SECONDS))
}

/// The first answer to a request with this key and content, if there is one. For calls that must
/// know it before any other check. The store compares again when the command takes effect.
pub(crate) async fn first_answer(
    state: &AppState,
    caller: &Caller,
    key: Option<&str>,
    content: [u8; 32],
) -> Result<Option<Idempotent<StoredAnswer>>, Problem> {
    let Some(key) = key else { return Ok(None) };
    match state.store.stored_answer(caller.domain_id, key).await? {
        Some((first, answer)) if first == content => Ok(Some(Idempotent::Replayed(answer))),
        Some(_) => Err(StoreError::IdempotencyKeyReused.into()),
        None => Ok(None),
    }
}

/// The answer 201 with the stored bytes, the same for the first request and each repeat. A repeat
/// is marked as one. Its URLs are paths until the base URL is added.
pub(crate) fn created(outcome: Idempotent<StoredAnswer>) -> Response {
    let (answer, replayed) = parts(outcome);
    let location = [(header::LOCATION, answer.location)];
    let body = Bytes::from(answer.body);
    let paths = PathsInBody::find(&body);
    let mut response = (StatusCode::CREATED, location, replayed, json(body)).into_response();
    if let Some(paths) = paths {
        response.extensions_mut().insert(paths);
    }
    response
}

/// The answer 200 to a request that would have made a record that exists, marked as a repeat.
pub(crate) fn existing(answer: StoredAnswer) -> Response {
    let mut response = created(Idempotent::Replayed(answer));
    *response.status_mut() = StatusCode::OK;
    response
}

/// The answer 200 with the stored bytes of a change. A repeat is marked as one.
pub(crate) fn changed(outcome: Idempotent<StoredAnswer>) -> Response {
    let (answer, replayed) = parts(outcome);
    (replayed, json(answer.body.into())).into_response()
}

/// The answer 204 to a deletion. A repeat is marked as one.
pub(crate) fn deleted(outcome: Idempotent<StoredAnswer>) -> Response {
    (StatusCode::NO_CONTENT, parts(outcome).1, ()).into_response()
}

fn parts(outcome: Idempotent<StoredAnswer>) -> (StoredAnswer, Option<ReplayedHeader>) {
    match outcome {
        Idempotent::Done(answer) => (answer, None),
        Idempotent::Replayed(first) => {
            (first, Some([(REPLAYED, HeaderValue::from_static("true"))]))
        }
    }
}

type ReplayedHeader = [(HeaderName, HeaderValue); 1];

fn json(body: Bytes) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body)
}
