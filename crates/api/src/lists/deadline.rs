//! The deadline of reads of lists. The store ends a read that exceeds its budget. If the store
//! fails to do so, the read fails here, shortly after the deadline.

use std::time::Duration;

use caseload_store::StoreError;

/// How much longer than its deadline a read may take to give up.
const GRACE: Duration = Duration::from_millis(500);

/// Fails a read that has not ended shortly after its budget.
pub(crate) async fn in_time<T>(
    budget: Duration,
    read: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let limit = budget.saturating_add(GRACE);
    tokio::time::timeout(limit, read).await.unwrap_or(Err(StoreError::DeadlinePassed))
}
