//! Index maintenance: turns an issue's old and new state into updates of counters and term sets.
//! Imports and edits share this entry point. Changes add up until the chunk or command ends; the
//! backend then writes them once, in its transaction. Invariant: after the writes of
//! [`IndexChanges::finish`], counters and terms are those that the model names for the stored rows.

use caseload_model::issue::{
    Facet, IssueColumns, IssueFragments, TermKind, span_of_day, visit_counters, visit_terms,
};
use foldhash::{HashMap, HashMapExt as _};

use crate::StoreError;
use crate::rowset::{block_of, row_number};
use crate::text_index::{TextMark, may_differ};

/// The part of an issue that decides its counters and terms.
#[derive(Debug, Clone, Copy)]
pub struct IndexedIssue<'i> {
    pub columns: &'i IssueColumns,
    pub fragments: &'i IssueFragments<'i>,
}

/// Whether a row enters or leaves a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermStep {
    Leaves,
    Enters,
}

/// Rows with their steps.
type Steps = Vec<(u32, TermStep)>;

/// The changes of one domain, added up.
#[derive(Debug, Default)]
pub struct IndexChanges {
    /// By facet, value and day; see [`counter_key`]. The counters of 32-day spans are derived from
    /// these at the end.
    counters: HashMap<Box<[u8]>, i64>,
    /// By kind and value. A row may occur several times; its first and its last step count.
    terms: HashMap<Box<[u8]>, Steps>,
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
        let Self { counters, terms, key, .. } = self;
        let by = if step == TermStep::Enters { 1 } else { -1 };
        visit_counters(issue.columns, &mut |facet, value, day| {
            counter_key(facet, value, day, key);
            match counters.get_mut(key.as_slice()) {
                Some(sum) => *sum += by,
                None => drop(counters.insert(key.as_slice().into(), by)),
            }
        });
        visit_terms(issue.columns, issue.fragments, &mut |kind, value| {
            key.clear();
            key.push(kind as u8);
            key.extend_from_slice(value);
            match terms.get_mut(key.as_slice()) {
                Some(steps) => steps.push((row, step)),
                None => drop(terms.insert(key.as_slice().into(), vec![(row, step)])),
            }
        });
    }

    /// The net changes, in the order of their keys.
    pub fn finish(self) -> IndexUpdate {
        let mut counters = changed(self.counters);
        counters.extend(changed(spans(&counters)));
        let terms = self.terms.into_iter().map(|(key, steps)| (key, net(steps)));
        let mut texts = marks(self.written, false);
        texts.extend(marks(self.erased, true));
        let mut update = IndexUpdate { counters, terms: terms.collect(), texts };
        update.counters.sort_unstable();
        update.terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        update
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
    terms: Vec<(Box<[u8]>, Steps)>,
    /// Rows that the text index has to read.
    pub texts: Vec<TextMark>,
}

/// Rows of one block that enter or leave a term.
#[derive(Debug, Clone, Copy)]
pub struct TermUpdate<'s> {
    pub kind: TermKind,
    pub value: &'s [u8],
    pub block: u32,
    /// Ascending; each row once.
    pub steps: &'s [(u32, TermStep)],
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
        self.terms.iter().flat_map(|(key, steps)| {
            let (code, value) = key.split_first().unwrap_or((&0, &[]));
            let kind = TermKind::from_code((*code).into());
            let blocks = steps.chunk_by(|a, b| block_of(a.0) == block_of(b.0));
            blocks.filter_map(move |steps| {
                let block = block_of(steps.first()?.0);
                Some(TermUpdate { kind: kind?, value, block, steps })
            })
        })
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

/// The net steps of one term: rows that leave it and rows that enter it.
fn net(mut steps: Steps) -> Steps {
    // The sort is stable: the steps of a row stay in order.
    steps.sort_by_key(|(row, _)| *row);
    steps
        .chunk_by(|a, b| a.0 == b.0)
        // A row whose first step leaves was in the term. A row whose last step enters is in it.
        .filter(|steps| steps[0].1 == steps[steps.len() - 1].1)
        .map(|steps| steps[0])
        .collect()
}

/// The error for a row that leaves a term it is not in, or enters one it is in.
pub fn not_in_term(kind: TermKind) -> StoreError {
    StoreError::Corrupt(format!("an issue leaves a term of kind {} it is not in", kind.as_str()))
}
