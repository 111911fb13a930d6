//! Which counters add up to a query's total. Counters are kept per facet, value and day, so they
//! answer a query that filters by one facet and by the time that the facet's days are of: whole
//! days are added up, at most two partial ones are counted through the index. The same figures say
//! in which day the issue at an offset lies, so that a deep page begins there.

use std::collections::BTreeMap;

use caseload_model::issue::{Facet, IssueState};
use caseload_model::issue_query::{
    Condition, IssueQuery, RatingSet, SortKey, SortOrder, TimeRange,
};
use caseload_model::time::{DAY_MS, UnixMillis};

use super::find;
use super::reads::{Days, Index, IssueReads, Sums, Total};
use crate::StoreError;

/// Days beyond which there is no instant.
const DAYS_ALL: Days = Days { from: -(1 << 36), until: (1 << 36) - 1 };
/// No issue is older or newer; keeps sums with days from overflowing.
const INSTANT_BOUND: i64 = 1 << 60;

/// Filters of a query, as bits.
mod filter {
    pub(super) const CREATED: u32 = 1;
    pub(super) const UPDATED: u32 = 1 << 1;
    pub(super) const CHANGED: u32 = 1 << 2;
    pub(super) const STATES: u32 = 1 << 3;
    pub(super) const RATING: u32 = 1 << 4;
    pub(super) const APPS: u32 = 1 << 5;
    pub(super) const QUEUES: u32 = 1 << 6;
    pub(super) const PLATFORMS: u32 = 1 << 7;
    pub(super) const TAGS: u32 = 1 << 8;
    pub(super) const LANGUAGES: u32 = 1 << 9;
    pub(super) const ASSIGNEES: u32 = 1 << 10;
    /// Whatever no counter is kept for.
    pub(super) const OTHER: u32 = 1 << 11;
}

/// The filters that the query has.
fn filters(query: &IssueQuery) -> u32 {
    use filter::{
        APPS, ASSIGNEES, CHANGED, CREATED, LANGUAGES, OTHER, PLATFORMS, QUEUES, RATING, STATES,
        TAGS, UPDATED,
    };
    let conditions = [
        &query.assignee_emails,
        &query.author_emails,
        &query.messages,
        &query.notes,
        &query.feedback_comment,
    ];
    let other = query.ids.is_some()
        || query.end_user_ids.is_some()
        || query.issue_modes.is_some()
        || query.redacted.is_some()
        || !query.custom_fields.is_empty()
        || conditions.into_iter().any(|condition| !condition.is_unbounded());
    [
        (!query.created.is_unbounded(), CREATED),
        (!query.updated.is_unbounded(), UPDATED),
        (!query.changed.is_unbounded(), CHANGED),
        (query.states.is_some(), STATES),
        (query.rating.is_some(), RATING),
        (query.app_ids.is_some(), APPS),
        (query.queue_ids.is_some(), QUEUES),
        (query.platform_types.is_some(), PLATFORMS),
        (!query.tags.is_unbounded(), TAGS),
        (!query.languages.is_unbounded(), LANGUAGES),
        (!query.assignee_ids.is_unbounded(), ASSIGNEES),
        (other, OTHER),
    ]
    .into_iter()
    .filter_map(|(given, bit)| given.then_some(bit))
    .sum()
}

/// Counters that add up to the issues in a span of time, and the index that holds just those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    facet: Facet,
    values: Vec<Vec<u8>>,
    /// Ratings to be taken off again: issues without one have no counter of their own.
    ratings_off: Vec<Vec<u8>>,
    /// The time that the days are of.
    pub time: SortKey,
    range: TimeRange,
    pub index: Index,
    /// The filters that it honours.
    covers: u32,
}

impl Tally {
    fn new(query: &IssueQuery, facet: Facet, values: Vec<Vec<u8>>, covers: u32) -> Self {
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
        Self { facet, values, ratings_off: Vec::new(), time, range, index, covers }
    }

    /// All issues by creation.
    fn all(query: &IssueQuery) -> Self {
        Self::new(query, Facet::All, vec![Vec::new()], filter::CREATED)
    }

    fn state_changed(query: &IssueQuery) -> Self {
        let states = query.states.as_deref().unwrap_or(IssueState::ALL);
        let covers = filter::CHANGED | filter::STATES;
        Self::new(query, Facet::StateChanged, state_words(states), covers)
    }

    fn state(query: &IssueQuery) -> Option<Self> {
        let states = state_words(query.states.as_deref()?);
        Some(Self::new(query, Facet::State, states, filter::CREATED | filter::STATES))
    }

    fn updated(query: &IssueQuery) -> Self {
        Self::new(query, Facet::Updated, vec![Vec::new()], filter::UPDATED)
    }

    fn rating(query: &IssueQuery) -> Option<Self> {
        let set = query.rating?;
        let covers = filter::CREATED | filter::RATING;
        let words = |with: bool| {
            let ratings = RatingSet::ALL.ratings().filter(|r| set.contains(Some(*r)) == with);
            ratings.map(|rating| rating.to_string().into_bytes()).collect()
        };
        if set.has_missing() {
            let all = Self::new(query, Facet::All, vec![Vec::new()], covers);
            return Some(Self { ratings_off: words(false), ..all });
        }
        Some(Self::new(query, Facet::Rating, words(true), covers))
    }

    fn texts(query: &IssueQuery, facet: Facet, texts: Option<&[String]>, bit: u32) -> Option<Self> {
        let values = texts?.iter().map(|text| text.as_bytes().to_vec()).collect();
        Some(Self::new(query, facet, values, filter::CREATED | bit))
    }
}

fn state_words(states: &[IssueState]) -> Vec<Vec<u8>> {
    states.iter().map(|state| state.as_str().as_bytes().to_vec()).collect()
}

/// The counters that give the query's total, where there are such.
pub fn exact(query: &IssueQuery) -> Option<Tally> {
    let given = filters(query);
    [
        Some(Tally::all(query)),
        Tally::state(query),
        Tally::rating(query),
        Some(Tally::updated(query)),
        Some(Tally::state_changed(query)),
        Tally::texts(query, Facet::App, query.app_ids.as_deref(), filter::APPS),
        Tally::texts(query, Facet::Queue, query.queue_ids.as_deref(), filter::QUEUES),
        Tally::texts(query, Facet::Platform, query.platform_types.as_deref(), filter::PLATFORMS),
        Tally::texts(query, Facet::Tag, one_tag(&query.tags), filter::TAGS),
        Tally::texts(query, Facet::Language, alternatives(&query.languages), filter::LANGUAGES),
        Tally::texts(query, Facet::Assignee, alternatives(&query.assignee_ids), filter::ASSIGNEES),
    ]
    .into_iter()
    .flatten()
    .find(|tally| given & !tally.covers == 0)
}

/// The values of which an issue has at most one, where the condition asks for nothing else. The
/// empty one is left to sets: a counter of it stands for issues that have none.
fn alternatives(condition: &Condition) -> Option<&[String]> {
    let plain = condition.and.is_empty() && condition.nor.is_empty() && condition.exists.is_none();
    let any = condition.or.as_deref().filter(|_| plain)?;
    (!any.iter().any(String::is_empty)).then_some(any)
}

/// The tag, where the condition asks for one and nothing else: an issue may have several, and would
/// be counted for each.
fn one_tag(condition: &Condition) -> Option<&[String]> {
    let (([], Some(tags @ [_])) | (tags @ [_], None)) = (&*condition.and, condition.or.as_deref())
    else {
        return None;
    };
    (condition.nor.is_empty() && condition.exists.is_none()).then_some(tags)
}

/// The filters that are decided by the index alone.
const fn decides(index: Index) -> u32 {
    use filter::{CHANGED, CREATED, RATING, STATES, UPDATED};
    match index {
        Index::Creation => CREATED,
        Index::State => CREATED | STATES,
        Index::Rating => CREATED | RATING | STATES,
        Index::Update => UPDATED | STATES,
        Index::Change => CHANGED | STATES,
    }
}

/// How many issues the days have that a span of time has a part of.
pub(super) fn days_hold<R: IssueReads>(
    reads: &R,
    key: SortKey,
    range: TimeRange,
) -> Result<u64, StoreError> {
    let query = IssueQuery::default();
    let tally = match key {
        SortKey::CreationTime => Tally::all(&query),
        SortKey::UpdateTime => Tally::updated(&query),
        SortKey::StateChangeTime => Tally::state_changed(&query),
    };
    let whole = Some(tally.sums(split(range).touched()));
    let total = Total { whole, edges: [None, None], index: tally.index };
    Ok(reads.total(&total)?.0)
}

/// Whether the index alone decides which issues match.
pub fn is_decided_by(query: &IssueQuery, index: Index) -> bool {
    filters(query) & !decides(index) == 0
}

/// A range as whole days and what is left at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    pub before: Option<TimeRange>,
    pub days: Option<Days>,
    pub after: Option<TimeRange>,
}

impl Split {
    /// The days that it has a part of.
    pub(super) fn touched(&self) -> Days {
        let edges = [self.before, self.after];
        let bounds = edges.iter().flatten().flat_map(|range| [range.since, range.until]);
        let touched = bounds.flatten().map(UnixMillis::day);
        let whole = self.days.iter().flat_map(|days| [days.from, days.until]);
        let all: Vec<i64> = touched.chain(whole).collect();
        Days {
            from: all.iter().min().copied().unwrap_or_default(),
            until: all.iter().max().copied().unwrap_or_default(),
        }
    }
}

fn span(since: i64, until: i64) -> TimeRange {
    TimeRange { since: Some(UnixMillis(since)), until: Some(UnixMillis(until)) }
}

/// The whole days of a range and its ends.
pub(super) fn split(range: TimeRange) -> Split {
    let bound = |at: UnixMillis| UnixMillis(at.0.clamp(-INSTANT_BOUND, INSTANT_BOUND));
    let (since, until) = (range.since.map(bound), range.until.map(bound));
    let from = since.map_or(DAYS_ALL.from, |at| UnixMillis(at.0 + DAY_MS - 1).day());
    let to = until.map_or(DAYS_ALL.until, |at| UnixMillis(at.0 + 1).day() - 1);
    if from > to {
        // Both ends are there, else one of the days would be beyond all others.
        let (since, until) = (since.unwrap_or_default(), until.unwrap_or_default());
        return Split { before: Some(span(since.0, until.0)), days: None, after: None };
    }
    let before = since.filter(|at| at.0 < from * DAY_MS);
    let after = until.filter(|at| at.0 >= (to + 1) * DAY_MS);
    Split {
        before: before.map(|at| span(at.0, from * DAY_MS - 1)),
        days: Some(Days { from, until: to }),
        after: after.map(|at| span((to + 1) * DAY_MS, at.0)),
    }
}

/// A total with its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    split: Split,
    before: u64,
    whole: u64,
    after: u64,
}

impl Counted {
    pub const fn total(&self) -> u64 {
        self.before + self.whole + self.after
    }
}

/// The question for a total: counters of whole days, and the ends of the span.
#[derive(Debug)]
pub struct Question<'t> {
    tally: &'t Tally,
    split: Split,
    /// The query at either end.
    edges: [Option<IssueQuery>; 2],
    /// Whether the index alone knows the issues of the ends.
    decided: bool,
}

impl Question<'_> {
    /// The ends are in it as far as the index alone knows their issues.
    pub fn total(&self) -> Total<'_> {
        Total {
            whole: self.split.days.map(|days| self.tally.sums(days)),
            edges: self.edges.each_ref().map(|edge| edge.as_ref().filter(|_| self.decided)),
            index: self.tally.index,
        }
    }

    /// What the answer comes to.
    pub const fn counted(&self, (whole, [before, after]): (u64, [u64; 2])) -> Counted {
        Counted { split: self.split, before, whole, after }
    }
}

impl Tally {
    /// The total of `query`, which these counters cover.
    pub fn count<R: IssueReads>(
        &self,
        reads: &R,
        query: &IssueQuery,
    ) -> Result<Counted, StoreError> {
        let question = self.question(query);
        let mut counted = question.counted(reads.total(&question.total())?);
        if !question.decided {
            let [before, after] = &question.edges;
            for (count, edge) in [(&mut counted.before, before), (&mut counted.after, after)] {
                if let Some(edge) = edge {
                    *count = find::candidates(reads, edge)?.len();
                }
            }
        }
        Ok(counted)
    }

    /// What is asked for that total.
    pub(super) fn question(&self, query: &IssueQuery) -> Question<'_> {
        let split = split(self.range);
        let edges = [split.before, split.after];
        let edges = edges.map(|range| range.map(|range| self.within(query, range)));
        // All or none: they differ in the span.
        let decided = edges.iter().flatten().all(|edge| is_decided_by(edge, self.index));
        Question { tally: self, split, edges, decided }
    }

    fn sums(&self, days: Days) -> Sums<'_> {
        Sums { facet: self.facet, values: &self.values, ratings_off: &self.ratings_off, days }
    }

    /// The query with another range of the time that these counters are of.
    fn within(&self, query: &IssueQuery, range: TimeRange) -> IssueQuery {
        let mut query = query.clone();
        *self.range_of(&mut query) = range;
        query
    }

    fn range_of<'q>(&self, query: &'q mut IssueQuery) -> &'q mut TimeRange {
        match self.time {
            SortKey::CreationTime => &mut query.created,
            SortKey::StateChangeTime => &mut query.changed,
            SortKey::UpdateTime => &mut query.updated,
        }
    }

    /// The query without the days that lie before `offset`, and the offset in what is left. The
    /// query is sorted by the time that these counters are of.
    pub fn seek<R: IssueReads>(
        &self,
        reads: &R,
        query: &IssueQuery,
        counted: &Counted,
        offset: u64,
    ) -> Result<(IssueQuery, u64), StoreError> {
        let ascending = query.sort.order == SortOrder::Ascending;
        let mut parts = self.parts(reads, counted)?;
        if !ascending {
            parts.reverse();
        }
        let mut passed = 0;
        for (range, issues) in parts {
            if passed + issues > offset {
                let mut narrowed = query.clone();
                let bounds = self.range_of(&mut narrowed);
                if ascending {
                    bounds.since = range.since;
                } else {
                    bounds.until = range.until;
                }
                return Ok((narrowed, offset - passed));
            }
            passed += issues;
        }
        Ok((query.clone(), offset))
    }

    /// What the range holds: its ends and each of its days, ascending.
    fn parts<R: IssueReads>(
        &self,
        reads: &R,
        counted: &Counted,
    ) -> Result<Vec<(TimeRange, u64)>, StoreError> {
        let by_day = match counted.split.days {
            Some(days) => reads.by_day(&self.sums(days))?,
            None => BTreeMap::new(),
        };
        let day = |(day, n): (i64, i64)| {
            (span(day * DAY_MS, (day + 1) * DAY_MS - 1), n.max(0).unsigned_abs())
        };
        let before = counted.split.before.map(|range| (range, counted.before));
        let after = counted.split.after.map(|range| (range, counted.after));
        Ok(before.into_iter().chain(by_day.into_iter().map(day)).chain(after).collect())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
