//! The task record as it comes over the wire. Words such as status and outcome stay text: a newer
//! server may know more of them than this client. The record's own bytes are kept beside the
//! fields, for programs that hand it on.

use serde::Deserialize;

/// A bulk action task as the server reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Task {
    pub task_id: String,
    pub action: String,
    /// `created`, `queued`, `processing` or `completed`.
    pub status: String,
    /// Percent of the entries that are processed.
    pub progress: u32,
    /// At least one entry failed.
    pub errors: bool,
    /// Results can be fetched.
    pub results: bool,
    /// How the task ended; `None` until it has.
    pub outcome: Option<String>,
    #[serde(default)]
    pub dry_run: bool,
    pub counts: TaskCounts,
    /// Unix milliseconds, as are the other times.
    pub created_at: i64,
    #[serde(default)]
    pub started_at: Option<i64>,
    #[serde(default)]
    pub completed_at: Option<i64>,
    /// The record as the server sent it.
    #[serde(skip)]
    pub record: String,
}

/// `succeeded + failed + unprocessed = total`, at every moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TaskCounts {
    pub total: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub unprocessed: u64,
}

impl Task {
    /// Whether the task has ended, in whichever way.
    pub fn is_completed(&self) -> bool {
        self.status == "completed"
    }

    /// Whether every entry was applied.
    pub fn is_clean(&self) -> bool {
        self.outcome.as_deref() == Some("succeeded")
    }

    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let mut task: Self = serde_json::from_slice(body)?;
        String::from_utf8_lossy(body).trim_end().clone_into(&mut task.record);
        Ok(task)
    }
}
