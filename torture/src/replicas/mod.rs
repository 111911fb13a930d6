//! The attack on replicas: several servers on one PostgreSQL, tasks of every kind and single writes
//! in two domains through all of them, followers that poll all the time, and one fault in each
//! round. A submission without an answer is repeated through another server. Every few rounds all
//! tasks run to completion and all stored data is compared with the acknowledged writes. The first
//! broken law ends the run, and the servers' logs remain. The seed fixes the requests and the
//! faults, not the timing of the machine.

mod database;
mod disk;
mod fault;
mod fleet;
mod follow;
mod gate;
mod nodes;
mod postgres;
mod report;
mod singles;
mod takeover;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use caseload_client::{Client, ClientError};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::laws::{DOMAINS, Ledger, SubmitResult, verify};
use caseload_testdata::SplitMix;
use database::Database;
use fault::{FAULTS, FAULTS_OF_NODES};
use fleet::{Answer, Call, Fleet};
use follow::{Follower, FollowerState};
use gate::Gate;
use report::{Parts, Totals};
use singles::{SingleWrites, Writer};

const SERVERS: [usize; 3] = [2, 3, 4];
/// With so many unfinished tasks a round submits none.
const UNFINISHED_MAX: usize = 12;
/// Writers of single issues in each domain.
const WRITERS: usize = 2;
/// Rounds between two verifications of all data.
const VERIFY_EVERY: usize = 5;
/// Time limit for all tasks to complete, and for one submission to be acknowledged.
const DRAIN_MAX: Duration = Duration::from_mins(5);
/// Time limit to find a server in the middle of a chunk.
const WORKER_MAX: Duration = Duration::from_secs(4);
/// The `wait` parameter of a request for a task, in seconds.
const WAIT_SECONDS: u64 = 20;
/// Imported issues were created before this time, single writes after it.
const SINCE: i64 = 1_700_000_000_000;

struct Attack {
    database: Arc<Database>,
    fleet: Arc<Fleet>,
    random: SplitMix,
    ledger: Ledger,
    singles: [Arc<Mutex<SingleWrites>>; 2],
    followed: [[Arc<Mutex<FollowerState>>; 2]; 2],
    /// What single writers pass through, and what followers do.
    writing: Gate,
    following: Gate,
    background: JoinSet<Result<()>>,
    waits: JoinSet<Result<()>>,
    totals: Totals,
}

/// Runs so many rounds, on a temporary cluster if none is given.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn run(rounds: usize, seed: Option<u64>, nodes: bool) -> Result<()> {
    let seed = seed.unwrap_or_else(SplitMix::fresh_seed);
    let given = (std::env::var("TEST_DATABASE_URL"), std::env::var_os("TEST_POSTGRES_BIN"));
    let (Ok(admin), Some(bin)) = given else { return with_postgres(rounds, seed, nodes) };
    let mut random = SplitMix::new(seed);
    let servers = random.pick(&SERVERS);
    println!("{rounds} rounds, {servers} servers, seed {seed}");
    let database = Arc::new(Database::new(&admin, bin.into()).await?);
    let fleet = Arc::new(Fleet::start(&database, servers).await?);
    if nodes {
        ensure!(!database.workers.is_empty(), "TEST_WORKERS names no workers");
        nodes::set_apart(&database.client().await?).await?;
    }
    let mut attack = Attack {
        database,
        fleet,
        random,
        ledger: Ledger::default(),
        singles: Default::default(),
        followed: Default::default(),
        writing: Gate::default(),
        following: Gate::default(),
        background: JoinSet::new(),
        waits: JoinSet::new(),
        totals: Totals::default(),
    };
    let begun = Instant::now();
    let done = attack.all(rounds).await;
    attack.background.shutdown().await;
    attack.waits.shutdown().await;
    if let Err(error) = done {
        attack.print();
        let logs = Arc::try_unwrap(attack.fleet).map(Fleet::leave_logs).unwrap_or_default();
        return Err(error.context(format!("seed {seed}, logs are in {}", logs.display())));
    }
    attack.print();
    println!("every law held; {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Runs this program again with a temporary, durable cluster.
fn with_postgres(rounds: usize, seed: u64, nodes: bool) -> Result<()> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/with-postgres");
    let status = std::process::Command::new(script)
        .env_remove("TEST_DATABASE_URL")
        .arg("--durable")
        .args(nodes.then_some("--distributed"))
        .arg(std::env::current_exe()?)
        .args([if nodes { "nodes" } else { "replicas" }, &rounds.to_string(), &seed.to_string()])
        .status()?;
    ensure!(status.success(), "the attack ended with {status}");
    Ok(())
}

impl Attack {
    fn print(&self) {
        let Self { ledger, singles, followed, fleet, .. } = self;
        self.totals.print(&Parts { ledger, singles, followed, calls: &fleet.counts });
    }

    async fn all(&mut self, rounds: usize) -> Result<()> {
        self.begin();
        for round in 1..=rounds {
            self.round(round).await.with_context(|| format!("in round {round}"))?;
            if round.is_multiple_of(VERIFY_EVERY) || round == rounds {
                self.verify().await.with_context(|| format!("after round {round}"))?;
            }
        }
        Ok(())
    }

    /// Starts writers and followers in the background.
    fn begin(&mut self) {
        for domain in 0..2 {
            for n in 0..WRITERS {
                let writer = Writer {
                    domain,
                    name: format!("single {domain}{n}"),
                    random: self.fork(),
                    expected: Arc::clone(&self.singles[domain]),
                };
                self.background.spawn(writer.run(Arc::clone(&self.fleet), self.writing.clone()));
            }
            for (n, ascending) in [true, false].into_iter().enumerate() {
                let follower = Follower {
                    domain,
                    ascending,
                    since: SINCE,
                    random: self.fork(),
                    followed: Arc::clone(&self.followed[domain][n]),
                };
                let fleet = Arc::clone(&self.fleet);
                self.background.spawn(follower.run(fleet, self.following.clone()));
            }
        }
    }

    fn fork(&mut self) -> SplitMix {
        SplitMix::new(self.random.below(usize::MAX) as u64)
    }

    #[expect(clippy::print_stdout, reason = "a line of progress")]
    async fn round(&mut self, round: usize) -> Result<()> {
        let mut faults = FAULTS.to_vec();
        if !self.database.workers.is_empty() {
            faults.splice(0..0, FAULTS_OF_NODES);
        }
        let fault = faults.get(round - 1).copied();
        let fault = fault.unwrap_or_else(|| self.random.pick(&faults));
        let mut victim = self.random.below(self.fleet.len());
        let mut sending = JoinSet::new();
        self.send(&mut sending, None)?;
        tokio::time::sleep(Duration::from_millis(self.random.below(600) as u64)).await;
        // Usually the server in the middle of a chunk.
        if fault.is_of_one_server() && self.random.below(5) > 0 {
            victim = self.database.worker(WORKER_MAX).await?.unwrap_or(victim);
        }
        // Some more jobs arrive during the fault.
        if self.random.below(2) == 0 {
            self.send(&mut sending, Some(victim))?;
        }
        let (fleet, database) = (Arc::clone(&self.fleet), Arc::clone(&self.database));
        let mut random = self.fork();
        let outcome =
            tokio::spawn(async move { fault.strike(victim, &fleet, &database, &mut random).await });
        let other = (victim + 1) % self.fleet.len();
        while !outcome.is_finished() {
            if fault.is_of_one_server() {
                self.poll(other).await?;
                self.cancel().await?;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let outcome = outcome.await??;
        self.fleet.ready().await?;
        self.answers(&mut sending).await?;
        self.repeat().await?;
        self.poll(other).await?;
        self.alive()?;
        let takeovers = outcome.takeovers.len();
        self.totals.add(fault, outcome);
        let (tasks, left) = (self.ledger.jobs.len(), self.ledger.unfinished());
        let name = fault.name();
        println!("{round:>4} {name:<32} {tasks:>5} tasks, {left:>3} open, {takeovers} taken over");
        Ok(())
    }

    /// Fails if a background task has failed.
    fn alive(&mut self) -> Result<()> {
        for set in [&mut self.background, &mut self.waits] {
            while let Some(ended) = set.try_join_next() {
                ended??;
            }
        }
        Ok(())
    }

    fn clients(&self, server: usize) -> Result<[Client; 2]> {
        self.fleet.clients(server)
    }

    async fn poll(&mut self, server: usize) -> Result<()> {
        let clients = self.clients(server)?;
        self.ledger.poll(&clients).await
    }

    /// Chooses some jobs and sends them in the background: through any server, or through the given
    /// one.
    fn send(
        &mut self,
        sending: &mut JoinSet<(usize, SubmitResult)>,
        server: Option<usize>,
    ) -> Result<()> {
        if self.ledger.unfinished() >= UNFINISHED_MAX {
            return Ok(());
        }
        for _ in 0..2 + self.random.below(4) {
            let number = self.ledger.choose(&mut self.random);
            let server = server.unwrap_or_else(|| self.random.below(self.fleet.len()));
            // Sometimes through two servers at the same time.
            let twice = self.random.below(4) == 0;
            let second = (server + 1) % self.fleet.len();
            for server in std::iter::once(server).chain(twice.then_some(second)) {
                let lines = self.ledger.lines(number);
                let job = &self.ledger.jobs[number];
                let client = self.clients(server)?[job.domain].clone();
                let (action, family, options) = (job.action, job.family(), job.options());
                sending.spawn(async move {
                    let payload = caseload_client::Payload::bytes(lines);
                    (number, client.bulk(family).submit_with(action, payload, &options).await)
                });
            }
        }
        Ok(())
    }

    /// Records the answers to all submissions.
    async fn answers(&mut self, sending: &mut JoinSet<(usize, SubmitResult)>) -> Result<()> {
        while let Some(sent) = sending.join_next().await {
            let (number, sent) = sent?;
            self.answer(number, sent)?;
        }
        Ok(())
    }

    /// Records an answer; returns whether it acknowledges the submission.
    fn answer(&mut self, number: usize, sent: SubmitResult) -> Result<bool> {
        match sent {
            Ok(task) => {
                let first = self.ledger.jobs[number].first.is_none();
                self.ledger.jobs[number].answered(task)?;
                if first {
                    self.totals.accepted += 1;
                    self.wait(number);
                } else {
                    self.totals.same += 1;
                }
                return Ok(true);
            }
            Err(ClientError::Unreachable { .. }) => self.totals.lost += 1,
            Err(error) if error.status() == Some(503) => self.totals.unavailable += 1,
            Err(error) if error.code() == Some("idempotency_in_progress") => {
                self.totals.in_progress += 1;
            }
            Err(error) => bail!("{}: {error}", self.ledger.jobs[number]),
        }
        Ok(false)
    }

    /// Repeats the submissions without an answer, and one other.
    async fn repeat(&mut self) -> Result<()> {
        let mut again = self.ledger.unanswered();
        if !self.ledger.jobs.is_empty() {
            again.push(self.random.below(self.ledger.jobs.len()));
        }
        for number in again {
            let begun = Instant::now();
            loop {
                let server = self.random.below(self.fleet.len());
                let lines = self.ledger.lines(number);
                let job = &self.ledger.jobs[number];
                let client = &self.clients(server)?[job.domain];
                let sent = job.submit(client, lines).await;
                if self.answer(number, sent)? {
                    break;
                }
                ensure!(begun.elapsed() < DRAIN_MAX, "{} is accepted nowhere", {
                    &self.ledger.jobs[number]
                });
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }

    /// Sometimes cancels an unfinished task, through any server.
    async fn cancel(&mut self) -> Result<()> {
        let open = |job: &&crate::laws::Job| !job.is_done() && job.seen.is_some() && !job.cancelled;
        let open: Vec<usize> = self.ledger.jobs.iter().filter(open).map(|job| job.number).collect();
        if open.is_empty() || self.random.below(40) > 0 {
            return Ok(());
        }
        let number = open[self.random.below(open.len())];
        let job = &mut self.ledger.jobs[number];
        job.cancelled = true;
        let path = job.path().context("no task yet")?;
        let path = format!("{path}/cancel");
        let patience = Some(Duration::from_secs(15));
        let call =
            Call { domain: job.domain, path: &path, form: Some(&[]), patience, ..Call::default() };
        let server = self.random.below(self.fleet.len());
        if let Answer::Good(_) = self.fleet.call(server, &call).await? {
            self.totals.cancelled += 1;
        }
        Ok(())
    }

    /// Waits for the task through one server after the other, like a client.
    fn wait(&mut self, number: usize) {
        let job = &self.ledger.jobs[number];
        let (domain, Some(path)) = (job.domain, job.path()) else { return };
        let (fleet, mut random) = (Arc::clone(&self.fleet), self.fork());
        let path = format!("{path}?wait={WAIT_SECONDS}");
        self.totals.waits += 1;
        self.waits.spawn(async move {
            let begun = Instant::now();
            loop {
                let server = random.below(fleet.len());
                let patience = Some(Duration::from_secs(2 * WAIT_SECONDS));
                let call = Call { domain, path: &path, patience, ..Call::default() };
                match fleet.call(server, &call).await? {
                    Answer::Good(task) if task.contains(r#""status":"completed""#) => return Ok(()),
                    Answer::Good(_) => {}
                    _ => tokio::time::sleep(Duration::from_millis(500)).await,
                }
                ensure!(begun.elapsed() < 2 * DRAIN_MAX, "{path} does not complete");
            }
        });
    }

    /// Waits for all tasks to complete, and compares all stored data with the acknowledged writes.
    async fn verify(&mut self) -> Result<()> {
        let begun = Instant::now();
        while self.ledger.unfinished() > 0 {
            let server = self.random.below(self.fleet.len());
            self.poll(server).await?;
            let left = self.ledger.unfinished();
            ensure!(begun.elapsed() < DRAIN_MAX, "{left} tasks do not complete");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        while let Some(waited) = self.waits.join_next().await {
            waited??;
        }
        let closed = self.writing.close();
        let closed = tokio::time::timeout(DRAIN_MAX, closed).await.context("writers hang")?;
        self.alive()?;
        let server = self.random.below(self.fleet.len());
        let clients = self.clients(server)?;
        let mut others = [0; 2];
        for domain in 0..2 {
            let mut singles = std::mem::take(&mut *self.singles[domain].lock());
            let found = singles.verify(&clients[domain], domain, SINCE).await;
            *self.singles[domain].lock() = singles;
            let found = found?;
            others[domain] = found.len();
            for (followed, at) in self.followed[domain].iter().zip(["ascending", "descending"]) {
                follow::caught_up(followed, &found, at, domain).await?;
            }
        }
        verify(&mut self.ledger, &clients, others, &mut self.random).await?;
        for (domain, name) in DOMAINS.iter().enumerate() {
            let (there, known) =
                (self.database.profiles(name).await?, self.ledger.known[domain].len());
            ensure!(there == known, "{name}: {there} profiles, {known} acknowledged");
        }
        self.fleet.check()?;
        self.totals.verifications += 1;
        drop(closed);
        Ok(())
    }
}
