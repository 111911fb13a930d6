//! Agents, who answer issues. Operators create them here; an import creates the agents that it
//! names. Invariant: an agent's id is unique in its domain.

use caseload_model::change::Resource;

use super::logged::log_created;
use crate::idempotency::CommandStore;
use crate::{Agent, CreateAgent, StoreError, values};

pub fn create_agent(store: &impl CommandStore, command: &CreateAgent) -> Result<Agent, StoreError> {
    store.require_domain()?;
    let CreateAgent { domain, id, name, email, origin } = command;
    let added = store.change(
        "INSERT INTO agents (domain_id, id, name, email, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO NOTHING",
        values![domain, id, name, email, origin.now],
    )?;
    if added == 0 {
        return Err(StoreError::exists("agent", id));
    }
    log_created(store, origin, Resource::Agent, id)?;
    Ok(command.made())
}

/// Oldest first.
pub fn agents(store: &impl CommandStore) -> Result<Vec<Agent>, StoreError> {
    store.list(
        "SELECT id, name, email, created_at FROM agents WHERE domain_id = ?1
         ORDER BY created_at, id",
        values![store.domain()],
        |row| {
            let (id, name, email) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Agent { id, name, email, created_at: row.get(3)? })
        },
    )
}
