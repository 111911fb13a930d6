//! The questions that finding issues asks of whatever keeps them, all in one snapshot and one
//! domain. Each is one look at an index or a table, wide enough that a backend behind a network
//! answers a list with a few of them, and none decides anything about queries. Answers name issues
//! by `row`, a number that is never shown. Code over this trait is generic: what a backend does
//! costs what it did before.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use caseload_model::issue::{Facet, ListVersionHasher, SPAN_DAYS, TermKind, span_of_day};
use caseload_model::issue_query::{
    IssueQuery, IssueView, ListPosition, SortKey, SortOrder, TimeRange,
};
use caseload_model::time::UnixMillis;
use roaring::RoaringBitmap;

use super::tally::Split;
use crate::{StepForm, StoreError};

/// An order in which issues are kept; every index begins with the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    Creation,
    /// By creation within each state.
    State,
    /// By creation within each rating; only rated issues are in it.
    Rating,
    Update,
    Change,
}

impl Index {
    /// The order in which it holds issues, each state and rating by itself.
    pub const fn order(self) -> SortKey {
        match self {
            Self::Creation | Self::State | Self::Rating => SortKey::CreationTime,
            Self::Update => SortKey::UpdateTime,
            Self::Change => SortKey::StateChangeTime,
        }
    }

    /// The index that holds all issues in this order.
    pub const fn of_order(key: SortKey) -> Self {
        match key {
            SortKey::CreationTime => Self::Creation,
            SortKey::StateChangeTime => Self::Change,
            SortKey::UpdateTime => Self::Update,
        }
    }
}

/// The days `from..=until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    pub from: i64,
    pub until: i64,
}

/// Counters to be added up over days.
#[derive(Debug, Clone, Copy)]
pub struct Sums<'q> {
    pub facet: Facet,
    pub values: &'q [Vec<u8>],
    /// Ratings whose counters are taken off again.
    pub ratings_off: &'q [Vec<u8>],
    pub days: Days,
}

impl Days {
    /// The counters that add up to these days: ranges of numbers that stand in the place of days,
    /// whole spans as one counter each, and the days before and behind them.
    pub fn counters(self) -> impl Iterator<Item = Self> {
        let next_span = |day: i64| (day + SPAN_DAYS - 1).div_euclid(SPAN_DAYS) * SPAN_DAYS;
        let (first, end) =
            (next_span(self.from), (self.until + 1).div_euclid(SPAN_DAYS) * SPAN_DAYS);
        let parts = if first < end {
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
        parts.into_iter().filter(|days| days.from <= days.until)
    }
}

/// What a total is added up from, in one question.
#[derive(Debug, Clone, Copy)]
pub struct Total<'q> {
    pub whole: Option<Sums<'q>>,
    /// Queries that `index` decides, to be counted through it.
    pub edges: [Option<&'q IssueQuery>; 2],
    pub index: Index,
}

/// Matches of a query that an index decides, in the query's order.
#[derive(Debug, Clone, Copy)]
pub struct Along<'q> {
    pub query: &'q IssueQuery,
    /// The query then has no bound of its own on that side of what it is sorted by.
    pub after: Option<ListPosition>,
    pub index: Index,
    pub limit: u64,
    pub offset: u64,
}

/// Issues to be shown, in order.
#[derive(Debug, Clone)]
pub enum Chosen<'q> {
    Along(Along<'q>),
    Rows(Vec<u32>),
}

/// How issues are shown, and how many of those chosen at most.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    pub view: IssueView,
    pub form: StepForm,
    pub issues_max: usize,
    /// Bytes after which no further issue is written.
    pub bytes_max: usize,
    /// The order by which the last issue's position is told.
    pub key: SortKey,
}

/// Issues as they are written, one after another.
#[derive(Debug, Default)]
pub struct Written {
    pub body: Vec<u8>,
    pub version: ListVersionHasher,
    /// Issues that were chosen.
    pub found: usize,
    /// Issues of those that are in the body: the first ones.
    pub count: usize,
    /// Where the last one in the body stands.
    pub last: Option<ListPosition>,
}

/// An issue's place in an order. Instants of creation are unique: there, an id is not always told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacedRow {
    pub at: UnixMillis,
    pub id: u64,
    pub row: u32,
}

/// Fragments that hold texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each fragment")]
pub struct TextParts {
    pub custom_fields: bool,
    pub feedback: bool,
    pub private_notes: bool,
    pub messages: bool,
}

/// The fragments of one issue that were asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextsOf<'i> {
    pub custom_fields: Option<&'i [u8]>,
    pub feedback: Option<&'i [u8]>,
    pub private_notes: Option<&'i [u8]>,
    pub messages: Option<&'i [u8]>,
}

/// Terms of a kind, of which an issue stands in at least one.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub kind: TermKind,
    pub values: Vec<Vec<u8>>,
}

/// What issues are found by, as it is kept. One domain, one snapshot.
pub trait IssueReads {
    /// Issues whose texts are asked for at once where only the first that pass are wanted.
    const TEXTS_AT_ONCE: usize;

    /// Whether questions that are known beforehand are better asked together.
    const ASKS_AT_ONCE: bool;

    /// The answers of [`IssueReads::any`] to several questions.
    fn sets(&self, wanted: &[Wanted]) -> Result<Vec<RoaringBitmap>, StoreError> {
        wanted.iter().map(|wanted| self.any(wanted.kind, &wanted.values)).collect()
    }

    /// The issues that stand in at least one of the terms.
    fn any(&self, kind: TermKind, values: &[impl AsRef<[u8]>])
    -> Result<RoaringBitmap, StoreError>;

    /// The same, where only rows of some blocks are wanted: the others may be told or not.
    fn any_in(
        &self,
        kind: TermKind,
        values: &[impl AsRef<[u8]>],
        _blocks: RangeInclusive<u32>,
    ) -> Result<RoaringBitmap, StoreError> {
        self.any(kind, values)
    }

    /// The issues of a sparse kind whose value lies from `from` on and before `until`.
    fn between(
        &self,
        kind: TermKind,
        from: &[u8],
        until: &[u8],
    ) -> Result<RoaringBitmap, StoreError>;

    /// The issues with these ids.
    fn ids(&self, ids: &[u64]) -> Result<RoaringBitmap, StoreError>;

    /// Shows id and address of every agent.
    fn agents(&self, visit: impl FnMut(&str, &str)) -> Result<(), StoreError>;

    /// The issues in a span of time: whole days from their sets, the ends from the index.
    fn span(&self, key: SortKey, split: &Split) -> Result<RoaringBitmap, StoreError>;

    /// Shows the set of each day that has issues, in order, until that is told to stop by false.
    fn walk_days(
        &self,
        key: SortKey,
        order: SortOrder,
        days: Days,
        visit: impl FnMut(i64, &RoaringBitmap) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError>;

    /// Shows the issues of a span of time, in order, until that is told to stop by false. The ids
    /// of issues by creation are not told.
    fn walk_span(
        &self,
        key: SortKey,
        order: SortOrder,
        span: TimeRange,
        visit: impl FnMut(PlacedRow) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError>;

    /// Shows one of the times, and the id, of each of these issues, in any order.
    fn instants(
        &self,
        key: SortKey,
        rows: &RoaringBitmap,
        visit: impl FnMut(PlacedRow),
    ) -> Result<(), StoreError>;

    /// The parts of a total: whole days, then the edges in their order.
    fn total(&self, total: &Total<'_>) -> Result<(u64, [u64; 2]), StoreError>;

    /// The sums of counters day by day.
    fn by_day(&self, sums: &Sums<'_>) -> Result<BTreeMap<i64, i64>, StoreError>;

    /// Writes issues, until they are as many, or as long, as they may be; one at least.
    fn write(&self, chosen: &Chosen<'_>, shown: &Shown) -> Result<Written, StoreError>;

    /// Shows texts of these issues, in the order given, until that is told to stop by false.
    fn texts(
        &self,
        parts: TextParts,
        rows: &[u32],
        visit: impl FnMut(u32, TextsOf<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError>;

    /// The issues that stand in one term.
    fn term(&self, kind: TermKind, value: &[u8]) -> Result<RoaringBitmap, StoreError> {
        self.any(kind, &[value])
    }

    /// Every issue.
    fn all(&self) -> Result<RoaringBitmap, StoreError> {
        self.term(TermKind::All, b"")
    }
}
