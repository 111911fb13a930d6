//! Writing issues, independent of the backend: the writing commands, imports, deletions, and
//! index maintenance. A backend implements [`IssueStore`] and writes an [`IndexUpdate`].

mod changed_ids;
mod delete;
mod dry_run;
mod erase;
mod free_ids;
mod free_instant;
mod import;
mod import_store;
mod index_changes;
mod portions;
mod replace;
mod stored_columns;
pub mod write;

pub use delete::Deletions;
pub(crate) use erase::{ErasedIssues, count_issues, erase_issues, ids_of_app, redact_issues};
pub use free_ids::{free_ids, live_id};
pub use free_instant::{free_instant, taken_instants};
pub use import::{Import, entries_of, record_fragments, stored_issue};
pub use import_store::{FreeRows, ImportStore};
pub use index_changes::{IndexChanges, IndexUpdate, IndexedIssue};
pub use stored_columns::{
    COLUMNS, COLUMNS_END, FRAGMENTS, FRAGMENTS_COUNT, columns, fragments, sums,
};
pub use write::{FRAGMENT_BYTES, IssueAllocation, IssueStore, Replacement};
