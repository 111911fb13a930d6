//! Bulk action tasks in PostgreSQL: the statements of the shared rules ([`caseload_store::tasks`]),
//! leases, and reads. A transaction that changes an unfinished task locks its row in the queue
//! first.

mod apply;
mod claim;
mod holder;
mod reads;
mod row;
mod statements;

pub(super) use apply::apply;
pub(super) use claim::{Claims, Leases, claim, release, renew};
pub(super) use holder::end_holders;
pub(super) use reads::{list, of_family, payload_block, record_block, record_sizes, sizes};
pub(super) use row::{COLUMNS, COLUMNS_COUNT, task};
pub(super) use statements::purge_step;
