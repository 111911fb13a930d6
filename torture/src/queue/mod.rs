//! The claim queue of a large cluster, simulated on a virtual clock: so many servers and domains,
//! one coordinator. The runners, the choice of tasks and the rules of leases are the real ones. The
//! time that each call takes is a measured cost ([`coordinator::cost`]). The table says how busy
//! the coordinator is and how long tasks wait. This judges no correctness: `torture simulate` does.

mod coordinator;
mod server;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use bench::small_task::small_task;
use caseload_bulk::{Runner, RunnerConfig};
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::time::Clock;
use caseload_store::{CreateDomain, admin, tasks as rules};
use caseload_testdata::SplitMix;
use tokio::time::{Instant, sleep};

use coordinator::{Coordinator, Events, cost};
use server::Server;

/// Cores of the coordinator.
const CORES: usize = 16;
/// Work of a task on its node.
const WORK: Duration = Duration::from_secs(2);
/// How long the idle and the steady phase take.
const PHASE: Duration = Duration::from_secs(20);
/// Tasks that arrive in a second of the steady phase.
const TASKS_PER_SECOND: usize = 300;
/// Tasks of the greedy domain in the burst, for each server.
const GREEDY_TASKS: usize = 4;
/// Time limit for all tasks to end.
const DRAIN_MAX: Duration = Duration::from_mins(10);

struct Cluster {
    coordinator: Arc<Coordinator>,
    servers: Vec<Arc<Server>>,
    domains: Vec<DomainId>,
    random: SplitMix,
    accepted: usize,
}

/// Simulates so many servers and domains.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) fn run(servers: usize, domains: usize, seed: Option<u64>) -> Result<()> {
    ensure!(servers > 0 && domains > 1, "at least one server and two domains");
    let seed = seed.unwrap_or_else(SplitMix::fresh_seed);
    println!("{servers} servers, {domains} domains, {CORES} cores of the coordinator, seed {seed}");
    // In a thread of its own, because the caller's runtime has a real clock.
    let play = move || {
        for notifies in [true, false] {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_time().start_paused(true).build()?;
            runtime.block_on(play(servers, domains, seed, notifies))?;
        }
        Ok(())
    };
    std::thread::spawn(play).join().map_err(|_| anyhow!("the simulation panicked"))?
}

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
async fn play(servers: usize, domains: usize, seed: u64, notifies: bool) -> Result<()> {
    let how = if notifies { "listen for wake-ups" } else { "only poll" };
    println!("\nservers that {how}");
    let mut cluster = Cluster::new(domains, seed, notifies)?;
    let runners: Vec<Runner> = (0..servers).map(|n| cluster.start(n)).collect();
    println!(
        "{:<36} {:>8} {:>8} {:>7} {:>6} {:>8} {:>8} {:>8} {:>7}",
        "phase", "claims/s", "in vain", "lost", "cores", "p50 s", "p99 s", "max s", "took s"
    );
    let begun = cluster.begin();
    sleep(PHASE).await;
    cluster.print("no task", begun, |events| &events.waits);
    let begun = cluster.begin();
    cluster.steady().await?;
    cluster.drain().await?;
    cluster.print(&format!("{TASKS_PER_SECOND} tasks a second"), begun, |events| &events.waits);
    let begun = cluster.begin();
    cluster.burst(servers * GREEDY_TASKS)?;
    cluster.drain().await?;
    cluster.print("one task of each domain", begun, |events| &events.waits);
    cluster.print("of one domain before them, many", begun, |events| &events.waits_of_greedy);
    let begun = cluster.begin();
    cluster.burst(0)?;
    sleep(WORK).await;
    cluster.kill(servers.div_ceil(10));
    cluster.drain().await?;
    cluster.print("the same; a tenth of servers dies", begun, |events| &events.takeovers);
    drop(runners);
    Ok(())
}

impl Cluster {
    fn new(domains: usize, seed: u64, notifies: bool) -> Result<Self> {
        let coordinator = Coordinator::new(CORES, notifies)?;
        let domains = (0..domains).map(|n| {
            let name = DomainName::parse(&format!("domain-{n}"))?;
            let command = CreateDomain { name, origin: coordinator.now().into(), random: n as u64 };
            anyhow::Ok(coordinator.store.write(|tx| admin::create_domain(&tx, &command))?.id)
        });
        let domains = domains.collect::<Result<_>>()?;
        let random = SplitMix::new(seed);
        Ok(Self { coordinator, servers: Vec::new(), domains, random, accepted: 0 })
    }

    fn start(&mut self, number: usize) -> Runner {
        let server = Server::new(&self.coordinator, WORK);
        self.servers.push(server.clone());
        let coordinator = self.coordinator.clone();
        let clock = Clock::new(move || coordinator.now());
        let config =
            RunnerConfig { one_thread: true, ..RunnerConfig::new(format!("server-{number}")) };
        Runner::start(server.clone(), server, clock, config)
    }

    fn begin(&self) -> Instant {
        *self.coordinator.events.lock() = Events::default();
        Instant::now()
    }

    async fn steady(&mut self) -> Result<()> {
        let begun = Instant::now();
        let every = Duration::from_secs(1) / TASKS_PER_SECOND as u32;
        let mut next = begun;
        while begun.elapsed() < PHASE {
            let domain = self.domains[self.random.below(self.domains.len())];
            self.submit(domain)?;
            next += every;
            tokio::time::sleep_until(next).await;
        }
        Ok(())
    }

    /// Many tasks of one domain, and right after them one of each other domain.
    fn burst(&mut self, greedy: usize) -> Result<()> {
        self.coordinator.greedy.get_or_init(|| self.domains[0]);
        for _ in 0..greedy {
            self.submit(self.domains[0])?;
        }
        for n in 1..self.domains.len() {
            self.submit(self.domains[n])?;
        }
        Ok(())
    }

    fn submit(&mut self, domain: DomainId) -> Result<()> {
        self.accepted += 1;
        let id = format!("task-{}", self.accepted);
        let command = small_task(domain, id.clone(), self.coordinator.now())?;
        self.coordinator.store.write_in(domain, |tx| rules::accept(&tx, &command))?;
        self.coordinator.accepted(id);
        let coordinator = self.coordinator.clone();
        tokio::spawn(async move {
            coordinator.use_core(cost::ACCEPT).await;
            coordinator.wake_all().await;
        });
        Ok(())
    }

    async fn drain(&self) -> Result<()> {
        let begun = Instant::now();
        while self.coordinator.unfinished() > 0 {
            ensure!(begun.elapsed() < DRAIN_MAX, "tasks do not end");
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Kills so many servers in the middle of their work.
    fn kill(&self, servers: usize) {
        for server in &self.servers[..servers] {
            self.coordinator.orphaned(&server.kill());
        }
    }

    /// Prints a line about a phase and some of its waits.
    #[expect(clippy::print_stdout, reason = "the table is the program's output")]
    fn print(&self, phase: &str, begun: Instant, of: fn(&Events) -> &Vec<Duration>) {
        let events = self.coordinator.events.lock().clone();
        let took = begun.elapsed().as_secs_f64();
        let mut waits = of(&events).clone();
        waits.sort_unstable();
        let wait = |percent: usize| {
            let at = (waits.len() * percent / 100).min(waits.len().saturating_sub(1));
            waits.get(at).copied().unwrap_or_default().as_secs_f64()
        };
        println!(
            "{phase:<36} {:>8.0} {:>7.1}% {:>7} {:>6.2} {:>8.3} {:>8.3} {:>8.3} {took:>7.1}",
            f64::from(events.claims) / took,
            f64::from(100 * events.in_vain) / f64::from(events.claims.max(1)),
            events.lost,
            events.used.as_secs_f64() / took,
            wait(50),
            wait(99),
            wait(100),
        );
    }
}
