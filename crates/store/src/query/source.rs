//! The questions that answering a list asks of a backend, about one domain in one snapshot. Each is
//! one look at an index or a table, wide enough that a backend across a network answers a list with
//! few of them. No question decides anything about queries. Answers name issues by `row`, a number
//! that callers never see.

use std::collections::BTreeMap;

use caseload_model::issue::attachment_url::find_in_messages;
use caseload_model::issue::{IssueFragments, ListVersionHasher, write_issue};
use caseload_model::issue_query::{
    IssueQuery, IssueView, ListPosition, SortKey, SortOrder, TimeRange,
};
use roaring::RoaringBitmap;

use super::counters::CounterSum;
use super::index::Index;
use super::matches::Matches;
use super::plan::Scan;
use super::search::TextSearch;
use super::stored_sets::{SetStore, StoredSets, TimedRow};
use super::thresholds::Thresholds;
use crate::checksum::require_fragments;
use crate::idempotency::CommandStore as _;
use crate::sql::Sql as _;
use crate::throttle::Throttle;
use crate::{ListIssues, StepForm, StepIssues, StoreError, values};

/// The summands of a total, in one question.
#[derive(Debug, Clone, Copy)]
pub struct CountQuestion<'q> {
    /// Counters of whole days.
    pub whole: Option<CounterSum<'q>>,
    /// Queries that `index` decides, to be counted through it.
    pub ends: [Option<&'q IssueQuery>; 2],
    pub index: Index,
}

/// Issues to be shown, in order.
#[derive(Debug, Clone, Copy)]
pub enum Selection<'s> {
    Scan(&'s Scan<'s>),
    Rows(&'s [u32]),
}

/// How issues are rendered, and how many of the selected ones at most.
#[derive(Debug, Clone, Copy)]
pub struct Rendering {
    pub view: IssueView,
    pub form: StepForm,
    pub issues_max: usize,
    /// No issue is added that would exceed this, except for the first one.
    pub bytes_max: usize,
    /// The time that the position of the last issue has.
    pub key: SortKey,
}

impl Rendering {
    /// A page has every selected issue for which it has room.
    pub fn of_list(request: &ListIssues) -> Self {
        Self {
            view: request.view,
            form: StepForm::Commas,
            issues_max: usize::MAX,
            bytes_max: request.bytes_max,
            key: request.query.sort.key,
        }
    }

    pub fn of_step(request: &StepIssues) -> Self {
        Self {
            view: request.view,
            form: request.form,
            issues_max: request.issues_max.max(1) as usize,
            bytes_max: request.bytes_max,
            key: request.query.sort.key,
        }
    }
}

/// Issues as a backend renders them, one after the other.
#[derive(Debug, Default)]
pub struct RenderedPage {
    pub body: Vec<u8>,
    /// The positions in the body of the paths of attachments.
    pub urls: Vec<usize>,
    pub version: ListVersionHasher,
    /// Selected issues.
    pub found: usize,
    /// Issues in the body: the first ones of those selected.
    pub count: usize,
    /// The position of the last issue in the body.
    pub last: Option<ListPosition>,
}

impl RenderedPage {
    /// Appends an issue with these checksums of its fragments, which are verified. Returns false if
    /// the page is full.
    pub fn add(
        &mut self,
        issue: &IssueFragments<'_>,
        sums: &[u8],
        rendering: &Rendering,
    ) -> Result<bool, StoreError> {
        if !self.has_room(issue, rendering) {
            return Ok(false);
        }
        if rendering.form == StepForm::Commas && self.count > 0 {
            self.body.push(b',');
        }
        require_fragments(issue, &rendering.view, sums)?;
        self.make_room(issue, rendering);
        let messages = write_issue(issue, &rendering.view, &mut self.body);
        find_in_messages(&self.body[messages.clone()], messages.start, &mut self.urls);
        self.version.add(issue, sums);
        if rendering.form == StepForm::Lines {
            self.body.push(b'\n');
        }
        self.count += 1;
        Ok(true)
    }

    /// Whether the issue may be appended.
    fn has_room(&self, issue: &IssueFragments<'_>, rendering: &Rendering) -> bool {
        let fits = self.body.len().saturating_add(issue.bytes()) <= rendering.bytes_max;
        self.count == 0 || (self.count < rendering.issues_max && fits)
    }

    /// Makes more room if the body is too small for an issue: twice the room, or that of the whole
    /// page if the body is long, because the allocator retains each smaller room for a while.
    fn make_room(&mut self, issue: &IssueFragments<'_>, rendering: &Rendering) {
        let (used, room) = (self.body.len(), self.body.capacity());
        let needed = used + issue.bytes() + NAMES_BYTES;
        if needed > room {
            let is_last = self.count + 1 >= rendering.issues_max;
            let grown = if needed > LONG_BYTES { LONG_GROWTH * needed } else { 2 * room };
            let wanted = if is_last { needed } else { grown.min(rendering.bytes_max) };
            self.body.reserve_exact(wanted.max(needed) - used);
        }
    }
}

/// A longer body gets so many times the room that it needs, within the limit of its page.
const LONG_BYTES: usize = 1 << 20;
const LONG_GROWTH: usize = 8;
/// Room for the names of an issue's members.
const NAMES_BYTES: usize = 1 << 10;

/// Which fragments with texts are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each fragment")]
pub struct TextFragments {
    pub head: bool,
    pub custom_fields: bool,
    pub feedback: bool,
    pub private_notes: bool,
    pub messages: bool,
}

/// The wanted fragments of one issue.
#[derive(Debug, Clone, Copy, Default)]
pub struct IssueTexts<'i> {
    pub head: Option<&'i [u8]>,
    pub custom_fields: Option<&'i [u8]>,
    pub feedback: Option<&'i [u8]>,
    pub private_notes: Option<&'i [u8]>,
    pub messages: Option<&'i [u8]>,
}

/// Rows of a domain by their times, in one snapshot: those of issues or of core profiles.
pub trait TimedRows {
    /// Whether no two rows have the same instant of creation. Their ids are then not compared.
    const CREATED_ONE_BY_ONE: bool;

    type Store: SetStore;

    fn thresholds(&self) -> Thresholds {
        Thresholds::USUAL
    }

    /// Their sets.
    fn sets(&self) -> StoredSets<'_, Self::Store>;

    /// Visits the issues of a span of time, in order, until `visit` returns false.
    fn walk_span(
        &self,
        key: SortKey,
        order: SortOrder,
        span: TimeRange,
        visit: impl FnMut(TimedRow) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError>;
}

/// The issues of a domain, in one snapshot.
pub trait Source: TimedRows {
    /// Issues whose texts are read together if only the first ones that pass are wanted.
    const TEXTS_PER_QUESTION: usize;

    /// The issues in the set and the spans. In which order and how many at a time the leaves of the
    /// set are read is the backend's choice.
    fn matches(&self, matches: &Matches) -> Result<RoaringBitmap, StoreError>;

    /// Visits id and address of every agent.
    fn agents(&self, mut visit: impl FnMut(&str, &str)) -> Result<(), StoreError> {
        let store = self.sets().store;
        let select = "SELECT id, email FROM agents WHERE domain_id = ?1";
        store.each(select, values![store.domain()], &mut |row| {
            visit(&row.get::<String>(0)?, &row.get::<String>(1)?);
            Ok(())
        })
    }

    /// The sum of the counters, and the count at each end.
    fn count(&self, question: &CountQuestion<'_>) -> Result<(u64, [u64; 2]), StoreError>;

    /// The sums of counters day by day.
    fn count_by_day(&self, sum: &CounterSum<'_>) -> Result<BTreeMap<i64, i64>, StoreError>;

    /// Renders the selected issues until the page has as many issues or bytes as it may have; one
    /// issue at least.
    fn render(
        &self,
        selection: Selection<'_>,
        rendering: &Rendering,
    ) -> Result<RenderedPage, StoreError>;

    /// The issues of a search that pass: those that [`search`](super::texts::search) finds, on
    /// one reader or on several.
    fn search(
        &self,
        search: &TextSearch<'_>,
        throttle: &mut Throttle,
    ) -> Result<RoaringBitmap, StoreError>;

    /// Visits texts of these issues, in the order given, until `visit` returns false.
    fn texts(
        &self,
        fragments: TextFragments,
        rows: &[u32],
        visit: impl FnMut(u32, IssueTexts<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError>;
}
