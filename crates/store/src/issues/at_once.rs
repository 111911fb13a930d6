//! Lists of which everything can be asked at once: the page goes along one index, the total, where
//! it is wanted, is added up from counters, and neither question depends on the other's answer. A
//! backend behind a network answers such a list in one round trip; whatever is not such a list goes
//! the way of [`super::list`] and [`super::step`], which come to the same.

use std::borrow::Cow;

use caseload_model::issue::ListVersion;
use caseload_model::issue_query::{IssueQuery, ListPosition};

use super::list::{goes_along, matches_nothing, plain, seeks, shown};
use super::reads::{Along, Index, Shown, Written};
use super::step::{self, index_of, narrowed};
use super::tally::{self, Question, Tally};
use crate::{IssuePage, IssueStep, ListIssues, StepIssues};

/// What is asked.
#[derive(Debug)]
pub struct AtOnce<'r> {
    /// What is counted, and by which counters.
    counted: Option<(Cow<'r, IssueQuery>, Tally)>,
    query: Cow<'r, IssueQuery>,
    after: Option<ListPosition>,
    index: Index,
    limit: u64,
    offset: u64,
    pub shown: Shown,
}

impl<'r> AtOnce<'r> {
    /// A page with its total, where it is such a list.
    pub fn of_list(request: &'r ListIssues) -> Option<Self> {
        let query = plain(&request.query);
        if matches_nothing(&query) {
            return None;
        }
        let tally = tally::exact(&query)?;
        let offset = request.paging.offset();
        if seeks(&tally, &query, offset) || !goes_along(&tally, &query) {
            return None;
        }
        Some(Self {
            after: None,
            index: tally.index,
            limit: request.paging.page_size,
            offset,
            shown: shown(request, &query),
            counted: Some((query.clone(), tally)),
            query,
        })
    }

    /// A step that is bound by a number of issues alone, where it is one of such a list.
    pub fn of_step(request: &'r StepIssues) -> Option<Self> {
        let (query, after) = narrowed(&request.query, request.after);
        if request.bytes_max < usize::MAX || matches_nothing(&query) {
            return None;
        }
        let counted = if request.count {
            let whole = plain(&request.query);
            let tally = tally::exact(&whole)?;
            // Then the counters' ends are decided by an index, too.
            if !tally::is_decided_by(&whole, tally.index) {
                return None;
            }
            Some((whole, tally))
        } else {
            None
        };
        Some(Self {
            counted,
            after,
            index: index_of(&query)?,
            limit: step::wanted(request) + 1,
            offset: 0,
            shown: step::shown(request, &query),
            query,
        })
    }

    /// The question for the total.
    pub fn question(&self) -> Option<Question<'_>> {
        self.counted.as_ref().map(|(query, tally)| tally.question(query))
    }

    pub fn along(&self) -> Along<'_> {
        let Self { ref query, after, index, limit, offset, .. } = *self;
        Along { query, after, index, limit, offset }
    }
}

/// The page that was written.
pub fn page(total_hits: u64, written: Written) -> IssuePage {
    IssuePage {
        total_hits,
        count: written.count as u32,
        body: written.body,
        last: written.last,
        version: if written.count == 0 { ListVersion::default() } else { written.version.finish() },
    }
}

/// The step that was written.
pub fn step(total_hits: Option<u64>, written: Written) -> IssueStep {
    IssueStep {
        total_hits,
        count: written.count as u32,
        more: written.count < written.found,
        last: written.last,
        body: written.body,
        version: written.version.finish(),
    }
}
