//! Bulk action tasks in PostgreSQL: the statements of the shared rules ([`caseload_store::tasks`])
//! that only this database has, chunks, and leases. A transaction that changes an unfinished task
//! locks its row in the queue first.

mod apply;
mod claim;
mod claim_apart;
mod holder;
mod pending_tasks;
mod repair;
mod statements;

pub(super) use apply::apply;
pub(super) use claim::{Leases, release, renew};
pub(super) use claim_apart::{DomainsOnHold, claim_apart};
pub(super) use holder::end_holders;
pub(super) use pending_tasks::refuse_pending;
pub(super) use repair::repair_queue;
pub(super) use statements::purge_step;
