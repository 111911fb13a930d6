//! Wakes up servers. A transaction that makes work sends a notification, which every server
//! receives when the transaction commits. It is only a hint: a server that misses it finds the work
//! by polling.

use super::engine::Client;
use caseload_store::StoreError;
use tokio_postgres::Statement;

/// The channel that servers listen on.
pub(super) const CHANNEL: &str = "caseload_work";

/// Notifies servers, once this transaction commits, that tasks may be runnable.
pub(super) async fn work(client: &Client) -> Result<(), StoreError> {
    prepared_work(client, &prepare(client).await?).await
}

/// The statement of [`prepared_work`].
pub(super) async fn prepare(client: &Client) -> Result<Statement, StoreError> {
    client.prepare("SELECT pg_notify($1, '')").await
}

/// [`work`], for one flight with other statements.
pub(super) async fn prepared_work(client: &Client, notify: &Statement) -> Result<(), StoreError> {
    client.prepared_row(notify, &[&CHANNEL]).await.map(drop)
}
