//! The decoding of urlencoded bodies and of query strings. Another decoder finds the same pairs if
//! the escapes are whole. If one is broken, the fault has its place. Cuts change nothing.

use std::borrow::Cow;

use caseload_api::test_support::{query_pairs, urlencoded_fields};

use crate::pieces::cuts;

/// Longest name that is not cut.
const NAME_BYTES_MAX: usize = 256;

pub(crate) fn holds(data: &[u8]) {
    let whole = urlencoded_fields([data]);
    for pieces in cuts(data) {
        assert_eq!(urlencoded_fields(pieces), whole, "cuts do not matter");
    }
    match &whole {
        Ok(fields) => {
            assert_eq!(broken_escape(data), None);
            let expected: Vec<_> = form_urlencoded::parse(data).collect();
            assert_eq!(fields.len(), expected.len(), "both find as many fields");
            for ((name, value), (other_name, other_value)) in fields.iter().zip(&expected) {
                let is_whole = name.len() < NAME_BYTES_MAX;
                assert!(name == other_name || !is_whole, "{name:?} is not {other_name:?}");
                assert_eq!(&String::from_utf8_lossy(value), other_value);
            }
        }
        Err(at) => {
            assert_eq!(broken_escape(data), Some(*at), "the first broken escape is reported");
        }
    }
    if let Ok(query) = std::str::from_utf8(data) {
        of_query(query);
    }
}

fn of_query(query: &str) {
    match query_pairs(query) {
        Ok(pairs) => {
            let expected = form_urlencoded::parse(query.as_bytes()).map(owned);
            assert_eq!(pairs, expected.collect::<Vec<_>>(), "both find the same parameters");
        }
        Err((status, body)) => {
            assert_eq!(status, 400);
            assert!(serde_json::from_slice::<serde_json::Value>(&body).is_ok());
            let lossy = form_urlencoded::parse(query.as_bytes())
                .any(|(name, value)| name.contains('\u{fffd}') || value.contains('\u{fffd}'));
            assert!(lossy || broken_escape(query.as_bytes()).is_some(), "{query:?} is good");
        }
    }
}

fn owned((name, value): (Cow<'_, str>, Cow<'_, str>)) -> (String, String) {
    (name.into_owned(), value.into_owned())
}

/// The place of the first `%` without two hexadecimal digits after it.
fn broken_escape(data: &[u8]) -> Option<u64> {
    let is_broken = |at: &usize| {
        data[*at] == b'%'
            && !data.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    // An escape is three bytes: a `%` and the next two.
    (0..data.len()).find(is_broken).map(|at| at as u64)
}
