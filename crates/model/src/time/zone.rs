//! Time zones. Their rules are those of the IANA database, which is part of the program, so that
//! all servers count alike.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use super::{CivilTime, DAY_MS, UnixMillis};
use crate::spelling::nearest_word;

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(Option<TimeZone>);

impl Zone {
    pub const UTC: Self = Self(None);

    /// The zone of this IANA name, in any case; the fault is a sentence.
    pub fn named(name: &str) -> Result<Self, String> {
        let known = TimeZoneDatabase::bundled();
        if let Ok(zone) = known.get(name) {
            return Ok(if is_utc(&zone) { Self::UTC } else { Self(Some(zone)) });
        }
        let names: Vec<String> = known.available().map(|name| name.as_str().to_owned()).collect();
        let shown: String = name.chars().take(100).collect();
        let near = nearest_word(&shown, names.iter().map(String::as_str));
        let hint = near.map_or_else(
            || "such as Europe/Berlin, America/New_York or UTC".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        Err(format!("{shown:?} is not a name of the IANA time zone database; {hint}"))
    }

    /// The zone of an IANA name, or of an offset such as `+02:00`; the fault is a sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        let Some(sign) = text.chars().next().filter(|sign| matches!(sign, '+' | '-')) else {
            return Self::named(text);
        };
        let minutes = offset_minutes(&text[1..]).ok_or_else(|| {
            let shown: String = text.chars().take(100).collect();
            format!("{shown:?} is not an offset from UTC, such as +02:00 or -0530")
        })?;
        let seconds = if sign == '-' { -60 * minutes } else { 60 * minutes };
        let offset = Offset::from_seconds(seconds).map_err(|fault| fault.to_string())?;
        Ok(if seconds == 0 { Self::UTC } else { Self(Some(TimeZone::fixed(offset))) })
    }

    /// The instant at which the clocks of the zone show a time. Of two of them it is the first; a
    /// time that clocks skip is as long after the change as it seems.
    pub fn instant_of(&self, shown: UnixMillis) -> UnixMillis {
        let Some(zone) = &self.0 else { return shown };
        let seconds = |offset: Offset| i64::from(offset.seconds());
        let CivilTime { year, month, day, hour, minute, second, .. } = shown.civil();
        let civil = i16::try_from(year).ok().and_then(|year| {
            let small = |number: i64| i8::try_from(number).ok();
            let (month, day, hour) = (small(month)?, small(day)?, small(hour)?);
            DateTime::new(year, month, day, hour, small(minute)?, small(second)?, 0).ok()
        });
        let Some(civil) = civil else { return shown };
        let offset = match zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
        };
        UnixMillis(shown.0 - seconds(offset) * 1000)
    }

    pub const fn is_utc(&self) -> bool {
        self.0.is_none()
    }

    /// The day of an instant, counted from 1970-01-01. The first and the last offset that the rules
    /// of a zone have apply to all instants before and after.
    pub fn day_of(&self, at: UnixMillis) -> i64 {
        let Some(zone) = &self.0 else { return at.day() };
        let end = if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
        let ruled = Timestamp::from_millisecond(at.0).unwrap_or(end);
        let offset = i64::from(zone.to_offset(ruled).seconds());
        at.0.saturating_add(offset * 1000).div_euclid(DAY_MS)
    }
}

/// `02:00`, `0200` or `02` in minutes, less than a day.
fn offset_minutes(text: &str) -> Option<i32> {
    let digits = text.replacen(':', "", 1);
    let is_cut_well = digits.len() == text.len() || text.find(':') == Some(2) && text.len() == 5;
    let is_read = matches!(digits.len(), 2 | 4) && digits.bytes().all(|b| b.is_ascii_digit());
    let (hours, minutes) = digits.split_at_checked(2).filter(|_| is_read && is_cut_well)?;
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i32>().ok()? };
    let hours: i32 = hours.parse().ok()?;
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// Whether the zone is UTC under any of its names: without an offset, and without a change of it.
fn is_utc(zone: &TimeZone) -> bool {
    zone.to_offset(Timestamp::UNIX_EPOCH) == Offset::UTC
        && zone.following(Timestamp::MIN).next().is_none()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::time::read::parse_moment;

    fn utc(zone: &str, shown: &str) -> String {
        let at = Zone::read(zone).unwrap().instant_of(parse_moment(shown).unwrap().at);
        let mut text = Vec::new();
        crate::time::write_iso(at, &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_time_of_a_zone_is_an_instant_also_where_clocks_change() {
        for (zone, shown, at) in [
            ("UTC", "2024-05-01T12:00:00.007", "2024-05-01T12:00:00.007Z"),
            ("+02:00", "2024-05-01T12:00:00.007", "2024-05-01T10:00:00.007Z"),
            ("-0530", "2024-05-01T12:00", "2024-05-01T17:30:00.000Z"),
            ("+01", "2024-01-01", "2023-12-31T23:00:00.000Z"),
            ("Europe/Berlin", "2024-01-01T12:00", "2024-01-01T11:00:00.000Z"),
            ("europe/berlin", "2024-07-01T12:00", "2024-07-01T10:00:00.000Z"),
            // 02:30 was skipped, and later it was twice.
            ("Europe/Berlin", "2024-03-31T02:30", "2024-03-31T01:30:00.000Z"),
            ("Europe/Berlin", "2024-10-27T02:30", "2024-10-27T00:30:00.000Z"),
            ("America/New_York", "1900-06-01T00:00", "1900-06-01T05:00:00.000Z"),
        ] {
            assert_eq!(utc(zone, shown), at, "{shown} in {zone}");
        }
    }

    #[test]
    fn a_text_without_a_zone_is_a_fault() {
        for text in ["+", "+2", "+2:00", "+02:0", "+24:00", "+02:60", "-1:234", "+0200Z", "+:0200"]
        {
            assert!(Zone::read(text).unwrap_err().contains("+02:00"), "{text}");
        }
        let fault = Zone::read("Europe/Berln").unwrap_err();
        assert!(fault.contains("did you mean Europe/Berlin?"), "{fault}");
    }
}
