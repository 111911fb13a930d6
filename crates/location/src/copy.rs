//! `caseload copy`: opens the stores at two locations, copies one into the other with
//! [`caseload_store::copy`], and closes them. It refuses to copy a store onto itself.

use std::sync::Arc;

use caseload_store::StoreError;
use caseload_store::copy::end::{CopyEnd, Side, refused};
use caseload_store::copy::{
    CopyBatch, CopyReport, CopyStep, NamedEnd, OpenCopy, copy as copy_rows,
};

use crate::location::StoreLocation;

/// Copies a store into one that is empty, or that contains the beginning of this copy.
#[derive(Debug, Clone)]
pub struct CopyStore {
    pub from: StoreLocation,
    pub to: StoreLocation,
    /// Whether to discard an unfinished copy in the target first.
    pub restart: bool,
    pub batch: CopyBatch,
}

/// Makes the copy and calls `report` with its progress.
pub async fn copy(
    command: &CopyStore,
    report: &(dyn Fn(CopyStep) + Sync),
) -> Result<CopyReport, StoreError> {
    let CopyStore { from, to, restart, batch } = command;
    if from.is_same(to) {
        return Err(refused("source and target are the same store"));
    }
    let source = open(from, Side::Source).await?;
    let target = match open(to, Side::Target).await {
        Ok(target) => target,
        Err(error) => {
            source.close().await?;
            return Err(error);
        }
    };
    let open_copy = OpenCopy {
        from: NamedEnd { location: from.to_string(), end: &*source },
        to: NamedEnd { location: to.to_string(), end: &*target },
        restart: *restart,
        batch: *batch,
    };
    let copied = copy_rows(&open_copy, report).await;
    let closed = [source.close().await, target.close().await];
    let report = copied?;
    closed.into_iter().collect::<Result<(), _>>()?;
    Ok(report)
}

async fn open(location: &StoreLocation, side: Side) -> Result<Arc<dyn CopyEnd>, StoreError> {
    match location {
        StoreLocation::Sqlite(path) => caseload_store_sqlite::open_copy_end(path, side).await,
        StoreLocation::Postgres(address) => {
            caseload_store_postgres::open_copy_end(address, side).await
        }
    }
}
