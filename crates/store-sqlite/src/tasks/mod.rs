//! Bulk action tasks in SQLite: the statements of the shared rules ([`caseload_store::tasks`])
//! that only this database has, chunks, and leases.

mod apply;
mod forget;
mod reading;
mod statements;

pub(super) use apply::{apply, apply_here};
pub use forget::forget_tasks;
pub(super) use statements::{begin, choose, claim, release, renew, void_leases_and_uploads};
