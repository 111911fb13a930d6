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
pub mod write;

pub use at_once::{AtOnce, page as page_of, step as step_of};
pub use changes::{Changes, Indexed, SetSteps, Settled, Step, left_nothing};
pub use list::list;
pub use list::{matches_nothing, plain};
pub use planning::{Known, Planning};
pub use reads::{
    Along, Chosen, Days, Index, IssueReads, PlacedRow, Shown, Sums, TextParts, TextsOf, Total,
    Wanted, Written,
};
pub use rowset::{Gathered, LIST, decode, encode, encode_rows, place_of, row_number};
pub use step::step;
pub use step::{index_of, narrowed};
pub use stored::StoredColumns;
pub use tally::{Question, Split};
pub use tally::{exact, is_decided_by};
pub use texts::reads_texts;
pub use write::{Birth, IssueWrites, Replaced};
