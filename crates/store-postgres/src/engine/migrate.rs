//! Bringing the tables up to date. Migrations are compiled in; one that was released is never
//! edited. Servers that start at the same moment take turns at an advisory lock. It is that of a
//! transaction which stays open meanwhile on a connection of its own: a lock of a session would
//! stay behind with a pooler that hands connections out by transaction.

use std::time::Duration;

use refinery::error::Kind;
use tokio_postgres::Client;

use super::error::store_error;
use super::examine::examine;
use super::pooler::pooled;
use crate::address::{Connector, PostgresAddress};
use caseload_store::StoreError;

mod embedded {
    refinery::embed_migrations!("migrations");
}

/// Any number that nobody else in the database is likely to lock.
const TURN: i64 = 0x6361_7365_6c6f_6164;

/// How long a database may take to answer a greeting.
const GREETING_MAX: Duration = Duration::from_secs(10);

/// Brings the tables up to date; says whether connections come from a pooler, by transaction.
pub(super) async fn bring_up_to_date(
    connector: &Connector,
    address: &PostgresAddress,
) -> Result<bool, StoreError> {
    let mut client = connected(connector, address).await?;
    examine(&client, address).await?;
    let turn = connected(connector, address).await?;
    let pooled = pooled(&client, &turn, address).await?;
    turn.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({TURN})"))
        .await
        .map_err(store_error)?;
    // In one transaction: tables without a note of their version could never be opened again.
    let done = embedded::migrations::runner().set_grouped(true).run_async(&mut client).await;
    // Gives the turn to the next. Where that fails, the end of the connection does.
    drop(turn.batch_execute("ROLLBACK").await);
    match done {
        Ok(_) => Ok(pooled),
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

async fn connected(connector: &Connector, address: &PostgresAddress) -> Result<Client, StoreError> {
    let connected = tokio::time::timeout(GREETING_MAX, connector.connect()).await;
    let (client, connection) = connected
        .map_err(|_| StoreError::Unreachable("the database does not answer".to_owned()))?
        .map_err(|error| address.not_connected(&error))?;
    tokio::spawn(connection);
    Ok(client)
}
