//! Issues in SQLite: importing, listing and reading them. A narrow row per issue with its indexes,
//! kept counts and sets of rows answer filters, sorts and totals; rendered fragments beside it are
//! what is served. What an import means and what a query matches are the model's; here is only
//! where it is kept and how it is found. Invariant: rows, fragments and counts change in one
//! transaction.

mod counts;
mod find;
mod import;
mod index;
mod list;
mod need;
mod ordered;
mod page;
mod rowset;
mod sets;
mod sql;
mod step;
mod tally;
mod texts;
pub(super) mod write;

pub(super) use import::Import;
pub(super) use list::{get, list};
pub(super) use page::{FRAGMENTS, FRAGMENTS_COUNT, fragments};
pub(super) use rowset::decode as decode_rows;
pub(super) use step::step;
pub(super) use texts::reads_texts;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
