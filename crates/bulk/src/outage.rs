//! Logs an outage of the store once when it begins and once when it ends, however many requests
//! fail in between. Other errors are logged each time. Remembers the end of the last outage: leases
//! that ran out until then say nothing about the servers that had them.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use caseload_model::time::UnixMillis;
use caseload_store::StoreError;

/// Whether the store is unreachable, for all loops and workers of a runner.
#[derive(Debug)]
pub(crate) struct Outage {
    is_on: AtomicBool,
    /// When the last one ended, in Unix milliseconds; the least number if there was none.
    ended: AtomicI64,
}

impl Default for Outage {
    fn default() -> Self {
        Self { is_on: AtomicBool::new(false), ended: AtomicI64::new(i64::MIN) }
    }
}

impl Outage {
    /// Records that the store answered.
    pub(crate) fn is_over(&self, now: UnixMillis) {
        if self.is_on.load(Ordering::Relaxed) && self.is_on.swap(false, Ordering::Relaxed) {
            self.ended.store(now.0, Ordering::Relaxed);
            // At the level of the error, so that a reader of the one sees the other.
            tracing::warn!("the store answers again: bulk action tasks go on");
        }
    }

    /// Since when the store has answered: `now` during an outage.
    pub(crate) fn reachable_since(&self, now: UnixMillis) -> UnixMillis {
        let is_on = self.is_on.load(Ordering::Relaxed);
        if is_on { now } else { UnixMillis(self.ended.load(Ordering::Relaxed)) }
    }

    /// Logs a failed request; `what` is a sentence about its purpose.
    pub(crate) fn report(&self, error: &StoreError, what: &'static str) {
        if !matches!(error, StoreError::Unreachable(_)) {
            tracing::error!(%error, "{what}");
        } else if !self.is_on.swap(true, Ordering::Relaxed) {
            tracing::error!(%error, "the store cannot be reached: bulk action tasks wait for it");
        }
    }
}
