//! Runs the migrations, which are compiled in. A released migration is never edited. Servers that
//! start at the same moment take turns through an advisory lock. The lock belongs to a transaction
//! on a connection of its own: behind a pooler that assigns connections per transaction, a session
//! lock would never be released.

use std::time::Duration;

use refinery::error::Kind;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::error::store_error;
use super::examine::examine;
use super::nodes::{Database, Nodes};
use super::placement::complete;
use super::pooler::pooled;
use crate::address::{Connector, PostgresAddress};
use caseload_store::StoreError;

mod embedded {
    refinery::embed_migrations!("migrations");
}

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
    // One transaction for all: tables without a recorded version could never be opened again.
    let done = embedded::migrations::runner().set_grouped(true).run_async(&mut client).await;
    let distributed = match &done {
        Ok(_) => complete(&client).await,
        Err(_) => Ok(false),
    };
    // Releases the lock. If that fails, the end of the connection releases it.
    drop(turn.batch_execute("ROLLBACK").await);
    match done {
        Ok(_) => Ok(Database { pooled, nodes: Nodes::of(distributed?) }),
        Err(e) => Err(match e.kind() {
            Kind::MissingVersion(_) => {
                StoreError::NewerVersion { path: address.to_string().into() }
            }
            Kind::DivergentVersion(..) => address.not_opened(
                format!("its tables were made by another program, or by an unreleased one: {e}"),
                None,
            ),
            _ => StoreError::Unavailable(format!("the tables cannot be brought up to date: {e}")),
        }),
    }
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
