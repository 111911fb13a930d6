//! Bulk actions on SQLite against their limits. Measured are the times from the first byte of the
//! POST to `completed` (with `?wait=`) of 10,000 creations, updates, upserts (half of them of known
//! people) and gets, by one client and by four in four domains, on an empty store and on one with a
//! million profiles; the time to accept a POST; the wait of another writer while a task runs; and
//! the bytes on disk. In each round the product and its limit take turns. `--write` stores the
//! tables as markdown, named by date and commit.

pub(crate) mod jobs;
mod report;
mod sizes;
mod waits;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use caseload_model::task::Action;

use crate::figures::median;
use crate::profiles;
use crate::raw::{self, Raw};
use bench::server::Store;
use jobs::{Domains, TaskTimes};
use report::{Report, Row};
use sizes::{CLIENTS, DISK_CREATIONS, ENTRIES, GETS};

/// The options of the command line.
pub(crate) struct Options {
    rounds: usize,
    /// Profiles of the filled store; 0 skips that part.
    filled: usize,
    write: bool,
    date: Option<String>,
    commit: Option<String>,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Self> {
        let mut options =
            Self { rounds: 5, filled: 1_000_000, write: false, date: None, commit: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--write" => options.write = true,
                "--profiles" => options.filled = value()?.parse()?,
                "--date" => options.date = Some(value()?.clone()),
                "--commit" => options.commit = Some(value()?.clone()),
                number => options.rounds = number.parse().context("ROUNDS is a number")?,
            }
        }
        ensure!(options.rounds > 0, "at least one round");
        ensure!(
            options.filled.is_multiple_of(ENTRIES * CLIENTS),
            "--profiles is a multiple of 40000"
        );
        Ok(options)
    }
}

#[expect(clippy::print_stdout, reason = "the tables are the program's output")]
pub(crate) async fn measure(options: Options) -> Result<()> {
    let mut report = Report::new(options.rounds);
    let mut empty = Rows::default();
    for round in 1..=options.rounds {
        let mut setup = Setup::open("an empty store").await?;
        setup.round(round, &mut empty).await?;
        if round == options.rounds {
            report.disk("10,000 creations, 10,000 updates and more", setup.settle()?);
        }
        println!("round {round} of {} from an empty store is done", options.rounds);
    }
    report.add(empty.rows("empty"));
    let mut setup = Setup::open("an empty store").await?;
    setup.fill(DISK_CREATIONS).await?;
    report.disk(&format!("{DISK_CREATIONS} creations, completed"), setup.settle()?);
    if options.filled > 0 {
        let mut setup = Setup::open("a filled store").await?;
        setup.fill(options.filled).await?;
        let mut setup = setup.reopen(&mut report)?;
        let mut filled = Rows::default();
        for round in 1..=options.rounds {
            setup.round(round, &mut filled).await?;
            println!("round {round} of {} in a filled store is done", options.rounds);
        }
        report.add(filled.rows(&format!("{} profiles", options.filled)));
    }
    report.wait(waits::writers(options.rounds).await?);
    report.shared(waits::shared_commits().await?);
    let text = report.markdown();
    println!("{text}");
    if options.write {
        let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/results"));
        std::fs::create_dir_all(&path)?;
        let date = options.date.map_or_else(|| output("date", &["+%Y-%m-%d"]), Ok)?;
        let git = || output("git", &["rev-parse", "--short", "HEAD"]);
        let commit = options.commit.map_or_else(git, Ok)?;
        let path = path.join(format!("{date}-{commit}-bulk.md"));
        std::fs::write(&path, format!("# Bulk actions, {date}, commit {commit}\n\n{text}"))?;
        println!("written to {}", path.display());
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "bytes of files, for a ratio of three digits")]
fn ratio(bytes: u64, of: u64) -> f64 {
    bytes as f64 / of as f64
}

/// Runs a program; returns its output.
pub(crate) fn output(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).output()?;
    if !output.status.success() {
        bail!("{program} {args:?} failed");
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// A served store with its four domains, and the raw database with the same profiles.
struct Setup {
    domains: Domains,
    raw: Raw,
    /// Profiles sent so far, over all domains.
    sent: usize,
    sent_bytes: u64,
}

impl Setup {
    async fn open(name: &str) -> Result<Self> {
        let domains = Domains::open(Store::new()?, CLIENTS).await.context(name.to_owned())?;
        Ok(Self { domains, raw: Raw::new()?, sent: 0, sent_bytes: 0 })
    }

    /// The lines of the next profiles.
    fn lines(&mut self, count: usize) -> Vec<u8> {
        let lines = profiles::lines_from(self.sent, count);
        self.sent += count;
        self.sent_bytes += lines.len() as u64;
        lines
    }

    async fn fill(&mut self, count: usize) -> Result<()> {
        for n in 0..count / ENTRIES {
            let lines = self.lines(ENTRIES);
            self.domains.create(n % CLIENTS, &lines).await?;
            self.raw.create(&lines)?;
        }
        Ok(())
    }

    /// Bytes of the database, and of the raw one, for each byte that was sent.
    fn settle(self) -> Result<(f64, f64)> {
        let (sent, raw) = (self.sent_bytes, self.raw.bytes()?);
        Ok((ratio(self.domains.settled_bytes()?, sent), ratio(raw, sent)))
    }

    /// The same setup after its server ended and a checkpoint.
    fn reopen(self, report: &mut Report) -> Result<Self> {
        let Self { domains, raw, sent, sent_bytes } = self;
        let (domains, bytes) = domains.reopen()?;
        let ratios = (ratio(bytes, sent_bytes), ratio(raw.bytes()?, sent_bytes));
        report.disk(&format!("{sent} creations"), ratios);
        Ok(Self { domains, raw, sent, sent_bytes })
    }

    /// One round: each action by one client and by four, with its limit after it.
    async fn round(&mut self, round: usize, rows: &mut Rows) -> Result<()> {
        for clients in [1, CLIENTS] {
            let lines: Vec<_> = (0..clients).map(|_| self.lines(ENTRIES)).collect();
            let first_raw = self.raw.profiles();
            let served = self.domains.run(Action::CreateCoreProfiles, &lines).await?;
            let limit = self.limit(&lines, Raw::create)?;
            rows.add(Action::CreateCoreProfiles, clients, &served, limit);
            if clients == 1 {
                rows.log.push(raw::append_log(&lines[0])?);
                rows.accept_limit.push(raw::parse_and_sync(&lines[0])?);
            }
            let update = |ids: &[u64]| profiles::updates(ids, round);
            let (ours, theirs) = self.of_known(clients, first_raw, update);
            let served = self.domains.run(Action::UpdateCoreProfiles, &ours).await?;
            let limit = self.limit(&theirs, Raw::update)?;
            rows.add(Action::UpdateCoreProfiles, clients, &served, limit);
            let upserts: Vec<_> = lines
                .iter()
                .map(|known| profiles::upserts(known, &self.lines(ENTRIES / 2), round))
                .collect();
            let served = self.domains.run(Action::UpsertCoreProfiles, &upserts).await?;
            let limit = self.limit(&upserts, Raw::upsert)?;
            rows.add(Action::UpsertCoreProfiles, clients, &served, limit);
            self.gets(clients, first_raw, rows).await?;
        }
        Ok(())
    }

    async fn gets(&mut self, clients: usize, first_raw: u64, rows: &mut Rows) -> Result<()> {
        let (ours, theirs) = self.of_known(clients, first_raw, profiles::gets);
        for n in 0..GETS {
            let served = self.domains.run(Action::GetCoreProfiles, &ours).await?;
            let limit = self.limit(&theirs, |raw, lines| raw.get(lines, true))?;
            rows.add(Action::GetCoreProfiles, clients, &served, limit);
            if clients == 1 {
                if n == 0 {
                    rows.first_gets.push((served[0].completed, limit));
                }
                rows.plain_gets.push(self.limit(&theirs, |raw, lines| raw.get(lines, false))?);
            }
        }
        Ok(())
    }

    /// Payloads for 10,000 known profiles per client, spread over all profiles of its domain: one
    /// for the server and one, spread in the same way, for the raw database.
    fn of_known(
        &self,
        clients: usize,
        first_raw: u64,
        write: impl Fn(&[u64]) -> Vec<u8>,
    ) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let mut payloads = (Vec::new(), Vec::new());
        for client in 0..clients {
            let ids = self.domains.spread_ids(client, ENTRIES);
            payloads.0.push(write(&ids));
            let all = self.raw.profiles().max(first_raw);
            let step = (all / (ENTRIES as u64)).max(1);
            let ids: Vec<u64> =
                (0..ENTRIES as u64).map(|n| (n * step + client as u64) % all).collect();
            payloads.1.push(write(&ids));
        }
        payloads
    }

    /// Milliseconds that the raw database takes for the payloads, one after the other.
    fn limit(
        &mut self,
        payloads: &[Vec<u8>],
        run: impl Fn(&mut Raw, &[u8]) -> Result<f64>,
    ) -> Result<f64> {
        payloads.iter().map(|lines| run(&mut self.raw, lines)).sum()
    }
}

/// Milliseconds of the product and of its limit, one pair a round.
type Pairs = Vec<(f64, f64)>;

/// The figures of the rounds, by action and number of clients.
#[derive(Default)]
struct Rows {
    found: Vec<(Action, usize, Pairs)>,
    accepted: Vec<f64>,
    accept_limit: Vec<f64>,
    log: Vec<f64>,
    plain_gets: Vec<f64>,
    /// The first get of each round.
    first_gets: Pairs,
}

impl Rows {
    fn add(&mut self, action: Action, clients: usize, served: &[TaskTimes], limit: f64) {
        let completed = served.iter().map(|served| served.completed).fold(0.0, f64::max);
        if action == Action::CreateCoreProfiles && clients == 1 {
            self.accepted.extend(served.iter().map(|served| served.accepted));
        }
        let found = self.found.iter_mut().find(|row| row.0 == action && row.1 == clients);
        match found {
            Some(row) => row.2.push((completed, limit)),
            None => self.found.push((action, clients, vec![(completed, limit)])),
        }
    }

    fn rows(self, store: &str) -> Vec<Row> {
        let row = |what: String, measured: Pairs| Row {
            store: store.to_owned(),
            what,
            served: median(measured.iter().map(|m| m.0).collect()),
            limit: median(measured.iter().map(|m| m.1).collect()),
            ratio: median(measured.iter().map(|m| m.1 / m.0).collect()),
        };
        let of = |action, clients| {
            self.found.iter().find(|r| r.0 == action && r.1 == clients).map(|r| r.2.clone())
        };
        let creates = of(Action::CreateCoreProfiles, 1).unwrap_or_default();
        let gets = of(Action::GetCoreProfiles, 1).unwrap_or_default();
        let beside = |measured: Pairs, limits: &[f64]| {
            measured.iter().zip(limits).map(|(m, limit)| (m.0, *limit)).collect::<Pairs>()
        };
        let log = beside(creates, &self.log);
        let plain = beside(gets, &self.plain_gets);
        let accepted =
            self.accepted.iter().copied().zip(self.accept_limit.iter().copied()).collect();
        let mut rows: Vec<Row> = self
            .found
            .into_iter()
            .map(|(action, clients, measured)| {
                row(format!("{}, {clients} client(s)", action.as_str()), measured)
            })
            .collect();
        rows.push(row("create_core_profiles, 1 client, against the append log".into(), log));
        rows.push(row("get_core_profiles, 1 client, against raw without packing".into(), plain));
        rows.push(row(
            "get_core_profiles, 1 client, only the first of a round".into(),
            self.first_gets,
        ));
        rows.push(row("accepting 10,000 creations, against parse + fsync".into(), accepted));
        rows
    }
}
