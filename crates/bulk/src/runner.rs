//! The loop that asks the store for work and keeps a bounded number of workers busy. Order and
//! fairness are the store's: it leases at most one writing task per domain, so domains take turns
//! at the writer chunk by chunk. Free hands are lent to the store, which may put tasks into them at
//! once. The bell wakes the loop for other work; a poll beneath it finds what no bell announced
//! (work from another server, a lease that ran out).

use std::sync::Arc;
use std::time::Duration;

use caseload_model::time::Clock;
use caseload_store::{Hands, RenewLeases, Store, StoreError};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;

use crate::outage::Outage;
use crate::worker::Workshop;
use crate::{chunk, janitor};

/// How long a claimed task belongs to its server without a sign of life, unless it is said.
const LEASE: Duration = Duration::from_secs(30);
/// Signs of life in the time of a lease: it outlives one that is missed.
const HEARTBEATS: u32 = 3;

/// How a runner works.
#[derive(Debug, Clone)]
pub struct RunnerConfig {
    /// A fresh id each time the program starts.
    pub server: String,
    /// Tasks that run side by side.
    pub tasks_at_once: usize,
    /// How long a claimed task belongs to its server without a sign of life: where several servers
    /// use a store, the time after which a task goes on whose server died.
    pub lease: Duration,
    /// How often to look for work that no bell announced.
    pub poll_every: Duration,
    /// How often to remove what has expired.
    pub purge_every: Duration,
}

impl RunnerConfig {
    pub fn new(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            tasks_at_once: 8,
            lease: LEASE,
            poll_every: Duration::from_millis(500),
            purge_every: Duration::from_mins(1),
        }
    }
}

/// A running loop; [`Runner::stop`] ends it at the next chunk edges.
#[derive(Debug)]
pub struct Runner {
    stopping: watch::Sender<bool>,
    task: JoinHandle<()>,
    janitor: JoinHandle<()>,
}

impl Runner {
    /// Starts the loop on the current Tokio runtime.
    pub fn start(store: Arc<dyn Store>, clock: Clock, config: RunnerConfig) -> Self {
        let (stopping, watcher) = watch::channel(false);
        let feeds = chunk::feed_limits();
        let workshop = Workshop {
            store,
            clock,
            stopping: watcher,
            feeds,
            outage: Arc::new(Outage::default()),
        };
        let janitor = tokio::spawn(janitor::keep_clean(workshop.clone(), config.purge_every));
        let task = tokio::spawn(run(workshop, config));
        Self { stopping, task, janitor }
    }

    /// Stops claiming, waits for the workers' current chunks and gives the leases back.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        for ended in [self.task.await, self.janitor.await] {
            if let Err(error) = ended {
                tracing::error!(%error, "the bulk runner did not end cleanly");
            }
        }
    }
}

async fn run(workshop: Workshop, config: RunnerConfig) {
    let mut stopping = workshop.stopping.clone();
    let mut bell = workshop.store.task_bell();
    let mut heartbeat = tokio::time::interval(config.lease / HEARTBEATS);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let lease_ms = config.lease.as_millis() as i64;
    let hands = Arc::new(Hands::new(config.server.clone(), lease_ms, config.tasks_at_once));
    workshop.store.lend(hands.clone());
    let mut workers = JoinSet::new();
    let mut look = true;
    while !*stopping.borrow() {
        if look {
            bell.borrow_and_update();
            // A claim may have left work behind for another slot of the same round.
            look = claim(&workshop, &hands, &mut workers).await > 0;
            continue;
        }
        tokio::select! {
            _ = stopping.changed() => {}
            rung = bell.changed(), if hands.is_any_free() => {
                if rung.is_err() {
                    break;
                }
                look = true;
            }
            claimed = hands.next() => drop(workers.spawn(workshop.clone().run(claimed))),
            Some(_) = workers.join_next() => {
                // While a hand was free, no task was left waiting for one.
                look = !hands.is_any_free();
                hands.give_back(1);
            }
            () = tokio::time::sleep(config.poll_every) => look = true,
            _ = heartbeat.tick() => renew(&workshop, &hands, &config.server).await,
        }
    }
    hands.close();
    while workers.join_next().await.is_some() {}
    match workshop.store.release_leases(&config.server).await {
        Ok(()) | Err(StoreError::Closed) => {}
        Err(error) => tracing::error!(%error, "leases could not be given back"),
    }
}

/// Claims as many tasks as there are free hands, starts a worker for each and says how many there
/// were.
async fn claim(workshop: &Workshop, hands: &Hands, workers: &mut JoinSet<()>) -> usize {
    let command = hands.claim(workshop.clock.now());
    let free = command.tasks_max;
    if free == 0 {
        return 0;
    }
    let count = match workshop.store.claim_tasks(command).await {
        Ok(claims) => {
            workshop.outage.is_over();
            let count = claims.len();
            for claim in claims {
                workers.spawn(workshop.clone().run(claim));
            }
            count
        }
        Err(error) => {
            workshop.outage.tell(&error, "no bulk action task could be claimed");
            0
        }
    };
    hands.give_back(free.saturating_sub(count));
    count
}

async fn renew(workshop: &Workshop, hands: &Hands, server: &str) {
    let lease_until = hands.lease_until(workshop.clock.now());
    let command = RenewLeases { server: server.to_owned(), lease_until };
    match workshop.store.renew_leases(command).await {
        Ok(()) => workshop.outage.is_over(),
        Err(error) => workshop.outage.tell(&error, "leases could not be renewed"),
    }
}
