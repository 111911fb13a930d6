//! Wakes up servers. A transaction that makes work sends a notification, which every server
//! receives when the transaction commits. It is only a hint: a server that misses it finds the work
//! by polling.

use super::engine::Client;
use caseload_store::StoreError;

/// The channel that servers listen on.
pub(super) const CHANNEL: &str = "caseload_work";

/// Notifies servers, once this transaction commits, that tasks may be runnable.
pub(super) async fn work(client: &Client) -> Result<(), StoreError> {
    client.row("SELECT pg_notify($1, '')", &[&CHANNEL]).await?;
    Ok(())
}
