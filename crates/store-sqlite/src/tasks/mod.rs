//! Bulk action tasks in SQLite: accepting, claiming, applying and reading them. The laws: counts
//! add up at both sides of every commit, a task completes in the transaction that processes its
//! last entry, and only the holder of the current lease changes a task.

mod apply;
mod claim;
mod create;
mod end;
mod list;
mod payload;
mod purge;
mod reading;
mod records;
mod row;
mod stage;

pub(super) use apply::apply;
pub(super) use claim::{claim, fail_attempt, release, renew, void_leases};
pub(super) use create::create;
pub(super) use end::cancel;
pub(super) use list::list;
pub(super) use payload::{payload_block, retry_payload};
pub(super) use purge::purge;
pub(super) use records::{record_block, record_sizes};
pub(super) use row::{COLUMNS, COLUMNS_COUNT, of_family, task, unfinished_by_lease};
pub(super) use stage::{discard, stage, void_uploads};
