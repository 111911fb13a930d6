//! The steps of servers whose cost falls on the coordinator, each made alone by this process.
//! `torture queue` simulates many servers with these costs.

use std::time::{Duration, Instant};

use anyhow::Result;
use bench::small_task::small_task;
use caseload_location::open;
use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use caseload_store::{ClaimTasks, IndexTexts, OpenMode, QueueTurn, RenewLeases, Store};

use super::layout::Layout;
use super::report::{Report, Row};
use crate::figures::real;
use crate::postgres::database::{connect, domain_id};

/// The time of each step.
const TURN: Duration = Duration::from_secs(2);
/// Sessions that listen for wake-ups.
const LISTENERS: usize = 100;
/// The time of all leases: none ends within a measurement.
const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

pub(super) async fn measure(layout: &Layout, report: &mut Report) -> Result<()> {
    let store = open(&layout.url.parse()?, OpenMode::Admin).await?;
    let client = connect(&layout.url).await?;
    let domain = DomainId(domain_id(&client, &layout.domains[0].0).await?);
    let mut timer = Timer { layout, report };
    timer.step("a claim that finds no task", async || claim(&*store, 1).await).await?;
    let settle = async || Ok(store.index_texts(IndexTexts::Due).await.map(drop)?);
    timer.step("a search for new texts", settle).await?;
    let notify = async || Ok(client.batch_execute("NOTIFY caseload_work").await?);
    timer.step("a wake-up without listeners", notify).await?;
    let mut listening = Vec::new();
    for _ in 0..LISTENERS {
        let listener = connect(&layout.url).await?;
        listener.batch_execute("LISTEN caseload_work").await?;
        listening.push(listener);
    }
    timer.step(&format!("a wake-up of {LISTENERS} listeners"), notify).await?;
    drop(listening);
    let mut number = 0;
    let accept = async || {
        number += 1;
        accept(&*store, domain, number).await
    };
    timer.step("the acceptance of a task", accept).await?;
    // Until every task is marked as seen.
    for _ in 0..number {
        claim(&*store, 0).await?;
    }
    timer.step("a claim of 1 task of a long queue", async || claim(&*store, 1).await).await?;
    timer.step("a claim of 8 tasks of a long queue", async || claim(&*store, 8).await).await?;
    let renew = async || {
        let lease_until = UnixMillis(NOW.0 + 30_000);
        Ok(store.renew_leases(RenewLeases { server: "bench".to_owned(), lease_until }).await?)
    };
    timer.step("a renewal of many leases", renew).await?;
    store.release_leases("bench").await?;
    store.close().await?;
    Ok(())
}

struct Timer<'a> {
    layout: &'a Layout,
    report: &'a mut Report,
}

impl Timer<'_> {
    /// Repeats a step for a while.
    async fn step(&mut self, name: &str, mut step: impl AsyncFnMut() -> Result<()>) -> Result<()> {
        let before = self.layout.seconds().await?;
        let (begun, mut steps) = (Instant::now(), 0);
        while begun.elapsed() < TURN {
            step().await?;
            steps += 1;
        }
        let took = begun.elapsed().as_secs_f64();
        let after = self.layout.seconds().await?;
        let database = [0, 1].map(|part| (after[part] - before[part]) / real(steps));
        let row = Row { rate: real(steps) / took, database, ..Row::default() };
        self.report.add(&self.layout.name, name, row);
        Ok(())
    }
}

async fn claim(store: &dyn Store, tasks_max: usize) -> Result<()> {
    let command = ClaimTasks {
        server: "bench".to_owned(),
        now: NOW,
        lease_until: UnixMillis(NOW.0 + 30_000),
        tasks_max,
        reachable_since: UnixMillis(i64::MIN),
        turn: QueueTurn::default(),
    };
    store.claim_tasks(command).await?;
    Ok(())
}

async fn accept(store: &dyn Store, domain: DomainId, number: usize) -> Result<()> {
    let command = small_task(domain, format!("bench-{number}"), NOW)?;
    store.create_task(command).await?;
    Ok(())
}
