//! Fairness between domains: the queue of one domain does not delay the tasks of another. Measured
//! by the entries that other domains completed first, not by time.
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
    domains_with_large_tasks_progress_in_parallel,
);

const PATIENCE: Duration = Duration::from_mins(2);

struct Fixture {
    store: Arc<dyn Store>,
    clock: Clock,
    _place: StorePlace,
}

impl Fixture {
    async fn new() -> Self {
        let place = Backend::current().place();
        let store = open(&place.location(), OpenMode::Server).await.unwrap();
        // Any instant will do at the start; leases only need time to pass.
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
    let fixture = Fixture::new().await;
    let (big, small) = (fixture.domain("big").await, fixture.domain("small").await);
    for n in 0..100 {
        fixture.task(&big, &format!("b{n}"), 2000).await;
    }
    let runner = fixture.run();
    let begun = Instant::now();
    while processed(&fixture.tasks(&big).await) == 0 {
        assert!(begun.elapsed() < PATIENCE, "the large tasks start");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let before = processed(&fixture.tasks(&big).await);
    fixture.task(&small, "s", 10).await;
    fixture.completed(&small, "s").await;
    let tasks = fixture.tasks(&big).await;
    let in_between = processed(&tasks) - before;
    assert!(in_between <= 10 * 2000, "{in_between} entries of the other domain came first");
    let positions: Vec<_> = tasks.iter().rev().filter_map(|task| task.position).collect();
    assert!(
        positions.is_sorted() && positions.len() > 80,
        "a waiting task shows the number of tasks before it"
    );
    runner.stop().await;
}

async fn domains_with_large_tasks_progress_in_parallel() {
    let fixture = Fixture::new().await;
    let mut domains = Vec::new();
    for name in ["a", "b", "c"] {
        let domain = fixture.domain(name).await;
        // A task of this size is one chunk, so domains alternate between tasks.
        fixture.task(&domain, name, 10_000).await;
        fixture.task(&domain, &format!("{name}2"), 10_000).await;
        domains.push(domain);
    }
    let runner = fixture.run();
    fixture.completed(&domains[0], "a2").await;
    for domain in &domains {
        let done = processed(&fixture.tasks(domain).await);
        assert!(done > 0, "{} had done nothing when another domain was done", domain.name.as_str());
    }
    for (domain, id) in domains.iter().zip(["a2", "b2", "c2"]) {
        fixture.completed(domain, id).await;
    }
    runner.stop().await;
    assert_eq!(fixture.store.check().await.unwrap().faults, Vec::<String>::new());
}
