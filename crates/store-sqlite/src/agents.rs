//! Agents, who answer issues. Operators create them here; an import creates the agents that it
//! names. Invariant: an agent's id is unique in its domain.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, params};

use super::domains;
use crate::Fault;
use caseload_store::admin::already_exists;
use caseload_store::{Agent, CreateAgent};

pub(super) fn create(conn: &Connection, command: &CreateAgent) -> Result<Agent, Fault> {
    domains::demand(conn, command.domain)?;
    let added = conn
        .prepare_cached(
            "INSERT INTO agents (domain_id, id, name, email, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            command.domain.0,
            command.id,
            command.name,
            command.email,
            command.now.0
        ])?;
    if added == 0 {
        return Err(already_exists("agent", &command.id).into());
    }
    Ok(command.made())
}

pub(super) fn of_domain(conn: &Connection, domain: DomainId) -> Result<Vec<Agent>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT id, name, email, created_at FROM agents WHERE domain_id = ?1
         ORDER BY created_at, id",
    )?;
    let agents = statement.query_map([domain.0], |row| {
        Ok(Agent {
            id: row.get(0)?,
            name: row.get(1)?,
            email: row.get(2)?,
            created_at: UnixMillis(row.get(3)?),
        })
    })?;
    Ok(agents.collect::<Result<_, _>>()?)
}
