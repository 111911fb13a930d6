//! An import: one file as tasks of at most [`PAYLOAD_ENTRIES_MAX`] entries each. Its state, counts
//! and warnings are those of its tasks together, so that nothing about it can contradict them. The
//! laws of a task hold for the sums too. How a file becomes entries is not known here.
//!
//! [`PAYLOAD_ENTRIES_MAX`]: crate::task::PAYLOAD_ENTRIES_MAX

use crate::task::{Action, Counts, Outcome, Task, TaskOrigin, TaskStatus};
use crate::time::UnixMillis;

/// Entries that one file may have.
pub const IMPORT_ENTRIES_MAX: u32 = 5_000_000;

/// An import as the store returns it. The wire form is in docs/api.md, "Imports".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// UUID, version 7.
    pub id: String,
    pub action: Action,
    pub dry_run: bool,
    /// Whether issues replace those whose id they name; false of other actions.
    pub upsert: bool,
    pub origin: TaskOrigin,
    /// How the file was read, as JSON text; only the API knows its members.
    pub file: String,
    pub created_at: UnixMillis,
    /// When the entries, results and errors may be purged.
    pub expires_at: UnixMillis,
    /// The import that this one retries, or the dry run that it runs.
    pub parent_id: Option<String>,
    /// The import that runs the failed and unprocessed entries of this one again.
    pub retried_by: Option<String>,
    /// Of a dry run: the import that ran its entries for real.
    pub run_by: Option<String>,
    /// The last import of the same bytes with the same options before this one, if there was one.
    pub repeat_of: Option<String>,
    /// Its entries without an id that an earlier import had, too, if there are any.
    pub doubles: Option<Doubles>,
    /// In the order of the file; at least one.
    pub tasks: Vec<Task>,
}

/// Entries without an id that an earlier import had. Each makes a second record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubles {
    /// Of several earlier imports, the one that had most of them.
    pub import_id: String,
    /// When that import was created.
    pub created_at: UnixMillis,
    /// How many they are, which may be an estimate: see [`crate::sketch`].
    pub entries: u32,
    /// All entries of the file that have no id.
    pub without_id: u32,
}

impl Import {
    /// `Completed` if all tasks are, `Created` or `Queued` if none has begun, else `Processing`.
    pub fn status(&self) -> TaskStatus {
        let statuses = || self.tasks.iter().map(|task| task.status);
        let least = statuses().min().unwrap_or(TaskStatus::Completed);
        let most = statuses().max().unwrap_or(TaskStatus::Completed);
        match (least, most) {
            (TaskStatus::Completed, _) => TaskStatus::Completed,
            (_, TaskStatus::Created) => TaskStatus::Created,
            (_, TaskStatus::Queued) => TaskStatus::Queued,
            _ => TaskStatus::Processing,
        }
    }

    /// The outcome of a completed import: the worst one of its tasks. An import that a caller
    /// cancelled is cancelled unless a task failed.
    pub fn outcome(&self) -> Option<Outcome> {
        if self.status() != TaskStatus::Completed {
            return None;
        }
        self.tasks.iter().filter_map(|task| task.outcome).max()
    }

    /// The sums of the counts of its tasks.
    pub fn counts(&self) -> Counts {
        self.tasks.iter().fold(Counts::default(), |sum, Task { counts, .. }| Counts {
            total: sum.total + counts.total,
            succeeded: sum.succeeded + counts.succeeded,
            failed: sum.failed + counts.failed,
            unprocessed: sum.unprocessed + counts.unprocessed,
        })
    }

    /// Warnings in the result records.
    pub fn warnings(&self) -> u32 {
        self.tasks.iter().map(|task| task.warnings).sum()
    }

    /// Percent of the entries processed, rounded down; 100 exactly from completion on.
    pub fn progress(&self) -> u32 {
        if self.status() == TaskStatus::Completed {
            return 100;
        }
        let Counts { total, unprocessed, .. } = self.counts();
        let percent = u64::from(total - unprocessed) * 100 / u64::from(total.max(1));
        (percent as u32).min(99)
    }

    pub fn started_at(&self) -> Option<UnixMillis> {
        self.tasks.iter().filter_map(|task| task.started_at).min()
    }

    /// When its last task completed.
    pub fn completed_at(&self) -> Option<UnixMillis> {
        let ends = self.tasks.iter().map(|task| task.completed_at);
        ends.collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}
