//! Finding the matches, once the set of a query's filters is evaluated: backends narrow the set by
//! spans of time with [`within`], and the texts of the remaining issues are tested if the query
//! tests texts.

use caseload_model::issue_query::IssueQuery;
use roaring::RoaringBitmap;

use super::days::DaySplit;
use super::matches::{Matches, Span};
use super::search::TextSearch;
use super::set::Rows;
use super::source::{Source, TimedRows};
use super::thresholds::Thresholds;
use crate::StoreError;
use crate::throttle::Throttle;

/// How a set is narrowed to a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanFilter {
    /// The instants of its issues are read.
    Instants,
    /// It is intersected with the issues of the span.
    Sets,
}

impl SpanFilter {
    /// The cheaper way, from the size of the set.
    pub(super) const fn of(issues: u64, thresholds: Thresholds) -> Self {
        if issues <= thresholds.instants_max { Self::Instants } else { Self::Sets }
    }
}

/// The rows of `found` within the spans. Without spans, `found` is not a complement.
pub fn within<'s, S: TimedRows>(
    source: &S,
    mut found: Rows,
    spans: impl IntoIterator<Item = &'s Span>,
) -> Result<RoaringBitmap, StoreError> {
    for span in spans {
        found = match found {
            Rows::In(rows)
                if SpanFilter::of(rows.len(), source.thresholds()) == SpanFilter::Instants =>
            {
                let mut inside = RoaringBitmap::new();
                source.sets().instants(span.key, &rows, |issue| {
                    if span.range.contains(issue.at) {
                        inside.insert(issue.row);
                    }
                })?;
                Rows::In(inside)
            }
            found => {
                let split = DaySplit::of(span.range);
                found.and(Rows::In(source.sets().span(span.key, &split)?))
            }
        };
    }
    match found {
        Rows::In(rows) => Ok(rows),
        Rows::NotIn(_) => {
            Err(StoreError::Corrupt("a plan without a bound on its matches".to_owned()))
        }
    }
}

/// Every match, with its texts tested.
pub(super) fn all<S: Source>(
    source: &S,
    matches: &Matches,
    query: &IssueQuery,
    throttle: &mut Throttle,
) -> Result<RoaringBitmap, StoreError> {
    let found = source.matches(matches)?;
    if !matches.texts {
        return Ok(found);
    }
    source.search(&TextSearch::new(query, &found), throttle)
}
