//! What the log is told while the store cannot be reached: once that it went away, and once that it
//! is back, however often it was asked in between and by whom. Other faults are each told.

use std::sync::atomic::{AtomicBool, Ordering};

use caseload_store::StoreError;

/// Whether the store is away, for all that a runner does.
#[derive(Debug, Default)]
pub(crate) struct Outage(AtomicBool);

impl Outage {
    /// The store answered.
    pub(crate) fn is_over(&self) {
        if self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed) {
            // As loud as the fault, so that whoever read of that reads of this.
            tracing::warn!("the store answers again: bulk action tasks go on");
        }
    }

    /// The store did not do what it was asked for; `what` says that in words.
    pub(crate) fn tell(&self, error: &StoreError, what: &'static str) {
        if !matches!(error, StoreError::Unreachable(_)) {
            tracing::error!(%error, "{what}");
        } else if !self.0.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "the store cannot be reached: bulk action tasks wait for it");
        }
    }
}
