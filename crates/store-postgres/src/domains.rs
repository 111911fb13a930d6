//! Domains. The first transaction of a removal deletes the domain's name, keys, apps and agents, so
//! that no caller of any server can reach it. Its records follow in bounded steps, on any server.
//! Invariant: no table is missed, because the catalogue names the tables: all that have a
//! `domain_id`.

use caseload_model::ids::DomainId;
use caseload_store::StoreError;
use caseload_store::admin::{ENTRY_TABLES, removal_step};

use crate::engine::{Client, Engine};

/// The ids and names of all domains.
pub(super) async fn ids_and_names(client: &Client) -> Result<Vec<(i64, String)>, StoreError> {
    let domains = client.rows("SELECT id, name FROM domains ORDER BY id", &[]).await?;
    Ok(domains.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Locks the domain against removal until the caller's transaction ends.
pub(super) const LOCK_DOMAIN: &str = "SELECT 1 FROM domains WHERE id = $1 FOR KEY SHARE";

/// The first step of a removal. Afterwards no caller can reach the domain.
pub(super) async fn begin_removal(client: &Client, domain: DomainId) -> Result<(), StoreError> {
    if client.execute("DELETE FROM domains WHERE id = $1", &[&domain.0]).await? == 0 {
        return Err(StoreError::unknown_domain());
    }
    client.execute("INSERT INTO domain_removals (removed_id) VALUES ($1)", &[&domain.0]).await?;
    for table in ENTRY_TABLES {
        client.execute(&format!("DELETE FROM {table} WHERE domain_id = $1"), &[&domain.0]).await?;
    }
    Ok(())
}

/// The next step of a removal. Returns false if no removal is pending, or if other servers work on
/// all of them.
pub(super) async fn remove_step(engine: &Engine) -> Result<bool, StoreError> {
    engine.write((), |client, ()| Box::pin(continue_removal(client))).await
}

async fn continue_removal(client: &Client) -> Result<bool, StoreError> {
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

/// Selects the names of all tables with records of domains.
pub(super) const DOMAIN_TABLES: &str = "SELECT c.relname::text FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'domain_id'
     WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
     ORDER BY 1";

/// Every table with a column `domain_id`, in the schema of the store.
pub(super) async fn domain_tables(client: &Client) -> Result<Vec<String>, StoreError> {
    let tables = client.rows(DOMAIN_TABLES, &[]).await?;
    Ok(tables.iter().map(|row| row.get(0)).collect())
}
