//! Issues in SQLite: importing, listing and reading them. A narrow row per issue answers filters
//! and sorts, rendered fragments beside it are what is served, kept counts answer totals. What an
//! import means and what a query matches are the model's; here is only where it is kept and how it
//! is found. Invariant: rows, fragments and counts change in one transaction.

mod counts;
mod import;
mod index;
mod list;
mod need;
mod page;
mod rowset;
mod sql;
mod step;
mod tally;

pub(super) use import::Import;
pub(super) use list::{get, list};
pub(super) use page::{FRAGMENTS, FRAGMENTS_COUNT, fragments};
pub(super) use step::step;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
