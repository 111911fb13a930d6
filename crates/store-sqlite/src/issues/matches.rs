//! How SQLite finds the matches of a query: leaf by leaf, so nothing is read for a set that is
//! empty already. A short span with few issues comes first; the sets of the other filters are then
//! read only in the blocks that hold these issues.

use std::ops::RangeInclusive;

use caseload_model::ids::DomainId;
use caseload_model::issue_query::TimeRange;
use caseload_model::time::DAY_MS;
use caseload_store::query::find::within;
use caseload_store::query::{Counters, DaySplit, Leaf, Matches, Rows, Source, Span};
use caseload_store::rowset::block_of;
use caseload_store::text_index::candidates;
use roaring::RoaringBitmap;
use rusqlite::Connection;

use super::{counts, sets};
use crate::Fault;
use crate::tx::Tx;

/// The longest span of time that is short.
const SHORT_SPAN_MS: i64 = 2 * DAY_MS;

/// The issues of a domain in the set and the spans; `source` are the same issues.
pub(super) fn find(
    source: &impl Source<Error = Fault>,
    conn: &Connection,
    domain: DomainId,
    matches: &Matches,
) -> Result<RoaringBitmap, Fault> {
    let few_max = source.thresholds().short_span_issues_max;
    let Some(short) = short_span(conn, domain, matches, few_max)? else {
        let mut answer = |leaf: &Leaf| answer(conn, domain, leaf, &(0..=u32::MAX));
        let found = matches.filters.eval(&mut answer)?;
        return within(source, found, &matches.spans);
    };
    let few = sets::span(conn, domain, short.key, &DaySplit::of(short.range))?;
    let Some((first, last)) = few.min().zip(few.max()) else { return Ok(few) };
    let blocks = block_of(first)..=block_of(last);
    let filters = matches.filters.eval(&mut |leaf| answer(conn, domain, leaf, &blocks))?;
    let others = matches.spans.iter().filter(|span| **span != short);
    within(source, Rows::In(few).and(filters), others)
}

/// The first short span whose days have few issues.
fn short_span(
    conn: &Connection,
    domain: DomainId,
    matches: &Matches,
    few_max: u64,
) -> Result<Option<Span>, Fault> {
    for span in matches.spans.iter().filter(|span| is_short(&span.range)) {
        let counters = Counters::of_time(span.key);
        let sum = counters.sum(DaySplit::of(span.range).touched());
        if counts::total(conn, domain, &sum)? <= few_max {
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
    conn: &Connection,
    domain: DomainId,
    leaf: &Leaf,
    blocks: &RangeInclusive<u32>,
) -> Result<RoaringBitmap, Fault> {
    match leaf {
        Leaf::Term { kind, values } => sets::any(conn, domain, *kind, values, blocks),
        Leaf::Ranges(ranges) => sets::between(conn, domain, ranges),
        Leaf::Ids(ids) => sets::ids(conn, domain, ids),
        Leaf::Text(text) => Ok(candidates(&Tx(conn), domain, text)?),
    }
}
