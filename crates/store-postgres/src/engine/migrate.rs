//! Runs the migrations, which are compiled in. A released migration is never edited. Servers that
//! start at the same moment take turns through an advisory lock. The lock belongs to a transaction
//! on a connection of its own: behind a pooler that assigns connections per transaction, a session
//! lock would never be released.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::error::store_error;
use super::examine::examine;
use super::nodes::{Database, Nodes};
use super::placement::complete;
use super::pooler::pooled;
use crate::address::{Connector, PostgresAddress};
use caseload_store::StoreError;
use caseload_store::migrations::{RECORDED, Versions, missing};

/// The migrations, in the order in which they run. The first has the number 1.
const MIGRATIONS: &[&str] = &[include_str!("../../migrations/V1__schema.sql")];

/// The advisory lock: a number that other programs are unlikely to use.
const TURN: i64 = 0x6361_7365_6c6f_6164;

/// How long connecting may take.
const GREETING_MAX: Duration = Duration::from_secs(10);

/// Migrates the tables; if `may_create`, also those of an empty database. Returns the facts
/// about the database.
pub(super) async fn bring_up_to_date(
    connector: &Connector,
    address: &PostgresAddress,
    may_create: bool,
) -> Result<Database, StoreError> {
    let mut client = connected(connector, address, may_create).await?;
    examine(&client, address, may_create).await?;
    let turn = connected(connector, address, may_create).await?;
    let pooled = pooled(&client, &turn, address).await?;
    turn.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({TURN})"))
        .await
        .map_err(store_error)?;
    let distributed = match migrate(&mut client, &address.to_string()).await {
        Ok(()) => complete(&client).await,
        Err(error) => Err(error),
    };
    // Releases the lock. If that fails, the end of the connection releases it.
    drop(turn.batch_execute("ROLLBACK").await);
    Ok(Database { pooled, nodes: Nodes::of(distributed?) })
}

/// Runs the missing migrations. Each statement is sent by itself, because a cluster refuses several
/// in one command.
async fn migrate(client: &mut Client, store: &str) -> Result<(), StoreError> {
    let missing = missing(MIGRATIONS, recorded(client).await?.as_deref(), store)?;
    if missing.is_empty() {
        return Ok(());
    }
    // One transaction for all: tables without a recorded version could never be opened again.
    let tx = client.transaction().await.map_err(store_error)?;
    for statement in missing {
        tx.batch_execute(&statement).await.map_err(store_error)?;
    }
    tx.commit().await.map_err(store_error)
}

/// The digests of the migrations that the store contains. An empty database contains none, and a
/// store of a build before 0.1.0 has no record of them. Nothing is prepared, because a pooler may
/// be in between.
async fn recorded(client: &Client) -> Result<Option<Vec<i64>>, StoreError> {
    let tables = "SELECT to_regclass('caseload_migrations') IS NOT NULL,
                  to_regclass('domain_clocks') IS NOT NULL";
    let found = client.query_typed(tables, &[]).await.map_err(store_error)?;
    match found.first().map(|row| (row.get(0), row.get(1))) {
        Some((true, _)) => {}
        Some((false, true)) => return Ok(None),
        _ => return Ok(Some(Vec::new())),
    }
    let recorded = client.query_typed(RECORDED, &[]).await.map_err(store_error)?;
    Ok(Some(recorded.iter().map(|row| row.get(0)).collect()))
}

/// A connection to a store that stays as it is, and the version of the store next to that of this
/// program.
pub(crate) async fn versions(address: &PostgresAddress) -> Result<(Client, Versions), StoreError> {
    let client = connected(&address.connector()?, address, false).await?;
    examine(&client, address, false).await?;
    let versions = Versions::of(MIGRATIONS, recorded(&client).await?.as_deref());
    Ok((client, versions))
}

async fn connected(
    connector: &Connector,
    address: &PostgresAddress,
    may_create: bool,
) -> Result<Client, StoreError> {
    let connected = tokio::time::timeout(GREETING_MAX, connector.connect()).await;
    let (client, connection) = connected
        .map_err(|_| StoreError::Unreachable("the database does not answer".to_owned()))?
        .map_err(|error| match error.as_db_error() {
            Some(fault) if !may_create && *fault.code() == SqlState::INVALID_CATALOG_NAME => {
                address.no_store(fault.message().to_owned())
            }
            _ => address.not_connected(&error),
        })?;
    tokio::spawn(connection);
    Ok(client)
}
