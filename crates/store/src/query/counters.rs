//! Which counters add up to the total of a query. The store has a counter per facet, value and day,
//! so counters cover a query that filters by one facet and by the time that the facet's days are
//! of. Whole days are added up; the matches of the two partial days at the ends of a span are
//! counted one by one. The same figures say in which day the issue at an offset lies, so a deep
//! page begins there.

use std::collections::BTreeMap;

use caseload_model::issue::{Facet, IssueState, counted_text};
use caseload_model::issue_query::{
    Condition, IssueQuery, RatingSet, SortKey, SortOrder, TimeRange,
};

use super::days::{DaySplit, Days, instants_of};
use super::index::{Filters, Index};

/// Counters whose sum is the number of issues in a span of time, and the index of these issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    facet: Facet,
    values: Vec<Vec<u8>>,
    /// Ratings whose counters are subtracted: unrated issues have no counter of their own.
    subtracted_ratings: Vec<Vec<u8>>,
    /// The time that the days are of.
    pub time: SortKey,
    range: TimeRange,
    pub index: Index,
    covers: Filters,
}

/// Counters to be added up over days.
#[derive(Debug, Clone, Copy)]
pub struct CounterSum<'c> {
    pub facet: Facet,
    pub values: &'c [Vec<u8>],
    /// Ratings whose counters are subtracted.
    pub subtracted_ratings: &'c [Vec<u8>],
    pub days: Days,
}

impl Counters {
    /// The counters whose sum is the query's total, if there are such.
    pub fn covering(query: &IssueQuery) -> Option<Self> {
        let given = Filters::of(query);
        if given.is_empty() {
            // Their index has the order of the list.
            return Some(Self::of_time(query.sort.key));
        }
        [
            Some(Self::by_creation(query)),
            Self::state(query),
            Self::rating(query),
            Some(Self::by_update(query)),
            Some(Self::by_state_change(query)),
            Self::texts(query, Facet::App, query.app_ids.as_deref(), Filters::APPS),
            Self::texts(query, Facet::Queue, query.queue_ids.as_deref(), Filters::QUEUES),
            Self::texts(
                query,
                Facet::Platform,
                query.platform_types.as_deref(),
                Filters::PLATFORMS,
            ),
            Self::texts(query, Facet::Tag, one_tag(&query.tags), Filters::TAGS),
            Self::texts(query, Facet::Language, alternatives(&query.languages), Filters::LANGUAGES),
            Self::texts(
                query,
                Facet::Assignee,
                alternatives(&query.assignee_ids),
                Filters::ASSIGNEES,
            ),
        ]
        .into_iter()
        .flatten()
        .find(|counters| given.are_within(counters.covers))
    }

    /// The counters of all issues by one of their times.
    pub fn of_time(key: SortKey) -> Self {
        let query = IssueQuery::default();
        match key {
            SortKey::CreationTime => Self::by_creation(&query),
            SortKey::UpdateTime => Self::by_update(&query),
            SortKey::StateChangeTime => Self::by_state_change(&query),
        }
    }

    fn new(query: &IssueQuery, facet: Facet, values: Vec<Vec<u8>>, covers: Filters) -> Self {
        let (time, range) = match facet {
            Facet::Updated => (SortKey::UpdateTime, query.updated),
            Facet::StateChanged => (SortKey::StateChangeTime, query.changed),
            _ => (SortKey::CreationTime, query.created),
        };
        let index = match facet {
            Facet::State => Index::State,
            Facet::Rating => Index::Rating,
            _ => Index::of_order(time),
        };
        Self { facet, values, subtracted_ratings: Vec::new(), time, range, index, covers }
    }

    fn by_creation(query: &IssueQuery) -> Self {
        Self::new(query, Facet::All, vec![Vec::new()], Filters::CREATED)
    }

    fn by_update(query: &IssueQuery) -> Self {
        Self::new(query, Facet::Updated, vec![Vec::new()], Filters::UPDATED)
    }

    fn by_state_change(query: &IssueQuery) -> Self {
        let states = query.states.as_deref().unwrap_or(IssueState::ALL);
        let covers = Filters::CHANGED.and(Filters::STATES);
        Self::new(query, Facet::StateChanged, state_words(states), covers)
    }

    fn state(query: &IssueQuery) -> Option<Self> {
        let states = state_words(query.states.as_deref()?);
        Some(Self::new(query, Facet::State, states, Filters::CREATED.and(Filters::STATES)))
    }

    fn rating(query: &IssueQuery) -> Option<Self> {
        let set = query.rating?;
        let covers = Filters::CREATED.and(Filters::RATING);
        let words = |included: bool| {
            let ratings = RatingSet::ALL.ratings().filter(|r| set.contains(Some(*r)) == included);
            ratings.map(|rating| rating.to_string().into_bytes()).collect()
        };
        if set.has_missing() {
            let all = Self::new(query, Facet::All, vec![Vec::new()], covers);
            return Some(Self { subtracted_ratings: words(false), ..all });
        }
        Some(Self::new(query, Facet::Rating, words(true), covers))
    }

    fn texts(
        query: &IssueQuery,
        facet: Facet,
        texts: Option<&[String]>,
        filter: Filters,
    ) -> Option<Self> {
        let values = texts?.iter().map(|text| counted_text(text).into_owned()).collect();
        Some(Self::new(query, facet, values, Filters::CREATED.and(filter)))
    }

    /// The span of time that is counted, as whole days and its ends.
    pub(super) fn split(&self) -> DaySplit {
        DaySplit::of(self.range)
    }

    /// The counters to add up for these days.
    pub fn sum(&self, days: Days) -> CounterSum<'_> {
        let Self { facet, values, subtracted_ratings, .. } = self;
        CounterSum { facet: *facet, values, subtracted_ratings, days }
    }

    /// The query with another range of the time that these counters are of.
    pub(super) fn within(&self, query: &IssueQuery, range: TimeRange) -> IssueQuery {
        let mut query = query.clone();
        *range_mut(&mut query, self.time) = range;
        query
    }

    /// The query without the days before `offset`, and the remaining offset. The query is sorted by
    /// the time that these counters are of.
    pub(super) fn seek(
        &self,
        query: &IssueQuery,
        counted: &Counted,
        by_day: BTreeMap<i64, i64>,
        offset: u64,
    ) -> (IssueQuery, u64) {
        let ascending = query.sort.order == SortOrder::Ascending;
        let mut sections = counted.sections(by_day);
        if !ascending {
            sections.reverse();
        }
        let mut narrowed = query.clone();
        let mut passed = 0;
        for (range, issues) in sections {
            if passed + issues > offset {
                let bounds = range_mut(&mut narrowed, self.time);
                if ascending {
                    bounds.since = range.since;
                } else {
                    bounds.until = range.until;
                }
                return (narrowed, offset - passed);
            }
            passed += issues;
        }
        (narrowed, offset)
    }
}

fn state_words(states: &[IssueState]) -> Vec<Vec<u8>> {
    states.iter().map(|state| state.as_str().as_bytes().to_vec()).collect()
}

/// The range of the query on one of the times.
pub const fn range_of(query: &IssueQuery, key: SortKey) -> TimeRange {
    match key {
        SortKey::CreationTime => query.created,
        SortKey::StateChangeTime => query.changed,
        SortKey::UpdateTime => query.updated,
    }
}

pub(super) const fn range_mut(query: &mut IssueQuery, key: SortKey) -> &mut TimeRange {
    match key {
        SortKey::CreationTime => &mut query.created,
        SortKey::StateChangeTime => &mut query.changed,
        SortKey::UpdateTime => &mut query.updated,
    }
}

/// The values of which an issue has at most one, if the condition asks for nothing else. The empty
/// value is left to sets: its counter counts the issues that have none.
fn alternatives(condition: &Condition) -> Option<&[String]> {
    let plain = condition.and.is_empty() && condition.nor.is_empty() && condition.exists.is_none();
    let any = condition.or.as_deref().filter(|_| plain)?;
    (!any.iter().any(String::is_empty)).then_some(any)
}

/// The tag, if the condition asks for one and nothing else. An issue may have several tags, and the
/// counters of several tags would count it for each.
fn one_tag(condition: &Condition) -> Option<&[String]> {
    let (([], Some(tags @ [_])) | (tags @ [_], None)) = (&*condition.and, condition.or.as_deref())
    else {
        return None;
    };
    (condition.nor.is_empty() && condition.exists.is_none()).then_some(tags)
}

/// A total and its summands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub(super) split: DaySplit,
    pub(super) before: u64,
    pub(super) whole: u64,
    pub(super) after: u64,
}

impl Counted {
    pub const fn total(&self) -> u64 {
        self.before + self.whole + self.after
    }

    /// The ends of the span and each of its days, ascending, with their issues.
    fn sections(&self, by_day: BTreeMap<i64, i64>) -> Vec<(TimeRange, u64)> {
        let day = |(day, n): (i64, i64)| {
            (instants_of(Days { from: day, until: day }), n.max(0).unsigned_abs())
        };
        let before = self.split.before.map(|range| (range, self.before));
        let after = self.split.after.map(|range| (range, self.after));
        before.into_iter().chain(by_day.into_iter().map(day)).chain(after).collect()
    }
}
