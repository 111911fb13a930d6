//! Issues in SQLite: a narrow row per issue with its indexes, counters and sets of rows for
//! filters, sorts and totals, and the rendered fragments that pages are made of. The model
//! defines the meaning of imports and queries; [`caseload_store::query`] plans how a query is
//! answered. This module holds the statements. Invariant: rows, fragments, counters and sets change
//! in one transaction.

mod counts;
mod import;
mod index;
mod index_thread;
mod issue_store;
mod matches;
mod page;
mod records;
mod sets;
mod source;
mod sql;
mod text_index;

pub(super) use import::Import;
pub(super) use index::Statements;
pub(super) use page::numbers;
pub(super) use source::IssueSource;
pub(super) use text_index::index_texts;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod plans;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
