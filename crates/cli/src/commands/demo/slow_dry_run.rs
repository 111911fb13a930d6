//! The work of the demo's server: as any server's, but one dry run is slow on purpose, so that a
//! person who opens the console sees a task at work. All other tasks run at their usual speed, and
//! as soon as one of them waits, the slow one does, too: tasks of a domain run one after another.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::issue::DeskAddresses;
use caseload_model::issue_query::Paging;
use caseload_model::task::{Family, Task, TaskStatus};
use caseload_model::task_query::TaskFilter;
use caseload_store::{
    ApplyChunk, ChunkApplied, ChunkEntries, ClaimTasks, ClaimedTask, FailAttempt, ListTasks,
    RenewLeases, Store, StoreError, StoreFuture, Trial, TryEntry, Work, WorkerSlots,
};
use parking_lot::Mutex;
use tokio::sync::watch;

/// Entries of the slow dry run in one step.
const ENTRIES: usize = 25;
/// The wait before each step.
const PAUSE: Duration = Duration::from_secs(1);

/// A store whose next dry run is slow, once that is wanted.
pub(crate) struct SlowDryRun {
    store: Arc<dyn Store>,
    is_wanted: AtomicBool,
    task_id: Mutex<Option<String>>,
}

impl SlowDryRun {
    pub(crate) const fn new(store: Arc<dyn Store>) -> Self {
        Self { store, is_wanted: AtomicBool::new(false), task_id: Mutex::new(None) }
    }

    /// The dry run that begins next is the slow one.
    pub(crate) fn expect(&self) {
        self.is_wanted.store(true, Ordering::SeqCst);
    }

    /// Whether another task of the domain waits for its turn.
    async fn has_waiting(&self, domain: DomainId) -> Result<bool, StoreError> {
        for family in [Family::Identity, Family::Issues] {
            let statuses = Some(vec![TaskStatus::Created, TaskStatus::Queued]);
            let filter = TaskFilter { statuses, ..TaskFilter::default() };
            let request = ListTasks { domain, family, filter, paging: Paging::default() };
            if self.store.list_tasks(request).await?.total_hits > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_slow(&self, command: &ApplyChunk) -> bool {
        let mut task_id = self.task_id.lock();
        if command.dry_run && self.is_wanted.swap(false, Ordering::SeqCst) {
            *task_id = Some(command.task_id.clone());
        }
        task_id.as_deref() == Some(&command.task_id)
    }
}

impl Work for SlowDryRun {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        self.store.claim_tasks(command)
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        self.store.renew_leases(command)
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        self.store.release_leases(server)
    }

    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.store.payload_block(domain, task_id, from_index)
    }

    fn failed_entries(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, BTreeSet<u32>> {
        self.store.failed_entries(domain, task_id)
    }

    fn desk_addresses(&self, domain: DomainId) -> StoreFuture<'_, DeskAddresses> {
        self.store.desk_addresses(domain)
    }

    fn try_entry(&self, command: TryEntry) -> StoreFuture<'_, Trial> {
        self.store.try_entry(command)
    }

    fn apply_chunk(&self, command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        if !self.is_slow(&command) {
            return self.store.apply_chunk(command);
        }
        Box::pin(async move {
            if self.has_waiting(command.domain).await? {
                return self.store.apply_chunk(command).await;
            }
            tokio::time::sleep(PAUSE).await;
            let entries = command.entries.clone();
            let end = entries.work.len().min(entries.from + ENTRIES);
            let first =
                ChunkEntries { work: Arc::new(entries.work.part(0..end)), ..entries.clone() };
            let command = ApplyChunk { entries: first, following: None, ..command };
            let applied = self.store.apply_chunk(command).await?;
            let from = entries.from + applied.done;
            let rest = (from < entries.work.len()).then_some(ChunkEntries { from, ..entries });
            Ok(ChunkApplied { rest, ..applied })
        })
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        self.store.fail_attempt(command)
    }

    fn register(&self, slots: Arc<dyn WorkerSlots>) {
        self.store.register(slots);
    }

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.store.wake_ups()
    }
}
