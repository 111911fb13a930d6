//! Patterns of paths against a naive reading of them, shares, and the times of a clock.

use std::time::Duration;

use caseload_model::time::{Clock, UnixMillis};
use http::{Method, StatusCode};
use proptest::prelude::*;

use super::call_faults::{CallFault, Effect, Uses, matches};
use super::clock::{ClockStart, TestClock, Turn};

/// The same question, answered by trying everything.
fn naively(pattern: &str, path: &str) -> bool {
    let rest = |from: usize, pattern: &str| naively(pattern, &path[from..]);
    if let Some(after) = pattern.strip_prefix('*') {
        return (0..=path.len()).any(|from| rest(from, after));
    }
    if let Some((_, after)) = pattern.strip_prefix('{').and_then(|named| named.split_once('}')) {
        let segment = path.split('/').next().map_or(0, str::len);
        return (1..=segment).any(|from| rest(from, after));
    }
    match (pattern.chars().next(), path.chars().next()) {
        (None, None) => true,
        (Some(one), Some(other)) if one == other => rest(1, &pattern[1..]),
        _ => false,
    }
}

proptest! {
    #[test]
    fn patterns_match_as_a_naive_reading_says(
        pattern in "(/|a|b|\\*|\\{a\\}|\\{|\\}){0,8}",
        path in "[/ab{}]{0,10}",
    ) {
        prop_assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), naively(&pattern, &path));
    }

    #[test]
    fn a_share_acts_as_often_as_it_says(hundredths in 1_u32..=100, calls in 1_u32..1000) {
        let each = f64::from(hundredths) / 100.0;
        let uses = Uses::Share { each, sum: 0.0 };
        let effect = Effect::Status(StatusCode::SERVICE_UNAVAILABLE);
        let mut fault = CallFault { method: None, path: None, uses, effect };
        let acted = (0..calls).filter(|_| fault.take(&Method::GET, "/").is_some()).count();
        prop_assert_eq!(acted, (calls * hundredths / 100) as usize);
    }
}

#[test]
fn a_clock_begins_at_its_time_and_is_turned() {
    let noon = UnixMillis(1_769_860_800_000);
    let clock = |text: &str| {
        let start: ClockStart = text.parse().expect(text);
        TestClock::new(start, Clock::stopped(UnixMillis(5)))
    };
    let frozen = clock("2026-01-31T12:00:00Z,frozen");
    assert_eq!(frozen.shown(), (noon, 0));
    frozen.turn(Turn::Advance(-1)).expect("a turn back");
    assert_eq!(frozen.now(), UnixMillis(noon.0 - 1));
    frozen.turn(Turn::Set(UnixMillis(0))).expect("a turn");
    assert_eq!(frozen.now(), UnixMillis(0));
    assert!(frozen.turn(Turn::Advance(i64::MAX)).is_err());
    frozen.restart();
    assert_eq!(frozen.now(), noon);
    assert!(TestClock::new(ClockStart::default(), Clock::stopped(noon)).now() >= noon);
}

#[tokio::test(start_paused = true)]
async fn a_clock_runs_at_its_speed() {
    let start: ClockStart = "1970-01-01T00:00:00Z,x60".parse().expect("a start");
    let clock = TestClock::new(start, Clock::stopped(UnixMillis(5)));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(clock.shown(), (UnixMillis(120_000), 60));
    clock.turn(Turn::Advance(1)).expect("a turn");
    tokio::time::advance(Duration::from_millis(10)).await;
    assert_eq!(clock.now(), UnixMillis(120_601));
}
