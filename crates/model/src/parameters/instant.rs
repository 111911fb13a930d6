//! Reads the bounds of a span of time: Unix milliseconds, also as a float without a fraction, or
//! ISO 8601. A number of seconds is a time in 1970 and taken as such: a caller may mean it. A time
//! after the year 9999 is a fault, because no record has one; most often its unit is wrong, and the
//! fault then says which unit it looks like.

use crate::time::{CivilTime, UnixMillis};

/// The last millisecond of the year 9999.
pub const BOUND_MS_MAX: u64 = 253_402_300_799_999;
/// Times that a caller is likely to ask for: the years 2000 to 2099.
const LIKELY_MS: std::ops::RangeInclusive<u64> = 946_684_800_000..=4_102_444_799_999;
/// Units that are finer than milliseconds.
const FINER_UNITS: [(&str, u64); 2] = [("microseconds", 1_000), ("nanoseconds", 1_000_000)];

/// Which end of a span a bound is. Both ends are included, so a time between two milliseconds is
/// moved into the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    Since,
    Until,
}

/// Why a text is not a bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InvalidBound {
    NotATime(String),
    TooLate(String),
}

/// Reads a bound.
pub(crate) fn parse_bound(text: &str, bound: Bound) -> Result<UnixMillis, InvalidBound> {
    let shown: String = text.chars().take(100).collect();
    let not = |why: &str| {
        Err(InvalidBound::NotATime(format!(
            "{shown:?} {why}; Unix milliseconds such as 1767225600000, or ISO 8601 such as \
             2026-01-01T00:00:00Z, are expected"
        )))
    };
    match number(text) {
        Some(Number::Whole(millis)) if millis <= u128::from(BOUND_MS_MAX) => {
            return Ok(UnixMillis(millis as i64));
        }
        Some(Number::Whole(value)) => return Err(InvalidBound::TooLate(too_late(&shown, value))),
        Some(Number::Fraction) => return not("is not a whole number of milliseconds"),
        None => {}
    }
    match iso(text, bound) {
        Some(at) if at.0 <= BOUND_MS_MAX as i64 => Ok(at),
        Some(_) => Err(InvalidBound::TooLate(format!("{shown} is after the year 9999"))),
        None if is_date(text) => not("has no time of day"),
        None => not("is not a time"),
    }
}

fn too_late(shown: &str, value: u128) -> String {
    let detail = format!("{shown} is after the year 9999: times are Unix milliseconds");
    let finer = FINER_UNITS.iter().find_map(|(unit, per_milli)| {
        let millis = u64::try_from(value / u128::from(*per_milli)).ok()?;
        LIKELY_MS.contains(&millis).then_some((unit, millis))
    });
    match finer {
        Some((unit, millis)) => {
            let CivilTime { year, month, day, .. } = UnixMillis(millis as i64).civil();
            format!(
                "{detail}, and this looks like {unit}; in milliseconds it is {millis}, on \
                 {year:04}-{month:02}-{day:02}"
            )
        }
        None => detail,
    }
}

enum Number {
    /// Saturated.
    Whole(u128),
    Fraction,
}

/// A number that is not negative, as languages print floats: `5`, `5.0`, `1.7e+12`.
fn number(text: &str) -> Option<Number> {
    /// No float has a greater exponent.
    const EXPONENT_MAX: usize = 400;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // An unescaped plus in a query is a blank.
    let exponent = exponent.strip_prefix(['+', ' ']).unwrap_or(exponent);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || !digits(exponent) {
        return None;
    }
    let has_point = mantissa.len() > whole.len();
    let exponent: usize = exponent.parse().ok().filter(|exponent| *exponent <= EXPONENT_MAX)?;
    if has_point && fraction.is_empty() {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > exponent {
        return Some(Number::Fraction);
    }
    let zeros = "0".repeat(exponent - fraction.len());
    let all = [whole, fraction, &zeros].concat();
    let all = all.trim_start_matches('0');
    Some(Number::Whole(if all.is_empty() { 0 } else { all.parse().unwrap_or(u128::MAX) }))
}

/// Whether the text is a date alone: a whole day, of which a bound is one moment.
fn is_date(text: &str) -> bool {
    text.len() == 10 && iso(&format!("{text}T00:00:00"), Bound::Since).is_some()
}

/// A date and a time of day, with or without seconds, a fraction of a second and an offset; without
/// an offset it is UTC. A blank may separate date and time, as Python prints it, and be in the
/// place of a plus that was not escaped.
fn iso(text: &str, bound: Bound) -> Option<UnixMillis> {
    const MINUTES: usize = "0000-00-00T00:00".len();
    match text.split_at_checked(MINUTES) {
        // Java prints no seconds if there are none.
        Some((minutes, rest)) if !rest.starts_with([':', '.', ',']) => {
            iso_with_seconds(&format!("{minutes}:00{rest}"), bound)
        }
        _ => iso_with_seconds(text, bound),
    }
}

fn iso_with_seconds(text: &str, bound: Bound) -> Option<UnixMillis> {
    let bytes = text.as_bytes();
    let form = b"0000-00-00T00:00:00";
    if !text.is_ascii() || bytes.len() < form.len() {
        return None;
    }
    let fits = bytes.iter().zip(form).enumerate().all(|(at, (byte, form))| match (at, form) {
        (_, b'0') => byte.is_ascii_digit(),
        (10, _) => matches!(byte, b'T' | b't' | b' '),
        _ => byte == form,
    });
    if !fits {
        return None;
    }
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
    let (fraction, offset) = split_fraction(&text[form.len()..])?;
    let millisecond: i64 = format!("{:0<3}", fraction.get(..3).unwrap_or(fraction)).parse().ok()?;
    let finer = fraction.bytes().skip(3).any(|digit| digit != b'0');
    let civil = CivilTime {
        year: number(0, 4)?,
        month: number(5, 7)?,
        day: number(8, 10)?,
        hour: number(11, 13)?,
        minute: number(14, 16)?,
        second: number(17, 19)?,
        millisecond,
    };
    let at = UnixMillis::from_civil(&civil)?.0 - offset_millis(offset)?;
    Some(UnixMillis(at + i64::from(finer && bound == Bound::Since)))
}

/// The digits after the point, if there is one, and the rest.
fn split_fraction(rest: &str) -> Option<(&str, &str)> {
    let Some(rest) = rest.strip_prefix(['.', ',']) else { return Some(("", rest)) };
    let end = rest.bytes().take_while(u8::is_ascii_digit).count();
    (end > 0).then(|| rest.split_at(end))
}

/// `Z`, nothing, `+01:00`, `+0100` or `+01`, in milliseconds. Ruby and Go print a blank before it,
/// and `UTC`.
fn offset_millis(offset: &str) -> Option<i64> {
    let offset = offset.strip_suffix(" UTC").unwrap_or(offset);
    if matches!(offset, "" | "Z" | "z") {
        return Some(0);
    }
    let offset = match offset.as_bytes() {
        [b' ', b'+' | b'-', ..] => &offset[1..],
        _ => offset,
    };
    let (sign, rest) = match offset.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, offset.strip_prefix(['+', ' '])?),
    };
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => rest.split_at(2),
        5 => rest.split_once(':')?,
        _ => return None,
    };
    let below = |text: &str, max: i64| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|number| digits && *number <= max)
    };
    Some(sign * (below(hours, 23)? * 60 + below(minutes, 59)?) * 60_000)
}

#[cfg(test)]
#[path = "instant_tests.rs"]
mod tests;
