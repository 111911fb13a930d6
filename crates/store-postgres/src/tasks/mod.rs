//! Bulk action tasks in PostgreSQL: the statements of the shared rules ([`caseload_store::tasks`])
//! that only this database has, chunks, and leases. A transaction that changes an unfinished task
//! locks its row in the queue first.

mod apply;
mod claim;
mod holder;
mod statements;

pub(super) use apply::apply;
pub(super) use claim::{Leases, release, renew};
pub(super) use holder::end_holders;
pub(super) use statements::purge_step;
