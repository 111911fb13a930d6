//! Writing issues, independent of the backend: the writing commands, the plans of imports, and
//! index maintenance. No SQL here: a backend implements [`IssueStore`] and writes an
//! [`IndexUpdate`].

mod free_instant;
mod import;
mod import_plan;
mod index_changes;
mod stored_columns;
pub mod write;

pub use free_instant::free_instant;
pub use import::{Import, ImportStore, entries_of};
pub use import_plan::{ImportPlanner, ImportState};
pub use index_changes::{
    IndexChanges, IndexUpdate, IndexedIssue, TermStep, TermUpdate, not_in_term,
};
pub use stored_columns::StoredColumns;
pub use write::{IssueAllocation, IssueStore, Replacement};
