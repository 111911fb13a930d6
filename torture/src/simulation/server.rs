//! The store as a simulated server sees it: the runner's calls, each a request over the server's
//! link. A server that has the store alone also gets leases in the commits of other commands.

use std::fmt;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::issue::DeskAddresses;
use caseload_model::task::Task;
use caseload_model::time::UnixMillis;
use caseload_store::issues::write;
use caseload_store::tasks as rules;
use caseload_store::{
    ApplyChunk, BackupReport, CheckReport, ChunkApplied, ChunkEntries, ClaimTasks, ClaimedTask,
    CreateBackup, EntrySource, FailAttempt, IndexTexts, NextEntries, Payloads, RenewLeases,
    StoreError, StoreFuture, StoreMetrics, Upkeep, Work, WorkerSlots,
};
use caseload_store_sqlite::{InMemoryStore, WithLeases};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::link::{Link, Request, Scene, Sender};

/// Slots that were taken for leases in the commit of another command. Dropping it frees them.
struct Leasing {
    slots: Arc<dyn WorkerSlots>,
    command: ClaimTasks,
    taken: usize,
}

impl Leasing {
    /// Fills the slots with the tasks that were leased.
    fn end(mut self, leased: Vec<ClaimedTask>) {
        self.taken -= leased.len();
        self.slots.fill(leased);
    }
}

impl Drop for Leasing {
    fn drop(&mut self) {
        self.slots.free(self.taken);
    }
}

/// Asks for leases in the commit of another command, if the server has the store alone.
fn leasing(link: &Link) -> Option<Leasing> {
    if link.world.plan.servers > 1 || link.is_dead() {
        return None;
    }
    let slots = link.slots.lock().clone()?;
    let command = slots.claim(link.now());
    let taken = command.tasks_max;
    Some(Leasing { slots, command, taken })
}

/// An answer, and the tasks that its commit leased to slots.
pub(super) struct Leased<T> {
    pub(super) answer: T,
    tasks: Vec<ClaimedTask>,
    leasing: Mutex<Option<Leasing>>,
}

/// Runs a command that may lease tasks to the slots of its server.
pub(super) fn with_leases<T>(
    link: &Link,
    run: impl FnOnce(Option<&ClaimTasks>) -> Result<WithLeases<T>, StoreError>,
) -> Result<Leased<T>, StoreError> {
    let leasing = leasing(link);
    let (answer, tasks) = run(leasing.as_ref().map(|leasing| &leasing.command))?;
    Ok(Leased { answer, tasks, leasing: Mutex::new(leasing) })
}

impl<T> Leased<T> {
    /// Hands the tasks to the slots, after the commit.
    pub(super) fn seen(&self, world: &Scene) {
        world.ledger.lock().claimed(world, &self.tasks);
        if let Some(leasing) = self.leasing.lock().take() {
            leasing.end(self.tasks.clone());
        }
    }
}

/// The store as a server sees it.
pub(super) struct Server(pub(super) Arc<Link>);

impl Server {
    fn call<T: Send + 'static>(
        &self,
        request: Request,
        run: impl FnOnce(&InMemoryStore) -> Result<T, StoreError> + Send + 'static,
        seen: impl FnOnce(&Scene, &T) + Send + 'static,
    ) -> StoreFuture<'static, T> {
        let link = self.0.clone();
        Box::pin(async move {
            if link.is_dead() {
                std::future::pending::<()>().await;
            }
            let answer = link.send(Sender::Server, request, run, seen).await;
            if link.is_dead() {
                std::future::pending::<()>().await;
            }
            answer
        })
    }
}

impl Payloads for Server {
    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        let id = task_id.to_owned();
        let run =
            move |store: &InMemoryStore| store.find(&rules::payload_block(domain, &id, from_index));
        self.call(Request("reads of a payload", Some(domain)), run, |_, _| {})
    }

    fn desk_addresses(&self, domain: DomainId) -> StoreFuture<'_, DeskAddresses> {
        let run =
            move |store: &InMemoryStore| store.read_in(domain, |tx| write::desk_addresses(&tx));
        self.call(Request("reads of addresses", Some(domain)), run, |_, _| {})
    }
}

impl Work for Server {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        let run = move |store: &InMemoryStore| store.claim_tasks(&command);
        let claims = self.call(Request("claims", None), run, |world, claims| {
            world.ledger.lock().claimed(world, claims);
        });
        let link = self.0.clone();
        Box::pin(async move {
            let claims = claims.await?;
            let known = claims.iter().map(|one| (one.domain, one.task.id.clone(), one.lease_epoch));
            link.leases.lock().extend(known);
            Ok(claims)
        })
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        let known = (self.0.world.plan.servers > 1).then(|| self.0.leases.lock().clone());
        let run = move |store: &InMemoryStore| match known {
            None => store.renew_leases(&command),
            Some(known) => store.renew_known_leases(&command, &known),
        };
        self.call(Request("renewals", None), run, |_, ()| {})
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        let server = server.to_owned();
        let run = move |store: &InMemoryStore| store.release_leases(&server);
        self.call(Request("releases", None), run, |world, ()| world.wake_all())
    }

    fn apply_chunk(&self, mut command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        let (link, epoch) = (self.0.clone(), command.lease_epoch);
        let id = command.task_id.clone();
        command.following = command.following.map(|source| {
            let source = AtOnce { source, world: link.world.clone() };
            Arc::new(source) as Arc<dyn EntrySource>
        });
        let domain = command.domain;
        let run = move |store: &InMemoryStore| {
            with_leases(&link, |lease| store.apply_chunk(&command, lease))
        };
        let seen = move |world: &Scene, leased: &Leased<ChunkApplied>| {
            world.ledger.lock().applied(world, epoch, &leased.answer);
            leased.seen(world);
            if leased.answer.task.outcome.is_some() {
                world.wake_all();
            }
        };
        let applied = self.call(Request("chunks", Some(domain)), run, seen);
        let link = self.0.clone();
        Box::pin(async move {
            let applied = applied.await.map(|leased| leased.answer);
            let ended = applied.as_ref().map_or_else(is_lost, |done| done.task.outcome.is_some());
            link.forget_if(ended, &id);
            applied
        })
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        let (domain, counted, id) = (command.domain, command.counted, command.task_id.clone());
        let run = move |store: &InMemoryStore| {
            store.write_in(domain, |tx| rules::fail_attempt(&tx, &command))
        };
        let failed =
            self.call(Request("attempts given up", Some(domain)), run, move |world, task| {
                world.ledger.lock().attempt_failed(world, task, counted);
                world.wake_all();
            });
        let link = self.0.clone();
        Box::pin(async move {
            let failed = failed.await;
            link.forget_if(failed.as_ref().map_or_else(is_lost, |_| true), &id);
            failed
        })
    }

    fn register(&self, slots: Arc<dyn WorkerSlots>) {
        *self.0.slots.lock() = Some(slots);
    }

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.0.wakes.subscribe()
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

    fn purge_expired(&self, now: UnixMillis) -> StoreFuture<'_, bool> {
        let run = move |store: &InMemoryStore| store.write(|tx| rules::purge_step(&tx, now));
        self.call(Request("purges", None), run, |_, _| {})
    }

    fn purge_changes(&self, _: UnixMillis) -> StoreFuture<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    fn index_texts(&self, _: IndexTexts) -> StoreFuture<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        not_simulated()
    }
}

/// Whether a lease is over.
const fn is_lost(error: &StoreError) -> bool {
    matches!(error, StoreError::LeaseLost)
}

fn not_simulated<T: Send + 'static>() -> StoreFuture<'static, T> {
    Box::pin(async { Err(StoreError::Closed) })
}

/// A source that never waits, because nothing else runs while a chunk is applied. Sometimes it ends
/// early, so that tasks have several chunks.
struct AtOnce {
    source: Arc<dyn EntrySource>,
    world: Arc<Scene>,
}

impl EntrySource for AtOnce {
    fn take(&self, _: std::time::Instant) -> NextEntries {
        if self.world.once_in(3) {
            return NextEntries::Ended;
        }
        match self.source.take(std::time::Instant::now()) {
            NextEntries::NotYet => NextEntries::Ended,
            next => next,
        }
    }

    fn give_back(&self, entries: ChunkEntries) {
        self.source.give_back(entries);
    }
}

impl fmt::Debug for AtOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtOnce")
    }
}
