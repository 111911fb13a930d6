//! Finding issues, whatever keeps them: which counters and sets answer a query, in what order its
//! issues come, what a step begins with, which of them hold a text, and what a change of an issue
//! does to what it is found by. Nothing here knows SQL: a backend answers the questions of
//! [`IssueReads`] and keeps what [`Settled`] lists. Invariant: whatever way is taken, totals, pages
//! and steps are those of the model's `IssueQuery::matches` and `Sort::compare`.

mod asked;
mod at_once;
mod changes;
mod find;
mod list;
mod ordered;
mod planning;
mod reads;
mod rowset;
mod step;
mod stored;
mod tally;
mod texts;
pub(crate) mod write;

pub(crate) use at_once::{AtOnce, page as page_of, step as step_of};
pub(crate) use changes::{Changes, Indexed, SetSteps, Settled, Step, left_nothing};
pub(crate) use list::list;
#[cfg(test)]
pub(crate) use list::{matches_nothing, plain};
pub(crate) use planning::{Known, Planning};
pub(crate) use reads::{
    Along, Chosen, Days, Index, IssueReads, PlacedRow, Shown, Sums, TextParts, TextsOf, Total,
    Wanted, Written,
};
pub(crate) use rowset::{Gathered, LIST, decode, encode, encode_rows, place_of, row_number};
pub(crate) use step::step;
#[cfg(test)]
pub(crate) use step::{index_of, narrowed};
pub(crate) use stored::StoredColumns;
pub(crate) use tally::{Question, Split};
#[cfg(test)]
pub(crate) use tally::{exact, is_decided_by};
pub(crate) use texts::reads_texts;
pub(crate) use write::{Birth, IssueWrites, Replaced};
