//! Byte ranges of a file (RFC 9110, 13 and 14): the range that a request asks for, and the headers
//! of a partial answer. The server serves one range. It ignores several ranges, another unit, and a
//! header that cannot be read, as the RFC allows. The handlers of files supply the bytes.

use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::http::problem::Problem;

/// The one range that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteRange {
    /// From the first byte to the second, both included, or to the end.
    From(u64, Option<u64>),
    /// This many bytes at the end.
    Last(u64),
}

impl ByteRange {
    /// The range that a request asks for, if a partial answer is possible: the request is a GET,
    /// and its `If-Range` is absent or equal to `tag`.
    pub(crate) fn requested(method: &Method, headers: &HeaderMap, tag: &str) -> Option<Self> {
        if *method != Method::GET {
            return None;
        }
        let condition = headers.get(header::IF_RANGE);
        if condition.is_some_and(|condition| condition.as_bytes() != tag.as_bytes()) {
            return None;
        }
        let mut ranges = headers.get_all(header::RANGE).iter();
        let range = ranges.next()?.to_str().ok()?;
        if ranges.next().is_some() { None } else { Self::parse(range) }
    }

    fn parse(text: &str) -> Option<Self> {
        let (unit, range) = text.split_once('=')?;
        let (first, last) = range.trim().split_once('-')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        match (first, last) {
            ("", last) => number(last).map(Self::Last),
            (first, "") => number(first).map(|first| Self::From(first, None)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::From(first, Some(last)))
            }
        }
    }

    /// First and last byte of the range in a file of `total` bytes; `None` if the range is outside
    /// of the file.
    pub(crate) fn within(self, total: u64) -> Option<(u64, u64)> {
        let end = total.checked_sub(1)?;
        match self {
            Self::From(first, _) if first > end => None,
            Self::From(first, last) => Some((first, last.map_or(end, |last| last.min(end)))),
            Self::Last(0) => None,
            Self::Last(count) => Some((total.saturating_sub(count), end)),
        }
    }
}

/// Marks `response` as the bytes from `first` to `last`, both included, of `total`. Its body must
/// be these bytes.
pub(crate) fn mark_partial(response: &mut Response, (first, last): (u64, u64), total: u64) {
    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(last - first + 1));
    if let Ok(value) = HeaderValue::try_from(format!("bytes {first}-{last}/{total}")) {
        headers.insert(header::CONTENT_RANGE, value);
    }
}

/// The answer 416: the range is outside of a file of `total` bytes.
pub(crate) fn unsatisfiable(total: u64) -> Response {
    let headers = [(header::CONTENT_RANGE, format!("bytes */{total}"))];
    let detail = format!("the file has {total} bytes, and the range is beyond its end");
    (headers, Problem::new(ErrorCode::RangeNotSatisfiable, detail)).into_response()
}

/// Digits only. A number beyond 64 bits counts as the largest.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_read_and_everything_else_is_none() {
        for (text, range) in [
            ("bytes=0-0", Some(ByteRange::From(0, Some(0)))),
            ("Bytes=5-", Some(ByteRange::From(5, None))),
            ("bytes=-7", Some(ByteRange::Last(7))),
            ("bytes=0-99999999999999999999", Some(ByteRange::From(0, Some(u64::MAX)))),
            ("bytes=2-1", None),
            ("bytes=-", None),
            ("bytes=0-1,3-4", None),
            ("bytes=+1-2", None),
            ("lines=0-1", None),
            ("bytes", None),
        ] {
            assert_eq!(ByteRange::parse(text), range, "{text}");
        }
    }

    #[test]
    fn ranges_are_cut_to_the_file() {
        for (range, total, within) in [
            (ByteRange::From(0, None), 10, Some((0, 9))),
            (ByteRange::From(3, Some(5)), 10, Some((3, 5))),
            (ByteRange::From(9, Some(99)), 10, Some((9, 9))),
            (ByteRange::From(10, None), 10, None),
            (ByteRange::Last(3), 10, Some((7, 9))),
            (ByteRange::Last(30), 10, Some((0, 9))),
            (ByteRange::Last(0), 10, None),
            (ByteRange::From(0, None), 0, None),
            (ByteRange::Last(1), 0, None),
        ] {
            assert_eq!(range.within(total), within, "{range:?} of {total}");
        }
    }

    #[test]
    fn a_range_needs_a_get_and_the_strong_tag() {
        let with = |name: header::HeaderName, value: &'static str| {
            HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
        };
        for (value, same) in [("\"a\"", true), ("W/\"a\"", false), ("\"b\"", false)] {
            let mut headers = with(header::IF_RANGE, value);
            headers.insert(header::RANGE, HeaderValue::from_static("bytes=1-"));
            let requested = |method| ByteRange::requested(&method, &headers, "\"a\"").is_some();
            assert_eq!(requested(Method::GET), same, "{value}");
            assert!(!requested(Method::HEAD), "{value}");
        }
    }
}
