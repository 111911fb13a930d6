//! The changes of an administrative command: its effects with its origin.

use caseload_model::change::{Batch, ChangeAction, Effect, Resource};

use crate::changes::log;
use crate::idempotency::CommandStore;
use crate::{AdminOrigin, StoreError};

/// Logs the effects of a command.
pub(crate) fn log_effects(
    store: &impl CommandStore,
    origin: &AdminOrigin,
    effects: Vec<Effect>,
) -> Result<(), StoreError> {
    log(store, &batch(origin, effects))
}

pub(super) fn batch(origin: &AdminOrigin, effects: Vec<Effect>) -> Batch {
    let AdminOrigin { now, by, request_id } = origin.clone();
    Batch { request_id, ..Batch::new(now, by, effects) }
}

/// Logs that a command created a record.
pub(crate) fn log_created(
    store: &impl CommandStore,
    origin: &AdminOrigin,
    resource: Resource,
    id: &str,
) -> Result<(), StoreError> {
    log_effects(store, origin, vec![Effect::new(resource, id, ChangeAction::Created)])
}
