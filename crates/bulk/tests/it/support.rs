//! A store with domains and tasks, and a clock that a runner can share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use caseload_bulk::{Runner, RunnerConfig};
use caseload_location::open;
use caseload_model::ids::DomainName;
use caseload_model::payload::{Block, PayloadReader};
use caseload_model::task::{Action, Family, Outcome, Task, TaskOrigin};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{CreateDomain, CreateTask, Domain, OpenMode, Store, Work, pack_block};
use caseload_teststore::{Backend, StorePlace};

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);
/// The time at the start of every test.
pub(crate) const BEGIN_MS: i64 = 1_700_000_000_000;

pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    /// Milliseconds by which the clock was turned forward.
    turned: Arc<AtomicI64>,
    pub(crate) place: StorePlace,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let place = Backend::current().place();
        let store = open(&place.location(), OpenMode::Server).await.unwrap();
        // Any instant will do at the start; leases only need time to pass.
        let (begun, turned) = (Instant::now(), Arc::new(AtomicI64::new(0)));
        let ahead = turned.clone();
        let clock = Clock::new(move || {
            let passed = begun.elapsed().as_millis() as i64;
            UnixMillis(BEGIN_MS + ahead.load(Ordering::Relaxed) + passed)
        });
        Self { store, clock, turned, place }
    }

    /// Turns the clock forward.
    pub(crate) fn turn_clock(&self, by: Duration) {
        self.turned.fetch_add(by.as_millis() as i64, Ordering::Relaxed);
    }

    pub(crate) async fn domain(&self, name: &str) -> Domain {
        let (name, now) = (DomainName::parse(name).unwrap(), self.clock.now());
        self.store
            .create_domain(CreateDomain { name, origin: now.into(), random: 1 })
            .await
            .unwrap()
    }

    /// Creates a task of good entries; their `uid`s are `ID-0`, `ID-1` and so on.
    pub(crate) async fn task(&self, domain: &Domain, id: &str, entries: u32) {
        let uids = (0..entries).map(|n| format!("{id}-{n}"));
        let command = self.command(domain, id, uids);
        self.store.create_task(command).await.unwrap();
    }

    /// Creates a dry run of entries with these `uid`s.
    pub(crate) async fn dry_run(&self, domain: &Domain, id: &str, uids: &[u32]) {
        let command = self.command(domain, id, uids.iter().map(u32::to_string));
        self.store.create_task(CreateTask { dry_run: true, ..command }).await.unwrap();
    }

    /// The command that creates a task of entries with these `uid`s.
    pub(crate) fn command(
        &self,
        domain: &Domain,
        id: &str,
        uids: impl Iterator<Item = String>,
    ) -> CreateTask {
        let entry = |uid| format!("{{\"identities\":[{{\"uid\":\"{uid}\"}}]}}");
        self.command_of(domain, id, Action::CreateCoreProfiles, uids.map(entry))
    }

    /// The command that creates a task of these entries.
    pub(crate) fn command_of(
        &self,
        domain: &Domain,
        id: &str,
        action: Action,
        entries: impl Iterator<Item = String>,
    ) -> CreateTask {
        let payload: String = entries.map(|entry| entry + "\n").collect();
        let mut blocks: Vec<Block> = Vec::new();
        let mut reader = PayloadReader::new(1 << 18);
        reader.push(payload.as_bytes(), &mut blocks).unwrap();
        let total = reader.finish(&mut blocks).unwrap();
        let now = self.clock.now();
        CreateTask {
            key: None,
            request_id: None,
            domain: domain.id,
            id: id.to_owned(),
            action,
            dry_run: false,
            upsert: false,
            total,
            staged: 0,
            blocks: blocks.iter().map(|block| pack_block(block).unwrap()).collect(),
            now,
            expires_at: UnixMillis(now.0 + 1_000_000_000),
            unfinished_max: 1000,
            parent_id: None,
            runs_parent: false,
            origin: TaskOrigin::default(),
            import_id: None,
            idempotency: None,
        }
    }

    /// Starts a runner that works through `work`.
    pub(crate) fn run(&self, work: Arc<dyn Work>) -> Runner {
        let name = format!("server-{}", self.clock.now().0);
        Runner::start(work, self.store.clone(), self.clock.clone(), RunnerConfig::new(name))
    }

    /// Waits until the task about profiles is completed.
    pub(crate) async fn completed(&self, domain: &Domain, id: &str) -> Task {
        self.completed_in(domain, Family::Identity, id).await
    }

    /// Waits until the task is completed.
    pub(crate) async fn completed_in(&self, domain: &Domain, family: Family, id: &str) -> Task {
        let begun = Instant::now();
        loop {
            let task = self.store.task(domain.id, family, id).await.unwrap().unwrap();
            if task.outcome.is_some() {
                return task;
            }
            assert!(begun.elapsed() < PATIENCE, "{id} does not complete");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until all entries of the task have succeeded.
    pub(crate) async fn succeeded(&self, domain: &Domain, id: &str) {
        assert_eq!(self.completed(domain, id).await.outcome, Some(Outcome::Succeeded), "{id}");
    }
}
