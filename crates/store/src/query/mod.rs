//! Answering lists of issues, whatever backend stores them. A query becomes a plan ([`plan`]), a
//! set of issues ([`set`], [`matches`]) or a scan of an index, a total ([`counters`], [`totals`]),
//! a part of the set in order ([`order`]) and a page ([`run`]), or numbers of groups ([`groups`]).
//! Sets of terms are read by [`stored_sets`], for issues and for core profiles. A backend answers
//! the other questions of [`source::Source`]. Invariant: whatever plan a query gets, totals, pages
//! and steps are those of the model's `IssueQuery::matches` and `Sort::compare`.

pub mod counters;
pub mod days;
mod explain;
pub mod find;
mod groups;
pub mod index;
pub mod matches;
pub mod order;
pub mod plan;
pub mod run;
mod search;
pub mod set;
pub mod source;
pub mod stored_sets;
mod texts;
mod thresholds;
mod totals;
mod words;

pub use counters::{CounterSum, Counters};
pub use days::{DaySplit, Days};
pub use explain::explain;
pub use groups::{count, is_expensive_count};
pub use index::Index;
pub use matches::{Matches, Span, is_expensive};
pub use plan::{Page, Part, Plan, Planned, Request, Scan, Total};
pub use run::{issue, list, page_of, step, step_of};
pub use search::TextSearch;
pub use set::{Answers, Leaf, Rows, Set};
pub use source::{
    CountQuestion, IssueTexts, RenderedPage, Rendering, Selection, Source, TextFragments, TimedRows,
};
pub use stored_sets::{SetStore, StoredSets, TimedRow};
pub use texts::search;
pub use thresholds::Thresholds;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
