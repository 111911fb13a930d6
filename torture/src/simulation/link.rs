//! The link between one server and the store. A request travels, is carried out, and its answer
//! travels back; each of the three may be slow or lost, and a commit may fail. A request that was
//! sent arrives even if its server is killed in the meantime. A killed server gets no answers.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use caseload_bulk::Runner;
use caseload_model::ids::DomainId;
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{StoreError, WorkerSlots};
use caseload_store_sqlite::InMemoryStore;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep};

use super::laws::Law;
use super::ledger::Ledger;
use super::world::World;

/// The longest time of a request on its way, usually and if it stalls: longer than a lease.
const WAY_MS: usize = 4;
const STALL_MS: usize = 50_000;
/// How long a server waits for an answer that was lost.
const GIVE_UP_MS: usize = 5_000;
/// One wake-up in so many is lost between servers: they are hints.
const WAKE_LOST_IN: usize = 4;
/// Of so many requests the rows of the other domain are counted before and after one.
const DOMAINS_COMPARED_IN: usize = 8;
/// Tables whose rows are counted for that, and after a failed commit.
const TABLES: [&str; 6] =
    ["tasks", "core_profiles", "identities", "payload_blocks", "record_blocks", "issues"];

/// A world with its servers.
pub(super) struct Scene {
    world: World,
    pub(super) ledger: Mutex<Ledger>,
    /// The links of servers that run; a place is empty while its server is down.
    pub(super) links: Mutex<Vec<Option<Arc<Link>>>>,
    /// The runners of servers that run, and those of killed ones: a killed runner hangs for ever.
    pub(super) runners: Mutex<Vec<Option<Runner>>>,
    pub(super) killed: Mutex<Vec<Runner>>,
}

impl Deref for Scene {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Scene {
    pub(super) fn new(world: World) -> Self {
        let servers = world.plan.servers;
        Self {
            world,
            ledger: Mutex::default(),
            links: Mutex::new((0..servers).map(|_| None).collect()),
            runners: Mutex::new((0..servers).map(|_| None).collect()),
            killed: Mutex::default(),
        }
    }

    /// The link of some server that runs.
    pub(super) fn some_link(&self) -> Option<Arc<Link>> {
        let running: Vec<_> = self.links.lock().iter().flatten().cloned().collect();
        (!running.is_empty()).then(|| running[self.below(running.len())].clone())
    }

    /// Wakes the servers after a commit that may have made tasks runnable.
    pub(super) fn wake_all(&self) {
        let links: Vec<_> = self.links.lock().iter().flatten().cloned().collect();
        for link in links {
            if self.plan.servers == 1 || !self.once_in(WAKE_LOST_IN) {
                link.wakes.send_modify(|count| *count += 1);
            }
        }
    }
}

/// The link of one run of a server.
pub(super) struct Link {
    pub(super) world: Arc<Scene>,
    pub(super) place: usize,
    /// A fresh name for each start.
    pub(super) name: String,
    /// When the server started, in milliseconds since the schedule began.
    pub(super) started_ms: i64,
    /// Milliseconds by which its clock is wrong.
    pub(super) offset: AtomicI64,
    dead: AtomicBool,
    cut_until: Mutex<Option<Instant>>,
    pub(super) wakes: watch::Sender<u64>,
    pub(super) slots: Mutex<Option<Arc<dyn WorkerSlots>>>,
    /// The leases whose claims were answered: domain, task, epoch.
    pub(super) leases: Mutex<Vec<(DomainId, String, i64)>>,
}

/// What happens to a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Good,
    Lost,
    AnswerLost,
    /// The commit fails.
    Undone,
    /// The store refuses it for a reason of its own.
    Refused,
}

/// A request: its name, and the domain that it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Request(pub(super) &'static str, pub(super) Option<DomainId>);

/// Who sends a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    Server,
}

impl Link {
    pub(super) fn new(world: &Arc<Scene>, place: usize, name: String) -> Arc<Self> {
        Arc::new(Self {
            world: world.clone(),
            place,
            name,
            started_ms: world.elapsed_ms(),
            offset: AtomicI64::default(),
            dead: AtomicBool::default(),
            cut_until: Mutex::default(),
            wakes: watch::Sender::new(0),
            slots: Mutex::default(),
            leases: Mutex::default(),
        })
    }

    /// The server's clock.
    pub(super) fn clock(self: &Arc<Self>) -> Clock {
        let link = Arc::downgrade(self);
        Clock::new(move || link.upgrade().map_or(UnixMillis(0), |link| link.now()))
    }

    pub(super) fn now(&self) -> UnixMillis {
        UnixMillis(self.world.now().0 + self.offset.load(Ordering::Relaxed))
    }

    pub(super) fn kill(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    pub(super) fn cut(&self, time: Duration) {
        *self.cut_until.lock() = Some(Instant::now() + time);
    }

    pub(super) fn mend(&self) {
        *self.cut_until.lock() = None;
    }

    fn is_cut(&self) -> bool {
        self.cut_until.lock().is_some_and(|until| Instant::now() < until)
    }

    /// Sends a client's request; `seen` looks at the answer in the moment of the commit.
    pub(super) fn call<T: Send + 'static>(
        self: &Arc<Self>,
        request: Request,
        run: impl FnOnce(&InMemoryStore) -> Result<T, StoreError> + Send + 'static,
        seen: impl FnOnce(&Scene, &T) + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static {
        self.send(Sender::Client, request, run, seen)
    }

    pub(super) fn send<T: Send + 'static>(
        self: &Arc<Self>,
        sender: Sender,
        request: Request,
        run: impl FnOnce(&InMemoryStore) -> Result<T, StoreError> + Send + 'static,
        seen: impl FnOnce(&Scene, &T) + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static {
        let (send, receive) = oneshot::channel();
        let link = self.clone();
        tokio::spawn(async move {
            let answer = link.carry(sender, request, run, seen).await;
            drop(send.send(answer));
        });
        async move { receive.await.unwrap_or_else(|_| Err(unreachable_now())) }
    }

    async fn carry<T>(
        &self,
        sender: Sender,
        request: Request,
        run: impl FnOnce(&InMemoryStore) -> Result<T, StoreError>,
        seen: impl FnOnce(&Scene, &T),
    ) -> Result<T, StoreError> {
        let (world, what) = (&self.world, request.0);
        // A server that has a store of its own reaches it without a network.
        let inside = sender == Sender::Server && world.plan.servers == 1;
        sleep(self.way()).await;
        let fate = match self.fate() {
            Fate::Lost if inside => Fate::Undone,
            Fate::AnswerLost if inside => Fate::Refused,
            fate => fate,
        };
        // The requests of a server that has the store alone end with its process.
        let ended = self.is_dead() && world.plan.servers == 1;
        if fate == Fate::Lost || ended || self.is_cut() && !inside {
            world.note("requests lost", self.place, what);
            sleep(world.millis_below(GIVE_UP_MS)).await;
            return Err(unreachable_now());
        }
        let answer = match fate {
            Fate::Undone => self.undone(what, run),
            Fate::Refused => {
                world.note("requests refused", self.place, what);
                Err(StoreError::Unavailable("simulated".to_owned()))
            }
            _ => self.carried_out(request, run),
        };
        if let Ok(answer) = &answer {
            seen(world, answer);
        }
        sleep(self.way()).await;
        if fate == Fate::AnswerLost || self.is_cut() && !inside {
            world.note("answers lost", self.place, what);
            sleep(world.millis_below(GIVE_UP_MS)).await;
            return Err(unreachable_now());
        }
        answer
    }

    fn carried_out<T>(
        &self,
        request: Request,
        run: impl FnOnce(&InMemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let world = &self.world;
        let other = world.ledger.lock().other(request.1);
        let other = other.filter(|_| world.once_in(DOMAINS_COMPARED_IN));
        let before = other.map(|other| rows(&world.store, Some(other)));
        let answer = run(&world.store);
        if let Some((other, before)) = other.zip(before) {
            let same = rows(&world.store, Some(other)) == before;
            world.require(Law::Domain, same, || {
                format!("{} changed the number of rows of another domain", request.0)
            });
        }
        let fault = answer.as_ref().err().map(ToString::to_string);
        world.note(request.0, self.place, fault.as_deref().unwrap_or_default());
        answer
    }

    fn undone<T>(
        &self,
        what: &'static str,
        run: impl FnOnce(&InMemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let world = &self.world;
        let before = rows(&world.store, None);
        let undone = world.store.undone(run).map(drop);
        let same = rows(&world.store, None) == before;
        world.require(Law::Durable, undone.is_ok() && same, || {
            format!("{what} left rows though its commit failed")
        });
        world.note("commits failed", self.place, what);
        Err(StoreError::NotWritten("simulated".to_owned()))
    }

    /// Forgets the leases of a task if they are over.
    pub(super) fn forget_if(&self, over: bool, id: &str) {
        if over {
            self.leases.lock().retain(|(_, task, _)| task != id);
        }
    }

    fn fate(&self) -> Fate {
        let world = &self.world;
        if world.is_calm() || !world.once_in(world.plan.fault_every) {
            return Fate::Good;
        }
        let fates = [
            Fate::Lost,
            Fate::Lost,
            Fate::AnswerLost,
            Fate::AnswerLost,
            Fate::Undone,
            Fate::Refused,
        ];
        world.pick(&fates)
    }

    fn way(&self) -> Duration {
        let world = &self.world;
        let stalls = !world.is_calm() && world.once_in(world.plan.stall_every);
        world.millis_below(if stalls { STALL_MS } else { WAY_MS })
    }
}

fn rows(store: &InMemoryStore, domain: Option<DomainId>) -> Vec<Option<u64>> {
    TABLES.iter().map(|table| store.rows(table, domain).ok()).collect()
}

fn unreachable_now() -> StoreError {
    StoreError::Unreachable("simulated".to_owned())
}
