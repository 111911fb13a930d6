//! Bringing the tables up to date. Migrations are compiled in; one that was released is never
//! edited. Servers that start at the same moment take turns at an advisory lock, on one session
//! that is theirs alone.

use std::time::Duration;

use refinery::error::Kind;

use super::examine::examine;
use crate::StoreError;
use crate::postgres::address::{Connector, PostgresAddress};

mod embedded {
    refinery::embed_migrations!("migrations/postgres");
}

/// Any number that nobody else in the database is likely to lock.
const TURN: i64 = 0x6361_7365_6c6f_6164;

/// How long a database may take to answer a greeting.
const GREETING_MAX: Duration = Duration::from_secs(10);

pub(super) async fn bring_up_to_date(
    connector: &Connector,
    address: &PostgresAddress,
) -> Result<(), StoreError> {
    let connected = tokio::time::timeout(GREETING_MAX, connector.connect()).await;
    let (mut client, connection) = connected
        .map_err(|_| StoreError::Unreachable("the database does not answer".to_owned()))?
        .map_err(|error| address.not_connected(&error))?;
    let driver = tokio::spawn(connection);
    examine(&client, address).await?;
    client.execute("SELECT pg_advisory_lock($1)", &[&TURN]).await?;
    let done = embedded::migrations::runner().run_async(&mut client).await;
    // Ends the session, which gives the turn to the next.
    drop(client);
    drop(driver.await);
    match done {
        Ok(_) => Ok(()),
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
