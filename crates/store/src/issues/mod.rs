//! Writing issues, whatever backend stores them: the writing commands, plans of imports, and what a
//! change of an issue does to the counters and sets that it is found by. Nothing here knows SQL: a
//! backend answers [`IssueWrites`] and stores what [`Settled`] lists.

mod changes;
mod planning;
mod stored;
pub mod write;

pub use changes::{Changes, Indexed, SetSteps, Settled, Step, left_nothing};
pub use planning::{Known, Planning};
pub use stored::StoredColumns;
pub use write::{Birth, IssueWrites, Replaced};
