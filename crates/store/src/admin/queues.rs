//! Queues, to which issues are assigned. Operators create them here; an import creates the queues
//! that it names. Invariant: the id of a queue is unique in its domain.

use caseload_model::change::Resource;

use super::logged::log_created;
use crate::idempotency::CommandStore;
use crate::{CreateQueue, StoreError, values};

pub fn create_queue(store: &impl CommandStore, command: &CreateQueue) -> Result<(), StoreError> {
    store.require_domain()?;
    let CreateQueue { domain, id, name, origin } = command;
    let added = store.change(
        "INSERT INTO queues (domain_id, id, name, created_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
        values![domain, id, name, origin.now],
    )?;
    if added == 0 {
        return Err(StoreError::exists("queue", id));
    }
    log_created(store, origin, Resource::Queue, id)
}
