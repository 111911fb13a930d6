//! Tests of bounds: each accepted form, and the faults of texts that are not a bound.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use proptest::prelude::*;

use super::*;

/// 2023-11-14T22:13:20.
const AT: i64 = 1_700_000_000_000;

fn since(text: &str) -> i64 {
    parse_bound(text, Bound::Since).unwrap().0
}

#[test]
fn milliseconds_are_digits_or_a_float_without_a_fraction() {
    for text in
        ["1700000000000", "1700000000000.0", "1700000000000.000", "1.7e12", "1.7e+12", "1.7E 12"]
    {
        assert_eq!(since(text), AT, "{text}");
    }
    for (text, at) in [("0", 0), ("0.0", 0), ("007", 7), ("253402300799999", BOUND_MS_MAX as i64)] {
        assert_eq!(since(text), at, "{text}");
    }
}

#[test]
fn a_seconds_value_is_taken_as_it_is() {
    for seconds in ["1700000000", "1700000000.0", "99999999999"] {
        assert_eq!(since(seconds).to_string(), seconds.trim_end_matches(".0"));
    }
}

#[test]
fn iso_times_have_or_lack_milliseconds_and_an_offset() {
    for text in [
        "2023-11-14T22:13:20.000Z",
        "2023-11-14T22:13:20Z",
        "2023-11-14T22:13:20",
        "2023-11-14t22:13:20z",
        "2023-11-14 22:13:20",
        "2023-11-14T22:13:20.0",
        "2023-11-14T22:13:20.000000Z",
        "2023-11-14T22:13:20,000Z",
        "2023-11-14T22:13:20+00:00",
        "2023-11-14 22:13:20+00:00",
        "2023-11-14T22:13:20-00:00",
        "2023-11-15T00:13:20+02:00",
        "2023-11-15T00:13:20 02:00",
        "2023-11-15T00:13:20+0200",
        "2023-11-15T00:13:20.000+02",
        "2023-11-14T16:43:20-05:30",
        "2023-11-14 22:13:20 UTC",
        "2023-11-15 00:13:20 +0200",
        "2023-11-14 16:43:20 -0530",
        "2023-11-14 22:13:20.000000 +0000 UTC",
    ] {
        assert_eq!(since(text), AT, "{text}");
    }
    // `java.time.OffsetDateTime` leaves out seconds that are 0.
    for text in [
        "2023-11-14T22:13Z",
        "2023-11-14T22:13",
        "2023-11-14 22:13 UTC",
        "2023-11-15T00:13+02:00",
        "2023-11-15T00:13 02:00",
    ] {
        assert_eq!(since(text), AT - 20_000, "{text}");
    }
    for text in
        ["2023-11-14T22:13.5Z", "2023-11-14T22:1Z", "2023-11-14T2213Z", "2023-11-14T22:13:Z"]
    {
        assert!(parse_bound(text, Bound::Since).is_err(), "{text}");
    }
    assert_eq!(since("2023-11-14T22:13:20.5Z"), AT + 500);
    assert_eq!(since("1969-12-31T23:59:59.999Z"), -1);
    assert_eq!(since("9999-12-31T23:59:59.999Z"), BOUND_MS_MAX as i64);
}

#[test]
fn a_time_between_two_milliseconds_is_moved_into_the_span() {
    for (text, from, to) in [
        ("2023-11-14T22:13:20.123456Z", AT + 124, AT + 123),
        ("2023-11-14T22:13:20.123000001", AT + 124, AT + 123),
        ("2023-11-14T22:13:20.123000Z", AT + 123, AT + 123),
    ] {
        assert_eq!(since(text), from, "{text}");
        assert_eq!(parse_bound(text, Bound::Until).unwrap().0, to, "{text}");
    }
}

#[test]
fn a_time_after_the_year_9999_is_refused_with_the_unit_it_looks_like() {
    for (text, said, unsaid) in [
        ("1700000000000000", "looks like microseconds; in milliseconds it is 1700000000000", ""),
        (
            "1700000000000000.0",
            "microseconds; in milliseconds it is 1700000000000, on 2023-11-14",
            "",
        ),
        ("1700000000000000000", "looks like nanoseconds; in milliseconds it is 1700000000000", ""),
        ("1.7e+18", "looks like nanoseconds", ""),
        ("253402300800000", "after the year 9999", "looks like"),
        ("99999999999999999999999", "after the year 9999", "looks like"),
        ("9999999999999999999", "after the year 9999", "looks like"),
        ("1e300", "after the year 9999", "looks like"),
        ("9999-12-31T23:59:59.999-00:01", "after the year 9999", "looks like"),
    ] {
        let Err(InvalidBound::TooLate(detail)) = parse_bound(text, Bound::Until) else {
            panic!("{text} is not too late");
        };
        assert!(detail.contains(said) && detail.contains("after the year 9999"), "{detail}");
        assert!(unsaid.is_empty() || !detail.contains(unsaid), "{detail}");
    }
}

#[test]
fn other_texts_are_refused_with_both_forms() {
    for (text, said) in [
        ("", "is not a time"),
        ("x", "is not a time"),
        ("-5", "is not a time"),
        ("+5", "is not a time"),
        (" 5", "is not a time"),
        ("5.", "is not a time"),
        (".5", "is not a time"),
        ("1_000", "is not a time"),
        ("0x10", "is not a time"),
        ("1e999", "is not a time"),
        ("1700000000000.5", "is not a whole number of milliseconds"),
        ("1.75e1", "is not a whole number of milliseconds"),
        ("2023-11-14", "has no time of day"),
        ("2023-11-14T22", "is not a time"),
        ("2023-02-29T00:00:00Z", "is not a time"),
        ("2023-13-01T00:00:00Z", "is not a time"),
        ("2023-11-14T24:00:00Z", "is not a time"),
        ("2023-11-14T23:60:00Z", "is not a time"),
        ("2023-11-14T23:00:60Z", "is not a time"),
        ("2023-11-14T22:13:20.Z", "is not a time"),
        ("2023-11-14T22:13:20+24:00", "is not a time"),
        ("2023-11-14T22:13:20+1:00", "is not a time"),
        ("2023-11-14T22:13:20Zx", "is not a time"),
        ("2023-11-14 22:13:20 CET", "is not a time"),
        ("2023-11-14T22:13:20  02:00", "is not a time"),
        ("２023-11-14T22:13:20", "is not a time"),
    ] {
        let Err(InvalidBound::NotATime(detail)) = parse_bound(text, Bound::Since) else {
            panic!("{text:?} is a time");
        };
        assert!(detail.contains(said), "{detail}");
        assert!(detail.contains("Unix milliseconds") && detail.contains("ISO 8601"), "{detail}");
    }
}

proptest! {
    #[test]
    fn an_instant_that_is_shown_is_read_back(ms in 0..=BOUND_MS_MAX as i64, hours in -23_i64..=23) {
        let mut shown = Vec::new();
        crate::issue::write_iso(UnixMillis(ms), &mut shown);
        let shown = String::from_utf8(shown).unwrap();
        prop_assert_eq!(parse_bound(&shown, Bound::Since), Ok(UnixMillis(ms)));
        prop_assert_eq!(parse_bound(&format!("{ms}.0"), Bound::Until), Ok(UnixMillis(ms)));
        let moved = UnixMillis(ms + hours * 3_600_000);
        if (0..=9999).contains(&moved.civil().year) {
            let mut local = Vec::new();
            crate::issue::write_iso(moved, &mut local);
            let local = String::from_utf8(local).unwrap().replace('Z', &format!("{hours:+03}:00"));
            prop_assert_eq!(parse_bound(&local, Bound::Since), Ok(UnixMillis(ms)));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = parse_bound(&text, Bound::Since);
    }
}
