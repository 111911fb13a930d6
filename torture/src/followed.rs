//! The proof of the change log on real servers: writers of every kind at all servers, a fault in
//! each round, and followers that each took a cursor, exported all records and then follow the log
//! through whichever server answers. After the last round their records must equal an export, byte
//! for byte. The seed fixes the requests and the faults, not the timing of the machine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use caseload_testdata::{Follower, Got, Records, SplitMix, Writes};
use caseload_teststore::Backend;
use reqwest::Method;
use serde_json::Value;
use tokio::task::{JoinSet, block_in_place};
use tokio::time::sleep;

use crate::stage::{DOMAIN, Stage};

const WRITERS: usize = 8;
/// The longest pause of a writer between two requests.
const PAUSE_MS: usize = 30;
/// Accepted writes between two faults, and the time limit for them.
const WRITES: usize = 80;
const CALM_MAX: Duration = Duration::from_secs(10);
/// How long a request is repeated, and the time limit of all tasks and of a follower.
const PATIENCE: Duration = Duration::from_mins(2);

struct Run {
    stage: Stage,
    /// Whether the writers are to end, and whether all that they wrote has taken effect.
    ending: AtomicBool,
    written: AtomicBool,
    accepted: AtomicUsize,
    reads: AtomicUsize,
    lost: AtomicUsize,
}

/// The requests of a writer by kind: accepted, and refused.
type Counts = BTreeMap<&'static str, (usize, usize)>;

/// Runs so many rounds on a backend.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn run(backend: Backend, rounds: usize, seed: Option<u64>) -> Result<()> {
    let seed = seed.unwrap_or_else(SplitMix::fresh_seed);
    println!("{rounds} rounds, {backend:?}, seed {seed}");
    let begun = Instant::now();
    let mut random = SplitMix::new(seed);
    let run = Arc::new(Run {
        stage: block_in_place(|| Stage::open(backend))?,
        ending: AtomicBool::default(),
        written: AtomicBool::default(),
        accepted: AtomicUsize::default(),
        reads: AtomicUsize::default(),
        lost: AtomicUsize::default(),
    });
    let seeds = [random.next(), random.next()];
    let (faults, with_pages, by_ids) = tokio::join!(
        run.write_through(rounds, &mut random),
        run.follow(seeds[0], true),
        run.follow(seeds[1], false),
    );
    let at = || format!("seed {seed}");
    let (faults, counts) = faults.with_context(at)?;
    let export = Records::export(DOMAIN, &mut run.getter(seed)).await;
    let export = export.map_err(|error| anyhow!(error)).with_context(at)?;
    for (fault, count) in faults {
        row(fault, count);
    }
    run.print(&counts);
    row("records of the last export", export.len());
    for (name, follower) in [("pages with records", with_pages), ("records by id", by_ids)] {
        let follower = follower.with_context(|| format!("seed {seed}, {name}"))?;
        let differences = follower.records.differences(&export);
        ensure!(differences.is_empty(), "seed {seed}, {name}: {differences:#?}");
        row(&format!("changes followed, {name}"), follower.changes());
        row("  on pages", follower.pages);
        row("  records when it began", follower.exported);
        for ((resource, action), count) in &follower.seen {
            row(&format!("  {resource} {action}"), count);
        }
    }
    run.stage.check()?;
    println!("each follower has what the export has; {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
fn row(name: &str, value: impl std::fmt::Display) {
    println!("{name:<44} {value:>8}");
}

impl Run {
    /// Writes through so many faults, and waits until everything has taken effect. Returns the
    /// faults, and the requests by kind.
    async fn write_through(
        self: &Arc<Self>,
        rounds: usize,
        random: &mut SplitMix,
    ) -> Result<(BTreeMap<&'static str, usize>, Counts)> {
        let mut writers = JoinSet::new();
        for n in 0..WRITERS {
            writers.spawn(Arc::clone(self).write(n, random.next()));
        }
        let mut faults = BTreeMap::new();
        let struck = async {
            for round in 0..rounds {
                self.calm(WRITES + random.below(WRITES)).await;
                let fault = self.stage.strike(random, round == rounds / 2).await?;
                *faults.entry(fault).or_default() += 1;
            }
            anyhow::Ok(())
        };
        let struck = struck.await;
        self.calm(WRITES).await;
        self.ending.store(true, Ordering::SeqCst);
        let ended = writers.join_all().await;
        let done = self.tasks_done().await;
        // The followers end in any case.
        self.written.store(true, Ordering::SeqCst);
        struck.and(done)?;
        let mut counts = Counts::new();
        for writer in ended {
            for (kind, (accepted, refused)) in writer? {
                let sum = counts.entry(kind).or_default();
                *sum = (sum.0 + accepted, sum.1 + refused);
            }
        }
        Ok((faults, counts))
    }

    /// Waits until so many more writes have been accepted.
    async fn calm(&self, writes: usize) {
        let (begun, before) = (Instant::now(), self.accepted.load(Ordering::Relaxed));
        while self.accepted.load(Ordering::Relaxed) < before + writes && begun.elapsed() < CALM_MAX
        {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Writes until the run ends. A write without an answer is repeated with its key.
    async fn write(self: Arc<Self>, writer: usize, seed: u64) -> Result<Counts> {
        let (mut writes, mut random) = (Writes::new(seed, DOMAIN), SplitMix::new(seed));
        let mut counts = Counts::new();
        for number in 0.. {
            if self.ending.load(Ordering::SeqCst) {
                break;
            }
            let write = writes.choose();
            let method = Method::from_bytes(write.method.as_bytes())?;
            let key = (write.kind != "read").then(|| format!("{writer}-{number}"));
            let body = write.body.clone();
            let answer = self.answer(&mut random, &method, &write.path, body, key.as_deref());
            let (status, text) = answer.await?;
            let (accepted, refused) = counts.entry(write.kind).or_default();
            match status {
                200..300 => {
                    *accepted += 1;
                    self.accepted.fetch_add(usize::from(key.is_some()), Ordering::Relaxed);
                }
                400 | 404 | 429 => *refused += 1,
                _ => return Err(anyhow!("{write:?} was answered {status}: {text}")),
            }
            if write.kind == "read" {
                writes.learn(&text);
            }
            sleep(Duration::from_millis(random.below(PAUSE_MS) as u64)).await;
        }
        Ok(counts)
    }

    /// Sends a request to one server after the other until one answers.
    async fn answer(
        &self,
        random: &mut SplitMix,
        method: &Method,
        path: &str,
        body: Option<String>,
        key: Option<&str>,
    ) -> Result<(u16, String)> {
        let begun = Instant::now();
        loop {
            let sent = self.stage.call(random.below(9), method, path, body.clone(), key);
            if let Some(answer) = sent.await {
                return Ok(answer);
            }
            self.lost.fetch_add(1, Ordering::Relaxed);
            ensure!(begun.elapsed() < PATIENCE, "{path} is answered by no server");
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn getter(&self, seed: u64) -> impl AsyncFnMut(String) -> Got {
        let mut random = SplitMix::new(seed);
        async move |path: String| {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let answer = self.answer(&mut random, &Method::GET, &path, None, None).await;
            answer.map_err(|error| format!("{error:#}"))
        }
    }

    async fn tasks_done(&self) -> Result<()> {
        let (begun, mut random) = (Instant::now(), SplitMix::new(0));
        for family in ["issues", "identity"] {
            let open = "status=created,queued,processing&page-size=1";
            let open = format!("/v2/{DOMAIN}/{family}/bulk_actions?{open}");
            loop {
                let (_, text) = self.answer(&mut random, &Method::GET, &open, None, None).await?;
                let tasks: Value = serde_json::from_str(&text)?;
                if tasks["total-hits"] == 0 {
                    break;
                }
                ensure!(begun.elapsed() < PATIENCE, "tasks do not complete: {text}");
                sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// Begins after some writes, and follows the log to its end.
    async fn follow(&self, seed: u64, with_records: bool) -> Result<Follower> {
        let mut get = self.getter(seed);
        self.calm(if with_records { 2 * WRITES } else { WRITES }).await;
        let mut follower = Follower::begin(DOMAIN, seed, with_records, &mut get)
            .await
            .map_err(|error| anyhow!(error))?;
        loop {
            let ended = self.written.load(Ordering::SeqCst);
            let at_end = follower.step(&mut get).await.map_err(|error| anyhow!(error))?;
            if at_end && ended {
                return Ok(follower);
            }
            if at_end {
                sleep(Duration::from_millis(20)).await;
            }
        }
    }

    fn print(&self, counts: &Counts) {
        row("writers", WRITERS);
        let writes = counts.iter().filter(|(kind, _)| **kind != "read");
        row("writes accepted", writes.clone().map(|(_, (accepted, _))| accepted).sum::<usize>());
        for (kind, (accepted, refused)) in writes {
            row(&format!("  {kind} ({refused} refused)"), accepted);
        }
        row("reads of followers", self.reads.load(Ordering::Relaxed));
        row("requests without an answer, repeated", self.lost.load(Ordering::Relaxed));
    }
}
