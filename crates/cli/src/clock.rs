//! The system's clock, time spans as flags give them, and timestamps as people read them. No other
//! module of the program reads the clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use caseload_model::time::{Clock, UnixMillis};

/// The current time.
#[expect(clippy::disallowed_methods, reason = "this is where the program reads the clock")]
pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(since.as_millis() as i64)
}

/// The system's clock.
pub(crate) fn system_clock() -> Clock {
    Clock::new(now)
}

/// How often the clock is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// By how much the clock may differ from the expected time.
const JUMP_MS: i64 = 60_000;

/// Looks at the system's clock all the time and logs its jumps.
pub(crate) async fn log_jumps() {
    let mut before = (now(), Instant::now());
    loop {
        tokio::time::sleep(LOOK).await;
        let looked = (now(), Instant::now());
        let ran = looked.1.duration_since(before.1);
        match jump(before.0, looked.0, ran) {
            Some(Jump::Forward(seconds)) => tracing::warn!(
                seconds,
                "the system's clock jumped forward; issues get the time that it shows until it is \
                 back, and times of change stay ahead of it after that"
            ),
            Some(Jump::Back(seconds)) => tracing::warn!(
                seconds,
                "the system's clock jumped back; times of change wait until it has caught up"
            ),
            Some(Jump::Stopped(seconds)) => tracing::warn!(
                seconds,
                "this process was suspended, or all clocks of the system jumped forward"
            ),
            None => {}
        }
        before = looked;
    }
}

/// The jump of a clock, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jump {
    Forward(i64),
    Back(i64),
    Stopped(i64),
}

/// The jump between two looks at the clock, with the time that the process ran in between.
fn jump(before: UnixMillis, after: UnixMillis, ran: Duration) -> Option<Jump> {
    let moved = after.0.saturating_sub(before.0);
    let ran = i64::try_from(ran.as_millis()).unwrap_or(i64::MAX);
    let off = moved.saturating_sub(ran);
    match off / 1000 {
        seconds if off > JUMP_MS => Some(Jump::Forward(seconds)),
        seconds if off < -JUMP_MS => Some(Jump::Back(-seconds)),
        _ if ran > JUMP_MS => Some(Jump::Stopped(ran / 1000)),
        _ => None,
    }
}

/// `2026-11-21 14:05:09 UTC`.
pub(crate) fn readable(at: UnixMillis) -> String {
    let c = at.civil();
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
        c.year, c.month, c.day, c.hour, c.minute, c.second
    )
}

/// Parses a span such as `90d` (a number and `m`, `h`, `d`, `w` or `y`) into milliseconds.
pub(crate) fn parse_span(text: &str) -> Result<i64, String> {
    const HOUR: i64 = 60;
    const YEAR: i64 = 365 * 24 * HOUR;
    let wrong = || "write a number and a unit: 10m, 12h, 90d, 8w or 1y".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let minutes = match unit {
        'm' => 1,
        'h' => HOUR,
        'd' => 24 * HOUR,
        'w' => 7 * 24 * HOUR,
        'y' => YEAR,
        _ => return Err(wrong()),
    };
    let number: i64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    if number <= 0 {
        return Err("the span must be longer than zero".into());
    }
    let span = number.checked_mul(minutes).filter(|span| *span <= 100 * YEAR);
    span.map(|minutes| minutes * 60_000).ok_or_else(|| "the span must be at most 100 years".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        for (text, hours) in [("1h", 1), ("90d", 90 * 24), ("2w", 14 * 24), ("1y", 365 * 24)] {
            assert_eq!(parse_span(text), Ok(hours * 3_600_000));
        }
        assert_eq!(parse_span("10m"), Ok(600_000));
        for text in ["", "d", "90", "0d", "-1d", "1.5d", "101y", "9223372036854775807d", "1ä"] {
            assert!(parse_span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_clock_that_is_off_by_more_than_a_minute_has_jumped() {
        let after = |moved_ms: i64, ran_ms: u64| {
            jump(
                UnixMillis(5_000_000),
                UnixMillis(5_000_000 + moved_ms),
                Duration::from_millis(ran_ms),
            )
        };
        for (moved, ran, expected) in [
            (1_000, 1_000, None),
            (61_000, 1_000, None),
            (61_001, 1_000, Some(Jump::Forward(60))),
            (3_601_000, 1_000, Some(Jump::Forward(3600))),
            (-59_000, 1_000, None),
            (-3_599_000, 1_000, Some(Jump::Back(3600))),
            (90_000, 90_000, Some(Jump::Stopped(90))),
            (30_000, 30_000, None),
        ] {
            assert_eq!(after(moved, ran), expected, "{moved} ms in {ran} ms");
        }
    }

    #[test]
    fn timestamps_are_printed_in_utc() {
        assert_eq!(readable(UnixMillis(1_499_889_810_397)), "2017-07-12 20:03:30 UTC");
    }
}
