//! The limits that all reads of one server share: long reads may use half of the connections, and
//! short reads slow them down.

use std::sync::Arc;

use caseload_store::throttle::ReadLoad;
use tokio::sync::Semaphore;

#[derive(Debug)]
pub(super) struct ReadLimits {
    /// The connections that long reads may use at a time.
    pub(super) long_permits: Arc<Semaphore>,
    pub(super) load: Arc<ReadLoad>,
}

impl ReadLimits {
    pub(super) fn new(connections: usize) -> Self {
        let long_permits = Arc::new(Semaphore::new((connections / 2).max(1)));
        Self { long_permits, load: Arc::default() }
    }
}
