//! The plan of a list: the sources of its total and its page. It follows from the query alone, so
//! it can be printed, compared and sent to the database in one round trip. What depends on data is
//! a plan in two stages: a question first, then a plan from the answer ([`Planned::Refine`] for
//! addresses of agents, [`Page::Refine`] for deep pages). A page is a scan of one index if one has
//! the list's order and decides every filter alone; any other page is taken from a set of issues.

use std::borrow::Cow;
use std::collections::BTreeMap;

use caseload_model::issue_query::{
    Condition, IssueQuery, ListPosition, Paging, RatingSet, Sort, SortOrder, TimeRange,
};

use super::counters::{Counted, CounterSum, Counters, range_mut, range_of};
use super::days::DaySplit;
use super::index::Index;
use super::matches::{Matches, selects_agent};
use super::thresholds::Thresholds;
use crate::{ListIssues, StepIssues};

/// A request: a page by number with its total, or the issues after a position.
#[derive(Debug, Clone, Copy)]
pub enum Request<'q> {
    Page(&'q IssueQuery, Paging),
    Step { query: &'q IssueQuery, after: Option<ListPosition>, issues_max: u64, count: bool },
}

impl<'q> Request<'q> {
    pub fn of_list(request: &'q ListIssues) -> Self {
        Self::Page(&request.query, request.paging)
    }

    pub fn of_step(request: &'q StepIssues) -> Self {
        Self::Step {
            query: &request.query,
            after: request.after,
            issues_max: request.issues_max.max(1),
            count: request.count,
        }
    }

    pub const fn query(&self) -> &'q IssueQuery {
        match self {
            Self::Page(query, _) | Self::Step { query, .. } => query,
        }
    }
}

/// A plan, or the question that comes before it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one for each request, on the stack")]
pub enum Planned<'q> {
    Plan(Plan<'q>),
    /// The domain's agents are read first.
    Refine(ByAgents<'q>),
}

/// The sources of total and page.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan<'q> {
    /// None if no total is wanted.
    pub total: Option<Total>,
    pub page: Page<'q>,
}

/// The source of a total.
#[derive(Debug, PartialEq, Eq)]
pub enum Total {
    /// The query contradicts itself.
    Nothing,
    Counters(CounterTotal),
    /// The size of a set that is found for this alone.
    Matches(Matches),
    /// The size of the set that the page is taken from.
    OfPage,
}

/// A total from counters of whole days, and from the matches at the ends of the span.
#[derive(Debug, PartialEq, Eq)]
pub struct CounterTotal {
    pub counters: Counters,
    pub split: DaySplit,
    pub partial_days: PartialDays,
}

/// How the matches in the partial days, before and after the whole ones, are counted.
#[derive(Debug, PartialEq, Eq)]
pub enum PartialDays {
    /// Through the index of the counters, which decides these queries alone.
    Index(Box<[Option<IssueQuery>; 2]>),
    Sets(Box<[Option<Matches>; 2]>),
}

/// The source of a page.
#[derive(Debug, PartialEq, Eq)]
pub enum Page<'q> {
    Nothing,
    Scan(Scan<'q>),
    Set(SetPage),
    /// The counters of each day are read first.
    Refine(Seek<'q>),
}

/// A part of an index: the matches in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan<'q> {
    pub query: Cow<'q, IssueQuery>,
    /// If given, the query has no bound of its own on that side of the time it is sorted by.
    pub after: Option<ListPosition>,
    pub index: Index,
    pub limit: u64,
    pub offset: u64,
}

/// A part of a set of issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPage {
    pub matches: Matches,
    pub part: Part,
}

/// Which part of a sorted set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub sort: Sort,
    /// No issue outside this range of the time sorted by belongs to the part.
    pub range: TimeRange,
    /// Only issues that follow it.
    pub after: Option<ListPosition>,
    /// Issues to be passed over; 0 if texts are tested one by one.
    pub offset: u64,
    pub limit: u64,
}

/// The first stage of a query for addresses of assignees: which agents have them.
#[derive(Debug)]
pub struct ByAgents<'q> {
    request: Request<'q>,
    thresholds: Thresholds,
}

impl<'q> ByAgents<'q> {
    pub const fn condition(&self) -> &'q Condition {
        &self.request.query().assignee_emails
    }

    /// Whether the condition selects an agent with this address.
    pub fn selects(&self, email: &str) -> bool {
        selects_agent(self.condition(), email)
    }

    /// The plan, from the ids of the selected agents.
    pub fn refine(&self, assignees: &[String]) -> Plan<'q> {
        Plan::with_assignees(self.request, self.thresholds, assignees)
    }
}

/// The first stage of a deep page: the day in which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seek<'q> {
    /// Sorted by the time of the counters.
    pub query: Cow<'q, IssueQuery>,
    pub offset: u64,
    pub limit: u64,
}

impl<'q> Seek<'q> {
    /// The counters whose values are wanted for each day; none if the span has no whole day.
    pub fn question<'t>(&self, total: &'t CounterTotal) -> Option<CounterSum<'t>> {
        total.split.days.map(|days| total.counters.sum(days))
    }

    /// The page, from the counters of each day.
    pub fn refine(
        &self,
        total: &CounterTotal,
        counted: &Counted,
        by_day: BTreeMap<i64, i64>,
    ) -> Page<'q> {
        let counters = &total.counters;
        let (query, offset) = counters.seek(&self.query, counted, by_day, self.offset);
        let limit = self.limit;
        if scans(counters, &query) {
            let (query, index) = (Cow::Owned(query), counters.index);
            return Page::Scan(Scan { query, after: None, index, limit, offset });
        }
        Page::Set(SetPage::new(&query, None, offset, limit, &[]))
    }
}

impl<'q> Planned<'q> {
    pub fn of(request: Request<'q>, thresholds: Thresholds) -> Self {
        if request.query().assignee_emails.is_unbounded() {
            Self::Plan(Plan::with_assignees(request, thresholds, &[]))
        } else {
            Self::Refine(ByAgents { request, thresholds })
        }
    }
}

impl<'q> Plan<'q> {
    fn with_assignees(request: Request<'q>, thresholds: Thresholds, assignees: &[String]) -> Self {
        match request {
            Request::Page(query, paging) => Self::page(query, paging, thresholds, assignees),
            Request::Step { query, after, issues_max, count } => {
                Self::step(query, after, issues_max, count, assignees)
            }
        }
    }

    fn page(
        query: &'q IssueQuery,
        paging: Paging,
        thresholds: Thresholds,
        assignees: &[String],
    ) -> Self {
        let query = without_idle_filters(query);
        if contradicts_itself(&query) {
            return Self { total: Some(Total::Nothing), page: Page::Nothing };
        }
        let (offset, limit) = (paging.offset(), paging.page_size);
        if let Some(counters) = Counters::covering(&query) {
            let seeks = counters.time == query.sort.key && offset >= thresholds.seek_offset_min;
            let scans = scans(&counters, &query);
            let index = counters.index;
            if seeks || scans {
                let total = Some(Total::Counters(CounterTotal::new(counters, &query)));
                let page = if seeks {
                    Page::Refine(Seek { query, offset, limit })
                } else {
                    Page::Scan(Scan { query, after: None, index, limit, offset })
                };
                return Self { total, page };
            }
        }
        let page = SetPage::new(&query, None, offset, limit, assignees);
        Self { total: Some(Total::OfPage), page: Page::Set(page) }
    }

    /// A step looks for one issue more than it shows, to know whether issues follow.
    fn step(
        query: &'q IssueQuery,
        after: Option<ListPosition>,
        issues_max: u64,
        count: bool,
        assignees: &[String],
    ) -> Self {
        let limit = issues_max + 1;
        let whole = without_idle_filters(query);
        let (narrowed, after) = narrowed(query, after);
        let page = if contradicts_itself(&narrowed) {
            Page::Nothing
        } else if let Some(index) = Index::of_list(&narrowed) {
            Page::Scan(Scan { query: narrowed, after, index, limit, offset: 0 })
        } else {
            Page::Set(SetPage::new(&narrowed, after, 0, limit, assignees))
        };
        let total = count.then(|| {
            if contradicts_itself(&whole) {
                return Total::Nothing;
            }
            if after.is_none() && matches!(page, Page::Set(_)) {
                return Total::OfPage;
            }
            Counters::covering(&whole).map_or_else(
                || Total::Matches(Matches::of(&whole, assignees)),
                |counters| Total::Counters(CounterTotal::new(counters, &whole)),
            )
        });
        Self { total, page }
    }

    /// Total and page, if neither depends on data and all of both fit in one question: a scan,
    /// and counters whose partial days are counted through their index.
    pub const fn as_one_question(&self) -> Option<(Option<&CounterTotal>, &Scan<'q>)> {
        match self {
            Self { total: None, page: Page::Scan(scan) } => Some((None, scan)),
            Self { total: Some(Total::Counters(total)), page: Page::Scan(scan) }
                if matches!(total.partial_days, PartialDays::Index(_)) =>
            {
                Some((Some(total), scan))
            }
            _ => None,
        }
    }
}

impl CounterTotal {
    /// `counters` cover the query.
    pub fn new(counters: Counters, query: &IssueQuery) -> Self {
        let split = counters.split();
        let ends = split.ends().map(|end| end.map(|range| counters.within(query, range)));
        // Both or neither: they differ in the span only.
        let partial_days = if ends.iter().flatten().all(|end| counters.index.decides(end)) {
            PartialDays::Index(Box::new(ends))
        } else {
            PartialDays::Sets(Box::new(ends.map(|end| end.map(|end| Matches::of(&end, &[])))))
        };
        Self { counters, split, partial_days }
    }
}

impl SetPage {
    fn new(
        query: &IssueQuery,
        after: Option<ListPosition>,
        offset: u64,
        limit: u64,
        assignees: &[String],
    ) -> Self {
        let sort = query.sort;
        let mut range = range_of(query, sort.key);
        let at = after.map(|position| position.at);
        if sort.order == SortOrder::Ascending {
            range.since = range.since.max(at);
        } else {
            range.until = [range.until, at].into_iter().flatten().min();
        }
        let matches = Matches::of(query, assignees);
        Self { matches, part: Part { sort, range, after, offset, limit } }
    }
}

/// Whether the counters' index has the list's order and decides every filter alone.
fn scans(counters: &Counters, query: &IssueQuery) -> bool {
    counters.index.order() == query.sort.key && counters.index.decides(query)
}

/// The query without a filter that lets every issue through, and with a person's app profiles as
/// ids of end users.
pub fn without_idle_filters(query: &IssueQuery) -> Cow<'_, IssueQuery> {
    let mut query = Cow::Borrowed(query);
    if query.rating == Some(RatingSet::ALL) {
        query.to_mut().rating = None;
    }
    if let Some(person) = query.person.clone() {
        let query = query.to_mut();
        query.person = None;
        let pids = person.pids.into_iter();
        query.end_user_ids = Some(match &query.end_user_ids {
            Some(ids) => pids.filter(|pid| ids.contains(pid)).collect(),
            None => pids.collect(),
        });
    }
    query
}

/// Whether a list of alternatives is empty or a range ends before it begins. No plan asks anything
/// for such a query.
pub fn contradicts_itself(query: &IssueQuery) -> bool {
    let empty = |range: &TimeRange| match (range.since, range.until) {
        (Some(since), Some(until)) => since > until,
        _ => false,
    };
    let none = |texts: &Option<Vec<String>>| texts.as_ref().is_some_and(Vec::is_empty);
    [&query.created, &query.updated, &query.changed].into_iter().any(empty)
        || [&query.app_ids, &query.platform_types, &query.queue_ids, &query.end_user_ids]
            .into_iter()
            .any(none)
        || query.person.as_ref().is_some_and(|person| person.pids.is_empty())
        || query.states.as_ref().is_some_and(Vec::is_empty)
        || query.ids.as_ref().is_some_and(Vec::is_empty)
        || query.rating.is_some_and(|set| !set.has_missing() && set.ratings().next().is_none())
}

/// The query and the position that a step begins after. A range of an index has one beginning, so
/// at most one of the position and the query's own bound remains: the later one.
pub fn narrowed(
    query: &IssueQuery,
    after: Option<ListPosition>,
) -> (Cow<'_, IssueQuery>, Option<ListPosition>) {
    let mut query = without_idle_filters(query);
    let Some(position) = after else { return (query, None) };
    let ascending = query.sort.order == SortOrder::Ascending;
    let range = range_of(&query, query.sort.key);
    let overtaken = if ascending {
        range.since.is_some_and(|since| position.at < since)
    } else {
        range.until.is_some_and(|until| position.at > until)
    };
    if overtaken {
        return (query, None);
    }
    let key = query.sort.key;
    let range = range_mut(query.to_mut(), key);
    // A position beyond the other bound leaves nothing; the empty range says so.
    let bound = if ascending { &mut range.since } else { &mut range.until };
    *bound = None;
    (query, Some(position))
}
