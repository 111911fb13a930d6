//! The time by which the purge lets records expire. The system's clock may be wrong: ahead by more
//! than the records are stored, it would remove all of them. This clock follows the system's clock
//! and the time that passes. A jump forward counts once the clock has gone on from there for long
//! enough that an operator would have set it right. Invariant: the time is never later than the
//! system's clock shows.

use std::time::Duration;

use caseload_model::time::UnixMillis;
use tokio::time::Instant;

/// By how much the clock may be ahead of the time that has passed, in milliseconds.
const AHEAD_MS_MAX: i64 = 3_600_000;

/// A time that the clock showed, and when it did.
#[derive(Debug, Clone, Copy)]
struct ClockSample {
    shown: UnixMillis,
    at: Instant,
}

impl ClockSample {
    /// The time that a clock shows at `now` if it continued from here.
    fn continued(&self, now: Instant) -> i64 {
        let passed = now.saturating_duration_since(self.at);
        self.shown.0.saturating_add(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
    }
}

#[derive(Debug)]
pub(crate) struct ExpiryClock {
    after_start: Duration,
    after_jump: Duration,
    begun: Option<Instant>,
    /// The last sample that was believed.
    believed: Option<ClockSample>,
    /// The sample after a jump forward that does not count yet.
    jumped: Option<ClockSample>,
}

impl ExpiryClock {
    /// Believes no clock before `after_start`, and no jump forward before `after_jump`.
    pub(crate) fn new(after_start: Duration, after_jump: Duration) -> Self {
        Self { after_start, after_jump, begun: None, believed: None, jumped: None }
    }

    /// The time by which records expire, if the clock shows `shown` now; `None` shortly after the
    /// start.
    pub(crate) fn time(&mut self, shown: UnixMillis, now: Instant) -> Option<UnixMillis> {
        let sample = ClockSample { shown, at: now };
        let begun = *self.begun.get_or_insert(now);
        let expected = self.believed.map_or(shown.0, |last| last.continued(now));
        let time = if self.believes(sample, expected) {
            self.believed = Some(sample);
            shown
        } else {
            UnixMillis(expected)
        };
        (now.saturating_duration_since(begun) >= self.after_start).then_some(time)
    }

    /// Whether the clock may be right.
    fn believes(&mut self, sample: ClockSample, expected: i64) -> bool {
        let ahead_ms = sample.shown.0.saturating_sub(expected);
        if ahead_ms <= AHEAD_MS_MAX {
            self.jumped = None;
            return true;
        }
        // After another jump, in either direction, it waits for the whole time again.
        let same = self.jumped.filter(|jump| {
            sample.shown.0.saturating_sub(jump.continued(sample.at)).saturating_abs()
                <= AHEAD_MS_MAX
        });
        let hours = ahead_ms / AHEAD_MS_MAX;
        let jump = same.unwrap_or(sample);
        if sample.at.saturating_duration_since(jump.at) >= self.after_jump {
            tracing::warn!(
                hours,
                "the clock remained ahead after a jump: records expire by it now"
            );
            self.jumped = None;
            return true;
        }
        if same.is_none() {
            let after = self.after_jump;
            tracing::warn!(
                hours,
                ?after,
                "the clock is ahead of the time that has passed: records expire by it if it \
                 remains so"
            );
        }
        self.jumped = Some(jump);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;
    const START: i64 = 1_700_000_000_000;

    /// Looks at a clock that is off by so many hours, at these hours, and says how many hours the
    /// time is after the start, without the hours of the clock's fault.
    fn times(looks: &[(u64, i64)]) -> Vec<Option<i64>> {
        let mut clock = ExpiryClock::new(Duration::from_hours(1), Duration::from_hours(24));
        let begun = Instant::now();
        let time = |&(hour, off): &(u64, i64)| {
            let shown = UnixMillis(START + (hour as i64 + off) * HOUR_MS);
            let time = clock.time(shown, begun + Duration::from_hours(hour))?;
            assert!(time <= shown, "the time is never later than the clock shows");
            Some((time.0 - START) / HOUR_MS)
        };
        looks.iter().map(time).collect()
    }

    #[test]
    fn nothing_expires_in_the_first_hour_of_a_server() {
        assert_eq!(times(&[(0, 0), (1, 0), (2, 0)]), [None, Some(1), Some(2)]);
        // The clock was ahead at the start, and was set right.
        assert_eq!(times(&[(0, 900), (1, 0), (2, 0)]), [None, Some(1), Some(2)]);
    }

    #[test]
    fn a_jump_forward_counts_after_a_day() {
        let looks = [(0, 0), (2, 900), (3, 900), (25, 900), (26, 900), (27, 900)];
        assert_eq!(times(&looks), [None, Some(2), Some(3), Some(25), Some(926), Some(927)]);
    }

    #[test]
    fn a_clock_that_returns_has_never_counted() {
        let looks = [(0, 0), (2, 900), (20, 900), (21, 0), (22, 900), (40, 900), (46, 900)];
        let hours = [None, Some(2), Some(20), Some(21), Some(22), Some(40), Some(946)];
        assert_eq!(times(&looks), hours);
    }

    #[test]
    fn a_second_jump_waits_for_a_day_of_its_own() {
        let looks = [(0, 0), (2, 50), (25, 900), (26, 900), (49, 900)];
        assert_eq!(times(&looks), [None, Some(2), Some(25), Some(26), Some(949)]);
    }

    #[test]
    fn a_clock_that_goes_back_counts_at_once() {
        assert_eq!(
            times(&[(0, 0), (2, 0), (3, -90), (4, -90)]),
            [None, Some(2), Some(-87), Some(-86)]
        );
    }

    #[test]
    fn a_clock_that_gains_a_little_is_followed() {
        assert_eq!(
            times(&[(0, 0), (9, 1), (18, 2), (27, 3)]),
            [None, Some(10), Some(20), Some(30)]
        );
    }
}
