//! How SQLite finds the matches of a query: leaf by leaf, so nothing is read for a set that is
//! empty already. A short span with few issues comes first; the sets of the other filters are then
//! read only in the blocks that hold these issues.

use caseload_model::issue_query::TimeRange;
use caseload_model::time::DAY_MS;
use caseload_store::StoreError;
use caseload_store::query::find::within;
use caseload_store::query::stored_sets::BLOCKS_ALL;
use caseload_store::query::{Counters, DaySplit, Matches, Rows, Span, TimedRows};
use caseload_store::rowset::block_of;
use roaring::RoaringBitmap;

use super::counts;
use crate::Fault;
use crate::tx::DomainTx;

/// The longest span of time that is short.
const SHORT_SPAN_MS: i64 = 2 * DAY_MS;

/// The issues in the set and the spans; `source` are those of the domain.
pub(super) fn find(
    source: &impl TimedRows,
    tx: &DomainTx<'_>,
    matches: &Matches,
) -> Result<RoaringBitmap, StoreError> {
    let sets = source.sets();
    let Some(short) = short_span(tx, matches, source.thresholds().short_span_issues_max)? else {
        return within(source, sets.rows(&matches.filters, &BLOCKS_ALL)?, &matches.spans);
    };
    let few = sets.span(short.key, &DaySplit::of(short.range))?;
    let Some((first, last)) = few.min().zip(few.max()) else { return Ok(few) };
    let filters = sets.rows(&matches.filters, &(block_of(first)..=block_of(last)))?;
    let others = matches.spans.iter().filter(|span| **span != short);
    within(source, Rows::In(few).and(filters), others)
}

/// The first short span whose days have few issues.
fn short_span(tx: &DomainTx<'_>, matches: &Matches, few_max: u64) -> Result<Option<Span>, Fault> {
    for span in matches.spans.iter().filter(|span| is_short(&span.range)) {
        let counters = Counters::of_time(span.key);
        let sum = counters.sum(DaySplit::of(span.range).touched());
        if counts::total(tx.conn, tx.domain, &sum)? <= few_max {
            return Ok(Some(*span));
        }
    }
    Ok(None)
}

fn is_short(range: &TimeRange) -> bool {
    let length = range.until.zip(range.since).map(|(until, since)| until.0.saturating_sub(since.0));
    length.is_some_and(|length| length <= SHORT_SPAN_MS)
}
