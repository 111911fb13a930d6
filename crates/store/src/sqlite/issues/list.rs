//! Reading issues: a page with its exact total, and one issue by its id. Both run in the snapshot
//! of the read they are called in, so count and page agree. Issues are counted by counters or by
//! sets of rows and found through an index or from a set; fragments are fetched for the page alone.

use std::borrow::Cow;

use caseload_model::issue_query::{IssueQuery, RatingSet, TimeRange};
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::super::engine::Pace;
use super::find;
use super::ordered::{self, Part};
use super::page::{Written, position, write_rows};
use super::sets::Sets;
use super::sql::{self, Sql};
use super::tally::{self, Tally};
use super::texts::{Texts, reads_texts};
use crate::{GetIssue, IssuePage, ListIssues, RenderedIssue, StepForm, StoreError};

/// Offset from which on the day to begin at is looked up.
const SEEK_OFFSET_MIN: u64 = if cfg!(test) { 2 } else { 1000 };
/// How pages are written: whatever they hold, to the end.
const WHOLE: (StepForm, usize) = (StepForm::Commas, usize::MAX);

/// One page with the exact total, from the snapshot that `conn` is in.
pub(in crate::sqlite) fn list(
    conn: &Connection,
    request: &ListIssues,
    pace: &mut Pace,
) -> Result<IssuePage, StoreError> {
    let query = plain(&request.query);
    if matches_nothing(&query) {
        return Ok(IssuePage::default());
    }
    let sets = Sets { conn, domain: request.domain };
    let part =
        Part { after: None, offset: request.paging.offset(), limit: request.paging.page_size };
    let (total_hits, rows) = if let Some(tally) = tally::exact(&query) {
        counted(sets, &query, &tally, part)?
    } else {
        let mut found = find::candidates(sets, &query)?;
        if reads_texts(&query) {
            found = Texts::new(conn, &query, pace)?.filter(&found)?;
        }
        let part = within(part, found.len());
        (found.len(), ordered::rows(sets, &found, &query, part, None)?)
    };
    let mut page = IssuePage { total_hits, count: rows.len() as u32, ..IssuePage::default() };
    let Some(last) = rows.last() else { return Ok(page) };
    page.last = Some(position(conn, *last, query.sort.key)?);
    let mut written = Written::default();
    write_rows(conn, &rows, request.view, WHOLE, &mut written)?;
    (page.body, page.stamp) = (written.body, written.stamp.finish());
    Ok(page)
}

/// The query without a filter that lets every issue through.
pub(super) fn plain(query: &IssueQuery) -> Cow<'_, IssueQuery> {
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
fn counted(
    sets: Sets<'_>,
    query: &IssueQuery,
    tally: &Tally,
    part: Part,
) -> Result<(u64, Vec<i64>), StoreError> {
    let Sets { conn, domain } = sets;
    let counted = tally.count(conn, domain, query)?;
    let total = counted.total();
    let mut part = within(part, total);
    if part.limit == 0 {
        return Ok((total, Vec::new()));
    }
    let mut query = Cow::Borrowed(query);
    if tally.time == query.sort.key && part.offset >= SEEK_OFFSET_MIN {
        let (narrowed, left) = tally.seek(conn, domain, &query, &counted, part.offset)?;
        (query, part.offset) = (Cow::Owned(narrowed), left);
    }
    if tally.index.order() == query.sort.key && tally::is_decided_by(&query, tally.index) {
        let sql = sql::page(domain, &query, tally.index, None, part.limit, part.offset);
        return Ok((total, found(conn, &sql)?));
    }
    let found = find::candidates(sets, &query)?;
    Ok((total, ordered::rows(sets, &found, &query, part, None)?))
}

/// The rows that a statement selects.
pub(super) fn found(conn: &Connection, sql: &Sql) -> Result<Vec<i64>, StoreError> {
    let mut select = conn.prepare_cached(&sql.text)?;
    let rows = select.query_map(params_from_iter(&sql.parameters), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
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
