//! Writing issues, whatever backend stores them: the writing commands, plans of imports, and what a
//! change of an issue does to the counters and sets that it is found by. Nothing here knows SQL: a
//! backend answers [`IssueStore`] and stores what [`IndexUpdate`] lists.

mod import;
mod import_plan;
mod index_changes;
mod stored_columns;
pub mod write;

pub use import::{Import, ImportStore, entries_of};
pub use import_plan::{ImportPlanner, ImportState};
pub use index_changes::{IndexChanges, IndexUpdate, IndexedIssue, Step, TermUpdate, not_in_term};
pub use stored_columns::StoredColumns;
pub use write::{IssueAllocation, IssueStore, Replacement};
