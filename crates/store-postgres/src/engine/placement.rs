//! Places the tables of a store on the nodes of a cluster, and finds out on which nodes they are.
//! Invariant: the tables are placed in one transaction, so a store is distributed or it is not.

use std::collections::HashMap;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, Row};

use super::error::store_error;
use super::layout::{FIRST, LAYOUT, Placement};
use caseload_store::StoreError;

const EXTENSION: &str = "SELECT extversion FROM pg_extension WHERE extname = 'citus'";

/// The version of the extension Citus, if the database has it.
pub(crate) async fn extension(client: &Client) -> Result<Option<String>, StoreError> {
    let rows = client.query_typed(EXTENSION, &[]).await.map_err(store_error)?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// A table of the store.
#[derive(Debug, Clone, Copy)]
pub struct TablePlacement {
    pub table: &'static str,
    /// The placement of the table before the command.
    pub before: Placement,
    pub wanted: Placement,
}

impl TablePlacement {
    /// The statements that place the table.
    fn steps(&self) -> Vec<String> {
        let Self { table, before, wanted } = self;
        if before == wanted {
            return Vec::new();
        }
        let together = if *table == FIRST { "none" } else { FIRST };
        let place = match wanted {
            Placement::ByDomain => format!(
                "SELECT create_distributed_table('{table}', 'domain_id', \
                 colocate_with => '{together}')"
            ),
            _ => format!("SELECT citus_add_local_table_to_metadata('{table}')"),
        };
        let is_placed = *before != Placement::Unknown;
        let undo = is_placed.then(|| format!("SELECT undistribute_table('{table}')"));
        undo.into_iter().chain([place]).collect()
    }
}

/// Whether the tables of a store are distributed. If they are, places those that a migration has
/// made since.
pub(super) async fn complete(client: &Client) -> Result<bool, StoreError> {
    if extension(client).await?.is_none() {
        return Ok(false);
    }
    let now = placements(client).await?;
    if now.get(FIRST) != Some(&Placement::ByDomain) {
        return Ok(false);
    }
    let new = LAYOUT.iter().filter(|(table, _)| !now.contains_key(*table));
    let new =
        new.map(|&(table, wanted)| TablePlacement { table, before: Placement::Unknown, wanted });
    place_tables(client, &new.collect::<Vec<_>>()).await?;
    Ok(true)
}

/// The placement of each table that the cluster knows.
pub(crate) async fn placements(client: &Client) -> Result<HashMap<String, Placement>, StoreError> {
    let select = "SELECT c.relname::text, p.partmethod::text, p.repmodel::text,
         p.partmethod = 'h' AND column_to_column_name(p.logicalrelid, p.partkey) = 'domain_id'
         AND p.colocationid = (SELECT f.colocationid FROM pg_dist_partition f
             WHERE f.logicalrelid = to_regclass($1))
         FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
         WHERE c.relnamespace = current_schema()::regnamespace";
    let rows = client.query(select, &[&FIRST]).await.map_err(store_error)?;
    let placement = |row: &Row| {
        let (method, model): (&str, &str) = (row.get(1), row.get(2));
        match (method, model, row.get::<_, Option<bool>>(3)) {
            ("h", _, Some(true)) => Placement::ByDomain,
            ("n", "s", _) => Placement::Coordinator,
            ("n", "t", _) => Placement::EveryNode,
            _ => Placement::Other,
        }
    };
    Ok(rows.iter().map(|row| (row.get(0), placement(row))).collect())
}

/// Places tables, all of them or none.
pub(crate) async fn place_tables(
    client: &Client,
    tables: &[TablePlacement],
) -> Result<(), StoreError> {
    let steps: Vec<_> = tables.iter().flat_map(TablePlacement::steps).collect();
    if steps.is_empty() {
        return Ok(());
    }
    // One connection to each worker: the tables that follow see those that were placed before.
    let begin = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10s';
         SET LOCAL idle_in_transaction_session_timeout = 0;
         SET LOCAL client_min_messages = 'warning';
         SET LOCAL citus.multi_shard_modify_mode = 'sequential'";
    client.batch_execute(begin).await.map_err(store_error)?;
    // The engine gives a table on the coordinator a new sequence, which would begin with ids that
    // domains have or had.
    let last_id =
        "SELECT pg_sequence_last_value(pg_get_serial_sequence('domains', 'id')::regclass)";
    let last_id = client.query_one(last_id, &[]).await.map_err(store_error)?;
    for step in &steps {
        client.batch_execute(step).await.map_err(|error| not_placed(step, &error))?;
    }
    if let Some(last_id) = last_id.get::<_, Option<i64>>(0) {
        let go_on = "SELECT setval(pg_get_serial_sequence('domains', 'id'), $1)";
        client.query_one(go_on, &[&last_id]).await.map_err(store_error)?;
    }
    client.batch_execute("COMMIT").await.map_err(|error| not_placed("COMMIT", &error))
}

fn not_placed(step: &str, error: &Error) -> StoreError {
    if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
        return refused("another session uses the store", "stop it first");
    }
    let said = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
    refused(format!("the cluster refused `{step}`: {said}"), None)
}

pub(crate) fn refused(
    reason: impl Into<String>,
    hint: impl Into<Option<&'static str>>,
) -> StoreError {
    StoreError::NotDistributed { reason: reason.into(), hint: hint.into().map(str::to_owned) }
}
