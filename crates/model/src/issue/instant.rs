//! The ISO form of an instant, `2023-01-01T02:21:46.000Z`: `timestamp-format=iso-8601` sends it,
//! and an import accepts no other text as a time. It is always UTC with milliseconds. Other ISO
//! 8601 forms are rejected, because they would not come back as they were sent.

use crate::time::{CivilTime, UnixMillis};

/// Reads the ISO form; dates that do not exist are rejected.
pub fn parse_iso(text: &str) -> Option<UnixMillis> {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    let bytes = text.as_bytes();
    let fits = bytes.len() == FORM.len()
        && bytes
            .iter()
            .zip(FORM)
            .all(|(b, f)| if *f == b'0' { b.is_ascii_digit() } else { b == f });
    if !fits {
        return None;
    }
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
    UnixMillis::from_civil(&CivilTime {
        year: number(0, 4)?,
        month: number(5, 7)?,
        day: number(8, 10)?,
        hour: number(11, 13)?,
        minute: number(14, 16)?,
        second: number(17, 19)?,
        millisecond: number(20, 23)?,
    })
}

/// Appends the ISO form, without quotes.
pub fn write_iso(at: UnixMillis, out: &mut Vec<u8>) {
    let c = at.civil();
    out.extend_from_slice(
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            c.year, c.month, c.day, c.hour, c.minute, c.second, c.millisecond
        )
        .as_bytes(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_survives_the_iso_form() {
        for ms in [0, 1, 951_782_400_000, 1_672_539_706_000, 1_709_251_199_999, 253_402_300_799_999]
        {
            let mut text = Vec::new();
            write_iso(UnixMillis(ms), &mut text);
            let text = String::from_utf8_lossy(&text).into_owned();
            assert_eq!(parse_iso(&text), Some(UnixMillis(ms)), "{text}");
        }
        assert_eq!(parse_iso("2023-01-01T02:21:46.000Z"), Some(UnixMillis(1_672_539_706_000)));
    }

    #[test]
    fn other_forms_and_dates_that_do_not_exist_are_rejected() {
        for text in [
            "",
            "2023-01-01",
            "2023-01-01T02:21:46Z",
            "2023-01-01T02:21:46.000+00:00",
            "2023-01-01 02:21:46.000Z",
            "2023-02-29T00:00:00.000Z",
            "2023-13-01T00:00:00.000Z",
            "2023-00-01T00:00:00.000Z",
            "2023-01-00T00:00:00.000Z",
            "2023-01-01T24:00:00.000Z",
            "2023-01-01T00:60:00.000Z",
            "2023-01-01T00:00:60.000Z",
            "２023-01-01T02:21:46.000",
            "-023-01-01T00:00:00.000Z",
        ] {
            assert_eq!(parse_iso(text), None, "{text}");
        }
    }
}
