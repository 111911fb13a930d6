//! The record of a task, or of an import, as the server sends it. Words such as status and outcome
//! remain text, because a newer server may know more of them than this client. The record also
//! holds its own bytes, for programs that pass it on.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A bulk action task, or an import, as the server reports it.
#[expect(clippy::struct_excessive_bools, reason = "most are members of the server's record")]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Task {
    /// The id of the task, or of the import.
    #[serde(default)]
    pub task_id: String,
    /// Of a task of an import: the import.
    #[serde(default)]
    pub import_id: Option<String>,
    pub action: String,
    /// `created`, `queued`, `processing` or `completed`.
    pub status: String,
    /// How many percent of the entries are processed.
    pub progress: u32,
    /// The results can be fetched. Only tasks say so.
    #[serde(default)]
    pub results: bool,
    /// How the task ended; `None` until it has.
    pub outcome: Option<String>,
    #[serde(default)]
    pub dry_run: bool,
    /// Whether an import replaces issues.
    #[serde(default)]
    pub upsert: bool,
    pub counts: TaskCounts,
    /// Warnings in the result records.
    #[serde(default)]
    pub warnings: u64,
    /// Unix milliseconds, as are the other times.
    pub created_at: i64,
    #[serde(default)]
    pub started_at: Option<i64>,
    #[serde(default)]
    pub completed_at: Option<i64>,
    /// The task whose failed and unprocessed entries this one runs again.
    #[serde(default, alias = "parent_import_id")]
    pub parent_task_id: Option<String>,
    /// Of an import: the last one before it of the same file with the same options.
    #[serde(default)]
    pub repeat_of: Option<String>,
    /// Of an import: its entries without an id that an earlier one had, too.
    #[serde(default)]
    pub doubles: Option<Doubles>,
    /// The task that runs the failed and unprocessed entries of this one again.
    #[serde(default)]
    pub retried_by: Option<String>,
    /// The task that runs the payload of this dry run.
    #[serde(default)]
    pub run_by: Option<String>,
    #[serde(default)]
    pub file_name: Option<String>,
    /// Bytes of the payload without compression.
    #[serde(default)]
    pub content_length: Option<u64>,
    /// While the task waits: how many tasks run before it.
    #[serde(default)]
    pub position: Option<u64>,
    /// An earlier request with the same idempotency key made the task. Only an answer to such a
    /// request says so.
    #[serde(skip)]
    pub replayed: bool,
    /// The file was imported before, and the answer to sending it again is that import.
    #[serde(skip)]
    pub is_repeat: bool,
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

/// Entries without an id that an earlier import had. Each is created a second time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Doubles {
    /// The earlier import, and when it was created.
    pub import_id: String,
    pub created_at: i64,
    /// How many they are, of all entries without an id. Of a long file this is an estimate.
    pub entries: u64,
    pub without_id: u64,
}

/// A page of tasks or of imports, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPage {
    pub page: u64,
    pub tasks: Vec<Task>,
    pub total_hits: u64,
    pub total_pages: u64,
}

/// The wire form of a page.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct WirePage<'a> {
    page: u64,
    #[serde(borrow, alias = "imports")]
    tasks: Vec<&'a RawValue>,
    total_hits: u64,
    total_pages: u64,
}

impl TaskPage {
    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let WirePage { page, tasks, total_hits, total_pages } = serde_json::from_slice(body)?;
        let tasks = tasks.into_iter().map(|task| Task::read(task.get().as_bytes()));
        Ok(Self { page, tasks: tasks.collect::<Result<_, _>>()?, total_hits, total_pages })
    }
}

impl Task {
    /// Whether the task has ended, with whatever outcome.
    pub fn is_completed(&self) -> bool {
        self.status == "completed"
    }

    /// Whether an entry failed.
    pub const fn has_errors(&self) -> bool {
        self.counts.failed > 0
    }

    /// Whether every entry was applied.
    pub fn is_clean(&self) -> bool {
        self.outcome.as_deref() == Some("succeeded")
    }

    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let mut task: Self = serde_json::from_slice(body)?;
        if task.task_id.is_empty() {
            let missing = || serde::de::Error::missing_field("task_id");
            task.task_id = task.import_id.take().ok_or_else(missing)?;
        }
        String::from_utf8_lossy(body).trim_end().clone_into(&mut task.record);
        Ok(task)
    }
}
