//! How a range of time becomes whole days and what is left at its ends. Whether the counters add up
//! to what is stored is tested beside the SQL, one module up.

use caseload_model::issue::{SPAN_DAYS, counted_days};

use super::*;

#[test]
fn a_range_is_split_into_whole_days_and_its_ends() {
    const D: i64 = DAY_MS;
    let days = |from, until| Some(Days { from, until });
    for (since, until, before, whole, after) in [
        (None, None, None, Some(DAYS_ALL), None),
        (Some(0), Some(D - 1), None, days(0, 0), None),
        (Some(0), Some(3 * D - 1), None, days(0, 2), None),
        (Some(1), Some(3 * D - 1), Some((1, D - 1)), days(1, 2), None),
        (Some(1), Some(3 * D), Some((1, D - 1)), days(1, 2), Some((3 * D, 3 * D))),
        (Some(5), Some(5), Some((5, 5)), None, None),
        (Some(5), Some(D + 5), Some((5, D + 5)), None, None),
        (Some(-1), None, Some((-1, -1)), days(0, DAYS_ALL.until), None),
        (None, Some(D), None, days(DAYS_ALL.from, 0), Some((D, D))),
        (Some(-D), Some(-1), None, days(-1, -1), None),
    ] {
        let at = |ms: Option<i64>| ms.map(UnixMillis);
        let split = split(TimeRange { since: at(since), until: at(until) });
        let edge = |edge: Option<(i64, i64)>| edge.map(|(since, until)| span(since, until));
        let expected = Split { before: edge(before), days: whole, after: edge(after) };
        assert_eq!(split, expected, "{since:?} {until:?}");
    }
}

#[test]
fn days_are_added_up_from_whole_spans_and_the_days_around_them() {
    for (from, until) in [
        (0, 31),
        (0, 0),
        (1, 31),
        (5, 9),
        (1, 32),
        (-40, 70),
        (-64, -33),
        (31, 64),
        (DAYS_ALL.from, DAYS_ALL.from + 100),
        (DAYS_ALL.until - 100, DAYS_ALL.until),
    ] {
        let mut next = from;
        let mut asked = 0;
        let mut counters: Vec<Days> = Days { from, until }.counters().collect();
        counters.sort_by_key(|days| counted_days(days.from));
        for days in counters {
            for counter in days.from..=days.until {
                let (first, last) = counted_days(counter);
                assert_eq!(first, next, "{from} {until}");
                next = last + 1;
                asked += 1;
            }
        }
        assert_eq!(next, until + 1, "{from} {until}");
        assert!(asked <= 2 * 31 + (until - from + 1) / SPAN_DAYS, "{from} {until}: {asked}");
    }
    assert_eq!(DAYS_ALL.counters().count(), 1);
}

#[test]
fn the_ends_of_time_do_not_overflow() {
    let range = TimeRange { since: Some(UnixMillis(i64::MIN)), until: None };
    assert!(split(range).days.unwrap().from < -1_000_000);
    let range = TimeRange { since: None, until: Some(UnixMillis(i64::MAX)) };
    assert!(split(range).days.unwrap().until > 1_000_000);
    let range = TimeRange { since: Some(UnixMillis(i64::MAX)), until: None };
    assert!(split(range).touched().from > 1_000_000);
}
