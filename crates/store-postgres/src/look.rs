//! A look at a store that leaves it as it is: its version, its servers and its size. Opening a
//! store would bring it up to date.

use crate::address::PostgresAddress;
use crate::engine::{store_error, versions};
use crate::sessions::SERVERS;
use caseload_store::StoreError;
use caseload_store::migrations::StoreState;

/// The state of a store. Nothing is prepared, because a pooler may be in between.
pub async fn look(address: &PostgresAddress) -> Result<StoreState, StoreError> {
    let (client, versions) = versions(address).await?;
    let sizes = format!("SELECT pg_database_size(current_database()), ({SERVERS})");
    let sizes = client.query_typed(&sizes, &[]).await.map_err(store_error)?;
    let size = |at: usize| sizes.first().map_or(0, |row| row.get::<_, i64>(at)) as u64;
    // The disk of the database may be on another machine.
    Ok(StoreState { versions, servers: size(1), bytes: size(0), free_bytes: None })
}
