//! Agents, who answer issues. Operators create them here; an import creates the agents that it
//! names. Invariant: an agent's id is unique in its domain.

use caseload_model::ids::DomainId;
use tokio_postgres::Row;

use super::engine::Client;
use super::{domains, rows};
use caseload_store::admin::already_exists;
use caseload_store::{Agent, CreateAgent, StoreError};

pub(super) async fn create(client: &Client, command: &CreateAgent) -> Result<Agent, StoreError> {
    domains::demand(client, command.domain).await?;
    let added = client
        .execute(
            "INSERT INTO agents (domain_id, id, name, email, created_at)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            &[
                &command.domain.0,
                &command.id.as_bytes(),
                &command.name.as_bytes(),
                &command.email.as_bytes(),
                &command.now.0,
            ],
        )
        .await?;
    if added == 0 {
        return Err(already_exists("agent", &command.id));
    }
    Ok(command.made())
}

pub(super) async fn of_domain(client: &Client, domain: DomainId) -> Result<Vec<Agent>, StoreError> {
    let agents = client
        .rows(
            "SELECT id, name, email, created_at FROM agents WHERE domain_id = $1
             ORDER BY created_at, id",
            &[&domain.0],
        )
        .await?;
    agents.iter().map(agent).collect()
}

fn agent(row: &Row) -> Result<Agent, StoreError> {
    Ok(Agent {
        id: rows::text(row, 0)?,
        name: rows::text(row, 1)?,
        email: rows::text(row, 2)?,
        created_at: rows::instant(row, 3),
    })
}
