//! A server of the simulated cluster: the store as its runner sees it. Each call costs time of the
//! coordinator; a chunk also takes the time of the work itself, on the domain's node.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::issue::DeskAddresses;
use caseload_model::task::Task;
use caseload_model::time::UnixMillis;
use caseload_store::issues::write;
use caseload_store::tasks as rules;
use caseload_store::{
    ApplyChunk, BackupReport, CheckReport, ChunkApplied, ClaimTasks, ClaimedTask, CreateBackup,
    FailAttempt, IndexTexts, Payloads, RenewLeases, StoreError, StoreFuture, StoreMetrics, Upkeep,
    Work,
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;

use super::coordinator::{Coordinator, cost};

pub(super) struct Server {
    pub(super) coordinator: Arc<Coordinator>,
    /// The time that a chunk takes on the node.
    pub(super) work: Duration,
    /// The tasks that it runs: domain and epoch of the lease.
    pub(super) running: Mutex<BTreeMap<String, (DomainId, i64)>>,
    /// A dead server gets no more answers.
    dead: AtomicBool,
}

impl Server {
    pub(super) fn new(coordinator: &Arc<Coordinator>, work: Duration) -> Arc<Self> {
        Arc::new(Self {
            coordinator: coordinator.clone(),
            work,
            running: Mutex::default(),
            dead: AtomicBool::default(),
        })
    }

    /// Ends it without a word; returns the tasks that it was running.
    pub(super) fn kill(&self) -> Vec<String> {
        self.dead.store(true, Ordering::Relaxed);
        self.running.lock().keys().cloned().collect()
    }

    async fn alive(&self) {
        if self.dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl Payloads for Server {
    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        let block = self.coordinator.store.find(&rules::payload_block(domain, task_id, from_index));
        Box::pin(async move { block })
    }

    fn desk_addresses(&self, domain: DomainId) -> StoreFuture<'_, DeskAddresses> {
        let addresses = self.coordinator.store.read_in(domain, |tx| write::desk_addresses(&tx));
        Box::pin(async move { addresses })
    }
}

impl Work for Server {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        Box::pin(async move {
            self.alive().await;
            let claimed = self.coordinator.claim(command).await?;
            let known =
                claimed.iter().map(|one| (one.task.id.clone(), (one.domain, one.lease_epoch)));
            self.running.lock().extend(known);
            if self.dead.load(Ordering::Relaxed) {
                // It died in the middle of the claim.
                let leased: Vec<String> = claimed.into_iter().map(|one| one.task.id).collect();
                self.coordinator.orphaned(&leased);
                return std::future::pending().await;
            }
            Ok(claimed)
        })
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.alive().await;
            self.coordinator.use_core(cost::RENEW).await;
            let known: Vec<_> = {
                let running = self.running.lock();
                running.iter().map(|(id, (domain, epoch))| (*domain, id.clone(), *epoch)).collect()
            };
            self.coordinator.store.renew_known_leases(&command, &known)
        })
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        let released = self.coordinator.store.release_leases(server);
        Box::pin(async move { released })
    }

    fn apply_chunk(&self, command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        Box::pin(async move {
            sleep(self.work).await;
            self.alive().await;
            self.coordinator.use_core(cost::END).await;
            let applied = self.coordinator.store.apply_chunk(&command, None);
            self.running.lock().remove(&command.task_id);
            let (applied, _) = applied?;
            if applied.task.outcome.is_some() {
                self.coordinator.ended(&command.task_id);
                self.coordinator.wake_all().await;
            }
            Ok(applied)
        })
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        let failed = self
            .coordinator
            .store
            .write_in(command.domain, |tx| rules::fail_attempt(&tx, &command));
        Box::pin(async move { failed })
    }

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.coordinator.wakes.subscribe()
    }
}

impl Upkeep for Server {
    fn ready(&self) -> StoreFuture<'_, ()> {
        not_simulated()
    }

    fn metrics(&self) -> StoreFuture<'_, StoreMetrics> {
        not_simulated()
    }

    fn check(&self) -> StoreFuture<'_, CheckReport> {
        not_simulated()
    }

    fn backup(&self, _: CreateBackup) -> StoreFuture<'_, BackupReport> {
        not_simulated()
    }

    fn purge_expired(&self, _: UnixMillis) -> StoreFuture<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    fn purge_changes(&self, _: UnixMillis) -> StoreFuture<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    fn index_texts(&self, _: IndexTexts) -> StoreFuture<'_, bool> {
        Box::pin(async {
            self.alive().await;
            self.coordinator.use_core(cost::INDEX_TEXTS).await;
            Ok(false)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        not_simulated()
    }
}

fn not_simulated<T: Send + 'static>() -> StoreFuture<'static, T> {
    Box::pin(async { Err(StoreError::Closed) })
}
