//! Domains. The first transaction of a removal deletes the domain's name, keys, apps and agents, so
//! that no caller of any server can reach it. Its records follow in bounded steps, on any server.
//! Invariant: no table is missed, because the catalogue names the tables: all that have a
//! `domain_id`.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::Desk;
use tokio_postgres::Row;

use super::engine::Client;
use super::rows;
use caseload_store::admin::{
    DEFAULT_APP_NUMBER, ENTRY_TABLES, already_exists, default_app, removal_step, unknown_domain,
};
use caseload_store::{CreateDomain, Domain, StoreError};

pub(super) async fn create(client: &Client, command: &CreateDomain) -> Result<Domain, StoreError> {
    let app = default_app(command);
    let made = client
        .row_opt(
            "INSERT INTO domains (name, default_app_id, created_at) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING RETURNING id",
            &[&command.name.as_str(), &app.id.as_bytes(), &command.now.0],
        )
        .await?;
    let Some(made) = made else {
        return Err(already_exists("domain", command.name.as_str()));
    };
    let id: i64 = made.get(0);
    client
        .execute(
            "INSERT INTO domain_clocks (domain_id, last_app_number) VALUES ($1, $2)",
            &[&id, &DEFAULT_APP_NUMBER],
        )
        .await?;
    client
        .execute(
            "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
             VALUES ($1, $2, $3, $4, $5)",
            &[
                &id,
                &app.id.as_bytes(),
                &app.publish_id.as_bytes(),
                &app.title.as_bytes(),
                &app.created_at.0,
            ],
        )
        .await?;
    Ok(Domain {
        id: DomainId(id),
        name: command.name.clone(),
        created_at: command.now,
        desk: Desk::default(),
    })
}

pub(super) async fn all(client: &Client) -> Result<Vec<Domain>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM domains ORDER BY name");
    client.rows(&select, &[]).await?.iter().map(domain).collect()
}

pub(super) async fn by_name(
    client: &Client,
    name: &DomainName,
) -> Result<Option<Domain>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM domains WHERE name = $1");
    client.row_opt(&select, &[&name.as_str()]).await?.as_ref().map(domain).transpose()
}

/// Sets the author of messages and notes that no agent signs.
pub(super) async fn set_desk(
    client: &Client,
    domain: DomainId,
    desk: &Desk,
) -> Result<(), StoreError> {
    let changed = client
        .execute(
            "UPDATE domains SET desk_name = $2, desk_email = $3 WHERE id = $1",
            &[&domain.0, &desk.name.as_bytes(), &desk.email.as_deref().map(str::as_bytes)],
        )
        .await?;
    if changed == 0 { Err(unknown_domain()) } else { Ok(()) }
}

/// The author of messages and notes that no agent signs.
pub(super) async fn desk(client: &Client, domain: DomainId) -> Result<Desk, StoreError> {
    let select = "SELECT desk_name, desk_email FROM domains WHERE id = $1";
    let row = client.row_opt(select, &[&domain.0]).await?.ok_or_else(unknown_domain)?;
    desk_of(&row, 0)
}

/// The ids and names of all domains.
pub(super) async fn ids_and_names(client: &Client) -> Result<Vec<(i64, String)>, StoreError> {
    let domains = client.rows("SELECT id, name FROM domains ORDER BY id", &[]).await?;
    Ok(domains.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Locks the domain against removal until the caller's transaction ends.
pub(super) const DEMAND: &str = "SELECT 1 FROM domains WHERE id = $1 FOR KEY SHARE";

/// Fails if the domain does not exist. Otherwise it is locked as by [`DEMAND`].
pub(super) async fn demand(client: &Client, domain: DomainId) -> Result<(), StoreError> {
    match client.row_opt(DEMAND, &[&domain.0]).await? {
        Some(_) => Ok(()),
        None => Err(unknown_domain()),
    }
}

/// The first step of a removal. Afterwards no caller can reach the domain.
pub(super) async fn begin_removal(client: &Client, domain: DomainId) -> Result<(), StoreError> {
    if client.execute("DELETE FROM domains WHERE id = $1", &[&domain.0]).await? == 0 {
        return Err(unknown_domain());
    }
    client.execute("INSERT INTO domain_removals (removed_id) VALUES ($1)", &[&domain.0]).await?;
    for table in ENTRY_TABLES {
        client.execute(&format!("DELETE FROM {table} WHERE domain_id = $1"), &[&domain.0]).await?;
    }
    Ok(())
}

/// The next step of a removal. Returns false if no removal is pending, or if other servers work on
/// all of them.
pub(super) async fn continue_removal(client: &Client) -> Result<bool, StoreError> {
    let select = "SELECT removed_id FROM domain_removals LIMIT 1 FOR UPDATE SKIP LOCKED";
    let Some(removal) = client.row_opt(select, &[]).await? else { return Ok(false) };
    let removed: i64 = removal.get(0);
    for table in domain_tables(client).await? {
        let records = i64::from(removal_step(&table));
        let delete = format!(
            "DELETE FROM {table} WHERE domain_id = $1 AND ctid = ANY (ARRAY
             (SELECT ctid FROM {table} WHERE domain_id = $1 LIMIT $2))"
        );
        if client.execute(&delete, &[&removed, &records]).await? > 0 {
            return Ok(true);
        }
    }
    client.execute("DELETE FROM domain_removals WHERE removed_id = $1", &[&removed]).await?;
    Ok(true)
}

/// Every table with a column `domain_id`, in the schema of the store.
pub(super) async fn domain_tables(client: &Client) -> Result<Vec<String>, StoreError> {
    let tables = client
        .rows(
            "SELECT c.relname::text FROM pg_class c
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'domain_id'
             WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
             ORDER BY 1",
            &[],
        )
        .await?;
    Ok(tables.iter().map(|row| row.get(0)).collect())
}

const COLUMNS: &str = "id, name, created_at, desk_name, desk_email";

fn domain(row: &Row) -> Result<Domain, StoreError> {
    Ok(Domain {
        id: DomainId(row.get(0)),
        name: rows::domain_name(row, 1)?,
        created_at: rows::instant(row, 2),
        desk: desk_of(row, 3)?,
    })
}

/// From two columns, the name and the address.
fn desk_of(row: &Row, column: usize) -> Result<Desk, StoreError> {
    let name = rows::text(row, column)?;
    Ok(Desk { name, email: rows::optional_text(row, column + 1)? })
}
