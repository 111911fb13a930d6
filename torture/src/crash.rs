//! The crash loop: tasks of every kind in two domains, `kill -9` at random moments, a restart on
//! the same store, until all tasks are done. A submission whose answer a kill destroyed is repeated
//! with the same idempotency key, so at the end each submission is exactly one task and each entry
//! took effect once. The first broken law ends the run; the store remains. The seed fixes the
//! requests and the times of the kills, not the timing of the machine.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use caseload_client::{Client, ClientError};
use tokio::task::JoinSet;

use crate::laws::{DOMAINS, Ledger, SubmitResult, total, verify};
use bench::server::{Process, Store};
use caseload_testdata::SplitMix;

/// With so many unfinished tasks a round submits none.
const UNFINISHED_MAX: usize = 24;
/// Rounds between two checks of the store. Every second check runs while the server is down.
const CHECK_EVERY: usize = 10;
const PRINT_EVERY: usize = 20;
/// Time for all tasks to complete after the last kill.
const DRAIN_MAX: Duration = Duration::from_mins(10);

struct Crash {
    store: Store,
    keys: [String; 2],
    random: SplitMix,
    ledger: Ledger,
    totals: Totals,
}

#[derive(Default)]
struct Totals {
    kills: usize,
    starts: usize,
    checks: usize,
    /// Submissions whose answer was lost in a kill.
    lost: usize,
    /// Those of them that the server had accepted: the repeat found the task.
    lost_accepted: usize,
    /// Repeats that got the first answer again, byte for byte.
    same: usize,
}

/// Runs the loop with so many kills.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn run(kills: usize, seed: Option<u64>) -> Result<()> {
    let seed = seed.unwrap_or_else(SplitMix::fresh_seed);
    println!("{kills} kills, seed {seed}");
    let store = Store::new()?;
    let keys = [store.domain(DOMAINS[0])?, store.domain(DOMAINS[1])?];
    let mut crash = Crash {
        store,
        keys,
        random: SplitMix::new(seed),
        ledger: Ledger::default(),
        totals: Totals::default(),
    };
    let begun = Instant::now();
    if let Err(error) = crash.all(kills).await {
        let folder = crash.store.leave_folder();
        return Err(error.context(format!("seed {seed}, the store is in {}", folder.display())));
    }
    crash.print();
    println!("every law held; {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

impl Crash {
    #[expect(clippy::print_stdout, reason = "a line of progress")]
    async fn all(&mut self, kills: usize) -> Result<()> {
        let mut server = self.start()?;
        for round in 1..=kills {
            self.work_until_kill(server).await?;
            let check = round.is_multiple_of(CHECK_EVERY);
            let down = round.is_multiple_of(2 * CHECK_EVERY);
            if check && down {
                self.check()?;
            }
            server = self.start()?;
            if check && !down {
                self.check()?;
            }
            let clients = self.clients(&server)?;
            self.repeat(&clients).await.with_context(|| format!("after kill {round}"))?;
            self.ledger.poll(&clients).await.with_context(|| format!("after kill {round}"))?;
            if round.is_multiple_of(PRINT_EVERY) {
                let done = self.ledger.jobs.iter().filter(|job| job.is_done()).count();
                println!("{round} kills: {} tasks, {done} completed", self.ledger.jobs.len());
            }
        }
        let clients = self.clients(&server)?;
        let begun = Instant::now();
        while self.ledger.unfinished() > 0 {
            self.ledger.poll(&clients).await?;
            let left = self.ledger.unfinished();
            ensure!(begun.elapsed() < DRAIN_MAX, "{left} tasks do not complete");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        verify(&mut self.ledger, &clients, [0; 2], &mut self.random).await?;
        self.check()?;
        server.kill()?;
        self.check()
    }

    fn start(&mut self) -> Result<Process> {
        self.totals.starts += 1;
        self.store.serve()
    }

    fn check(&mut self) -> Result<()> {
        self.totals.checks += 1;
        self.store.check().map(drop)
    }

    fn clients(&self, server: &Process) -> Result<[Client; 2]> {
        let client = |n: usize| Client::new(&server.url, DOMAINS[n], &self.keys[n]);
        Ok([client(0)?, client(1)?])
    }

    /// Submits some tasks, and kills the server while it accepts or runs them.
    async fn work_until_kill(&mut self, server: Process) -> Result<()> {
        let clients = self.clients(&server)?;
        let mut sending = JoinSet::new();
        if self.ledger.unfinished() < UNFINISHED_MAX {
            for _ in 0..=self.random.below(4) {
                self.send(&clients, &mut sending);
            }
        }
        if self.random.below(10) < 6 {
            while let Some(sent) = sending.join_next().await {
                let (number, sent) = sent?;
                self.ledger.jobs[number].answered(sent?)?;
            }
            for _ in 0..self.random.below(3) {
                self.ledger.poll(&clients).await?;
                tokio::time::sleep(Duration::from_millis(self.random.below(100) as u64)).await;
            }
        }
        let longest = self.random.pick(&[1, 20, 100, 400]) * 1000;
        let pause = Duration::from_micros(self.random.below(longest) as u64);
        tokio::time::sleep(pause).await;
        server.kill()?;
        self.totals.kills += 1;
        while let Some(sent) = sending.join_next().await {
            let (number, sent) = sent?;
            match sent {
                Ok(task) => self.ledger.jobs[number].answered(task)?,
                Err(ClientError::Unreachable { .. }) => self.totals.lost += 1,
                Err(error) => bail!("{}: {error}", self.ledger.jobs[number]),
            }
        }
        Ok(())
    }

    /// Chooses a job and sends it in the background.
    fn send(&mut self, clients: &[Client; 2], sending: &mut JoinSet<(usize, SubmitResult)>) {
        let number = self.ledger.choose(&mut self.random);
        let (job, lines) = (&self.ledger.jobs[number], self.ledger.lines(number));
        let (client, options) = (clients[job.domain].clone(), job.options());
        let (action, family) = (job.action, job.family());
        sending.spawn(async move {
            let payload = caseload_client::Payload::bytes(lines);
            (number, client.bulk(family).submit_with(action, payload, &options).await)
        });
    }

    /// Repeats the submissions without an answer, and one with an answer.
    async fn repeat(&mut self, clients: &[Client; 2]) -> Result<()> {
        let mut again = self.ledger.unanswered();
        let lost = again.clone();
        // Each lost one twice: the second answer must equal the first.
        again.extend(&lost);
        again.push(self.random.below(self.ledger.jobs.len()));
        for number in again {
            let job = &self.ledger.jobs[number];
            let (client, was_answered) = (&clients[job.domain], job.first.is_some());
            let before = total(client, job.family()).await?;
            let lines = self.ledger.lines(number);
            let task = job.submit(client, lines).await.with_context(|| job.to_string())?;
            let made = total(client, job.family()).await? - before;
            ensure!(
                made == u64::from(!was_answered) || made == 0,
                "{job}: a repeat made {made} tasks"
            );
            self.totals.same += usize::from(was_answered);
            self.totals.lost_accepted += usize::from(!was_answered && made == 0);
            self.ledger.jobs[number].answered(task)?;
        }
        Ok(())
    }

    #[expect(clippy::print_stdout, reason = "the table is the program's output")]
    fn print(&self) {
        let totals = &self.totals;
        println!("{:<44} {:>8}", "kills", totals.kills);
        println!("{:<44} {:>8}", "restarts", totals.starts - 1);
        self.ledger.print();
        println!("{:<44} {:>8}", "checks of the store, no faults", totals.checks);
        println!("{:<44} {:>8}", "answers lost in a kill", totals.lost);
        println!("{:<44} {:>8}", "  of them accepted, found by the repeat", totals.lost_accepted);
        println!("{:<44} {:>8}", "repeats answered with the first answer", totals.same);
    }
}
