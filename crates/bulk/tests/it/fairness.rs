//! Fairness between domains: the queue of one domain does not delay the tasks of another. Measured
//! by the entries that other domains completed first, not by time.
use std::time::{Duration, Instant};

use caseload_model::issue_query::Paging;
use caseload_model::task::{Family, Task};
use caseload_store::{Domain, ListTasks};
use caseload_teststore::on_each_store;

use crate::support::{Fixture, PATIENCE};

on_each_store!(threads 2:
    a_small_task_does_not_wait_for_a_hundred_large_ones_of_another_domain,
    domains_with_large_tasks_progress_in_parallel,
);

async fn tasks(fixture: &Fixture, domain: &Domain) -> Vec<Task> {
    let paging = Paging { page: 1, page_size: 1000 };
    let request = ListTasks {
        domain: domain.id,
        family: Family::Identity,
        filter: caseload_model::task_query::TaskFilter::default(),
        paging,
    };
    fixture.store.list_tasks(request).await.unwrap().tasks
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
    let runner = fixture.run(fixture.store.clone());
    let begun = Instant::now();
    while processed(&tasks(&fixture, &big).await) == 0 {
        assert!(begun.elapsed() < PATIENCE, "the large tasks start");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let before = processed(&tasks(&fixture, &big).await);
    fixture.task(&small, "s", 10).await;
    fixture.succeeded(&small, "s").await;
    let tasks = tasks(&fixture, &big).await;
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
    let runner = fixture.run(fixture.store.clone());
    fixture.succeeded(&domains[0], "a2").await;
    for domain in &domains {
        let done = processed(&tasks(&fixture, domain).await);
        assert!(done > 0, "{} had done nothing when another domain was done", domain.name.as_str());
    }
    for (domain, id) in domains.iter().zip(["a2", "b2", "c2"]) {
        fixture.succeeded(domain, id).await;
    }
    runner.stop().await;
    assert_eq!(fixture.store.check().await.unwrap().faults, Vec::<String>::new());
}
