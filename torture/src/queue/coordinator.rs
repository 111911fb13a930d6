//! The coordinator of a simulated cluster: it has so many cores, and each call costs processor time
//! on one of them, in the order of arrival. The rules of claims, leases and ends are the real ones,
//! on a store in memory. A claim chooses its tasks when it begins and leases them when it ends, so
//! claims that overlap compete for the same tasks, as on a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use caseload_store::tasks::{ClaimResult, QueuePlace};
use caseload_store::{ClaimTasks, ClaimedTask, StoreError};
use caseload_store_sqlite::InMemoryStore;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Processor time of the coordinator, as `bench capacity` measures it.
pub(super) mod cost {
    use std::time::Duration;

    /// A claim that finds no task.
    pub(in crate::queue) const CLAIM: Duration = Duration::from_micros(600);
    /// Each place of the queue that it reads.
    pub(in crate::queue) const PLACE: Duration = Duration::from_micros(1);
    /// A lease, or the try to get one.
    pub(in crate::queue) const LEASE: Duration = Duration::from_micros(600);
    /// The end of a task.
    pub(in crate::queue) const END: Duration = Duration::from_micros(4500);
    /// The acceptance of a task.
    pub(in crate::queue) const ACCEPT: Duration = Duration::from_micros(2300);
    /// The renewal of a server's leases.
    pub(in crate::queue) const RENEW: Duration = Duration::from_micros(300);
    /// A wake-up of one server.
    pub(in crate::queue) const WAKE: Duration = Duration::from_micros(20);
    /// A search for texts that are not in the index yet.
    pub(in crate::queue) const INDEX_TEXTS: Duration = Duration::from_micros(700);
}

/// Places that a claim reads at most.
const PLACES_MAX: usize = 512;
/// The cost of the part that it reads of a longer queue, in places.
const PART_COST: usize = 256;

/// The state of the queue that the store does not have.
#[derive(Default)]
struct Queue {
    /// Unfinished tasks: when each was accepted.
    unfinished: BTreeMap<String, Instant>,
    /// Leased tasks of servers that live.
    leased: BTreeSet<String>,
    /// Tasks of dead servers, and since when.
    orphans: BTreeMap<String, Instant>,
}

/// What happened in a phase.
#[derive(Debug, Default, Clone)]
pub(super) struct Events {
    pub(super) claims: u32,
    /// Claims that found no task.
    pub(super) in_vain: u32,
    /// Tasks that another server leased first.
    pub(super) lost: usize,
    /// How long tasks waited for their first lease; those of the greedy domain apart.
    pub(super) waits: Vec<Duration>,
    pub(super) waits_of_greedy: Vec<Duration>,
    /// How long the tasks of dead servers waited for another one.
    pub(super) takeovers: Vec<Duration>,
    /// Processor time of all cores.
    pub(super) used: Duration,
}

pub(super) struct Coordinator {
    pub(super) store: InMemoryStore,
    pub(super) wakes: watch::Sender<u64>,
    /// When each core is free.
    cores: Mutex<Vec<Instant>>,
    queue: Mutex<Queue>,
    pub(super) events: Mutex<Events>,
    /// The domain whose waits are listed apart.
    pub(super) greedy: OnceLock<DomainId>,
    /// Whether servers listen for wake-ups; with a pooler in between they only poll.
    notifies: bool,
    began: Instant,
}

impl Coordinator {
    pub(super) fn new(cores: usize, notifies: bool) -> Result<Arc<Self>, StoreError> {
        let began = Instant::now();
        Ok(Arc::new(Self {
            store: InMemoryStore::new()?,
            wakes: watch::Sender::new(0),
            cores: Mutex::new(vec![began; cores]),
            queue: Mutex::default(),
            events: Mutex::default(),
            greedy: OnceLock::new(),
            notifies,
            began,
        }))
    }

    pub(super) fn now(&self) -> UnixMillis {
        UnixMillis(1_700_000_000_000 + self.began.elapsed().as_millis() as i64)
    }

    /// Waits for a core and uses it for this time.
    pub(super) async fn use_core(&self, time: Duration) {
        self.events.lock().used += time;
        let end = {
            let mut cores = self.cores.lock();
            let free = cores.iter_mut().min();
            let Some(core) = free else { return };
            *core = (*core).max(Instant::now()) + time;
            *core
        };
        sleep_until(end).await;
    }

    /// Wakes all servers, as a notification of the database does.
    pub(super) async fn wake_all(&self) {
        if !self.notifies {
            return;
        }
        let servers = u32::try_from(self.wakes.receiver_count()).unwrap_or(u32::MAX);
        self.wakes.send_modify(|count| *count += 1);
        self.use_core(cost::WAKE * servers).await;
    }

    pub(super) fn accepted(&self, id: String) {
        self.queue.lock().unfinished.insert(id, Instant::now());
    }

    pub(super) fn unfinished(&self) -> usize {
        self.queue.lock().unfinished.len()
    }

    pub(super) async fn claim(&self, command: ClaimTasks) -> Result<Vec<ClaimedTask>, StoreError> {
        let places = self.store.choose(&command)?;
        let unfinished = self.unfinished();
        let read = if unfinished > PLACES_MAX { PART_COST } else { unfinished };
        self.use_core(cost::CLAIM + cost::PLACE * read as u32).await;
        let mut claimed = Vec::new();
        for place in &places {
            self.use_core(cost::LEASE).await;
            claimed.extend(self.lease(place, &command)?);
        }
        let mut events = self.events.lock();
        events.claims += 1;
        events.in_vain += u32::from(claimed.is_empty());
        events.lost += places.len() - claimed.len();
        Ok(claimed)
    }

    /// Leases a task unless it has ended or another server was faster.
    fn lease(
        &self,
        place: &QueuePlace,
        command: &ClaimTasks,
    ) -> Result<Option<ClaimedTask>, StoreError> {
        let mut queue = self.queue.lock();
        let Some(accepted) = queue.unfinished.get(&place.id).copied() else { return Ok(None) };
        if !queue.leased.insert(place.id.clone()) {
            return Ok(None);
        }
        let ClaimResult::Claimed(claimed) = self.store.begin(place, command)? else {
            return Ok(None);
        };
        let mut events = self.events.lock();
        if let Some(since) = queue.orphans.remove(&place.id) {
            events.takeovers.push(since.elapsed());
        } else if Some(place.domain) == self.greedy.get().copied() {
            events.waits_of_greedy.push(accepted.elapsed());
        } else {
            events.waits.push(accepted.elapsed());
        }
        Ok(Some(*claimed))
    }

    /// Notes the end of a task.
    pub(super) fn ended(&self, id: &str) {
        let mut queue = self.queue.lock();
        queue.unfinished.remove(id);
        queue.leased.remove(id);
        queue.orphans.remove(id);
    }

    /// The server that runs these tasks has died.
    pub(super) fn orphaned(&self, ids: &[String]) {
        let mut queue = self.queue.lock();
        for id in ids {
            queue.leased.remove(id);
            queue.orphans.insert(id.clone(), Instant::now());
        }
    }
}
