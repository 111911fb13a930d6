//! Reading issues: a page with its exact total, and one issue by its id. Both run in the snapshot
//! of the read they are called in, so count and page agree. Narrow rows are found first, through an
//! index; fragments are fetched for the page alone.

use std::borrow::Cow;

use caseload_model::ids::DomainId;
use caseload_model::issue_query::{IssueQuery, RatingSet, TimeRange};
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::page::{Written, position, write_rows};
use super::sql::{self, Index};
use super::tally;
use crate::{GetIssue, IssuePage, ListIssues, RenderedIssue, StepForm, StoreError};

/// Offset from which on the day to begin at is looked up.
const SEEK_OFFSET_MIN: u64 = 1000;
/// Matches that are rather sorted than looked for along an index that has their order.
const SORTED_MATCHES_MAX: u64 = 10_000;
/// How pages are written: whatever they hold, to the end.
const WHOLE: (StepForm, usize) = (StepForm::Commas, usize::MAX);

/// One page with the exact total, from the snapshot that `conn` is in.
pub(in crate::sqlite) fn list(
    conn: &Connection,
    request: &ListIssues,
) -> Result<IssuePage, StoreError> {
    let mut query = Cow::Borrowed(&request.query);
    if query.rating == Some(RatingSet::ALL) {
        query.to_mut().rating = None;
    }
    if matches_nothing(&query) {
        return Ok(IssuePage::default());
    }
    let domain = request.domain;
    let mut offset = request.paging.offset();
    let tally = tally::exact(&query);
    let (total, through) = if let Some(tally) = &tally {
        let counted = tally.count(conn, domain, &query)?;
        if tally.time == query.sort.key && offset >= SEEK_OFFSET_MIN && offset < counted.total() {
            let (narrowed, left) = tally.seek(conn, domain, &query, &counted, offset)?;
            (query, offset) = (Cow::Owned(narrowed), left);
        }
        (counted.total(), tally.index)
    } else {
        let index = tally::narrowest(conn, domain, &query)?;
        (tally::run_count(conn, &sql::count(domain, &query, index))?, index)
    };
    let mut page = IssuePage { total_hits: total, ..IssuePage::default() };
    let limit = total.saturating_sub(request.paging.offset()).min(request.paging.page_size);
    if limit > 0 {
        let index = page_index(&query, through, total);
        let rows = rows(conn, domain, &query, index, limit, offset)?;
        page.count = rows.len() as u32;
        page.last = rows.last().map(|row| position(conn, *row, query.sort.key)).transpose()?;
        let mut written = Written::default();
        write_rows(conn, &rows, request.view, WHOLE, &mut written)?;
        (page.body, page.stamp) = (written.body, written.stamp.finish());
    }
    Ok(page)
}

/// Whether a list of alternatives is empty or a range ends before it begins. No SQL is made of such
/// a query.
pub(super) fn matches_nothing(query: &IssueQuery) -> bool {
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

/// The index to find the page through: one that has the order, or, where few issues match, the one
/// that they were counted through.
fn page_index(query: &IssueQuery, counted_through: Index, total: u64) -> Index {
    let ordered = counted_through.order() == Some(query.sort.key);
    let narrows = counted_through != Index::Creation || !query.created.is_unbounded();
    if ordered || (narrows && total <= SORTED_MATCHES_MAX) {
        counted_through
    } else {
        Index::of_order(query.sort.key)
    }
}

fn rows(
    conn: &Connection,
    domain: DomainId,
    query: &IssueQuery,
    index: Index,
    limit: u64,
    offset: u64,
) -> Result<Vec<i64>, StoreError> {
    let sql = sql::page(domain, query, index, None, limit, offset);
    let mut select = conn.prepare_cached(&sql.text)?;
    let rows = select.query_map(params_from_iter(&sql.parameters), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// One issue, rendered.
pub(in crate::sqlite) fn get(
    conn: &Connection,
    request: &GetIssue,
) -> Result<Option<RenderedIssue>, StoreError> {
    let Ok(id) = i64::try_from(request.id) else { return Ok(None) };
    let row: Option<i64> = conn
        .prepare_cached("SELECT row FROM issues WHERE domain_id = ?1 AND id = ?2")?
        .query_row(params![request.domain.0, id], |row| row.get(0))
        .optional()?;
    let Some(row) = row else { return Ok(None) };
    let mut written = Written::default();
    write_rows(conn, &[row], request.view, WHOLE, &mut written)?;
    Ok(Some(RenderedIssue { body: written.body, stamp: written.stamp.finish() }))
}
