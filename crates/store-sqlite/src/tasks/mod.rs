//! Bulk action tasks in SQLite: the statements of the shared rules ([`caseload_store::tasks`]),
//! leases, and reads.

mod apply;
mod claim;
mod reading;
mod reads;
mod row;
mod statements;

pub(super) use apply::apply;
pub(super) use claim::{claim, release, renew, void_leases, void_uploads};
pub(super) use reads::unfinished_by_lease;
pub(super) use row::{COLUMNS, COLUMNS_COUNT, task};
pub(super) use statements::Expiry;
