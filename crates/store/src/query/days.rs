//! Days, as counters and day sets number them, and the days of a span of time: a span is whole days
//! plus at most two partial ones, its ends.

use caseload_model::issue::{
    SPAN_DAYS, TermKind, TermRange, day_term, instant_term, span_number, span_of_day,
};
use caseload_model::issue_query::TimeRange;
use caseload_model::time::{DAY_MS, UnixMillis};

/// A range of days that holds every instant.
pub(super) const DAYS_ALL: Days = Days { from: -(1 << 36), until: (1 << 36) - 1 };
/// No issue is older or newer. With this bound, sums with days do not overflow.
const INSTANT_BOUND: i64 = 1 << 60;

/// The days `from..=until`, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    pub from: i64,
    pub until: i64,
}

impl Days {
    /// Counters that add up to these days, as ranges of day numbers: one counter for each whole
    /// span of 32 days, and those of the days before and after the whole spans.
    pub fn counters(self) -> impl Iterator<Item = Self> {
        let next_span = |day: i64| (day + SPAN_DAYS - 1).div_euclid(SPAN_DAYS) * SPAN_DAYS;
        let (first, end) =
            (next_span(self.from), (self.until + 1).div_euclid(SPAN_DAYS) * SPAN_DAYS);
        let ranges = if first < end {
            let spans = Self { from: span_of_day(first), until: span_of_day(end - 1) };
            [
                Self { from: self.from, until: first - 1 },
                spans,
                Self { from: end, until: self.until },
            ]
        } else {
            const NONE: Days = Days { from: 0, until: -1 };
            [self, NONE, NONE]
        };
        ranges.into_iter().filter(|days| days.from <= days.until)
    }

    /// Sets whose union has the issues of these days. `kind` is the one of the days' sets.
    pub fn sets(self, kind: TermKind) -> Vec<TermRange> {
        let range = |Self { from, until }| {
            let (kind, from, until) = match (kind.of_spans(), span_number(from)) {
                (Some(kind), Some(first)) => (kind, first, first + until - from),
                _ => (kind, from, until),
            };
            // The least value after the last one.
            let until = [&day_term(until)[..], &[0]].concat();
            TermRange { kind, from: day_term(from).to_vec(), until }
        };
        self.counters().map(range).collect()
    }
}

/// A span of time as whole days and its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySplit {
    pub before: Option<TimeRange>,
    pub days: Option<Days>,
    pub after: Option<TimeRange>,
}

impl DaySplit {
    pub fn of(range: TimeRange) -> Self {
        let bound = |at: UnixMillis| UnixMillis(at.0.clamp(-INSTANT_BOUND, INSTANT_BOUND));
        let (since, until) = (range.since.map(bound), range.until.map(bound));
        let from = since.map_or(DAYS_ALL.from, |at| UnixMillis(at.0 + DAY_MS - 1).day());
        let to = until.map_or(DAYS_ALL.until, |at| UnixMillis(at.0 + 1).day() - 1);
        if from > to {
            // Both ends are given: a missing one would lie beyond every day.
            let (since, until) = (since.unwrap_or_default(), until.unwrap_or_default());
            return Self { before: Some(instants(since.0, until.0)), days: None, after: None };
        }
        let before = since.filter(|at| at.0 < from * DAY_MS);
        let after = until.filter(|at| at.0 >= (to + 1) * DAY_MS);
        Self {
            before: before.map(|at| instants(at.0, from * DAY_MS - 1)),
            days: Some(Days { from, until: to }),
            after: after.map(|at| instants((to + 1) * DAY_MS, at.0)),
        }
    }

    /// Terms whose union has the rows of the span, if instants are terms, too. `kind` is the one of
    /// days.
    pub fn terms(&self, kind: TermKind) -> Vec<TermRange> {
        let mut ranges = self.days.map_or_else(Vec::new, |days| days.sets(kind));
        for end in self.ends().into_iter().flatten() {
            let bounds = end.since.zip(end.until).zip(kind.of_instants());
            ranges.extend(bounds.map(|((since, until), kind)| {
                // The least value after the last one.
                let until = [&instant_term(until)[..], &[0]].concat();
                TermRange { kind, from: instant_term(since).to_vec(), until }
            }));
        }
        ranges
    }

    /// The two partial days.
    pub(super) const fn ends(&self) -> [Option<TimeRange>; 2] {
        [self.before, self.after]
    }

    /// Every day that the span has an instant of.
    pub fn touched(&self) -> Days {
        let bounds = self.ends().into_iter().flatten().flat_map(|range| [range.since, range.until]);
        let of_ends = bounds.flatten().map(UnixMillis::day);
        let whole = self.days.into_iter().flat_map(|days| [days.from, days.until]);
        let (mut from, mut until) = (i64::MAX, i64::MIN);
        for day in of_ends.chain(whole) {
            (from, until) = (from.min(day), until.max(day));
        }
        if from > until { Days { from: 0, until: 0 } } else { Days { from, until } }
    }
}

/// The instants `since..=until`.
pub(super) const fn instants(since: i64, until: i64) -> TimeRange {
    TimeRange { since: Some(UnixMillis(since)), until: Some(UnixMillis(until)) }
}

/// The instants of whole days.
pub(super) const fn instants_of(days: Days) -> TimeRange {
    instants(days.from * DAY_MS, (days.until + 1) * DAY_MS - 1)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use caseload_model::issue::{counted_days, span_term};

    use super::*;

    #[test]
    fn a_range_is_split_into_whole_days_and_its_ends() {
        const D: i64 = DAY_MS;
        let days = |from, until| Some(Days { from, until });
        for (since, until, before, whole, after) in [
            (None, None, None, Some(DAYS_ALL), None),
            (Some(0), Some(D - 1), None, days(0, 0), None),
            (Some(0), Some(3 * D - 1), None, days(0, 2), None),
            (Some(1), Some(3 * D - 1), Some((1, D - 1)), days(1, 2), None),
            (Some(1), Some(3 * D), Some((1, D - 1)), days(1, 2), Some((3 * D, 3 * D))),
            (Some(5), Some(5), Some((5, 5)), None, None),
            (Some(5), Some(D + 5), Some((5, D + 5)), None, None),
            (Some(-1), None, Some((-1, -1)), days(0, DAYS_ALL.until), None),
            (None, Some(D), None, days(DAYS_ALL.from, 0), Some((D, D))),
            (Some(-D), Some(-1), None, days(-1, -1), None),
        ] {
            let at = |ms: Option<i64>| ms.map(UnixMillis);
            let split = DaySplit::of(TimeRange { since: at(since), until: at(until) });
            let end = |end: Option<(i64, i64)>| end.map(|(since, until)| instants(since, until));
            let expected = DaySplit { before: end(before), days: whole, after: end(after) };
            assert_eq!(split, expected, "{since:?} {until:?}");
        }
    }

    #[test]
    fn days_are_added_up_from_whole_spans_and_the_days_around_them() {
        for (from, until) in [
            (0, 31),
            (0, 0),
            (1, 31),
            (5, 9),
            (1, 32),
            (-40, 70),
            (-64, -33),
            (31, 64),
            (DAYS_ALL.from, DAYS_ALL.from + 100),
            (DAYS_ALL.until - 100, DAYS_ALL.until),
        ] {
            let mut next = from;
            let mut read = 0;
            let mut counters: Vec<Days> = Days { from, until }.counters().collect();
            counters.sort_by_key(|days| counted_days(days.from));
            for days in counters {
                for counter in days.from..=days.until {
                    let (first, last) = counted_days(counter);
                    assert_eq!(first, next, "{from} {until}");
                    next = last + 1;
                    read += 1;
                }
            }
            assert_eq!(next, until + 1, "{from} {until}");
            assert!(read <= 2 * 31 + (until - from + 1) / SPAN_DAYS, "{from} {until}: {read}");
        }
        assert_eq!(DAYS_ALL.counters().count(), 1);
    }

    #[test]
    fn each_day_of_a_range_is_in_one_of_its_sets_and_no_other_day_is() {
        let ranges = [(0, 31), (0, 0), (1, 31), (5, 9), (-40, 70), (-64, -33), (31, 64)];
        let open = [(DAYS_ALL.from, 40), (-3, DAYS_ALL.until), (DAYS_ALL.from, DAYS_ALL.until)];
        for (from, until) in ranges.into_iter().chain(open) {
            let sets = Days { from, until }.sets(TermKind::Updated);
            for day in -200..200 {
                let terms =
                    [(TermKind::Updated, day_term(day)), (TermKind::UpdatedSpan, span_term(day))];
                let found = sets.iter().flat_map(|set| terms.iter().map(move |term| (set, term)));
                let found = found.filter(|(set, (kind, term))| {
                    *kind == set.kind && set.from[..] <= term[..] && term[..] < set.until[..]
                });
                let expected = usize::from((from..=until).contains(&day));
                assert_eq!(found.count(), expected, "{from} {until}: {day}");
            }
        }
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        let range = TimeRange { since: Some(UnixMillis(i64::MIN)), until: None };
        assert!(DaySplit::of(range).days.unwrap().from < -1_000_000);
        let range = TimeRange { since: None, until: Some(UnixMillis(i64::MAX)) };
        assert!(DaySplit::of(range).days.unwrap().until > 1_000_000);
        let range = TimeRange { since: Some(UnixMillis(i64::MAX)), until: None };
        assert!(DaySplit::of(range).touched().from > 1_000_000);
    }
}
