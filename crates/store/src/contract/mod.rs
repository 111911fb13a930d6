//! What every backend implements. Each write is one plain-data command and one atomic, durable
//! step: there is no begin and no commit here, so that a backend may run it on a writer thread
//! (SQLite) or as an asynchronous transaction (PostgreSQL). Each read is bounded: long ones are
//! read block by block or page by page, so that no snapshot outlives a call. No method takes a
//! record's id without the domain it belongs to. Clock and randomness are passed in.

mod admin;
mod error;
mod feed;
mod fresh;
mod hands;
mod idempotency;
mod issues;
mod metrics;
mod tasks;
mod writing;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::IssueQueue;
use caseload_model::issue::write::{Attachment, References};
use caseload_model::issue_query::ParameterFault;
use caseload_model::task::{Family, Task};
use caseload_model::time::UnixMillis;
use tokio::sync::watch;

pub use admin::*;
pub use error::StoreError;
pub use feed::*;
pub use fresh::{FreshBlocks, FreshPayloads};
pub use hands::Hands;
pub use idempotency::*;
pub use issues::*;
pub use metrics::*;
pub use tasks::*;
pub use writing::*;

use crate::PackedBlock;

/// What every method of the contract returns.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The contract. Shared as `Arc<dyn Store>`.
pub trait Store: Send + Sync + 'static {
    /// Whether the store answers and can be written.
    fn ready(&self) -> StoreFuture<'_, ()>;

    /// Makes a domain with its default app. [`StoreError::AlreadyExists`] where the name is taken.
    fn create_domain(&self, command: CreateDomain) -> StoreFuture<'_, Domain>;
    /// All domains, by name.
    fn domains(&self) -> StoreFuture<'_, Vec<Domain>>;
    fn domain(&self, name: &DomainName) -> StoreFuture<'_, Option<Domain>>;
    /// Removes a domain and everything in it.
    fn delete_domain(&self, domain: DomainId) -> StoreFuture<'_, ()>;

    /// Keeps a new key's hash. [`StoreError::AlreadyExists`] where the id or hash is taken.
    fn create_key(&self, command: CreateKey) -> StoreFuture<'_, ()>;
    /// The keys of a domain, revoked ones included, oldest first.
    fn keys(&self, domain: DomainId) -> StoreFuture<'_, Vec<Key>>;
    /// Revokes a key by its id; false where the domain has no such key.
    fn revoke_key(&self, domain: DomainId, id: &str, at: UnixMillis) -> StoreFuture<'_, bool>;
    /// The key whose SHA-256 is `hash`, with the domain it opens, whether or not it still works.
    fn key_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<KeyGrant>>;
    /// Notes that a key was used; the caller sees to it that this is at most once a minute.
    fn touch_key(&self, domain: DomainId, id: &str, at: UnixMillis) -> StoreFuture<'_, ()>;

    fn create_app(&self, command: CreateApp) -> StoreFuture<'_, App>;
    /// The apps of a domain, oldest first.
    fn apps(&self, domain: DomainId) -> StoreFuture<'_, Vec<App>>;
    fn create_agent(&self, command: CreateAgent) -> StoreFuture<'_, Agent>;
    /// The agents of a domain, oldest first.
    fn agents(&self, domain: DomainId) -> StoreFuture<'_, Vec<Agent>>;

    /// Keeps a part of a payload before its task is accepted, so that an upload needs not be held
    /// whole. Each call is a small commit of its own. [`StoreError::AlreadyExists`] where there is
    /// a task of that id.
    fn stage_payload(&self, command: StagePayload) -> StoreFuture<'_, ()>;
    /// Removes what was staged for a task that will not come; nothing where it was accepted.
    fn discard_staged(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, ()>;
    /// Accepts a task with its whole payload, durably. [`StoreError::QueueFull`] beyond the limit,
    /// [`StoreError::IdempotencyKeyReused`] where its key was used for something else,
    /// [`StoreError::UploadLost`] where not all that it staged is there any more. Blocks that were
    /// staged for a task that is not accepted stay until they are discarded or purged.
    fn create_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>>;
    /// The answer kept under an idempotency key that has not expired at `now`, with the hash of
    /// what was asked for.
    fn stored_answer(
        &self,
        domain: DomainId,
        key: &str,
        now: UnixMillis,
    ) -> StoreFuture<'_, Option<([u8; 32], StoredAnswer)>>;
    /// A task of one family; each bulk path knows only its own.
    fn task(&self, domain: DomainId, family: Family, id: &str) -> StoreFuture<'_, Option<Task>>;
    /// A page of the tasks of one family, newest first.
    fn list_tasks(&self, request: ListTasks) -> StoreFuture<'_, TaskPage>;
    /// Ends a task: at once where nobody works on it, else at the next edge of a chunk. The task as
    /// it is then, or is still. [`StoreError::TaskCompleted`] after its end.
    fn cancel_task(&self, command: CancelTask) -> StoreFuture<'_, Task>;
    /// The failed and the unprocessed entries of a completed task, with their places and exactly as
    /// they were sent: the payload of its retry.
    fn entries_left(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, Vec<PackedBlock>>;
    /// Removes some of what has expired: payloads and records of completed tasks (the tasks stay)
    /// some time after their `expires_at`, staged blocks that nobody adds to for long or whose
    /// server is gone, and idempotency keys. A small step; true where more may be left to do.
    fn purge_expired(&self, now: UnixMillis) -> StoreFuture<'_, bool>;
    /// Marks created tasks as queued, and leases runnable ones to a server: per domain the oldest
    /// unfinished writing task, and reading tasks in any order.
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>>;
    /// Extends the leases a server holds.
    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()>;
    /// Gives back every lease of a server that stops.
    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()>;
    /// The first payload block with an entry at or after `from_index`, decompressed and encoded
    /// (see `Block::decode`). It may begin before that entry.
    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>>;
    /// Where payloads may wait in memory for their tasks, beside being stored; `None` where they
    /// may not.
    fn fresh(&self) -> Option<Arc<FreshPayloads>> {
        None
    }
    /// Applies entries of a task: effects, records and counts in one durable transaction; the last
    /// entry completes the task in the same one. May take further parts from [`ApplyChunk::more`],
    /// and may apply fewer than it was given or took (see [`ChunkApplied::rest`]).
    /// [`StoreError::LeaseLost`] where another server has the task.
    fn apply_chunk(&self, command: ApplyChunk) -> StoreFuture<'_, ChunkApplied>;
    /// Gives the lease of a task back until `retry_at`, and counts a fault of the server's against
    /// it where that is asked for; at the last try the task completes with outcome `failed`.
    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task>;
    /// The first block of result or error records that begins at or after `from_index`.
    fn record_block(
        &self,
        domain: DomainId,
        task_id: &str,
        kind: RecordKind,
        from_index: u32,
    ) -> StoreFuture<'_, Option<RecordBlock>>;
    /// The sizes of all blocks of result or error records, in their order; nothing is unpacked.
    fn record_sizes(
        &self,
        domain: DomainId,
        task_id: &str,
        kind: RecordKind,
    ) -> StoreFuture<'_, Vec<RecordBlockSize>>;
    /// Lends the free hands of a server that has the store open, in place of those lent before. Not
    /// every store uses them.
    fn lend(&self, hands: Arc<Hands>) {
        drop(hands);
    }
    /// Changes whenever tasks may have become runnable and were not leased to lent hands. A hint:
    /// pollers keep polling beside it.
    fn task_bell(&self) -> watch::Receiver<u64>;
    /// Changes whenever a task may have completed, for those who wait for one. A hint, too.
    fn task_ends(&self) -> watch::Receiver<u64> {
        self.task_bell()
    }

    /// One page of issues with the exact total, from one snapshot.
    /// [`StoreError::DeadlinePassed`] where the budget is used up.
    fn list_issues(&self, request: ListIssues) -> StoreFuture<'_, IssuePage>;
    /// The issues that follow a position, from one snapshot. Costs the same wherever the position
    /// is. [`StoreError::DeadlinePassed`] where the budget is used up.
    fn step_issues(&self, request: StepIssues) -> StoreFuture<'_, IssueStep>;
    /// One issue, rendered; `None` where the domain has none of that id.
    fn issue(&self, request: GetIssue) -> StoreFuture<'_, Option<RenderedIssue>>;

    /// Makes an issue; the answer to the caller. [`StoreError::Refused`] where something that the
    /// request refers to is not there, here and in the four commands that follow.
    fn create_issue(&self, command: CreateIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Adds a message; the answer to the caller. [`StoreError::NotFound`] for an unknown issue,
    /// here and in the two commands that follow.
    fn add_message(&self, command: AddMessage) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Adds a private note; the answer to the caller.
    fn add_note(&self, command: AddNote) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Changes an issue; the body of the answer.
    fn edit_issue(&self, command: EditIssue) -> StoreFuture<'_, Vec<u8>>;
    /// Changes many issues in one transaction; the body of the answer. Any fault, an unknown issue
    /// included, changes nothing.
    fn edit_issues(&self, command: EditIssues) -> StoreFuture<'_, Vec<u8>>;
    /// What of these references leads nowhere, for a request that is refused already: so that its
    /// caller learns all its faults at once.
    fn reference_faults(
        &self,
        domain: DomainId,
        references: References,
    ) -> StoreFuture<'_, Vec<ParameterFault>>;
    /// The queues of a domain, oldest first.
    fn queues(&self, domain: DomainId) -> StoreFuture<'_, Vec<IssueQueue>>;
    /// Keeps a piece of a file. [`StoreError::AttachmentLost`] where the pieces before it are gone.
    fn stage_attachment(&self, command: StageAttachment) -> StoreFuture<'_, ()>;
    /// Removes staged files that no message claimed.
    fn discard_attachments(&self, domain: DomainId, ids: Vec<String>) -> StoreFuture<'_, ()>;
    /// An attachment of a message; `None` where the domain has none of that id.
    fn attachment(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Option<Attachment>>;
    /// A piece of its bytes, of [`ATTACHMENT_PIECE_BYTES`] but for the last.
    fn attachment_piece(
        &self,
        domain: DomainId,
        id: &str,
        number: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>>;

    /// Figures for operators, read cheaply.
    fn metrics(&self) -> StoreFuture<'_, StoreMetrics>;
    /// Verifies the laws of the stored data, reading everything.
    fn check(&self) -> StoreFuture<'_, CheckReport>;
    /// Copies the store as it is at one moment, checks the copy, and only then gives it its name.
    /// [`StoreError::AlreadyExists`] where a file of that name may not be replaced.
    fn backup(&self, command: CreateBackup) -> StoreFuture<'_, BackupReport>;
    /// Stops background work and closes files; commands after it fail.
    fn close(&self) -> StoreFuture<'_, ()>;
}
