//! Instants as the APIs use them: integer Unix milliseconds in UTC. The only calendar arithmetic
//! here is what counters (days), ids and ISO views need. No code here reads the system's clock.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub mod read;
pub mod zone;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);

/// Milliseconds in one counter day.
pub const DAY_MS: i64 = 86_400_000;

impl UnixMillis {
    /// The UTC day since the epoch that contains this instant (negative before 1970).
    pub const fn day(self) -> i64 {
        self.0.div_euclid(DAY_MS)
    }

    /// This instant as `(year, month, day, hour, minute, second, millisecond)` in UTC, by the
    /// proleptic Gregorian calendar.
    pub fn civil(self) -> CivilTime {
        let in_day = self.0.rem_euclid(DAY_MS);
        // Days are counted from 0000-03-01, so that a leap day ends its year.
        let days = self.day() + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        CivilTime {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: in_day / 3_600_000,
            minute: in_day / 60_000 % 60,
            second: in_day / 1000 % 60,
            millisecond: in_day % 1000,
        }
    }

    /// The instant of a time in UTC; `None` if there is no such date or time of day.
    pub fn from_civil(civil: &CivilTime) -> Option<Self> {
        let CivilTime { year, month, day, hour, minute, second, millisecond } = *civil;
        let in_day = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..1000).contains(&millisecond);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !in_day {
            return None;
        }
        // Days from 1970-01-01, counted from March so that a leap day ends its year.
        let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days = y * 365 + y.div_euclid(4) - y.div_euclid(100)
            + y.div_euclid(400)
            + (153 * m + 2) / 5
            + day
            - 719_469;
        let at = Self((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millisecond);
        // 30 February becomes 2 March: a date that does not survive this does not exist.
        (at.civil() == *civil).then_some(at)
    }

    /// `yyyyMMddHHmmssSSS`, the time part of generated ids.
    pub fn compact(self) -> String {
        let c = self.civil();
        format!(
            "{:04}{:02}{:02}{:02}{:02}{:02}{:03}",
            c.year, c.month, c.day, c.hour, c.minute, c.second, c.millisecond
        )
    }
}

/// Appends the ISO form of exports, `2023-01-01T02:21:46.000Z`, without quotes.
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

/// The source of "now". The program passes in the system's clock, a test one that it can set.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixMillis + Send + Sync>);

impl Clock {
    pub fn new(now: impl Fn() -> UnixMillis + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// A clock that always shows the same time.
    pub fn stopped(now: UnixMillis) -> Self {
        Self::new(move || now)
    }

    pub fn now(&self) -> UnixMillis {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// A broken-down UTC instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilTime {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub millisecond: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_start_at_midnight_utc_also_before_the_epoch() {
        assert_eq!(UnixMillis(0).day(), 0);
        assert_eq!(UnixMillis(DAY_MS - 1).day(), 0);
        assert_eq!(UnixMillis(DAY_MS).day(), 1);
        assert_eq!(UnixMillis(-1).day(), -1);
    }

    #[test]
    fn compact_form_matches_known_instants() {
        for (ms, text) in [
            (0, "19700101000000000"),
            (1_499_889_810_397, "20170712200330397"),
            (951_782_400_000, "20000229000000000"),
            (4_107_542_399_999, "21000228235959999"),
            (-1, "19691231235959999"),
        ] {
            assert_eq!(UnixMillis(ms).compact(), text);
        }
    }
}
