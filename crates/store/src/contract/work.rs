//! Running bulk action tasks: leasing them, reading their payloads, applying their entries chunk by
//! chunk.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::DeskAddresses;
use caseload_model::payload::Block;
use caseload_model::profile::Placeholders;
use caseload_model::task::{Action, Task};
use caseload_model::time::{Clock, UnixMillis};
use tokio::sync::watch;

use super::{ChunkWork, EntryContext, Payloads, StoreFuture};

/// Running tasks. A server works only on tasks that the store has leased to it.
pub trait Work: Payloads {
    /// Marks created tasks as queued and leases runnable ones to a server: of each domain the
    /// oldest unfinished task that writes, and tasks that only read in any order. A task whose
    /// server died waits instead, longer with each death.
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>>;
    /// Extends the leases of a server.
    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()>;
    /// Ends all leases of a server that stops.
    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()>;
    /// Applies entries of a task: effects, records and counts in one durable transaction. The chunk
    /// with the last entry completes the task in the same transaction. The store may take further
    /// entries from [`ApplyChunk::following`] and may apply fewer than it has (see
    /// [`ChunkApplied::rest`]). [`StoreError::LeaseLost`](super::StoreError) if another server has
    /// the task; `ChunkInterrupted` if the chunk has the store for itself for too long.
    fn apply_chunk(&self, command: ApplyChunk) -> StoreFuture<'_, ChunkApplied>;
    /// Ends the lease of a task until `retry_at`. If the fault counts against the task and this was
    /// its last attempt, the task completes with outcome `failed`.
    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task>;
    /// Registers the worker slots of a server that has the store open, in place of those that it
    /// registered before. A backend need not use them.
    fn register(&self, slots: Arc<dyn WorkerSlots>) {
        drop(slots);
    }
    /// Changes whenever tasks may have become runnable that the store did not lease to registered
    /// slots. A hint: a server polls as well.
    fn wake_ups(&self) -> watch::Receiver<u64>;
}

/// The worker slots of one server, as far as a store needs them. A store may lease tasks to free
/// slots in the commit that makes the tasks runnable, which saves a commit for the lease.
pub trait WorkerSlots: Debug + Send + Sync {
    /// Takes all free slots and returns the command that claims tasks for them. The caller returns
    /// the slots that got no task with [`WorkerSlots::free`].
    fn claim(&self, now: UnixMillis) -> ClaimTasks;
    /// Hands leased tasks to slots that [`WorkerSlots::claim`] took.
    fn fill(&self, tasks: Vec<ClaimedTask>);
    /// Frees slots that have no task.
    fn free(&self, slots: usize);
}

/// Asks for tasks to work on.
#[derive(Debug, Clone)]
pub struct ClaimTasks {
    /// The asking server; a fresh id each time the program starts.
    pub server: String,
    pub now: UnixMillis,
    pub lease_until: UnixMillis,
    /// The largest number of tasks to lease.
    pub tasks_max: usize,
    /// The end of the last outage of the store that the server knows of. No server could renew its
    /// leases until then, so that one that ran out does not mean that its server died.
    pub reachable_since: UnixMillis,
    /// The server's place in a long queue.
    pub turn: QueueTurn,
}

/// The id of the domain at which the next claim of a server begins to look, if the queue is longer
/// than a claim reads. All claims of a server share it.
#[derive(Debug, Clone, Default)]
pub struct QueueTurn(Arc<AtomicI64>);

impl QueueTurn {
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, domain: i64) {
        self.0.store(domain, Ordering::Relaxed);
    }
}

impl ClaimTasks {
    /// How long a task is leased.
    pub fn lease(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.lease_until.0 - self.now.0).unwrap_or_default())
    }

    /// A lease of another server that ran out before this instant does not mean that it died.
    pub fn deaths_since(&self) -> UnixMillis {
        let lease = self.lease_until.0.saturating_sub(self.now.0);
        UnixMillis(self.reachable_since.0.saturating_add(lease))
    }
}

/// A task leased to the server that asked.
#[derive(Debug, Clone)]
pub struct ClaimedTask {
    pub domain: DomainId,
    pub domain_name: DomainName,
    /// As in [`Domain::placeholders`](super::Domain).
    pub placeholders: Option<String>,
    pub task: Task,
    /// Rises with each lease; a chunk that was sent under an older lease cannot commit.
    pub lease_epoch: i64,
    /// Index of the first entry that is not processed.
    pub next_index: u32,
    /// Whether a caller has cancelled it, so that nothing more of it is to be applied.
    pub cancel_requested: bool,
    /// The payload block with that entry, unpacked, if the store had it at hand.
    pub first_block: Option<Arc<[u8]>>,
}

impl ClaimedTask {
    /// What validation knows of the domain, without the addresses.
    pub fn entry_context(&self) -> EntryContext {
        let own = self.placeholders.as_deref().map(Placeholders::of_list);
        EntryContext {
            domain: self.domain_name.clone(),
            addresses: DeskAddresses::default(),
            placeholders: own.unwrap_or_default(),
        }
    }
}

/// Extends all leases of a server.
#[derive(Debug, Clone)]
pub struct RenewLeases {
    pub server: String,
    pub lease_until: UnixMillis,
}

/// Validated entries of one payload block.
#[derive(Debug, Clone)]
pub struct ChunkEntries {
    /// The bytes that the entries of `work` point into.
    pub block: Arc<Block>,
    pub work: Arc<ChunkWork>,
    /// Position in `work` of the next entry to apply.
    pub from: usize,
}

/// Supplies the entries of a task, in order, that follow the first ones of a chunk. The store takes
/// them while its transaction is open, so the caller may validate one block while the store applies
/// the one before.
pub trait EntrySource: Debug + Send + Sync {
    /// Takes the next entries. Blocks until `deadline` at most.
    fn take(&self, deadline: Instant) -> NextEntries;
    /// Takes back entries that the store took and did not apply; they are the next ones again.
    fn give_back(&self, entries: ChunkEntries);
}

/// The answer of an [`EntrySource`].
#[derive(Debug)]
pub enum NextEntries {
    Ready(ChunkEntries),
    /// None before the deadline; more may follow.
    NotYet,
    /// No entries follow.
    Ended,
}

/// Applies `entries` from their `from` on, which are the next unprocessed ones of the task, and
/// those of `following` that are ready in time.
#[derive(Debug, Clone)]
pub struct ApplyChunk {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub task_id: String,
    pub action: Action,
    pub dry_run: bool,
    /// As in [`Task::upsert`].
    pub upsert: bool,
    /// As in [`Task::import_id`]. The tasks of a dry run of an import are planned as one.
    pub import_id: Option<String>,
    pub lease_epoch: i64,
    pub entries: ChunkEntries,
    /// Supplies the entries that follow; `None` if the chunk is `entries` alone.
    pub following: Option<Arc<dyn EntrySource>>,
    /// Read when the chunk begins and, if it completes its task, when it ends.
    pub clock: Clock,
}

/// The outcome of a chunk.
#[derive(Debug, Clone)]
pub struct ChunkApplied {
    /// The task after the commit.
    pub task: Task,
    /// The number of entries that this call applied. Of an erasure, 0 until its last step.
    pub done: usize,
    /// Index of the first entry that is not processed.
    pub next_index: u32,
    /// Entries that the store took and did not apply; the next chunk begins with them.
    pub rest: Option<ChunkEntries>,
}

/// Returns a task to the queue after a fault of its server.
#[derive(Debug, Clone)]
pub struct FailAttempt {
    pub domain: DomainId,
    pub task_id: String,
    pub lease_epoch: i64,
    pub now: UnixMillis,
    /// Whether the fault counts against the task. A fault of the disk does not: it would stop any
    /// task.
    pub counted: bool,
    pub retry_at: UnixMillis,
}
