//! The first answer to a request with a key: whether the store has one, and how the server sends
//! it.

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_store::{StoreError, StoredAnswer};
use http::{StatusCode, header};

use super::in_progress::InProgressMark;
use crate::base_url::PathsInBody;
use crate::problem::Problem;
use crate::{AppState, Caller};

/// `Retry-After` while the first request is still being answered, in seconds.
const RETRY_SECONDS: u64 = 1;

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
    let stored = state.store.stored_answer(caller.domain_id, text, state.clock.now()).await?;
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
) -> Result<Option<Response>, Problem> {
    let Some(key) = key else { return Ok(None) };
    match state.store.stored_answer(caller.domain_id, key, state.clock.now()).await? {
        Some((first, answer)) if first == content => Ok(Some(created(answer))),
        Some(_) => Err(StoreError::IdempotencyKeyReused.into()),
        None => Ok(None),
    }
}

/// The answer 201 with the stored bytes, the same for the first request and each repeat. Its URLs
/// are paths until the base URL is added.
pub(crate) fn created(answer: StoredAnswer) -> Response {
    let headers = [
        (header::LOCATION, answer.location),
        (header::CONTENT_TYPE, "application/json".to_owned()),
    ];
    let body = Bytes::from(answer.body);
    let paths = PathsInBody::find(&body);
    let mut response = (StatusCode::CREATED, headers, body).into_response();
    if let Some(paths) = paths {
        response.extensions_mut().insert(paths);
    }
    response
}
