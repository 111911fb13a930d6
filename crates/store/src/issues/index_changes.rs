//! Index maintenance: turns an issue's old and new state into updates of counters and term sets.
//! Imports and edits share this entry point. Changes add up until the chunk or command ends; the
//! backend then writes them once, in its transaction. Invariant: after the writes of
//! [`IndexChanges::finish`], counters and terms are those that the model names for the stored rows.

use caseload_model::issue::{
    Facet, IssueColumns, IssueFragments, span_of_day, visit_counters, visit_terms,
};
use foldhash::{HashMap, HashMapExt as _};

use crate::StoreError;
use crate::rowset::row_number;
use crate::term_changes::{TermChanges, TermStep, TermUpdate, TermUpdates};
use crate::text_index::{TextMark, may_differ};

/// The part of an issue that decides its counters and terms.
#[derive(Debug, Clone, Copy)]
pub struct IndexedIssue<'i> {
    pub columns: &'i IssueColumns,
    pub fragments: &'i IssueFragments<'i>,
}

/// The changes of one domain, added up.
#[derive(Debug, Default)]
pub struct IndexChanges {
    /// By facet, value and day; see [`counter_key`]. The counters of 32-day spans are derived from
    /// these at the end.
    counters: HashMap<Box<[u8]>, i64>,
    terms: TermChanges,
    /// Terms of issues that were visited.
    visits: usize,
    /// Rows whose texts change, and rows that are deleted.
    written: Vec<u32>,
    erased: Vec<u32>,
    /// A buffer for keys.
    key: Vec<u8>,
}

impl IndexChanges {
    /// Adds the change of the issue in `row`. `before` is None for a new issue.
    pub fn change(
        &mut self,
        row: i64,
        before: Option<IndexedIssue<'_>>,
        after: Option<IndexedIssue<'_>>,
    ) -> Result<(), StoreError> {
        let row = row_number(row)?;
        match (before, after) {
            (Some(_), None) => self.erased.push(row),
            (Some(before), Some(after)) if !may_differ(before.fragments, after.fragments) => {}
            _ => self.written.push(row),
        }
        for (issue, step) in [(before, TermStep::Leaves), (after, TermStep::Enters)] {
            if let Some(issue) = issue {
                self.note(row, issue, step);
            }
        }
        Ok(())
    }

    fn note(&mut self, row: u32, issue: IndexedIssue<'_>, step: TermStep) {
        let Self { counters, terms, visits, key, .. } = self;
        let by = if step == TermStep::Enters { 1 } else { -1 };
        visit_counters(issue.columns, &mut |facet, value, day| {
            counter_key(facet, value, day, key);
            match counters.get_mut(key.as_slice()) {
                Some(sum) => *sum += by,
                None => drop(counters.insert(key.as_slice().into(), by)),
            }
        });
        visit_terms(issue.columns, issue.fragments, &mut |kind, value| {
            *visits += 1;
            terms.step(kind, value, row, step);
        });
    }

    /// Terms of old and new states so far, whether or not they differ: the work for the index.
    pub const fn visits(&self) -> usize {
        self.visits
    }

    /// The net changes, in the order of their keys.
    pub fn finish(self) -> IndexUpdate {
        let mut counters = changed(self.counters);
        counters.extend(changed(spans(&counters)));
        let mut texts = marks(self.written, false);
        texts.extend(marks(self.erased, true));
        counters.sort_unstable();
        IndexUpdate { counters, terms: self.terms.finish(), texts }
    }
}

/// Marks of these rows, one for each range.
fn marks(mut rows: Vec<u32>, erased: bool) -> Vec<TextMark> {
    rows.sort_unstable();
    rows.dedup();
    let ranges = rows.chunk_by(|a, b| a + 1 == *b);
    let mark = |rows: &[u32]| TextMark { first: rows[0], last: rows[rows.len() - 1], erased };
    ranges.map(mark).collect()
}

/// Counters whose value changes.
fn changed(counters: HashMap<Box<[u8]>, i64>) -> Vec<(Box<[u8]>, i64)> {
    counters.into_iter().filter(|(_, sum)| *sum != 0).collect()
}

/// The changes of the 32-day spans that contain these days.
fn spans(days: &[(Box<[u8]>, i64)]) -> HashMap<Box<[u8]>, i64> {
    let mut spans: HashMap<Box<[u8]>, i64> = HashMap::new();
    for (key, sum) in days {
        let Some((rest, day)) = key.split_last_chunk() else { continue };
        let span = day_bytes(span_of_day(day_of(*day)));
        *spans.entry([rest, &span].concat().into()).or_default() += sum;
    }
    spans
}

/// Net changes: each counter, and each row of a term, at most once.
#[derive(Debug, Default)]
pub struct IndexUpdate {
    counters: Vec<(Box<[u8]>, i64)>,
    terms: TermUpdates,
    /// Rows that the text index has to read.
    pub texts: Vec<TextMark>,
}

impl IndexUpdate {
    /// Facet, value, day (or span) and difference of each counter; the difference is never 0.
    pub fn counters(&self) -> impl Iterator<Item = (u8, &[u8], i64, i64)> {
        self.counters.iter().filter_map(|(key, sum)| {
            let (facet, value, day) = counter_parts(key)?;
            Some((facet, value, day, *sum))
        })
    }

    /// The changes of each term, block by block.
    pub fn terms(&self) -> impl Iterator<Item = TermUpdate<'_>> {
        self.terms.each()
    }
}

/// The key of a counter: facet, value, day. Its order is that of the table.
fn counter_key(facet: Facet, value: &[u8], day: i64, key: &mut Vec<u8>) {
    key.clear();
    key.push(facet as u8);
    key.extend_from_slice(value);
    key.extend_from_slice(&day_bytes(day));
}

/// A day as bytes that sort like days.
const fn day_bytes(day: i64) -> [u8; 8] {
    (day.cast_unsigned() ^ 1 << 63).to_be_bytes()
}

const fn day_of(bytes: [u8; 8]) -> i64 {
    (u64::from_be_bytes(bytes) ^ 1 << 63).cast_signed()
}

fn counter_parts(key: &[u8]) -> Option<(u8, &[u8], i64)> {
    let (facet, rest) = key.split_first()?;
    let (value, day) = rest.split_last_chunk()?;
    Some((*facet, value, day_of(*day)))
}
