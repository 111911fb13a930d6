//! Bulk action tasks in PostgreSQL: accepting, claiming, applying and reading them. The laws:
//! counts add up at both sides of every commit, a task completes in the transaction that processes
//! its last entry, and only the holder of the current lease changes a task. Whoever changes an
//! unfinished task locks its row in the queue first.

mod apply;
mod claim;
mod create;
mod end;
mod holder;
mod list;
mod payload;
mod purge;
mod records;
mod row;
mod stage;

pub(super) use apply::apply;
pub(super) use claim::{Claims, Leases, claim, fail_attempt, release, renew};
pub(super) use create::create;
pub(super) use end::cancel;
pub(super) use holder::end_holders;
pub(super) use list::list;
pub(super) use payload::{payload_block, retry_payload};
pub(super) use purge::purge;
pub(super) use records::{record_block, record_sizes};
pub(super) use row::{COLUMNS, COLUMNS_COUNT, of_family, sizes, task};
pub(super) use stage::{discard, stage};
