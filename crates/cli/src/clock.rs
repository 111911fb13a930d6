//! The system's clock, time spans as flags give them, and timestamps as people read them. No other
//! module of the program reads the clock.

use std::time::{SystemTime, UNIX_EPOCH};

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

/// `2026-11-21 14:05:09 UTC`.
pub(crate) fn readable(at: UnixMillis) -> String {
    let c = at.civil();
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
        c.year, c.month, c.day, c.hour, c.minute, c.second
    )
}

/// Parses a span such as `90d` (a number and `h`, `d`, `w` or `y`) into milliseconds.
pub(crate) fn parse_span(text: &str) -> Result<i64, String> {
    let wrong = || "write a number and a unit: 12h, 90d, 8w or 1y".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        'y' => 365 * 24,
        _ => return Err(wrong()),
    };
    let number: i64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    if number <= 0 {
        return Err("the span must be longer than zero".into());
    }
    let longest = 100 * 365 * 24;
    let span = number.checked_mul(hours).filter(|span| *span <= longest);
    span.map(|hours| hours * 3_600_000).ok_or_else(|| "the span must be at most 100 years".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        for (text, hours) in [("1h", 1), ("90d", 90 * 24), ("2w", 14 * 24), ("1y", 365 * 24)] {
            assert_eq!(parse_span(text), Ok(hours * 3_600_000));
        }
        for text in ["", "d", "90", "0d", "-1d", "1.5d", "101y", "9223372036854775807d", "1ä"] {
            assert!(parse_span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn timestamps_are_printed_in_utc() {
        assert_eq!(readable(UnixMillis(1_499_889_810_397)), "2017-07-12 20:03:30 UTC");
    }
}
