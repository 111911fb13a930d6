//! The text of a cell as a spreadsheet shows it in a column that is wide enough.

use std::borrow::Cow;
use std::fmt::Write as _;

use calamine::{CellErrorType, DataRef, ExcelDateTime};

/// Whole numbers below this are exact.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
const SECONDS_A_DAY: f64 = 86_400.0;

pub(super) fn text_of<'c>(value: &'c DataRef<'c>) -> Cow<'c, str> {
    match value {
        DataRef::Empty => Cow::Borrowed(""),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            Cow::Borrowed(text)
        }
        DataRef::SharedString(text) => Cow::Borrowed(text),
        DataRef::Bool(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
        DataRef::Int(number) => Cow::Owned(number.to_string()),
        DataRef::Float(number) => Cow::Owned(number_text(*number)),
        DataRef::DateTime(date) => Cow::Owned(date_text(date)),
        DataRef::Error(CellErrorType::GettingData) => Cow::Borrowed("#GETTING_DATA"),
        DataRef::Error(error) => Cow::Owned(error.to_string()),
    }
}

/// A number with 15 digits that count, as spreadsheets show it. A whole number has all
/// digits that are exact: other programs write long ids into workbooks.
fn number_text(number: f64) -> String {
    let is_exact = number.fract() == 0.0 && number.abs() < EXACT_MAX;
    let shown = if is_exact { number } else { format!("{number:.14e}").parse().unwrap_or(number) };
    // Without the sign of a negative zero. This form never has an exponent.
    (shown + 0.0).to_string()
}

/// A date in ISO 8601, with the time of day if it has one; a time alone as hours, minutes, seconds.
fn date_text(date: &ExcelDateTime) -> String {
    let serial = date.as_f64();
    if date.is_duration() || (0.0..1.0).contains(&serial) {
        let seconds = (serial.abs() * SECONDS_A_DAY).round() as u64;
        let sign = if serial < 0.0 { "-" } else { "" };
        return format!("{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, milli) = date.to_ymd_hms_milli();
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if (hour, minute, second, milli) != (0, 0, 0, 0) {
        let _ = write!(text, "T{hour:02}:{minute:02}:{second:02}");
        if milli > 0 {
            let _ = write!(text, ".{milli:03}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use calamine::ExcelDateTimeType;

    #[test]
    fn numbers_have_the_digits_that_a_spreadsheet_shows() {
        for (number, text) in [
            (1.0, "1"),
            (-0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (1.50, "1.5"),
            (-2.25, "-2.25"),
            (1e-7, "0.0000001"),
            (4_915_112_345_678.0, "4915112345678"),
            (1_795_713_654_871_011.0, "1795713654871011"),
            (1e20, "100000000000000000000"),
            (1_234.567_890_123_456_7, "1234.56789012346"),
        ] {
            assert_eq!(number_text(number), text);
        }
    }

    #[test]
    fn dates_are_iso_dates() {
        for (serial, kind, is_1904, text) in [
            (45_292.0, ExcelDateTimeType::DateTime, false, "2024-01-01"),
            (45_292.5, ExcelDateTimeType::DateTime, false, "2024-01-01T12:00:00"),
            (43_830.0, ExcelDateTimeType::DateTime, true, "2024-01-01"),
            (0.25, ExcelDateTimeType::DateTime, false, "06:00:00"),
            (1.5, ExcelDateTimeType::TimeDelta, false, "36:00:00"),
        ] {
            assert_eq!(date_text(&ExcelDateTime::new(serial, kind, is_1904)), text);
        }
    }
}
