//! A page of issues with its exact total, both from one snapshot, so that count and page agree.
//! Issues are counted by counters or by sets of rows and found through an index or from a set;
//! fragments are fetched for the page alone.

use std::borrow::Cow;

use caseload_model::issue_query::{IssueQuery, RatingSet, TimeRange};
use roaring::RoaringBitmap;

use super::ordered::{self, Part};
use super::reads::{Along, Chosen, IssueReads, Shown};
use super::tally::{self, Tally};
use super::texts::{Texts, reads_texts};
use super::{at_once, find};
use crate::pace::Pace;
use crate::{IssuePage, ListIssues, StepForm, StoreError};

/// Offset from which on the day to begin at is looked up.
const SEEK_OFFSET_MIN: u64 = if cfg!(test) { 2 } else { 1000 };

/// One page with the exact total.
pub fn list<R: IssueReads>(
    reads: &R,
    request: &ListIssues,
    pace: &mut Pace,
) -> Result<IssuePage, StoreError> {
    let query = plain(&request.query);
    if matches_nothing(&query) {
        return Ok(IssuePage::default());
    }
    let part =
        Part { after: None, offset: request.paging.offset(), limit: request.paging.page_size };
    let shown = shown(request, &query);
    if let Some(tally) = tally::exact(&query) {
        return counted(reads, &query, &tally, part, &shown);
    }
    let found = matches(reads, &query, pace)?;
    let part = within(part, found.len());
    let rows = ordered::rows(reads, &found, &query, part, None)?;
    page(reads, found.len(), &Chosen::Rows(rows), &shown)
}

/// The total alone.
pub(super) fn total<R: IssueReads>(
    reads: &R,
    query: &IssueQuery,
    pace: &mut Pace,
) -> Result<u64, StoreError> {
    let query = plain(query);
    if matches_nothing(&query) {
        return Ok(0);
    }
    match tally::exact(&query) {
        Some(tally) => Ok(tally.count(reads, &query)?.total()),
        None => Ok(matches(reads, &query, pace)?.len()),
    }
}

/// The issues that match, found by sets and texts.
fn matches<R: IssueReads>(
    reads: &R,
    query: &IssueQuery,
    pace: &mut Pace,
) -> Result<RoaringBitmap, StoreError> {
    let found = find::candidates(reads, query)?;
    if reads_texts(query) { Texts::new(query, pace).filter(reads, &found) } else { Ok(found) }
}

/// How the issues of a page are shown: all of them.
pub(super) fn shown(request: &ListIssues, query: &IssueQuery) -> Shown {
    Shown {
        view: request.view,
        form: StepForm::Commas,
        issues_max: usize::MAX,
        bytes_max: usize::MAX,
        key: query.sort.key,
    }
}

/// The page of the issues that are chosen.
fn page<R: IssueReads>(
    reads: &R,
    total_hits: u64,
    chosen: &Chosen<'_>,
    shown: &Shown,
) -> Result<IssuePage, StoreError> {
    let none = match chosen {
        Chosen::Rows(rows) => rows.is_empty(),
        Chosen::Along(along) => along.limit == 0,
    };
    if none {
        return Ok(IssuePage { total_hits, ..IssuePage::default() });
    }
    Ok(at_once::page(total_hits, reads.write(chosen, shown)?))
}

/// The query without a filter that lets every issue through.
pub fn plain(query: &IssueQuery) -> Cow<'_, IssueQuery> {
    let mut query = Cow::Borrowed(query);
    if query.rating == Some(RatingSet::ALL) {
        query.to_mut().rating = None;
    }
    query
}

/// The part as far as a list of `total` issues has it.
fn within(part: Part, total: u64) -> Part {
    Part { limit: part.limit.min(total.saturating_sub(part.offset)), ..part }
}

/// Total and page of a query that counters cover.
fn counted<R: IssueReads>(
    reads: &R,
    query: &IssueQuery,
    tally: &Tally,
    part: Part,
    shown: &Shown,
) -> Result<IssuePage, StoreError> {
    let counted = tally.count(reads, query)?;
    let total = counted.total();
    let mut part = within(part, total);
    if part.limit == 0 {
        return page(reads, total, &Chosen::Rows(Vec::new()), shown);
    }
    let mut query = Cow::Borrowed(query);
    if seeks(tally, &query, part.offset) {
        let (narrowed, left) = tally.seek(reads, &query, &counted, part.offset)?;
        (query, part.offset) = (Cow::Owned(narrowed), left);
    }
    let chosen = if goes_along(tally, &query) {
        let Part { limit, offset, .. } = part;
        Chosen::Along(Along { query: &query, after: None, index: tally.index, limit, offset })
    } else {
        let found = find::candidates(reads, &query)?;
        Chosen::Rows(ordered::rows(reads, &found, &query, part, None)?)
    };
    page(reads, total, &chosen, shown)
}

/// Whether the day to begin at is looked up in the counters.
pub(super) fn seeks(tally: &Tally, query: &IssueQuery, offset: u64) -> bool {
    tally.time == query.sort.key && offset >= SEEK_OFFSET_MIN
}

/// Whether the counters' index has the list's order and decides alone which issues match.
pub(super) fn goes_along(tally: &Tally, query: &IssueQuery) -> bool {
    tally.index.order() == query.sort.key && tally::is_decided_by(query, tally.index)
}

/// Whether a list of alternatives is empty or a range ends before it begins. No SQL is made of such
/// a query.
pub fn matches_nothing(query: &IssueQuery) -> bool {
    let empty = |range: &TimeRange| match (range.since, range.until) {
        (Some(since), Some(until)) => since > until,
        _ => false,
    };
    let none = |texts: &Option<Vec<String>>| texts.as_ref().is_some_and(Vec::is_empty);
    [&query.created, &query.updated, &query.changed].into_iter().any(empty)
        || [&query.app_ids, &query.platform_types, &query.queue_ids, &query.end_user_ids]
            .into_iter()
            .any(none)
        || query.states.as_ref().is_some_and(Vec::is_empty)
        || query.ids.as_ref().is_some_and(Vec::is_empty)
        || query.rating.is_some_and(|set| !set.has_missing() && set.ratings().next().is_none())
}
