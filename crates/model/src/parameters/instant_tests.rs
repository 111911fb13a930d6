//! Tests of bounds. The forms of a time are tested with their reader.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use super::*;

/// 2023-11-14T22:13:20.
const AT: i64 = 1_700_000_000_000;
/// 2023-11-14T00:00:00.
const DAY: i64 = 1_699_920_000_000;

#[test]
fn a_bound_is_moved_into_its_span() {
    for (text, from, to) in [
        ("2023-11-14T22:13:20.123456Z", AT + 124, AT + 123),
        ("2023-11-14T22:13:20.123000001", AT + 124, AT + 123),
        ("2023-11-14T22:13:20.123000Z", AT + 123, AT + 123),
        ("2023-11-14T22:13", AT - 20_000, AT - 20_000),
        ("2023-11-14", DAY, DAY + DAY_MS - 1),
        ("2023-11-14T00:00:00Z", DAY, DAY),
        ("1700000000", 1_700_000_000, 1_700_000_000),
    ] {
        assert_eq!(parse_bound(text, Bound::Since).unwrap().0, from, "{text}");
        assert_eq!(parse_bound(text, Bound::Until).unwrap().0, to, "{text}");
    }
}

#[test]
fn a_blank_may_be_a_plus_that_was_not_escaped() {
    for text in [
        "1.7E 12",
        "2023-11-15T00:13:20 02:00",
        "2023-11-15 00:13:20 0200",
        "2023-11-15 00:13:20  0200",
        "2023-11-15T00:13:20.000 02",
    ] {
        assert_eq!(parse_bound(text, Bound::Since), Ok(UnixMillis(AT)), "{text}");
    }
    for text in [" 5", "2023-11-14 22", "2023-11-14 02:00 02:00 02:00", "2023-11-14T22:13:20 "] {
        let Err(InvalidMoment::NotATime(detail)) = parse_bound(text, Bound::Since) else {
            panic!("{text:?} is a time");
        };
        assert!(detail.starts_with(&format!("{text:?} is not a time")), "{detail}");
    }
}

#[test]
fn a_time_before_1970_is_a_bound_in_iso_8601_alone() {
    assert_eq!(parse_bound("1969-12-31T23:59:59.999Z", Bound::Since), Ok(UnixMillis(-1)));
    let fault = parse_bound("-1", Bound::Since);
    assert!(matches!(fault, Err(InvalidMoment::NotATime(detail)) if detail.contains("ISO 8601")));
}
