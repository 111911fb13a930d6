//! Logs an outage of the store once when it begins and once when it ends, however many requests
//! fail in between. Other errors are logged each time.

use std::sync::atomic::{AtomicBool, Ordering};

use caseload_store::StoreError;

/// Whether the store is unreachable, for all loops and workers of a runner.
#[derive(Debug, Default)]
pub(crate) struct Outage(AtomicBool);

impl Outage {
    /// Records that the store answered.
    pub(crate) fn is_over(&self) {
        if self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed) {
            // At the level of the error, so that a reader of the one sees the other.
            tracing::warn!("the store answers again: bulk action tasks go on");
        }
    }

    /// Logs a failed request; `what` is a sentence about its purpose.
    pub(crate) fn report(&self, error: &StoreError, what: &'static str) {
        if !matches!(error, StoreError::Unreachable(_)) {
            tracing::error!(%error, "{what}");
        } else if !self.0.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "the store cannot be reached: bulk action tasks wait for it");
        }
    }
}
