//! Waking servers: a note in the transaction that makes work, delivered to every server when it
//! commits. It is a hint; whoever misses one finds the work by asking a little later.

use super::engine::Client;
use caseload_store::StoreError;

/// The channel that servers listen on.
pub(super) const CHANNEL: &str = "caseload_work";

/// Says that tasks may be runnable once this transaction commits.
pub(super) async fn work(client: &Client) -> Result<(), StoreError> {
    client.row("SELECT pg_notify($1, '')", &[&CHANNEL]).await?;
    Ok(())
}
