//! How SQLite finds the matches of a query: leaf by leaf, so nothing is read for a set that is
//! empty already. A short span with few issues comes first; the sets of the other filters are then
//! read only in the blocks that hold these issues.

use std::ops::RangeInclusive;

use caseload_model::issue_query::TimeRange;
use caseload_model::time::DAY_MS;
use caseload_store::query::find::within;
use caseload_store::query::{Counters, DaySplit, Leaf, Matches, Rows, Span};
use caseload_store::rowset::block_of;
use roaring::RoaringBitmap;

use super::source::IssueSource;
use super::{counts, sets};
use crate::Fault;

/// The longest span of time that is short.
const SHORT_SPAN_MS: i64 = 2 * DAY_MS;

pub(super) fn find(issues: &IssueSource<'_>, matches: &Matches) -> Result<RoaringBitmap, Fault> {
    let Some(short) = short_span(issues, matches)? else {
        let found = matches.filters.eval(&mut |leaf| answer(issues, leaf, &(0..=u32::MAX)))?;
        return within(issues, found, &matches.spans);
    };
    let IssueSource { conn, domain, .. } = *issues;
    let few = sets::span(conn, domain, short.key, &DaySplit::of(short.range))?;
    let Some((first, last)) = few.min().zip(few.max()) else { return Ok(few) };
    let blocks = block_of(first)..=block_of(last);
    let filters = matches.filters.eval(&mut |leaf| answer(issues, leaf, &blocks))?;
    let others = matches.spans.iter().filter(|span| **span != short);
    within(issues, Rows::In(few).and(filters), others)
}

/// The first short span whose days have few issues.
fn short_span(issues: &IssueSource<'_>, matches: &Matches) -> Result<Option<Span>, Fault> {
    for span in matches.spans.iter().filter(|span| is_short(&span.range)) {
        let counters = Counters::of_time(span.key);
        let sum = counters.sum(DaySplit::of(span.range).touched());
        let held = counts::total(issues.conn, issues.domain, &sum)?;
        if held <= issues.thresholds.short_span_issues_max {
            return Ok(Some(*span));
        }
    }
    Ok(None)
}

fn is_short(range: &TimeRange) -> bool {
    let length = range.until.zip(range.since).map(|(until, since)| until.0.saturating_sub(since.0));
    length.is_some_and(|length| length <= SHORT_SPAN_MS)
}

/// The issues of a leaf. Only `blocks` are read of the sets of terms.
fn answer(
    issues: &IssueSource<'_>,
    leaf: &Leaf,
    blocks: &RangeInclusive<u32>,
) -> Result<RoaringBitmap, Fault> {
    let IssueSource { conn, domain, .. } = *issues;
    match leaf {
        Leaf::Term { kind, values } => sets::any(conn, domain, *kind, values, blocks),
        Leaf::Range { kind, from, until } => sets::between(conn, domain, *kind, from, until),
        Leaf::Ids(ids) => sets::ids(conn, domain, ids),
    }
}
