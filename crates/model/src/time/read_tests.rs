//! Tests of the reader of times: each accepted form, and the faults of other texts.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use proptest::prelude::*;

use super::*;
use crate::time::DAY_MS;

/// 2023-11-14T22:13:20.
const AT: i64 = 1_700_000_000_000;

fn read(text: &str) -> i64 {
    parse_moment(text).unwrap_or_else(|fault| panic!("{fault:?}")).at.0
}

#[test]
fn milliseconds_are_digits_or_a_float_without_a_fraction() {
    for text in
        ["1700000000000", "1700000000000.0", "1700000000000.000", "1.7e12", "1.7e+12", "1.7E012"]
    {
        assert_eq!(read(text), AT, "{text}");
    }
    for (text, at) in [
        ("0", 0),
        ("-0", 0),
        ("0.0", 0),
        ("007", 7),
        ("-86400000", -DAY_MS),
        ("-62167219200000", MOMENT_MS_MIN),
        ("253402300799999", MOMENT_MS_MAX),
        ("1700000000", 1_700_000_000),
    ] {
        assert_eq!(read(text), at, "{text}");
        assert_eq!(parse_moment(text).unwrap().form, MomentForm::Number, "{text}");
    }
}

#[test]
fn iso_times_have_or_lack_a_fraction_and_an_offset() {
    use MomentForm::{WithOffset, WithoutOffset};
    for (form, texts) in [
        (
            WithoutOffset,
            &[
                "2023-11-14T22:13:20",
                "2023-11-14 22:13:20",
                "2023-11-14T22:13:20.0",
                "2023-11-14 22:13:20.000000",
            ][..],
        ),
        (
            WithOffset,
            &[
                "2023-11-14T22:13:20.000Z",
                "2023-11-14T22:13:20Z",
                "2023-11-14t22:13:20z",
                "2023-11-14 22:13:20Z",
                "2023-11-14T22:13:20.000000Z",
                "2023-11-14T22:13:20.000000000Z",
                "2023-11-14T22:13:20,000Z",
                "2023-11-14T22:13:20+00:00",
                "2023-11-14 22:13:20+00",
                "2023-11-14T22:13:20.000+0000",
                "2023-11-14T22:13:20-00:00",
                "2023-11-15T00:13:20+02:00",
                "2023-11-15T00:13:20+0200",
                "2023-11-15T00:13:20.000+02",
                "2023-11-14T16:43:20-05:30",
                "2023-11-14 22:13:20 UTC",
                "2023-11-15 00:13:20 +0200",
                "2023-11-14 16:43:20 -0530",
                "2023-11-14 22:13:20.000000 +0000 UTC",
            ],
        ),
    ] {
        for text in texts {
            let moment = Moment { at: UnixMillis(AT), is_finer: false, form };
            assert_eq!(parse_moment(text), Ok(moment), "{text}");
        }
    }
    // `java.time.OffsetDateTime` leaves out seconds that are 0.
    for text in
        ["2023-11-14T22:13Z", "2023-11-14T22:13", "2023-11-14 22:13 UTC", "2023-11-15T00:13+02:00"]
    {
        assert_eq!(read(text), AT - 20_000, "{text}");
    }
    assert_eq!(read("1969-12-31T23:59:59.999Z"), -1);
    assert_eq!(read("0000-01-01T00:00:00Z"), MOMENT_MS_MIN);
    assert_eq!(read("9999-12-31T23:59:59.999Z"), MOMENT_MS_MAX);
}

#[test]
fn a_date_alone_is_its_midnight_in_utc() {
    for (text, at) in [("2023-11-14", 1_699_920_000_000), ("1969-12-31", -DAY_MS)] {
        let form = MomentForm::DateAlone;
        assert_eq!(parse_moment(text), Ok(Moment { at: UnixMillis(at), is_finer: false, form }));
    }
}

#[test]
fn a_fraction_is_cut_to_milliseconds() {
    for (fraction, millis, is_finer) in [
        ("5", 500, false),
        ("12", 120, false),
        ("123", 123, false),
        ("123000", 123, false),
        ("123456", 123, true),
        ("1239999", 123, true),
        ("000000001", 0, true),
        ("999999999", 999, true),
    ] {
        let moment = parse_moment(&format!("2023-11-14T22:13:20.{fraction}Z")).unwrap();
        assert_eq!((moment.at.0 - AT, moment.is_finer), (millis, is_finer), "{fraction}");
        let early = parse_moment(&format!("1969-12-31T23:59:59.{fraction}Z")).unwrap();
        assert_eq!(early.at.0, millis - 1000, "{fraction}");
    }
}

#[test]
fn a_time_outside_the_years_0_to_9999_is_refused_with_the_unit_it_looks_like() {
    let micros = "looks like microseconds; in milliseconds it is 1700000000000, on 2023-11-14";
    for (text, said, unsaid) in [
        ("1700000000000000", micros, "nano"),
        ("1700000000000000.0", micros, "nano"),
        ("1700000000000000000", "looks like nanoseconds; in milliseconds it is 1700000000000", ""),
        ("1.7e+18", "looks like nanoseconds", ""),
        ("253402300800000", "after the year 9999", "looks like"),
        ("99999999999999999999999", "after the year 9999", "looks like"),
        ("9999999999999999999", "after the year 9999", "looks like"),
        ("1e300", "after the year 9999", "looks like"),
        ("9999-12-31T23:59:59.999-00:01", "after the year 9999", "looks like"),
        ("-62167219200001", "before the year 0", "looks like"),
        ("-1e300", "before the year 0", "looks like"),
        ("0000-01-01T00:00:00+00:01", "before the year 0", "looks like"),
    ] {
        let Err(InvalidMoment::OutOfRange(detail)) = parse_moment(text) else {
            panic!("{text} is not out of range");
        };
        assert!(detail.starts_with(text) && detail.contains(said), "{detail}");
        assert!(unsaid.is_empty() || !detail.contains(unsaid), "{detail}");
    }
}

#[test]
fn other_texts_are_refused_with_both_forms() {
    let no_time = "x,+5, 5,5 ,5.,.5,-,--5,1_000,0x10,1e999,1e,5e-1,٣,\
        2023-11,2023-11-14Z,2023-11-14+02:00,2023-11-14T,2023-11-14T22,2023-11-14T22Z,\
        2023-1-14,2023-11-14T2:13,20231114T221320Z,23-11-14,+2023-11-14,2023/11/14,\
        2023-11-14T22:13.5Z,2023-11-14T22:1Z,2023-11-14T2213Z,2023-11-14T22:13:Z,\
        2023-11-14T22:13:2,2023-11-14T22:13:20.,2023-11-14T22:13:20.Z,\
        2023-11-14T22:13:20.1234567890Z,2023-02-29,2023-02-29T00:00:00Z,2023-13-01T00:00:00Z,\
        2023-00-01,2023-01-00,0000-00-00 00:00:00,2023-11-14T24:00:00Z,2023-11-14T23:60:00Z,\
        2016-12-31T23:59:60Z,2023-11-14T22:13:20+24:00,2023-11-14T22:13:20+02:60,\
        2023-11-14T22:13:20+1:00,2023-11-14T22:13:20+02:,2023-11-14T22:13:20+020,\
        2023-11-14T22:13:20Zx,2023-11-14T22:13:20 02:00,2023-11-14T22:13:20  +02:00,\
        2023-11-14 22:13:20 CET,2023-11-14T22:13:20+01:00[Europe/Berlin],\
        ２023-11-14T22:13:20,2023–11–14,11/14/2023,14.11.2023,/Date(1700000000000)/,\
        Tue; 14 Nov 2023 22:13:20 +0000";
    let fraction = ["1700000000000.5", "1.75e1", "-0.1"];
    let no_time = no_time.split(',').chain([""]).map(|text| (text, "is not a time"));
    let fraction = fraction.map(|text| (text, "is not a whole number of milliseconds"));
    for (text, said) in no_time.chain(fraction) {
        let Err(InvalidMoment::NotATime(detail)) = parse_moment(text) else {
            panic!("{text:?} is a time");
        };
        assert!(detail.starts_with(&format!("{text:?} {said}; Unix milliseconds")), "{detail}");
        assert!(detail.contains("ISO 8601"), "{detail}");
    }
}

#[test]
fn only_numbers_before_march_1973_look_like_seconds() {
    let hint = |text: &str| parse_moment(text).unwrap().seconds_hint();
    let seconds = hint("1700000000").unwrap();
    assert!(seconds.contains("1970-01-20T16:13:20.000Z"), "{seconds}");
    assert!(seconds.contains("2023-11-14T22:13:20.000Z"), "{seconds}");
    assert!(seconds.ends_with("send 1700000000000"), "{seconds}");
    assert!(hint("0").unwrap().contains("do not know"));
    assert!(hint("99999999999").is_some());
    for text in ["100000000000", "-5", "1970-01-20", "1970-01-20T16:13:20Z"] {
        assert_eq!(hint(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn a_moment_is_read_back_from_each_spelling(
        ms in MOMENT_MS_MIN + DAY_MS..=MOMENT_MS_MAX - DAY_MS,
        nanos in 0..1_000_000_u32,
        minutes in -23 * 60 - 59..=23 * 60 + 59_i64,
    ) {
        let spelled = |at: i64| {
            let mut text = Vec::new();
            write_iso(UnixMillis(at), &mut text);
            String::from_utf8(text).unwrap()
        };
        let utc = spelled(ms);
        let finer = spelled(ms).replace('Z', &format!("{nanos:06}"));
        let local = spelled(ms + minutes * 60_000).replace('Z', "");
        let (sign, hour, minute) =
            (if minutes < 0 { '-' } else { '+' }, minutes.abs() / 60, minutes.abs() % 60);
        let (second, whole_minute) = (ms.div_euclid(1000) * 1000, ms.div_euclid(60_000) * 60_000);
        for (text, at) in [
            (ms.to_string(), ms),
            (format!("{ms}.0"), ms),
            (utc.clone(), ms),
            (utc.replace('T', " "), ms),
            (utc.replace('.', ","), ms),
            (utc.replace('Z', ""), ms),
            (utc.replace('Z', " UTC"), ms),
            (format!("{local}{sign}{hour:02}:{minute:02}"), ms),
            (format!("{local}{sign}{hour:02}{minute:02}"), ms),
            (format!("{local} {sign}{hour:02}{minute:02}"), ms),
            (format!("{}{sign}{hour:02}", spelled(ms + (minutes - minutes % 60) * 60_000)
                .replace('Z', "")), ms),
            (format!("{}Z", &utc[..19]), second),
            (utc[..19].to_owned(), second),
            (format!("{}Z", &utc[..16]), whole_minute),
            (utc[..10].to_owned(), ms.div_euclid(DAY_MS) * DAY_MS),
            (finer.clone(), ms),
            (format!("{finer}Z"), ms),
        ] {
            prop_assert_eq!(parse_moment(&text).map(|moment| moment.at.0), Ok(at), "{}", text);
        }
        prop_assert_eq!(parse_moment(&finer).unwrap().is_finer, nanos > 0);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*|[-0-9TZ:.+e UTC]{0,30}") {
        let _ = parse_moment(&text);
    }
}
