//! A search in the texts of very many issues, by one reader or by several that see the same texts.
//! Each takes one part of the issues after the other, so that none waits long for another.

use std::sync::atomic::{AtomicUsize, Ordering};

use caseload_model::issue_query::IssueQuery;
use roaring::RoaringBitmap;

/// Issues of a part.
const PART: usize = 512;

/// The search, which its readers share.
#[derive(Debug)]
pub struct TextSearch<'q> {
    query: &'q IssueQuery,
    rows: Vec<u32>,
    /// The place of the first row that no reader has taken.
    next: AtomicUsize,
}

impl<'q> TextSearch<'q> {
    pub(super) fn new(query: &'q IssueQuery, rows: &RoaringBitmap) -> Self {
        Self { query, rows: rows.iter().collect(), next: AtomicUsize::new(0) }
    }

    /// The number of issues that are searched.
    pub const fn issues(&self) -> usize {
        self.rows.len()
    }

    pub(super) const fn query(&self) -> &'q IssueQuery {
        self.query
    }

    /// Takes the next part. At the end, it is empty.
    pub(super) fn take_part(&self) -> &[u32] {
        let first = self.next.fetch_add(PART, Ordering::Relaxed).min(self.rows.len());
        &self.rows[first..self.rows.len().min(first + PART)]
    }
}
