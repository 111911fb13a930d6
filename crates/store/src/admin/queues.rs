//! Queues, to which issues are assigned. Operators create them here; an import creates the queues
//! that it names. Invariant: the id of a queue is unique in its domain.

use crate::checksum::{QUEUES, sealed};
use crate::idempotency::CommandStore;
use crate::{CreateQueue, StoreError, values};

pub fn create_queue(store: &impl CommandStore, command: &CreateQueue) -> Result<(), StoreError> {
    store.require_domain()?;
    let CreateQueue { domain, id, name, now } = command;
    let added = store.change(
        &format!(
            "INSERT INTO queues ({}) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
            QUEUES.select()
        ),
        &sealed(values![domain, id, name, now]),
    )?;
    if added == 0 { Err(StoreError::exists("queue", id)) } else { Ok(()) }
}
