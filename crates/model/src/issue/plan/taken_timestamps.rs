//! The timestamps of a domain: the milliseconds that a `created_at` has taken. They are stored as
//! runs of neighbours, so that the next free one is found in one step however long the run, and as
//! windows in which every taken one is known. Beyond the latest `created_at` every millisecond is
//! free. If every later millisecond is taken, the nearest earlier one is used.

use std::collections::{BTreeMap, BTreeSet};

use crate::issue::INSTANT_MS_MAX;
use crate::time::UnixMillis;

/// Fewest milliseconds of a missing window, because history is dense in places.
const WINDOW_MS_MIN: i64 = 1024;

/// A span of instants, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeWindow {
    pub from: UnixMillis,
    pub until: UnixMillis,
}

/// The windows whose taken timestamps a plan still has to know. They are disjoint and ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingWindows {
    windows: Spans,
}

impl MissingWindows {
    pub fn windows(&self) -> impl Iterator<Item = TimeWindow> + '_ {
        let spans = self.windows.0.iter();
        spans.map(|(from, until)| TimeWindow { from: UnixMillis(*from), until: UnixMillis(*until) })
    }

    pub fn is_empty(&self) -> bool {
        self.windows.0.is_empty()
    }
}

/// The taken milliseconds, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenTimestamps {
    known: Spans,
    taken: Spans,
    /// Instants that became free although the stored rows still have them.
    freed: BTreeSet<i64>,
    max_created_at: Option<UnixMillis>,
}

impl TakenTimestamps {
    /// Knows only the latest `created_at` of the domain; `None` if it has no issue.
    pub fn new(max_created_at: Option<UnixMillis>) -> Self {
        Self { max_created_at, ..Self::default() }
    }

    pub fn max_created_at(&self) -> Option<UnixMillis> {
        self.max_created_at
    }

    /// Whether it is known if `at` is taken.
    pub fn covers(&self, at: UnixMillis) -> bool {
        self.max_created_at.is_none_or(|max| at > max) || self.known.end_of(at.0).is_some()
    }

    /// Adds all taken timestamps of a window, in any order.
    pub fn add_window(&mut self, window: TimeWindow, taken: impl IntoIterator<Item = UnixMillis>) {
        self.known.insert(window.from.0, window.until.0);
        for at in taken.into_iter().filter(|at| !self.freed.contains(&at.0)) {
            self.taken.insert(at.0, at.0);
        }
    }

    /// Takes this very instant.
    pub fn add(&mut self, at: UnixMillis) {
        self.known.insert(at.0, at.0);
        self.taken.insert(at.0, at.0);
    }

    /// Gives a taken instant up, even if a window that is added later has it.
    pub fn free(&mut self, at: UnixMillis) {
        self.freed.insert(at.0);
        self.taken.remove(at.0);
    }

    /// Takes the first free instant from `at` on, or the last one before it if none is free up
    /// to [`INSTANT_MS_MAX`]. If it is not known to be free, it is taken anyway and a window is
    /// added to `need`: the plan will be made again.
    pub fn take(&mut self, at: UnixMillis, need: &mut MissingWindows) -> UnixMillis {
        let free = self.taken.end_of(at.0).map_or(at.0, |end| end + 1);
        if free > INSTANT_MS_MAX {
            return self.take_before(at, need);
        }
        if !self.covers(UnixMillis(free)) {
            // Several times as far each time, so that a long run takes few rounds.
            let length = ((free - at.0) * 4).max(WINDOW_MS_MIN);
            let newest = self.max_created_at.map_or(free, |max| max.0);
            need.windows.insert(free, (free + length).min(newest));
        }
        self.taken.insert(free, free);
        UnixMillis(free)
    }

    /// Takes the last free instant before the run that `at` is in.
    fn take_before(&mut self, at: UnixMillis, need: &mut MissingWindows) -> UnixMillis {
        let free = self.taken.start_of(at.0).map_or(at.0, |start| start - 1);
        if !self.covers(UnixMillis(free)) {
            let length = ((at.0 - free) * 4).max(WINDOW_MS_MIN);
            need.windows.insert((free - length).max(0), free);
        }
        self.taken.insert(free, free);
        UnixMillis(free)
    }
}

/// Disjoint spans of whole numbers, neighbours merged: start to end, both included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Spans(BTreeMap<i64, i64>);

impl Spans {
    /// The end of the span that contains `at`.
    fn end_of(&self, at: i64) -> Option<i64> {
        let (_, end) = self.0.range(..=at).next_back()?;
        Some(*end).filter(|end| *end >= at)
    }

    /// The start of the span that contains `at`.
    fn start_of(&self, at: i64) -> Option<i64> {
        let (start, end) = self.0.range(..=at).next_back()?;
        Some(*start).filter(|_| *end >= at)
    }

    /// Takes one instant out of the span that it is in.
    fn remove(&mut self, at: i64) {
        let (Some(start), Some(end)) = (self.start_of(at), self.end_of(at)) else { return };
        self.0.remove(&start);
        if start < at {
            self.0.insert(start, at - 1);
        }
        if at < end {
            self.0.insert(at + 1, end);
        }
    }

    fn insert(&mut self, mut from: i64, mut until: i64) {
        if let Some((start, end)) = self.0.range(..=from).next_back()
            && end.saturating_add(1) >= from
        {
            from = *start;
            until = until.max(*end);
        }
        while let Some((&start, &end)) = self.0.range(from..=until.saturating_add(1)).next() {
            self.0.remove(&start);
            until = until.max(end);
        }
        self.0.insert(from, until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_become_one() {
        let mut spans = Spans::default();
        for (from, until) in [(5, 6), (1, 2), (9, 9), (3, 3), (7, 8), (20, 30), (22, 24), (29, 31)]
        {
            spans.insert(from, until);
        }
        assert_eq!(spans.0.into_iter().collect::<Vec<_>>(), [(1, 3), (5, 9), (20, 31)]);
    }

    #[test]
    fn a_span_without_one_instant_is_up_to_two_spans() {
        let mut spans = Spans::default();
        spans.insert(1, 5);
        for at in [3, 1, 5, 9] {
            spans.remove(at);
        }
        assert_eq!(spans.0.into_iter().collect::<Vec<_>>(), [(2, 2), (4, 4)]);
    }

    #[test]
    fn an_instant_that_was_given_up_is_free_until_it_is_taken_again() {
        let at = UnixMillis(50);
        let mut need = MissingWindows::default();
        let mut timestamps = TakenTimestamps::new(Some(UnixMillis(100)));
        timestamps.free(at);
        let window = TimeWindow { from: UnixMillis(0), until: UnixMillis(100) };
        timestamps.add_window(window, [49, 50, 51].map(UnixMillis));
        assert_eq!(timestamps.take(UnixMillis(49), &mut need), at);
        assert_eq!(timestamps.take(UnixMillis(49), &mut need), UnixMillis(52));
        timestamps.add_window(window, [49, 50, 51].map(UnixMillis));
        assert_eq!(timestamps.take(at, &mut need), UnixMillis(53));
        assert!(need.is_empty());
    }

    #[test]
    fn no_window_is_missing_beyond_the_latest_instant() {
        let mut need = MissingWindows::default();
        let mut timestamps = TakenTimestamps::new(Some(UnixMillis(100)));
        assert_eq!(timestamps.take(UnixMillis(101), &mut need), UnixMillis(101));
        assert_eq!(timestamps.take(UnixMillis(101), &mut need), UnixMillis(102));
        assert!(need.is_empty());
        timestamps.take(UnixMillis(100), &mut need);
        let asked = TimeWindow { from: UnixMillis(100), until: UnixMillis(100) };
        assert_eq!(need.windows().collect::<Vec<_>>(), [asked]);
    }

    #[test]
    fn at_the_end_of_time_an_instant_moves_to_the_nearest_free_one_before_it() {
        let last = UnixMillis(INSTANT_MS_MAX);
        let stored = [INSTANT_MS_MAX, INSTANT_MS_MAX - 1, INSTANT_MS_MAX - 4].map(UnixMillis);
        let mut timestamps = TakenTimestamps::new(Some(last));
        let mut need = MissingWindows::default();
        timestamps.clone().take(last, &mut need);
        let window = need.windows().next().expect("it is not known whether it is taken");
        timestamps.add_window(window, stored.into_iter().filter(|at| *at >= window.from));
        let mut need = MissingWindows::default();
        timestamps.clone().take(last, &mut need);
        let window = need.windows().next().expect("the ones before it are not known");
        assert!(window.until.0 == INSTANT_MS_MAX - 1 && window.from.0 < INSTANT_MS_MAX - 4);
        timestamps.add_window(window, stored.into_iter().filter(|at| *at <= window.until));
        let mut need = MissingWindows::default();
        let taken = [(); 4].map(|()| INSTANT_MS_MAX - timestamps.take(last, &mut need).0);
        assert_eq!((taken, need.is_empty()), ([2, 3, 5, 6], true));
        assert_eq!(
            timestamps.take(UnixMillis(INSTANT_MS_MAX - 9), &mut need).0,
            INSTANT_MS_MAX - 9
        );
    }

    #[test]
    fn missing_windows_grow_along_a_run() {
        let stored = 1_000_000..1_040_000;
        let mut timestamps = TakenTimestamps::new(Some(UnixMillis(2_000_000)));
        for round in 0..8 {
            let mut need = MissingWindows::default();
            let free = timestamps.clone().take(UnixMillis(1_000_000), &mut need);
            if need.is_empty() {
                assert_eq!((round, free), (4, UnixMillis(1_040_000)));
                return;
            }
            for window in need.windows().collect::<Vec<_>>() {
                let within =
                    stored.clone().filter(|t| (window.from.0..=window.until.0).contains(t));
                timestamps.add_window(window, within.map(UnixMillis));
            }
        }
        panic!("windows are still missing after eight rounds");
    }
}
