//! A step through a list: the issues that follow a position, found by a range of the index that has
//! the list's order or, where filters need it, from a set of rows. What came before is never looked
//! at, so that a step costs the same at any depth, also in the middle of issues with the same
//! instant. One issue more than wanted is looked for, which tells whether a further step is worth
//! it.

use std::borrow::Cow;

use caseload_model::issue_query::{IssueQuery, ListPosition, SortKey, SortOrder};

use super::list::{matches_nothing, plain, total};
use super::ordered::{self, Part};
use super::reads::{Along, Chosen, Index, IssueReads, Shown};
use super::texts::{Texts, reads_texts};
use super::{at_once, find, tally};
use crate::pace::Pace;
use crate::{IssueStep, StepIssues, StoreError};

/// The step, with the total of the whole list where that is wanted.
pub fn step<R: IssueReads>(
    reads: &R,
    request: &StepIssues,
    pace: &mut Pace,
) -> Result<IssueStep, StoreError> {
    let total_hits = if request.count { Some(total(reads, &request.query, pace)?) } else { None };
    let (query, after) = narrowed(&request.query, request.after);
    if matches_nothing(&query) {
        return Ok(IssueStep { total_hits, ..IssueStep::default() });
    }
    let (limit, offset) = (wanted(request) + 1, 0);
    let chosen = if let Some(index) = index_of(&query) {
        Chosen::Along(Along { query: &query, after, index, limit, offset })
    } else {
        let found = find::candidates(reads, &query)?;
        let mut texts = reads_texts(&query).then(|| Texts::new(&query, pace));
        let part = Part { after, offset, limit };
        Chosen::Rows(ordered::rows(reads, &found, &query, part, texts.as_mut())?)
    };
    let written = reads.write(&chosen, &shown(request, &query))?;
    Ok(at_once::step(total_hits, written))
}

/// Issues that the step shows at most.
pub(super) fn wanted(request: &StepIssues) -> u64 {
    request.issues_max.max(1)
}

/// How they are shown.
pub(super) fn shown(request: &StepIssues, query: &IssueQuery) -> Shown {
    Shown {
        view: request.view,
        form: request.form,
        issues_max: wanted(request) as usize,
        bytes_max: request.bytes_max,
        key: query.sort.key,
    }
}

/// The query and the position to look behind. A range of an index has one beginning, so there is
/// one at most of the position and the query's own bound: whichever comes later.
pub fn narrowed(
    query: &IssueQuery,
    after: Option<ListPosition>,
) -> (Cow<'_, IssueQuery>, Option<ListPosition>) {
    let mut query = plain(query);
    let Some(position) = after else { return (query, None) };
    let ascending = query.sort.order == SortOrder::Ascending;
    let range = match query.sort.key {
        SortKey::CreationTime => query.created,
        SortKey::StateChangeTime => query.changed,
        SortKey::UpdateTime => query.updated,
    };
    let overtaken = if ascending {
        range.since.is_some_and(|since| position.at < since)
    } else {
        range.until.is_some_and(|until| position.at > until)
    };
    if overtaken {
        return (query, None);
    }
    let owned = query.to_mut();
    let range = match owned.sort.key {
        SortKey::CreationTime => &mut owned.created,
        SortKey::StateChangeTime => &mut owned.changed,
        SortKey::UpdateTime => &mut owned.updated,
    };
    // A position beyond the other bound leaves nothing, and a range says so by itself.
    let bound = if ascending { &mut range.since } else { &mut range.until };
    *bound = None;
    (query, Some(position))
}

/// The index to go along: one that has the order, so that nothing is sorted, and that decides alone
/// which issues match, so that none is passed over. Other queries go by sets.
pub fn index_of(query: &IssueQuery) -> Option<Index> {
    let index = match query.sort.key {
        SortKey::CreationTime if query.rating.is_some_and(|set| !set.has_missing()) => {
            Index::Rating
        }
        SortKey::CreationTime if query.states.is_some() => Index::State,
        key => Index::of_order(key),
    };
    tally::is_decided_by(query, index).then_some(index)
}
