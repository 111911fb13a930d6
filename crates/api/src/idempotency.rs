//! Requests that may be repeated under the header `Idempotency-Key`. The store keeps the first
//! answer together with its effect; here are the header, the hash of what a request asks for, and
//! the mark on keys whose first request is still being answered by this process. The mark is a
//! courtesy: that a request takes effect once is the store's doing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use caseload_store::{IdempotencyKey, StoreError, StoredAnswer};
use http::{HeaderMap, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::problem::{Fault, Problem};
use crate::{AppState, Caller};

const HEADER: &str = "Idempotency-Key";
/// Characters that a key may have.
const KEY_CHARS_MAX: usize = 255;
/// How long a key is kept at least.
const KEPT_MIN: Duration = Duration::from_hours(24);
/// Seconds after which a request that is still being answered is worth repeating.
const RETRY_SECONDS: u64 = 1;

/// The key of a request, where it has one; what is wrong with it goes to `faults`.
pub(crate) fn key(headers: &HeaderMap, faults: &mut Vec<Fault>) -> Option<String> {
    let mut given = headers.get_all(HEADER).iter();
    let first = given.next()?;
    let mut fault =
        |code, detail: &str| faults.push(Fault::parameter(HEADER, code, detail.to_owned()));
    if given.any(|other| other != first) {
        let detail = "the header is given more than once; send one key for one request";
        fault(ErrorCode::ConflictingParameter, detail);
        return None;
    }
    match std::str::from_utf8(first.as_bytes()) {
        Ok(key) if (1..=KEY_CHARS_MAX).contains(&key.chars().count()) => Some(key.to_owned()),
        _ => {
            let detail = "an idempotency key has 1 to 255 characters; a fresh UUID for each new \
                          request, sent again with each repeat of it, is a good one";
            fault(ErrorCode::InvalidValue, detail);
            None
        }
    }
}

/// A hash over the parts of a request that say what it asks for, each part told from the next.
pub(crate) fn content_hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The key as the store keeps it: as long as what was made, and at least a day.
pub(crate) fn kept_key(
    text: String,
    content: [u8; 32],
    now: UnixMillis,
    made_expires_at: UnixMillis,
) -> IdempotencyKey {
    let least = now.0.saturating_add(i64::try_from(KEPT_MIN.as_millis()).unwrap_or(i64::MAX));
    IdempotencyKey { text, content, expires_at: made_expires_at.max(UnixMillis(least)) }
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
        Some((kept, answer)) if kept == content => Ok(Some(created(answer))),
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

/// Keys whose first request is being answered.
#[derive(Debug, Default)]
pub(crate) struct Answering(Mutex<HashSet<(DomainId, String)>>);

/// The mark on one key; gone with the request, however that ends.
#[derive(Debug)]
pub(crate) struct Mark {
    answering: Arc<Answering>,
    key: (DomainId, String),
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.answering.keys().remove(&self.key);
    }
}

impl Answering {
    fn keys(&self) -> std::sync::MutexGuard<'_, HashSet<(DomainId, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the key, where the request has one, as long as the mark lives. Refused while another
    /// request has it and has no answer yet.
    pub(crate) async fn begin(
        state: &AppState,
        caller: &Caller,
        key: Option<&str>,
    ) -> Result<Option<Mark>, Problem> {
        let Some(text) = key else { return Ok(None) };
        let answering = &state.answering;
        let key = (caller.domain_id, text.to_owned());
        if answering.keys().insert(key.clone()) {
            return Ok(Some(Mark { answering: answering.clone(), key }));
        }
        let kept = state.store.stored_answer(caller.domain_id, text, state.clock.now()).await?;
        if kept.is_some() {
            return Ok(None);
        }
        let detail = "the first request with this idempotency key is still being answered; send \
                      this one again to get its answer";
        let problem = Problem::new(ErrorCode::IdempotencyInProgress, detail);
        Err(problem.retry_after(RETRY_SECONDS))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_key_is_one_text_of_1_to_255_characters() {
        let long = "ä".repeat(255);
        let longer = "x".repeat(256);
        for (given, key_found, faults_found) in [
            (&[][..], None, 0),
            (&["k"], Some("k"), 0),
            (&["k", "k"], Some("k"), 0),
            (&[long.as_str()], Some(long.as_str()), 0),
            (&["k", "l"], None, 1),
            (&[""], None, 1),
            (&[longer.as_str()], None, 1),
        ] {
            let mut headers = HeaderMap::new();
            for value in given {
                let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
                headers.append(HEADER, value);
            }
            let mut faults = Vec::new();
            assert_eq!(key(&headers, &mut faults).as_deref(), key_found, "{given:?}");
            assert_eq!(faults.len(), faults_found, "{given:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_bytes(b"\xff").expect("a header value"));
        let mut faults = Vec::new();
        assert_eq!(key(&headers, &mut faults), None);
        assert_eq!(faults.len(), 1, "no UTF-8");
    }

    #[test]
    fn parts_of_the_content_are_told_apart() {
        assert_ne!(content_hash(&[b"ab", b"c"]), content_hash(&[b"a", b"bc"]));
        assert_ne!(content_hash(&[b"", b"a"]), content_hash(&[b"a", b""]));
        assert_eq!(content_hash(&[b"a", b"b"]), content_hash(&[b"a", b"b"]));
    }

    #[test]
    fn keys_are_kept_for_a_day_at_least() {
        let expires =
            |made| kept_key("k".into(), [0; 32], UnixMillis(5), UnixMillis(made)).expires_at.0;
        assert_eq!((expires(10), expires(i64::MAX)), (86_400_005, i64::MAX));
    }
}
