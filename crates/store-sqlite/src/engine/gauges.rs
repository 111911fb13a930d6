//! Figures that the writer, the readers and the checkpoint thread share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use caseload_store::{DurationCounts, StoreError};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::Fault;

/// The state of the writer and of the log.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    /// Small and long commands that wait for the writer.
    pub(super) small_waiting: AtomicUsize,
    pub(super) long_waiting: AtomicUsize,
    /// How long small commands took from entering the queue to their commit.
    pub(super) writes: Mutex<DurationCounts>,
    /// Whether the writer is running a group.
    pub(super) at_work: AtomicBool,
    /// Groups committed since the store was opened.
    pub(super) commits: watch::Sender<u64>,
    /// Pages in the write-ahead log after the last commit.
    pub(super) wal_pages: AtomicU32,
    /// Whether the log will restart soon, so that groups have to be short.
    pub(super) restart_soon: AtomicBool,
    /// Whether the writer has to restart the log before its next group.
    pub(super) restart_now: AtomicBool,
    /// The time of the last failed commit or checkpoint.
    pub(super) fault_at: Mutex<Option<Instant>>,
    /// The first damage that was found since the store was opened.
    pub(super) damage: Mutex<Option<String>>,
}

impl Gauges {
    /// Whether a command waits for the writer.
    pub(super) fn has_waiters(&self) -> bool {
        let Self { small_waiting, long_waiting, .. } = self;
        small_waiting.load(Ordering::Relaxed) + long_waiting.load(Ordering::Relaxed) > 0
    }

    pub(super) fn note_write(&self, took: Duration) {
        self.writes.lock().add(took);
    }

    /// Notes damage that a read or a write found.
    pub(super) fn note_damage<T>(&self, answer: &Result<T, Fault>) {
        if let Err(Fault(StoreError::Corrupt(damage))) = answer {
            self.damage.lock().get_or_insert_with(|| damage.clone());
        }
    }

    pub(super) fn note_fault(&self) {
        *self.fault_at.lock() = Some(Instant::now());
    }
}
