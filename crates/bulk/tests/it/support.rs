//! A store with domains and tasks, and a clock that a runner can share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_bulk::{Runner, RunnerConfig};
use caseload_location::open;
use caseload_model::ids::DomainName;
use caseload_model::payload::{Block, PayloadReader};
use caseload_model::task::{Action, Family, Outcome, Task};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{CreateDomain, CreateTask, Domain, OpenMode, Store, Work, pack_block};
use caseload_teststore::{Backend, StorePlace};

/// How long a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Fixture {
    pub(crate) store: Arc<dyn Store>,
    clock: Clock,
    _place: StorePlace,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let place = Backend::current().place();
        let store = open(&place.location(), OpenMode::Server).await.unwrap();
        // Any instant will do at the start; leases only need time to pass.
        let begun = Instant::now();
        let clock =
            Clock::new(move || UnixMillis(1_700_000_000_000 + begun.elapsed().as_millis() as i64));
        Self { store, clock, _place: place }
    }

    pub(crate) async fn domain(&self, name: &str) -> Domain {
        let (name, now) = (DomainName::parse(name).unwrap(), self.clock.now());
        self.store.create_domain(CreateDomain { name, now, random: 1 }).await.unwrap()
    }

    /// Creates a task of good entries; their `uid`s are `ID-0`, `ID-1` and so on.
    pub(crate) async fn task(&self, domain: &Domain, id: &str, entries: u32) {
        let entry = |n| format!("{{\"identities\":[{{\"uid\":\"{id}-{n}\"}}]}}\n");
        let payload: String = (0..entries).map(entry).collect();
        let mut blocks: Vec<Block> = Vec::new();
        let mut reader = PayloadReader::new(1 << 18);
        reader.push(payload.as_bytes(), &mut blocks).unwrap();
        let total = reader.finish(&mut blocks).unwrap();
        let now = self.clock.now();
        let command = CreateTask {
            key: None,
            domain: domain.id,
            id: id.to_owned(),
            action: Action::CreateCoreProfiles,
            dry_run: false,
            total,
            staged: 0,
            blocks: blocks.iter().map(|block| pack_block(block).unwrap()).collect(),
            now,
            expires_at: UnixMillis(now.0 + 1_000_000_000),
            unfinished_max: 1000,
            parent_id: None,
            idempotency: None,
        };
        self.store.create_task(command).await.unwrap();
    }

    /// Starts a runner that works through `work`.
    pub(crate) fn run(&self, work: Arc<dyn Work>) -> Runner {
        Runner::start(work, self.store.clone(), self.clock.clone(), RunnerConfig::new("test"))
    }

    /// Waits until the task is completed.
    pub(crate) async fn completed(&self, domain: &Domain, id: &str) -> Task {
        let begun = Instant::now();
        loop {
            let task = self.store.task(domain.id, Family::Identity, id).await.unwrap().unwrap();
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
