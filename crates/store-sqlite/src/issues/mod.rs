//! Issues in SQLite: importing, reading and writing them. A narrow row per issue with its indexes,
//! kept counts and sets of rows answer filters, sorts and totals; rendered fragments beside it are
//! what is served. What an import means and what a query matches are the model's, how a query is
//! answered is [`caseload_store::issues`]; here is only where it is kept. Invariant: rows,
//! fragments and counts change in one transaction.

mod columns;
mod counts;
mod import;
mod index;
mod indexing;
mod need;
mod page;
mod reads;
mod rows;
mod sets;
mod sql;
mod writes;

pub(super) use columns::{BEHIND, COLUMNS, columns};
pub(super) use import::Import;
pub(super) use page::{FRAGMENTS, FRAGMENTS_COUNT, fragments, get, numbers};
pub(super) use reads::Reads;
pub(super) use writes::Writes;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod plans;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
