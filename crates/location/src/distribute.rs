//! `caseload distribute`: distributes the tables of a store over the nodes of its cluster. Only
//! PostgreSQL has clusters.

use caseload_store::{OpenMode, StoreError};
use caseload_store_postgres::Distribution;

use crate::location::{StoreLocation, open};

/// Distributes a store, or only says how it would be.
pub async fn distribute(
    location: &StoreLocation,
    only_show: bool,
) -> Result<Distribution, StoreError> {
    match location {
        StoreLocation::Postgres(address) => {
            caseload_store_postgres::distribute(address, only_show).await
        }
        StoreLocation::Sqlite(_) => {
            // The store is opened first: there may be none, which is another mistake.
            open(location, OpenMode::Admin).await?.close().await?;
            Err(StoreError::NotDistributed {
                reason: format!("{location} is one file"),
                hint: Some(
                    "`caseload copy` copies it to PostgreSQL, which can be distributed".to_owned(),
                ),
            })
        }
    }
}
