//! Bulk action tasks: the plain data of accepting, claiming, applying and reading them.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::{CoreProfileId, DomainId, DomainName};
use caseload_model::issue::NewIssue;
use caseload_model::issue_query::Paging;
use caseload_model::profile::{AppPatch, CorePatch, NewCoreProfile};
use caseload_model::record::PreparedEntry;
use caseload_model::task::{Action, Counts, Family, Task, TaskStatus};
use caseload_model::time::UnixMillis;

use super::{ChunkFeed, ChunkPart, IdempotencyKey, StoredAnswer};
use crate::PackedBlock;

/// Keeps blocks of a payload that still arrives. Until a task of this id is accepted they belong to
/// nobody, and what is left behind is removed.
#[derive(Debug, Clone)]
pub struct StagePayload {
    pub domain: DomainId,
    /// The id of the task to come.
    pub task_id: String,
    /// What follows the blocks staged so far.
    pub blocks: Vec<PackedBlock>,
    pub now: UnixMillis,
}

/// Accepts a task. Everything in it becomes durable together.
#[derive(Debug, Clone)]
pub struct CreateTask {
    pub domain: DomainId,
    pub id: String,
    pub action: Action,
    pub dry_run: bool,
    /// Entries of the payload, staged ones included.
    pub total: u32,
    /// Blocks staged under this id before, which come first.
    pub staged: u32,
    pub blocks: Vec<PackedBlock>,
    pub now: UnixMillis,
    /// When payload, results and errors may be purged.
    pub expires_at: UnixMillis,
    /// Unfinished tasks that the domain may have, this one included.
    pub unfinished_max: u32,
    /// The task that this one retries.
    pub parent_id: Option<String>,
    /// The key under which the request may be repeated, and what it is answered with.
    pub idempotency: Option<(IdempotencyKey, StoredAnswer)>,
}

impl CreateTask {
    /// The task as it is right after it was accepted.
    pub fn accepted(&self) -> Task {
        Task {
            id: self.id.clone(),
            action: self.action,
            status: TaskStatus::Created,
            outcome: None,
            dry_run: self.dry_run,
            counts: Counts::new(self.total),
            created_at: self.now,
            queued_at: None,
            started_at: None,
            completed_at: None,
            expires_at: Some(self.expires_at),
            parent_id: self.parent_id.clone(),
            position: None,
        }
    }
}

/// Asks for a page of tasks, newest first.
#[derive(Debug, Clone)]
pub struct ListTasks {
    pub domain: DomainId,
    pub family: Family,
    /// Tasks in one of these states; `None` for all.
    pub statuses: Option<Vec<TaskStatus>>,
    /// Tasks of one of these actions; `None` for all.
    pub actions: Option<Vec<Action>>,
    pub paging: Paging,
}

/// A page of tasks with the exact number of all that match, from one snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPage {
    pub tasks: Vec<Task>,
    pub total_hits: u64,
}

/// Asks for the end of a task.
#[derive(Debug, Clone)]
pub struct CancelTask {
    pub domain: DomainId,
    pub family: Family,
    pub task_id: String,
    pub now: UnixMillis,
}

/// Asks for work.
#[derive(Debug, Clone)]
pub struct ClaimTasks {
    /// The asking server; a fresh id each time the program starts.
    pub server: String,
    pub now: UnixMillis,
    pub lease_until: UnixMillis,
    /// Tasks to lease at most.
    pub tasks_max: usize,
}

impl ClaimTasks {
    /// How long a task is leased.
    pub fn lease(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.lease_until.0 - self.now.0).unwrap_or_default())
    }
}

/// A task leased to the server that asked.
#[derive(Debug, Clone)]
pub struct ClaimedTask {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub task: Task,
    /// Goes up with each lease; a chunk under an older one cannot commit.
    pub lease_epoch: i64,
    /// Index of the first entry that is not processed.
    pub next_index: u32,
}

#[derive(Debug, Clone)]
pub struct RenewLeases {
    pub server: String,
    pub lease_until: UnixMillis,
}

/// What the entries of a chunk ask for, validated; one variant per action.
#[derive(Debug, Clone)]
pub enum ChunkWork {
    CreateCoreProfiles(Vec<PreparedEntry<NewCoreProfile>>),
    UpdateCoreProfiles(Vec<PreparedEntry<CorePatch>>),
    UpdateAppProfiles(Vec<PreparedEntry<AppPatch>>),
    GetCoreProfiles(Vec<PreparedEntry<CoreProfileId>>),
    GetAppProfiles(Vec<PreparedEntry<String>>),
    ImportIssues(Vec<PreparedEntry<NewIssue>>),
}

/// Applies the entries of `part` from its `from` on, which are the next unprocessed ones of the
/// task, and such of `more` as are there in time.
#[derive(Debug, Clone)]
pub struct ApplyChunk {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub task_id: String,
    pub action: Action,
    pub dry_run: bool,
    pub lease_epoch: i64,
    pub part: ChunkPart,
    /// Where the parts come from that follow; `None` where a chunk is to be this part alone.
    pub more: Option<Arc<ChunkFeed>>,
    pub now: UnixMillis,
}

/// What became of a chunk.
#[derive(Debug, Clone)]
pub struct ChunkApplied {
    /// The task after the commit.
    pub task: Task,
    /// Entries applied by this call.
    pub done: usize,
    /// A part that was begun, or taken from the feed, and has entries left: the next chunk begins
    /// with it.
    pub rest: Option<ChunkPart>,
}

/// Gives a task back whose server met a fault.
#[derive(Debug, Clone)]
pub struct FailAttempt {
    pub domain: DomainId,
    pub task_id: String,
    pub lease_epoch: i64,
    pub now: UnixMillis,
    /// Whether the fault is counted against the task. One of the disk's is not: it would be any
    /// task's.
    pub counted: bool,
    pub retry_at: UnixMillis,
}

/// Which of a task's two lists of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    Results,
    Errors,
}

/// A run of records as JSON lines, each with its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordBlock {
    pub lines: Vec<u8>,
    /// Ask for the next block from here.
    pub next_index: u32,
}

/// A stored block of records: where it is asked for, and how long its lines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordBlockSize {
    pub first_index: u32,
    pub bytes: u64,
}

impl ChunkWork {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::CreateCoreProfiles(entries) => entries.len(),
            Self::UpdateCoreProfiles(entries) => entries.len(),
            Self::UpdateAppProfiles(entries) => entries.len(),
            Self::GetCoreProfiles(entries) => entries.len(),
            Self::GetAppProfiles(entries) => entries.len(),
            Self::ImportIssues(entries) => entries.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
