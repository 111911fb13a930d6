//! Statements on the tasks of one domain, which a backend implements. None of them decides
//! anything: that is left to the rules in the other modules of this folder.
//! Invariant: a task that was locked stays as it was read until the transaction ends.

use caseload_model::task::Task;
use caseload_model::time::UnixMillis;

use crate::idempotency::CommandStore;
use crate::{CreateTask, PackedBlock, StoreError};

/// A task with the columns that only the store uses, as the transaction that changes it reads it.
#[derive(Debug, Clone)]
pub struct LockedTask {
    pub task: Task,
    /// Index of the first entry that is not processed.
    pub next_index: u32,
    /// Attempts that a fault of the server's ended.
    pub attempts: u32,
    pub cancel_requested: bool,
    /// The lease of the server that works on the task.
    pub lease: Option<Lease>,
}

/// A server's right to work on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Goes up with each lease of the task.
    pub epoch: i64,
    pub until: UnixMillis,
}

/// How far the purge of an expired task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeState {
    Begun = 1,
    Done = 2,
}

/// The two kinds of compressed blocks that a task has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    Payload,
    Records,
}

/// The tasks of one domain, in one transaction. A task is named by its id.
pub trait TaskStore: CommandStore {
    /// Reads a task and locks it.
    fn lock(&self, id: &str) -> Result<Option<LockedTask>, StoreError>;
    /// Reads a task without a lock, and without its lease.
    fn read(&self, id: &str) -> Result<Option<LockedTask>, StoreError>;
    /// Writes state, counts and position of a locked task. A completed task loses its lease, leaves
    /// the queue and wakes the servers: another task of the domain may be runnable.
    fn save(&self, task: &LockedTask) -> Result<(), StoreError>;
    /// Marks a leased task, so that its server ends it before the next chunk.
    fn request_cancel(&self, id: &str, now: UnixMillis) -> Result<(), StoreError>;
    /// Ends the lease. No server takes the task before `retry_at`.
    fn end_lease(&self, id: &str, retry_at: UnixMillis) -> Result<(), StoreError>;

    /// How many tasks are not completed.
    fn unfinished(&self) -> Result<u32, StoreError>;
    /// Adds a task to the end of the queue, with the time that [`CreateTask::accepted`] gives it
    /// after the last task of its family; `None` if there is a task of that id. A backend with
    /// concurrent transactions makes sure, with [`require_room`](super::require_room), that no
    /// other one filled the queue.
    fn insert(&self, command: &CreateTask, first_index: u32) -> Result<Option<Task>, StoreError>;
    /// Notes that `retry` retries the task. If another task does so already, the id of that task.
    fn note_retry(&self, id: &str, retry: &str) -> Result<Option<String>, StoreError>;

    /// Notes that an upload received a block, and locks its row.
    fn touch_upload(&self, id: &str, now: UnixMillis) -> Result<(), StoreError>;
    /// Removes the row of an upload, so that its blocks belong to the task; false if there is none
    /// or it was given up.
    fn take_upload(&self, id: &str) -> Result<bool, StoreError>;
    /// Gives an upload up; false if there is none.
    fn give_up_upload(&self, id: &str) -> Result<bool, StoreError>;
    /// Removes the row of an upload that has no blocks left.
    fn delete_upload(&self, id: &str) -> Result<(), StoreError>;

    /// First and last index of each payload block.
    fn payload_ranges(&self, id: &str) -> Result<Vec<(u32, u32)>, StoreError>;
    /// The payload blocks with these last indexes, or all of them, in order.
    fn payload_blocks(
        &self,
        id: &str,
        last_indexes: Option<&[u32]>,
    ) -> Result<Vec<PackedBlock>, StoreError>;
    /// [`StoreError::AlreadyExists`] if one of these blocks is there.
    fn insert_payload(&self, id: &str, blocks: &[PackedBlock]) -> Result<(), StoreError>;
    fn delete_payload(&self, id: &str, last_indexes: &[u32]) -> Result<(), StoreError>;
    /// The blocks of error records, compressed.
    fn error_blocks(&self, id: &str) -> Result<Vec<Vec<u8>>, StoreError>;
    /// Deletes at most `blocks_max` blocks; how many were deleted.
    fn delete_some(&self, id: &str, blocks: Blocks, blocks_max: u32) -> Result<u64, StoreError>;
    fn set_purge_state(&self, id: &str, state: PurgeState) -> Result<(), StoreError>;
}

/// The word that is stored under a number.
pub fn word<T>(code: i64, from_code: impl FnOnce(i64) -> Option<T>) -> Result<T, StoreError> {
    from_code(code)
        .ok_or_else(|| StoreError::Corrupt(format!("{code} is not the number of a word of tasks")))
}
