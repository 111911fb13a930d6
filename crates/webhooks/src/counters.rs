//! Counts of deliveries since the start of the server, for its metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use caseload_store::WebhookCounts;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) succeeded: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) changes: AtomicU64,
    pub(crate) paused: AtomicU64,
    in_flight: AtomicU64,
}

/// An attempt in flight, also if it is dropped in the middle.
#[derive(Debug)]
pub(crate) struct InFlight<'c>(&'c Counters);

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }

    pub(crate) fn counts(&self) -> WebhookCounts {
        let Self { succeeded, failed, changes, paused, in_flight } = self;
        let [succeeded, failed, changes, paused, in_flight] =
            [succeeded, failed, changes, paused, in_flight].map(|c| c.load(Ordering::Relaxed));
        WebhookCounts { succeeded, failed, changes, paused, in_flight }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
