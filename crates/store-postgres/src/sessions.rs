//! Sessions of other programs. A copy and a distribution are refused while a server or a command
//! uses the store. A server has one session that listens.

use std::time::Duration;

use tokio_postgres::Client;

use crate::address::PostgresAddress;
use crate::engine::store_error;
use caseload_store::StoreError;

/// How long to wait for sessions that are about to end.
const ENDING: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Counts the servers that listen for work. A database shows the sessions of other users without
/// their statements, and a pooler has none that listens.
pub(crate) const SERVERS: &str = "SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND query ILIKE 'LISTEN caseload%'";

/// Servers and commands are recognized by the application name of their sessions, and servers also
/// by the session that listens.
pub(crate) async fn refuse_servers(
    client: &Client,
    address: &PostgresAddress,
    refused: impl Fn(String) -> StoreError,
) -> Result<(), StoreError> {
    let seen = "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
         AND (application_name = 'caseload' OR query ILIKE 'LISTEN caseload%')";
    let mut waited = Duration::ZERO;
    loop {
        let sessions: i64 = client.query_one(seen, &[]).await.map_err(store_error)?.get(0);
        if sessions == 0 {
            return Ok(());
        }
        if waited >= ENDING {
            return Err(refused(format!(
                "servers or commands use {address} ({sessions} sessions); stop them first"
            )));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        waited += LOOK_AGAIN;
    }
}
