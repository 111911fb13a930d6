//! The first answer to a request with a key: whether there is one, and how it is sent.

use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_store::{StoreError, StoredAnswer};
use http::{StatusCode, header};

use super::in_progress::InProgressMark;
use crate::problem::Problem;
use crate::{AppState, Caller};

/// Seconds after which a request that is still being answered is worth repeating.
const RETRY_SECONDS: u64 = 1;

/// Marks the key, where the request has one, as long as the mark lives. Refused while another
/// request has it and has no answer yet.
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

/// The first answer, where a request with this key and content had one. For requests that need to
/// know it before they look at anything else; the store asks again when it takes effect.
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

/// 201 with the kept bytes, the first time and each time after.
pub(crate) fn created(answer: StoredAnswer) -> Response {
    let headers = [
        (header::LOCATION, answer.location),
        (header::CONTENT_TYPE, "application/json".to_owned()),
    ];
    (StatusCode::CREATED, headers, answer.body).into_response()
}
