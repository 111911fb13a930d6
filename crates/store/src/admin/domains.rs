//! Domains: creating and listing them, and the desk that writes in their name.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::Desk;

use super::apps::{DEFAULT_APP_NUMBER, default_app};
use crate::idempotency::CommandStore;
use crate::sql::{Row, Sql};
use crate::{CreateDomain, Domain, StoreError, values};

const COLUMNS: &str = "id, name, created_at, desk_name, desk_email";

/// Creates a domain with its clock and its default app.
pub fn create_domain(store: &impl Sql, command: &CreateDomain) -> Result<Domain, StoreError> {
    let (CreateDomain { name, now, .. }, app) = (command, default_app(command));
    let made = store.find(
        "INSERT INTO domains (name, default_app_id, created_at) VALUES (?1, ?2, ?3)
         ON CONFLICT DO NOTHING RETURNING id",
        values![name.as_str(), app.id, now],
        |row| row.get(0),
    )?;
    let id: DomainId = made.ok_or_else(|| StoreError::exists("domain", name.as_str()))?;
    let clock = "INSERT INTO domain_clocks (domain_id, last_app_number) VALUES (?1, ?2)";
    store.change(clock, values![id, DEFAULT_APP_NUMBER])?;
    store.change(
        "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        values![id, app.id, app.publish_id, app.title, app.created_at],
    )?;
    Ok(Domain { id, name: name.clone(), created_at: *now, desk: Desk::default() })
}

/// All domains by name.
pub fn domains(store: &impl Sql) -> Result<Vec<Domain>, StoreError> {
    store.list(&format!("SELECT {COLUMNS} FROM domains ORDER BY name"), &[], domain)
}

pub fn domain_by_name(store: &impl Sql, name: &DomainName) -> Result<Option<Domain>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM domains WHERE name = ?1");
    store.find(&select, values![name.as_str()], domain)
}

fn domain(row: &dyn Row) -> Result<Domain, StoreError> {
    let desk = Desk { name: row.get(3)?, email: row.get(4)? };
    Ok(Domain { id: row.get(0)?, name: row.get(1)?, created_at: row.get(2)?, desk })
}

/// Sets the author of messages and notes that no agent signs.
pub fn set_desk(store: &impl CommandStore, desk: &Desk) -> Result<(), StoreError> {
    let set = "UPDATE domains SET desk_name = ?2, desk_email = ?3 WHERE id = ?1";
    let changed = store.change(set, values![store.domain(), desk.name, desk.email])?;
    if changed == 0 { Err(StoreError::unknown_domain()) } else { Ok(()) }
}
