//! The work of a test server, in which the faults of tasks take effect: tasks are held, and
//! complete with errors that were asked for. Everything else is the store's own work.

use std::collections::HashMap;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::issue::DeskAddresses;
use caseload_model::record::Rejection;
use caseload_model::task::{Action, Task};
use caseload_store::tasks::latest_wait;
use caseload_store::{
    ApplyChunk, ChunkApplied, ChunkWork, ClaimTasks, ClaimedTask, FailAttempt, Payloads,
    RenewLeases, StoreFuture, Work,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::faults::{EntryErrors, Faults, Stage};

#[derive(Clone)]
pub(super) struct HeldWork {
    work: Arc<dyn Work>,
    faults: Arc<Faults>,
    /// The errors that tasks have to complete with, by the id of the task.
    errors: Arc<Mutex<HashMap<String, Vec<EntryErrors>>>>,
    wake_ups: watch::Receiver<u64>,
}

impl std::fmt::Debug for HeldWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldWork").finish_non_exhaustive()
    }
}

impl HeldWork {
    pub(super) fn new(work: Arc<dyn Work>, faults: Arc<Faults>) -> Self {
        let (mut of_store, mut of_faults) = (work.wake_ups(), faults.changes());
        let (sender, wake_ups) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                let changed = tokio::select! {
                    changed = of_store.changed() => changed,
                    changed = of_faults.changed() => changed,
                    () = sender.closed() => return,
                };
                if changed.is_err() {
                    return;
                }
                sender.send_modify(|count| *count += 1);
            }
        });
        Self { work, faults, errors: Arc::default(), wake_ups }
    }

    /// Returns once tasks are not held in this state.
    async fn released(&self, stage: Stage) {
        let mut changes = self.faults.changes();
        while self.faults.holds(stage) && changes.changed().await.is_ok() {}
    }

    /// Puts the errors that were asked for into a chunk.
    fn with_errors(&self, mut command: ApplyChunk) -> ApplyChunk {
        let errors = self.errors.lock();
        let Some(errors) = errors.get(&command.task_id) else { return command };
        let mut work = ChunkWork::clone(&command.entries.work);
        for at in 0..work.len() {
            let index = work.entry(at).index;
            if let Some(found) = errors.iter().find(|one| one.index == index) {
                let faults = found.faults.clone();
                work.reject(at, Rejection { id: None, faults, readable: true, named: None });
            }
        }
        command.entries.work = Arc::new(work);
        // The store would take the next entries by itself.
        command.following = None;
        command
    }
}

impl Payloads for HeldWork {
    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.work.payload_block(domain, task_id, from_index)
    }

    fn desk_addresses(&self, domain: DomainId) -> StoreFuture<'_, DeskAddresses> {
        self.work.desk_addresses(domain)
    }
}

impl Work for HeldWork {
    fn claim_tasks(&self, mut command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        Box::pin(async move {
            // A clock that was turned has ended the leases of the tasks at work: without this, the
            // server would take them from itself.
            command.lease_until = latest_wait(command.now);
            let (server, lease_until) = (command.server.clone(), command.lease_until);
            self.work.renew_leases(RenewLeases { server, lease_until }).await?;
            if self.faults.holds(Stage::Queued) {
                // A claim of none marks tasks as queued.
                command.tasks_max = 0;
            }
            let claimed = self.work.claim_tasks(command).await?;
            for ClaimedTask { task, next_index, .. } in &claimed {
                if *next_index == 0
                    && task.action != Action::ErasePerson
                    && let Some(errors) = self.faults.of_task()
                {
                    self.errors.lock().insert(task.id.clone(), errors);
                }
            }
            Ok(claimed)
        })
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        self.work.renew_leases(command)
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        self.work.release_leases(server)
    }

    fn apply_chunk(&self, command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        Box::pin(async move {
            self.released(Stage::Processing).await;
            let task_id = command.task_id.clone();
            let applied = self.work.apply_chunk(self.with_errors(command)).await?;
            if applied.task.completed_at.is_some() {
                self.errors.lock().remove(&task_id);
            }
            Ok(applied)
        })
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        self.work.fail_attempt(command)
    }

    // Slots are not registered: the store would lease tasks to them without asking.

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.wake_ups.clone()
    }
}
