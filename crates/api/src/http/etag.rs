//! The tags of answers and the condition `If-None-Match`. A tag is made of the values that the
//! answer depends on (versions, ids, times, counts), never of the answer itself. Each handler
//! decides whether its answers have one.

use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caseload_model::issue::ListVersion;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

/// The version of the form in which records are rendered. It is part of every tag, so that a
/// program with another form has other tags.
const RENDERING: u32 = 1;

/// Whether the caller already has the answer with this tag. A weak tag of the same text counts,
/// because it names the same content in compressed form.
pub(crate) fn has_already(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter();
    let tags = values.filter_map(|v| HeaderValue::to_str(v).ok()).flat_map(|v| v.split(','));
    tags.map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// A strong tag, with its quotes, of records with this version; `shown` describes how the answer
/// shows them.
pub(crate) fn of_version(version: &ListVersion, shown: &str) -> String {
    let mut digest = Sha256::new_with_prefix(version);
    digest.update(format!("{RENDERING} {shown}"));
    format!("\"{}\"", URL_SAFE_NO_PAD.encode(&digest.finalize()[..12]))
}

/// A strong tag, with its quotes, of an answer that depends on these values alone.
pub(crate) fn of_text(values: &str) -> String {
    let digest = Sha256::digest(format!("{RENDERING} {values}"));
    format!("\"{}\"", URL_SAFE_NO_PAD.encode(&digest[..12]))
}

/// The answer 304: the caller has the current answer already.
pub(crate) fn unchanged(tag: &str) -> Response {
    let headers = [(header::ETAG, tag), (header::VARY, "Accept, Accept-Encoding")];
    (StatusCode::NOT_MODIFIED, headers).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_match_weakly_because_the_content_counts() {
        for (value, same) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("*", true),
            ("\"b\", \"a\"", true),
            ("\"b\",W/\"a\" ", true),
            ("\"b\"", false),
            ("a", false),
            ("", false),
        ] {
            let value = HeaderValue::from_static(value);
            let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, value.clone())]);
            assert_eq!(has_already(&headers, "\"a\""), same, "{value:?}");
        }
        assert!(!has_already(&HeaderMap::new(), "\"a\""));
    }

    #[test]
    fn a_tag_depends_on_the_issues_and_on_how_they_are_shown() {
        let tags =
            [of_version(&[0; 16], "a"), of_version(&[1; 16], "a"), of_version(&[0; 16], "b")];
        assert_eq!(tags[0], of_version(&[0; 16], "a"));
        assert!(tags[0] != tags[1] && tags[0] != tags[2] && tags[1] != tags[2]);
        assert!(tags.iter().all(|tag| tag.len() == 18 && tag.starts_with('"')));
    }
}
