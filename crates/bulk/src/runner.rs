//! The runner: asks the store for tasks and runs a bounded number of workers. The store decides
//! order and fairness: it leases one writing task of a domain at a time, so the domains share the
//! writer chunk by chunk. The runner registers its worker slots, which the store may fill at once.
//! A wake-up announces other work. The runner also polls, for work that no wake-up announces: tasks
//! from another server, leases that ran out. Of many servers that share a store, a wake-up wakes
//! all and a few get work, so a server that looks in vain again and again waits before it looks
//! next ([`WakeUpBackoff`]).

use std::sync::Arc;
use std::time::Duration;

use caseload_model::time::Clock;
use caseload_store::{ClaimTasks, RenewLeases, StoreError, Upkeep, Work, WorkerSlots as _};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, sleep_until};

use crate::context::Context;
use crate::entry_reader::queue_limits;
use crate::expiry_clock::ExpiryClock;
use crate::outage::Outage;
use crate::purge::purge_loop;
use crate::text_indexing::text_indexing_loop;
use crate::wake_up_backoff::WakeUpBackoff;
use crate::work_in_progress::WorkInProgress;
use crate::worker;
use crate::worker_slots::Slots;

/// How long a lease lasts without renewal, by default.
const LEASE: Duration = Duration::from_secs(30);
/// The default of [`RunnerConfig::work_max`].
const WORK_MAX: Duration = Duration::from_mins(1);
/// How often to look for texts to take into the index, by default.
const INDEX_TEXTS_EVERY: Duration = Duration::from_secs(1);
/// How long a server runs before it removes expired records, by default.
const PURGE_AFTER_START: Duration = Duration::from_hours(1);
/// How long a clock goes on after a jump forward before records expire by it, by default.
const PURGE_AFTER_JUMP: Duration = Duration::from_hours(24);
/// Renewals in the time of a lease, so that it outlives a missed one.
const RENEWALS: u32 = 3;

/// The settings of a runner.
#[derive(Debug, Clone)]
pub struct RunnerConfig {
    /// A fresh id each time the program starts.
    pub server: String,
    /// Tasks that run in parallel.
    pub tasks_at_once: usize,
    /// How long a lease lasts without renewal. If several servers share a store, this is how long
    /// the tasks of a dead server wait before another server takes over.
    pub lease: Duration,
    /// How often to look for work that no wake-up announced.
    pub poll_every: Duration,
    /// How often to remove expired records.
    pub purge_every: Duration,
    /// How long changes stay in the log; `None` for ever.
    pub keep_changes: Option<Duration>,
    /// How often to look for texts to take into the index.
    pub index_texts_every: Duration,
    /// How long a server runs before it removes anything: a clock may be wrong at first.
    pub purge_after_start: Duration,
    /// How long the clock must go on from a time that it jumped forward to before anything expires
    /// by it.
    pub purge_after_jump: Duration,
    /// Work without a commit after which an entry that is a chunk alone becomes an error.
    pub work_max: Duration,
    /// Whether entries are validated on the runtime's own thread, for a simulation in which no
    /// other thread may decide about the order of events.
    pub one_thread: bool,
}

impl RunnerConfig {
    pub fn new(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            tasks_at_once: 8,
            lease: LEASE,
            poll_every: Duration::from_millis(500),
            purge_every: Duration::from_mins(1),
            keep_changes: None,
            index_texts_every: INDEX_TEXTS_EVERY,
            purge_after_start: PURGE_AFTER_START,
            purge_after_jump: PURGE_AFTER_JUMP,
            work_max: WORK_MAX,
            one_thread: false,
        }
    }
}

/// A running runner. [`Runner::stop`] ends its workers after their current chunks.
#[derive(Debug)]
pub struct Runner {
    stopping: watch::Sender<bool>,
    running: JoinHandle<()>,
    purging: JoinHandle<()>,
    text_indexing: JoinHandle<()>,
}

impl Runner {
    /// Starts to run tasks, to purge and to index texts on the current Tokio runtime. Both
    /// arguments are usually the same store.
    pub fn start(
        store: Arc<dyn Work>,
        upkeep: Arc<dyn Upkeep>,
        clock: Clock,
        config: RunnerConfig,
    ) -> Self {
        let (stopping, watcher) = watch::channel(false);
        let context = Context {
            store,
            clock,
            stopping: watcher,
            queue_limits: queue_limits(),
            outage: Arc::new(Outage::default()),
            work: WorkInProgress::default(),
            work_max: config.work_max,
            one_thread: config.one_thread,
        };
        let expiry = ExpiryClock::new(config.purge_after_start, config.purge_after_jump);
        let text_indexing = tokio::spawn(text_indexing_loop(
            context.clone(),
            upkeep.clone(),
            config.index_texts_every,
        ));
        let purging = tokio::spawn(purge_loop(
            context.clone(),
            upkeep,
            (config.purge_every, config.keep_changes),
            expiry,
        ));
        let running = tokio::spawn(run(context, config));
        Self { stopping, running, purging, text_indexing }
    }

    /// Stops claiming, waits for the current chunks of the workers and releases the leases.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        for ended in [self.running.await, self.purging.await, self.text_indexing.await] {
            if let Err(error) = ended {
                tracing::error!(%error, "the bulk runner did not end cleanly");
            }
        }
    }
}

async fn run(context: Context, config: RunnerConfig) {
    let mut stopping = context.stopping.clone();
    let mut wake_ups = context.store.wake_ups();
    let mut renewal = tokio::time::interval(config.lease / RENEWALS);
    renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let lease_ms = config.lease.as_millis() as i64;
    let slots = Arc::new(Slots::new(config.server.clone(), lease_ms, config.tasks_at_once));
    context.store.register(slots.clone());
    let mut workers = JoinSet::new();
    let mut backoff = WakeUpBackoff::new(config.poll_every, Instant::now());
    let (mut look, mut woken) = (true, false);
    while !*stopping.borrow() {
        if look {
            wake_ups.borrow_and_update();
            let found = claim(&context, &slots, &mut workers).await > 0;
            // Without a free slot it did not look.
            backoff.looked(found, woken && slots.is_any_free(), Instant::now());
            woken = false;
            // A claim may have left work for another slot of the same round.
            look = found;
            continue;
        }
        tokio::select! {
            // In this order, and not at random, so that a simulation can repeat a run. Leases come
            // first: their tasks would be lost to another server.
            biased;
            _ = stopping.changed() => {}
            _ = renewal.tick() => renew(&context, &slots, &config.server).await,
            claimed = slots.next() => drop(workers.spawn(worker::run(context.clone(), claimed))),
            Some(_) = workers.join_next() => {
                // A task waits only if all slots were taken.
                look = !slots.is_any_free();
                slots.free(1);
            }
            wake_up = wake_ups.changed(), if !woken && slots.is_any_free() => {
                if wake_up.is_err() {
                    break;
                }
                woken = true;
            }
            () = sleep_until(backoff.until()), if woken => look = true,
            () = tokio::time::sleep(config.poll_every) => look = true,
        }
    }
    slots.close();
    while workers.join_next().await.is_some() {}
    match context.store.release_leases(&config.server).await {
        Ok(()) | Err(StoreError::Closed) => {}
        Err(error) => tracing::error!(%error, "leases could not be given back"),
    }
}

/// Claims as many tasks as there are free slots and starts a worker for each. Returns their number.
async fn claim(context: &Context, slots: &Slots, workers: &mut JoinSet<()>) -> usize {
    let now = context.clock.now();
    let reachable_since = context.outage.reachable_since(now);
    let command = ClaimTasks { reachable_since, ..slots.claim(now) };
    let taken = command.tasks_max;
    if taken == 0 {
        return 0;
    }
    let count = match context.store.claim_tasks(command).await {
        Ok(claims) => {
            context.outage.is_over(now);
            let count = claims.len();
            for claim in claims {
                workers.spawn(worker::run(context.clone(), claim));
            }
            count
        }
        Err(error) => {
            context.outage.report(&error, "no bulk action task could be claimed");
            0
        }
    };
    slots.free(taken.saturating_sub(count));
    count
}

async fn renew(context: &Context, slots: &Slots, server: &str) {
    let now = context.clock.now();
    let lease_until = slots.lease_until(now);
    let command = RenewLeases { server: server.to_owned(), lease_until };
    match context.store.renew_leases(command).await {
        Ok(()) => context.outage.is_over(now),
        Err(error) => context.outage.report(&error, "leases could not be renewed"),
    }
}
