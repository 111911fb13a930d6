//! The header `Idempotency-Key`, and the hash of a request's content, which distinguishes a repeat
//! from another request with the same key.

use std::time::Duration;

use caseload_model::error_code::ErrorCode;
use caseload_model::time::UnixMillis;
use caseload_store::IdempotencyKey;
use http::HeaderMap;
use sha2::{Digest, Sha256};

use crate::http::problem::Fault;

const HEADER: &str = "Idempotency-Key";
/// The most characters of a key.
const KEY_CHARS_MAX: usize = 255;
/// How long the store holds a key at least.
const STORED_MIN: Duration = Duration::from_hours(24);

/// The key of a request, if it has a valid one; its faults go to `faults`.
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
            let detail = "an idempotency key has 1 to 255 characters; a good choice is a new UUID \
                          for each new request, sent again with each repeat of it";
            fault(ErrorCode::InvalidValue, detail);
            None
        }
    }
}

/// A hash over the parts of a request's content; the hash includes the length of each part.
pub(crate) fn content_hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The key for the store. It expires with the record that the request makes, after a day at the
/// earliest.
pub(crate) fn stored_key(
    text: String,
    content: [u8; 32],
    now: UnixMillis,
    record_expires_at: UnixMillis,
) -> IdempotencyKey {
    let least = now.0.saturating_add(i64::try_from(STORED_MIN.as_millis()).unwrap_or(i64::MAX));
    IdempotencyKey { text, content, expires_at: record_expires_at.max(UnixMillis(least)) }
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
        assert_eq!(faults.len(), 1, "not UTF-8");
    }

    #[test]
    fn the_hash_depends_on_the_borders_between_parts() {
        assert_ne!(content_hash(&[b"ab", b"c"]), content_hash(&[b"a", b"bc"]));
        assert_ne!(content_hash(&[b"", b"a"]), content_hash(&[b"a", b""]));
        assert_eq!(content_hash(&[b"a", b"b"]), content_hash(&[b"a", b"b"]));
    }

    #[test]
    fn keys_are_stored_for_a_day_at_least() {
        let expires = |record| {
            stored_key("k".into(), [0; 32], UnixMillis(5), UnixMillis(record)).expires_at.0
        };
        assert_eq!((expires(10), expires(i64::MAX)), (86_400_005, i64::MAX));
    }
}
