//! Domains take turns: what one has queued up does not decide when another's task is done. Counted
//! in what the others had done by then, not in time.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_bulk::{Runner, RunnerConfig};
use caseload_location::open;
use caseload_model::ids::DomainName;
use caseload_model::issue_query::Paging;
use caseload_model::payload::{Block, PayloadReader};
use caseload_model::task::{Action, Family, Task};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{CreateDomain, CreateTask, Domain, ListTasks, OpenMode, Store, pack_block};
use caseload_teststore::{Backend, StorePlace, on_each_store};

on_each_store!(threads 2:
    a_small_task_does_not_wait_for_a_hundred_large_ones_of_another_domain,
    domains_with_large_tasks_go_on_side_by_side,
);

const PATIENCE: Duration = Duration::from_mins(2);

struct House {
    store: Arc<dyn Store>,
    clock: Clock,
    _place: StorePlace,
}

impl House {
    async fn new() -> Self {
        let place = Backend::current().place();
        let store = open(&place.location(), OpenMode::Server).await.unwrap();
        // Any instant to begin with; what leases need is that time passes.
        let begun = Instant::now();
        let clock =
            Clock::new(move || UnixMillis(1_700_000_000_000 + begun.elapsed().as_millis() as i64));
        Self { store, clock, _place: place }
    }

    async fn domain(&self, name: &str) -> Domain {
        let (name, now) = (DomainName::parse(name).unwrap(), self.clock.now());
        self.store.create_domain(CreateDomain { name, now, random: 1 }).await.unwrap()
    }

    async fn task(&self, domain: &Domain, id: &str, entries: u32) {
        let entry = |n| format!("{{\"identities\":[{{\"uid\":\"{id}-{n}\"}}]}}\n");
        let payload: String = (0..entries).map(entry).collect();
        let mut blocks: Vec<Block> = Vec::new();
        let mut reader = PayloadReader::new(1 << 18);
        reader.push(payload.as_bytes(), &mut blocks).unwrap();
        let total = reader.finish(&mut blocks).unwrap();
        let now = self.clock.now();
        let command = CreateTask {
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

    fn run(&self) -> Runner {
        Runner::start(
            self.store.clone(),
            self.store.clone(),
            self.clock.clone(),
            RunnerConfig::new("test"),
        )
    }

    async fn tasks(&self, domain: &Domain) -> Vec<Task> {
        let paging = Paging { page: 1, page_size: 1000 };
        let request = ListTasks {
            domain: domain.id,
            family: Family::Identity,
            statuses: None,
            actions: None,
            paging,
        };
        self.store.list_tasks(request).await.unwrap().tasks
    }

    /// Waits until the task is completed.
    async fn completed(&self, domain: &Domain, id: &str) {
        let begun = Instant::now();
        while self.store.task(domain.id, Family::Identity, id).await.unwrap().unwrap().outcome
            != Some(caseload_model::task::Outcome::Succeeded)
        {
            assert!(begun.elapsed() < PATIENCE, "{id} does not complete");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

fn processed(tasks: &[Task]) -> u32 {
    tasks.iter().map(|task| task.counts.total - task.counts.unprocessed).sum()
}

async fn a_small_task_does_not_wait_for_a_hundred_large_ones_of_another_domain() {
    let house = House::new().await;
    let (big, small) = (house.domain("big").await, house.domain("small").await);
    for n in 0..100 {
        house.task(&big, &format!("b{n}"), 2000).await;
    }
    let runner = house.run();
    let begun = Instant::now();
    while processed(&house.tasks(&big).await) == 0 {
        assert!(begun.elapsed() < PATIENCE, "the large tasks begin");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let before = processed(&house.tasks(&big).await);
    house.task(&small, "s", 10).await;
    house.completed(&small, "s").await;
    let tasks = house.tasks(&big).await;
    let meanwhile = processed(&tasks) - before;
    assert!(meanwhile <= 10 * 2000, "{meanwhile} entries of the other domain came first");
    let places: Vec<_> = tasks.iter().rev().filter_map(|task| task.position).collect();
    assert!(places.is_sorted() && places.len() > 80, "who waits sees how many come before");
    runner.stop().await;
}

async fn domains_with_large_tasks_go_on_side_by_side() {
    let house = House::new().await;
    let mut domains = Vec::new();
    for name in ["a", "b", "c"] {
        let domain = house.domain(name).await;
        // A task of this size is one chunk: turns are seen from one task to the next.
        house.task(&domain, name, 10_000).await;
        house.task(&domain, &format!("{name}2"), 10_000).await;
        domains.push(domain);
    }
    let runner = house.run();
    house.completed(&domains[0], "a2").await;
    for domain in &domains {
        let done = processed(&house.tasks(domain).await);
        assert!(done > 0, "nothing of {} was done when another was", domain.name.as_str());
    }
    for (domain, id) in domains.iter().zip(["a2", "b2", "c2"]) {
        house.completed(domain, id).await;
    }
    runner.stop().await;
    assert_eq!(house.store.check().await.unwrap().faults, Vec::<String>::new());
}
