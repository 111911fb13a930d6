//! Bringing the tables up to date. Migrations are compiled in; one that was released is never
//! edited. Servers that start at the same moment take turns at an advisory lock, on one session
//! that is theirs alone.

use refinery::error::Kind;
use tokio_postgres::{Config, NoTls};

use crate::StoreError;

mod embedded {
    refinery::embed_migrations!("migrations/postgres");
}

/// Any number that nobody else in the database is likely to lock.
const TURN: i64 = 0x6361_7365_6c6f_6164;

pub(super) async fn bring_up_to_date(config: &Config) -> Result<(), StoreError> {
    let (mut client, connection) = config.connect(NoTls).await?;
    let driver = tokio::spawn(connection);
    client.execute("SELECT pg_advisory_lock($1)", &[&TURN]).await?;
    let done = embedded::migrations::runner().run_async(&mut client).await;
    // Ends the session, which gives the turn to the next.
    drop(client);
    drop(driver.await);
    match done {
        Ok(_) => Ok(()),
        Err(e) => Err(match e.kind() {
            Kind::MissingVersion(_) => StoreError::NewerVersion { path: "the database".into() },
            Kind::DivergentVersion(..) => StoreError::Corrupt(format!(
                "the database was made by a program with other tables: {e}"
            )),
            _ => StoreError::Unavailable(format!("the tables cannot be brought up to date: {e}")),
        }),
    }
}
