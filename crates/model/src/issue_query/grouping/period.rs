//! Days, weeks and months in a time zone. The rules of zones are those of the IANA database, which
//! is part of the program, so that all servers count alike.

pub use crate::time::zone::Zone;
use crate::time::{DAY_MS, UnixMillis};

/// A kind of period. Its periods are numbered in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Period {
    /// Counted from 1970-01-01.
    Day,
    /// From Monday to Sunday, counted from that of 1969-12-29.
    Week,
    /// Counted from January of the year 0.
    Month,
}

/// 1970-01-01 was a Thursday.
const DAYS_AFTER_MONDAY: i64 = 3;

impl Period {
    /// The number of the period that has this day.
    pub fn of_day(self, day: i64) -> i64 {
        match self {
            Self::Day => day,
            Self::Week => (day + DAYS_AFTER_MONDAY).div_euclid(7),
            Self::Month => {
                let (year, month, _) = date(day);
                year * 12 + month - 1
            }
        }
    }

    /// `2026-02-03`, `2026-W05` as ISO 8601 counts weeks, or `2026-02`.
    pub fn name(self, number: i64) -> String {
        match self {
            Self::Day => {
                let (year, month, day) = date(number);
                format!("{}-{month:02}-{day:02}", written(year))
            }
            Self::Week => {
                // A week belongs to the year of its Thursday.
                let thursday = number * 7;
                let (year, ..) = date(thursday);
                let first = (thursday - 366..=thursday).find(|day| date(*day).0 == year);
                let week = (thursday - first.unwrap_or(thursday)) / 7 + 1;
                format!("{}-W{week:02}", written(year))
            }
            Self::Month => {
                format!("{}-{:02}", written(number.div_euclid(12)), number.rem_euclid(12) + 1)
            }
        }
    }
}

/// A year in four digits, or with a sign and six as ISO 8601 writes distant ones.
fn written(year: i64) -> String {
    if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+07}") }
}

fn date(day: i64) -> (i64, i64, i64) {
    let date = UnixMillis(day.saturating_mul(DAY_MS)).civil();
    (date.year, date.month, date.day)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn periods_are_named_as_iso_8601_names_them() {
        for (day, names) in [
            (0, ["1970-01-01", "1970-W01", "1970-01"]),
            (-1, ["1969-12-31", "1970-W01", "1969-12"]),
            (-4, ["1969-12-28", "1969-W52", "1969-12"]),
            // 2021-01-03 is a Sunday of the last week of 2020, which has 53 weeks.
            (18_630, ["2021-01-03", "2020-W53", "2021-01"]),
            (18_631, ["2021-01-04", "2021-W01", "2021-01"]),
            (20_485, ["2026-02-01", "2026-W05", "2026-02"]),
            (20_486, ["2026-02-02", "2026-W06", "2026-02"]),
            (-719_529, ["-000001-12-31", "-000001-W52", "-000001-12"]),
            (2_932_897, ["+010000-01-01", "9999-W52", "+010000-01"]),
        ] {
            let named = [Period::Day, Period::Week, Period::Month]
                .map(|period| period.name(period.of_day(day)));
            assert_eq!(named, names, "{day}");
        }
    }

    #[test]
    fn days_begin_at_midnight_of_the_zone() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        // Summer time begins on 2026-03-29 at 1:00 UTC.
        let day = 20_541;
        for (zone, at, expected) in [
            (&Zone::UTC, 0, 0),
            (&berlin, -1, 0),
            (&berlin, 22 * HOUR, 0),
            (&berlin, 23 * HOUR, 1),
            (&berlin, day * DAY_MS - HOUR, day),
            (&berlin, day * DAY_MS - HOUR - 1, day - 1),
            (&berlin, day * DAY_MS + 22 * HOUR - 1, day),
            (&berlin, day * DAY_MS + 22 * HOUR, day + 1),
            (&Zone::named("asia/kathmandu").unwrap(), day * DAY_MS + 18 * HOUR, day),
            (&Zone::named("Asia/Kathmandu").unwrap(), day * DAY_MS + 18 * HOUR + HOUR / 4, day + 1),
        ] {
            assert_eq!(zone.day_of(UnixMillis(at)), expected, "{zone:?} {at}");
        }
        assert!(Zone::named("Etc/UTC").unwrap().is_utc() && Zone::named("utc").unwrap().is_utc());
        assert_eq!(berlin.day_of(UnixMillis(i64::MAX)), i64::MAX / DAY_MS);
        // The last hour of the year 9999 in UTC, the last hour before the rules end.
        let last = 2_932_897 * DAY_MS;
        for (hours, expected) in [(1, 2_932_897), (2, 2_932_896), (48, 2_932_895)] {
            assert_eq!(berlin.day_of(UnixMillis(last - hours * HOUR)), expected, "{hours}");
        }
    }

    #[test]
    fn an_unknown_zone_is_answered_with_the_nearest_one() {
        let fault = Zone::named("Europe/Berln").unwrap_err();
        assert!(fault.ends_with("database; did you mean Europe/Berlin?"), "{fault}");
        for name in ["", "Mars/Olympus_Mons_Crater", "+01:00", "local"] {
            let fault = Zone::named(name).unwrap_err();
            assert!(fault.contains("is not a name of the IANA"), "{fault}");
        }
    }
}
