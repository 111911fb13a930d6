//! Figures of a running store for its operators: counts since it was opened, and sizes now. No
//! figure names a domain or a record.

use std::time::Duration;

use caseload_model::task::{Action, Outcome, Task};

/// Upper bounds of the buckets of durations.
pub const DURATION_BOUNDS_SECONDS: [f64; 11] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 60.0];

/// A histogram of durations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurationCounts {
    /// The number of durations up to each of [`DURATION_BOUNDS_SECONDS`].
    pub within: [u64; DURATION_BOUNDS_SECONDS.len()],
    pub count: u64,
    pub total: Duration,
}

impl DurationCounts {
    pub fn add(&mut self, took: Duration) {
        for (within, bound) in self.within.iter_mut().zip(DURATION_BOUNDS_SECONDS) {
            *within += u64::from(took.as_secs_f64() <= bound);
        }
        self.count += 1;
        self.total += took;
    }
}

/// Figures of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreMetrics {
    /// Transactions committed since the store was opened.
    pub commits: u64,
    /// Durations of small writes, from entering the queue until they were durable.
    pub writes: DurationCounts,
    /// Bytes of the log of writes that are not in the database yet.
    pub log_bytes: u64,
    /// Bytes of the database without its log.
    pub database_bytes: u64,
    /// Bytes that the database may still take, if the store knows its disk.
    pub disk_free_bytes: Option<u64>,
    /// Servers that have the store open, as far as the store sees them.
    pub servers: u64,
    /// Unfinished tasks that no server works on.
    pub tasks_waiting: u64,
    /// Unfinished tasks that a server works on.
    pub tasks_running: u64,
    /// Waiting ones that no server takes for a while, because their server died or met a fault.
    pub tasks_delayed: u64,
    /// Webhooks that have changes to deliver.
    pub webhooks_waiting: u64,
    /// Webhooks that are paused.
    pub webhooks_paused: u64,
    /// Tasks that completed since the store was opened, one element for each action and outcome.
    pub completed: Vec<CompletedTasks>,
}

/// Deliveries of webhooks since the start of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookCounts {
    /// Attempts that a receiver took.
    pub succeeded: u64,
    /// The other attempts.
    pub failed: u64,
    /// Changes in deliveries that a receiver took.
    pub changes: u64,
    /// Webhooks that were paused because of their receiver.
    pub paused: u64,
    /// Attempts in flight now.
    pub in_flight: u64,
}

/// The number of tasks of one action and outcome, with the counts of their entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedTasks {
    pub action: Action,
    pub outcome: Outcome,
    pub tasks: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub unprocessed: u64,
}

impl StoreMetrics {
    /// Adds a task if it has completed.
    pub fn count(completed: &mut Vec<CompletedTasks>, task: &Task) {
        let (action, Some(outcome)) = (task.action, task.outcome) else { return };
        let same = |one: &&mut CompletedTasks| one.action == action && one.outcome == outcome;
        let (succeeded, failed) = (task.counts.succeeded.into(), task.counts.failed.into());
        let unprocessed = task.counts.unprocessed.into();
        match completed.iter_mut().find(same) {
            Some(found) => {
                found.tasks += 1;
                found.succeeded += succeeded;
                found.failed += failed;
                found.unprocessed += unprocessed;
            }
            None => completed.push(CompletedTasks {
                action,
                outcome,
                tasks: 1,
                succeeded,
                failed,
                unprocessed,
            }),
        }
    }
}
