//! Submitting bulk action tasks: staging payloads, creating, cancelling, listing and reading tasks
//! and their records.

use std::collections::BTreeSet;

use caseload_model::ids::DomainId;
use caseload_model::issue::DeskAddresses;
use caseload_model::issue_query::Paging;
use caseload_model::task::{Action, Counts, Family, Task, TaskOrigin, TaskStatus};
use caseload_model::task_query::TaskFilter;
use caseload_model::time::UnixMillis;

use super::{AnswerOf, IdempotencyKey, Idempotent, StoreFuture, StoredAnswer};
use crate::PackedBlock;
use crate::profiles::CLOCK_AHEAD_MS_MAX;

/// Reading the input of a task: its payload, and the records that its entries refer to.
pub trait Payloads: Send + Sync + 'static {
    /// The first payload block with an entry at or after `from_index`, unpacked and encoded (see
    /// `Block::decode`). Its first entries may precede `from_index`. Of a completed task, the
    /// failed and unprocessed entries are there, and of a dry run all.
    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>>;
    /// The addresses that an import fills into messages of the desk.
    fn desk_addresses(&self, domain: DomainId) -> StoreFuture<'_, DeskAddresses>;
}

/// Creating, reading and cancelling tasks. Other servers may run them.
pub trait Submit: Payloads {
    /// Stores blocks of a payload before its task exists, so that an upload need not be held in
    /// memory whole. Each call is a small commit of its own.
    /// [`StoreError::AlreadyExists`](super::StoreError) if there is a task of that id.
    fn stage_payload(&self, command: StagePayload) -> StoreFuture<'_, ()>;
    /// Notes that the upload of these tasks continues. Without this, their blocks are given up an
    /// hour after the last block of their task. [`StoreError::UploadLost`](super::StoreError) if
    /// blocks are gone.
    fn extend_staged(
        &self,
        domain: DomainId,
        task_ids: Vec<String>,
        now: UnixMillis,
    ) -> StoreFuture<'_, ()>;
    /// Removes the blocks that were staged for a task that will not be created. Does nothing if the
    /// task was created.
    fn discard_staged(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, ()>;
    /// Creates a task with its whole payload, durably. Errors, each of the type
    /// [`StoreError`](super::StoreError): `QueueFull` beyond the limit, `IdempotencyKeyReused` if
    /// the key belongs to another request, `UploadLost` if staged blocks are gone, `AlreadyRetried`
    /// for the second retry of a task, `AlreadyRun` for the second run of a dry run. After an error
    /// the staged blocks remain until they are discarded or purged.
    fn create_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>>;
    /// The answer stored under an idempotency key, with the SHA-256 of the request that it
    /// answered. A key counts until it is purged.
    fn stored_answer(
        &self,
        domain: DomainId,
        key: &str,
    ) -> StoreFuture<'_, Option<([u8; 32], StoredAnswer)>>;
    /// A task of one family; `None` for tasks of other families.
    fn task(&self, domain: DomainId, family: Family, id: &str) -> StoreFuture<'_, Option<Task>>;
    /// A page of the tasks of one family, newest first.
    fn list_tasks(&self, request: ListTasks) -> StoreFuture<'_, TaskPage>;
    /// Cancels a task: at once if no server works on it, otherwise after its current chunk. Returns
    /// the task as it is then. [`StoreError::TaskCompleted`](super::StoreError) if it has ended.
    fn cancel_task(&self, command: CancelTask) -> StoreFuture<'_, Task>;
    /// The payload of a retry: the failed and the unprocessed entries of a completed task, exactly
    /// as they were sent and with their indexes.
    fn retry_payload(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, Vec<PackedBlock>>;
    /// The whole payload of a completed dry run. [`StoreError::NotFound`](super::StoreError) if
    /// entries of it are gone, because it has just expired.
    fn whole_payload(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, Vec<PackedBlock>>;
    /// The failed and the unprocessed entries of a task so far; all are unprocessed if there is no
    /// such task.
    fn entry_states(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, EntryStates>;
    /// The first block of result or error records that begins at or after `from_index`.
    fn record_block(
        &self,
        domain: DomainId,
        task_id: &str,
        kind: RecordKind,
        from_index: u32,
    ) -> StoreFuture<'_, Option<RecordBlock>>;
    /// The sizes of all blocks of result or error records, in order, without unpacking them.
    fn record_sizes(
        &self,
        domain: DomainId,
        task_id: &str,
        kind: RecordKind,
    ) -> StoreFuture<'_, Vec<RecordBlockSize>>;
}

/// Stores blocks of a payload that is still arriving. They belong to no task until one of this id
/// is created; abandoned blocks are purged.
#[derive(Debug, Clone)]
pub struct StagePayload {
    pub domain: DomainId,
    /// As in [`WriteOrigin`](super::WriteOrigin).
    pub key: Option<String>,
    /// The id of the task to come.
    pub task_id: String,
    /// The blocks that follow those staged so far.
    pub blocks: Vec<PackedBlock>,
    pub now: UnixMillis,
}

/// Creates a task. All of it becomes durable in one commit.
#[derive(Debug, Clone)]
pub struct CreateTask {
    pub domain: DomainId,
    /// As in [`WriteOrigin`](super::WriteOrigin).
    pub key: Option<String>,
    /// As in [`WriteOrigin`](super::WriteOrigin).
    pub request_id: Option<String>,
    pub id: String,
    pub action: Action,
    pub dry_run: bool,
    /// As in [`Task::upsert`].
    pub upsert: bool,
    /// Entries of the payload, staged ones included.
    pub total: u32,
    /// Blocks that were staged under this id; they come before `blocks`.
    pub staged: u32,
    pub blocks: Vec<PackedBlock>,
    pub now: UnixMillis,
    /// When payload, results and errors may be purged.
    pub expires_at: UnixMillis,
    /// The number of unfinished tasks that the domain may have, this one included.
    pub unfinished_max: u32,
    /// The task that this one retries, or the dry run whose payload it runs.
    pub parent_id: Option<String>,
    /// Whether the parent is a dry run whose payload this task runs.
    pub runs_parent: bool,
    pub origin: TaskOrigin,
    /// As in [`Task::import_id`]. [`Imports::create_import`](super::Imports) sets it.
    pub import_id: Option<String>,
    /// The key under which the caller may repeat the request, and the answer to a repeat.
    pub idempotency: Option<(IdempotencyKey, AnswerOf<Task>)>,
}

impl CreateTask {
    /// The task as it is right after its creation. It is not older than the one that the domain
    /// accepted before it, whose time is `last`: a list in the order of acceptance is then a list
    /// in the order of time. A time far ahead comes from a clock that was wrong, and is not
    /// followed.
    pub fn accepted(&self, last: Option<UnixMillis>) -> Task {
        let ahead_max = self.now.0.saturating_add(CLOCK_AHEAD_MS_MAX);
        let last = last.filter(|last| last.0 <= ahead_max);
        let created_at = self.now.max(last.unwrap_or(self.now));
        let kept_ms = self.expires_at.0.saturating_sub(self.now.0);
        Task {
            id: self.id.clone(),
            action: self.action,
            status: TaskStatus::Created,
            outcome: None,
            dry_run: self.dry_run,
            upsert: self.upsert,
            counts: Counts::new(self.total),
            created_at,
            queued_at: None,
            started_at: None,
            completed_at: None,
            expires_at: Some(UnixMillis(created_at.0.saturating_add(kept_ms))),
            parent_id: self.parent_id.clone(),
            retried_by: None,
            run_by: None,
            origin: self.origin.clone(),
            warnings: 0,
            position: None,
            deaths: 0,
            next_try_at: None,
            import_id: self.import_id.clone(),
        }
    }
}

/// A request for a page of tasks, newest first.
#[derive(Debug, Clone)]
pub struct ListTasks {
    pub domain: DomainId,
    pub family: Family,
    pub filter: TaskFilter,
    pub paging: Paging,
}

/// A page of tasks with the exact number of all that match, from one snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPage {
    pub tasks: Vec<Task>,
    pub total_hits: u64,
}

/// The entries of a task that failed, and those that were not processed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryStates {
    pub failed: BTreeSet<u32>,
    /// All entries from this index on are unprocessed.
    pub unprocessed_from: u32,
}

/// Cancels a task.
#[derive(Debug, Clone)]
pub struct CancelTask {
    pub domain: DomainId,
    /// As in [`WriteOrigin`](super::WriteOrigin).
    pub key: Option<String>,
    pub family: Family,
    pub task_id: String,
    pub now: UnixMillis,
}

/// One of the two lists of records of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    Results,
    Errors,
}

/// A run of records as JSON lines, each with its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordBlock {
    pub lines: Vec<u8>,
    /// The `from_index` of the next block.
    pub next_index: u32,
}

/// The first index of a stored block of records and the bytes of its unpacked lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordBlockSize {
    pub first_index: u32,
    pub bytes: u64,
}
