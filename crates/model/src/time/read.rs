//! The one reader of times: for queries, forms, imports and custom fields. A time is Unix
//! milliseconds in digits, also as a float without a fraction, or ISO 8601. All of its ISO forms
//! name exactly one moment; forms that need a guess, such as `03/05/2024`, are faults.
//!
//! A number of seconds is a time in 1970 and taken as such: a caller may mean it. A time after the
//! year 9999 is a fault, because no record has one; most often its unit is wrong, and the fault
//! then says which unit it looks like.

use super::{CivilTime, UnixMillis, write_iso};
use crate::error_code::EntryWarningCode;

/// The first millisecond of the year 0, before which ISO 8601 has no years of four digits.
pub const MOMENT_MS_MIN: i64 = -62_167_219_200_000;
/// The last millisecond of the year 9999.
pub const MOMENT_MS_MAX: i64 = 253_402_300_799_999;
/// A number below this is more likely a time in seconds: in milliseconds it would be before March
/// 1973.
const SECONDS_MAX: i64 = 100_000_000_000;
/// Times that a caller is likely to mean: the years 2000 to 2099.
const LIKELY_MS: std::ops::RangeInclusive<u64> = 946_684_800_000..=4_102_444_799_999;
/// Units that are finer than milliseconds.
const FINER_UNITS: [(&str, u64); 2] = [("microseconds", 1_000), ("nanoseconds", 1_000_000)];
/// Characters of a text that a fault quotes.
const CHARS_SHOWN: usize = 100;

/// A moment that was read from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Cut to the millisecond; of a date alone, the begin of its day.
    pub at: UnixMillis,
    /// Whether the text names a later time within this millisecond.
    pub is_finer: bool,
    pub form: MomentForm,
}

/// How a text names a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentForm {
    /// Unix milliseconds.
    Number,
    /// A day in UTC.
    DateAlone,
    /// A date and a time of day without an offset, taken as UTC.
    WithoutOffset,
    WithOffset,
}

/// Why a text is not a moment, as a sentence for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidMoment {
    NotATime(String),
    /// Not in the years 0 to 9999.
    OutOfRange(String),
}

/// Reads a moment in the years 0 to 9999.
pub fn parse_moment(text: &str) -> Result<Moment, InvalidMoment> {
    let moment = match number(text) {
        Some(Number::Whole(number)) => {
            let at = i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX });
            Moment { at: UnixMillis(at), is_finer: false, form: MomentForm::Number }
        }
        Some(Number::Fraction) => {
            return Err(not_a_time(text, "is not a whole number of milliseconds"));
        }
        None => iso(text).ok_or_else(|| not_a_time(text, "is not a time"))?,
    };
    match moment.at.0 {
        MOMENT_MS_MIN..=MOMENT_MS_MAX => Ok(moment),
        ..MOMENT_MS_MIN => {
            Err(InvalidMoment::OutOfRange(format!("{} is before the year 0", shown(text))))
        }
        _ => Err(InvalidMoment::OutOfRange(too_late(text))),
    }
}

impl Moment {
    /// How the text may mean another moment, for a warning.
    pub fn oddity(&self) -> Option<(EntryWarningCode, String)> {
        let seconds = self.seconds_hint().map(|hint| (EntryWarningCode::LooksLikeSeconds, hint));
        seconds.or_else(|| {
            let detail = "the time has no offset and was taken as UTC; add Z or an offset such as \
                          +02:00, or name the time zone of the file";
            let lacks_offset = self.form == MomentForm::WithoutOffset;
            lacks_offset.then(|| (EntryWarningCode::NoOffset, detail.to_owned()))
        })
    }

    /// If this is a number that is more likely a time in seconds: how it was taken, and what to
    /// send if seconds are meant.
    pub fn seconds_hint(&self) -> Option<String> {
        let number = self.at.0;
        if self.form != MomentForm::Number || !(0..SECONDS_MAX).contains(&number) {
            return None;
        }
        let iso = |ms: i64| {
            let mut text = Vec::new();
            write_iso(UnixMillis(ms), &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        let (taken, meant) = (iso(number), number * 1000);
        Some(if number == 0 {
            format!(
                "0 was taken as {taken}, in milliseconds and in seconds; many programs write 0 for \
                 a time that they do not know"
            )
        } else {
            format!(
                "{number} was taken as milliseconds, {taken}; as seconds it would be {}: if that \
                 is meant, send {meant}",
                iso(meant)
            )
        })
    }
}

fn shown(text: &str) -> String {
    text.chars().take(CHARS_SHOWN).collect()
}

fn not_a_time(text: &str, why: &str) -> InvalidMoment {
    InvalidMoment::NotATime(format!(
        "{:?} {why}; Unix milliseconds such as 1767225600000, or ISO 8601 such as \
         2026-01-01T00:00:00Z, are expected",
        shown(text)
    ))
}

fn too_late(text: &str) -> String {
    let Some(Number::Whole(value)) = number(text) else {
        return format!("{} is after the year 9999", shown(text));
    };
    let detail = format!("{} is after the year 9999: times are Unix milliseconds", shown(text));
    let finer = FINER_UNITS.iter().find_map(|(unit, per_milli)| {
        let millis = u64::try_from(value / i128::from(*per_milli)).ok()?;
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
    Whole(i128),
    Fraction,
}

/// A number as languages print integers and floats: `5`, `-5`, `5.0`, `1.7e+12`.
fn number(text: &str) -> Option<Number> {
    /// No float has a greater exponent.
    const EXPONENT_MAX: usize = 400;
    let (sign, number) = text.strip_prefix('-').map_or((1, text), |number| (-1, number));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
    let are_digits = [whole, fraction, exponent]
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !are_digits {
        return None;
    }
    let exponent: usize = exponent.parse().ok().filter(|exponent| *exponent <= EXPONENT_MAX)?;
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > exponent {
        return Some(Number::Fraction);
    }
    if exponent == 0 {
        return Some(Number::Whole(sign * whole.parse().unwrap_or(i128::MAX)));
    }
    let zeros = "0".repeat(exponent - fraction.len());
    let all = [whole, fraction, &zeros].concat();
    Some(Number::Whole(sign * all.parse().unwrap_or(i128::MAX)))
}

/// A date alone, or a date and a time of day, with or without seconds, a fraction of a second and
/// an offset. A blank may separate date and time, as databases and Python print them.
fn iso(text: &str) -> Option<Moment> {
    let mut rest = Rest(text.as_bytes());
    let mut civil = CivilTime {
        year: rest.digits(4)?,
        month: rest.digits_after(b"-", 2)?,
        day: rest.digits_after(b"-", 2)?,
        hour: 0,
        minute: 0,
        second: 0,
        millisecond: 0,
    };
    if rest.0.is_empty() {
        let at = UnixMillis::from_civil(&civil)?;
        return Some(Moment { at, is_finer: false, form: MomentForm::DateAlone });
    }
    civil.hour = rest.digits_after(b"Tt ", 2)?;
    civil.minute = rest.digits_after(b":", 2)?;
    let mut is_finer = false;
    // Java prints no seconds if they are 0.
    if rest.take(b":") {
        civil.second = rest.digits(2)?;
        if rest.take(b".,") {
            (civil.millisecond, is_finer) = rest.fraction()?;
        }
    }
    let (form, offset) = rest.offset()?;
    let at = UnixMillis(UnixMillis::from_civil(&civil)?.0 - offset);
    Some(Moment { at, is_finer, form })
}

/// The part of a text that is not read yet.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    /// Whether the next byte is one of these; it is then read.
    fn take(&mut self, bytes: &[u8]) -> bool {
        let is_next = self.0.first().is_some_and(|next| bytes.contains(next));
        self.0 = &self.0[usize::from(is_next)..];
        is_next
    }

    /// A number of exactly so many digits, unless more of them follow.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        self.0 = rest;
        is_number.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    fn digits_after(&mut self, bytes: &[u8], count: usize) -> Option<i64> {
        if self.take(bytes) { self.digits(count) } else { None }
    }

    /// A fraction of a second of 1 to 9 digits, in milliseconds, and whether it is finer.
    fn fraction(&mut self) -> Option<(i64, bool)> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let missing = 9_u32.checked_sub(u32::try_from(count).ok()?).filter(|_| count > 0)?;
        let nanos = self.digits(count)? * 10_i64.pow(missing);
        Some((nanos / 1_000_000, nanos % 1_000_000 != 0))
    }

    /// The rest: nothing, `Z`, `+01:00`, `+0100` or `+01`, in milliseconds. Ruby and Go print a
    /// blank before it, and `UTC`.
    fn offset(mut self) -> Option<(MomentForm, i64)> {
        match self.0 {
            b"" => return Some((MomentForm::WithoutOffset, 0)),
            b"Z" | b"z" | b" UTC" => return Some((MomentForm::WithOffset, 0)),
            _ => {}
        }
        self.take(b" ");
        let sign = if self.take(b"-") { -1 } else { i64::from(self.take(b"+")) };
        let hours = self.digits(2).filter(|hours| sign != 0 && *hours < 24)?;
        let mut minutes = 0;
        if !self.0.is_empty() {
            self.take(b":");
            minutes = self.digits(2)?;
        }
        let is_read = minutes < 60 && matches!(self.0, b"" | b" UTC");
        is_read.then_some((MomentForm::WithOffset, sign * (hours * 60 + minutes) * 60_000))
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
