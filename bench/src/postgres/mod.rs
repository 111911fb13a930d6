//! The server on PostgreSQL against PostgreSQL alone with the same rows: imports, lists, several
//! servers, claims. The database makes its commits durable. It is the one of `TEST_DATABASE_URL`,
//! on this machine, or a temporary one: then the program starts itself again under
//! `scripts/with-postgres --durable`. `--write` stores the tables as markdown.

mod claims;
pub(crate) mod database;
mod imports;
mod lists;
mod raw;
mod report;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::bulk::output;
use database::commits;
use report::Report;

/// Time for which bare commits are counted.
const COMMITS: std::time::Duration = std::time::Duration::from_secs(1);

/// The options of the command line.
pub(crate) struct Options {
    rounds: usize,
    /// Issues in the store of the lists.
    issues: usize,
    /// Selects the parts to measure: those whose names contain this text.
    only: String,
    write: bool,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self { rounds: 5, issues: 100_000, only: String::new(), write: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--write" => options.write = true,
                "--issues" => options.issues = value()?.parse()?,
                "--only" => options.only.clone_from(value()?),
                number => options.rounds = number.parse().context("ROUNDS is a number")?,
            }
        }
        ensure!(options.rounds > 0, "at least one round");
        Ok(options)
    }
}

#[expect(clippy::print_stdout, reason = "the tables are the program's output")]
pub(crate) async fn measure(args: &[String]) -> Result<()> {
    let options = Options::parse(args)?;
    let Ok(url) = std::env::var("TEST_DATABASE_URL") else { return with_database(args) };
    let mut report = Report::default();
    let wanted = |part: &str| part.contains(&options.only);
    let load = || std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let began = load();
    let bare = commits(&url, 1, COMMITS).await?;
    if wanted("imports") {
        imports::against_raw(options.rounds, &mut report).await?;
        println!("imports are done");
    }
    if wanted("servers") {
        imports::servers(options.rounds, &mut report).await?;
        println!("servers are done");
    }
    if wanted("lists") {
        lists::measure(options.rounds, options.issues, &mut report).await?;
        println!("lists are done");
    }
    if wanted("claims") {
        claims::measure(options.rounds, &mut report).await?;
    }
    let client = database::connect(&url).await?;
    let version: String = client.query_one("SHOW server_version", &[]).await?.get(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = format!(
        "PostgreSQL {version} with its own defaults except that no checkpoint runs; fsync \
         and synchronous_commit are on; {bare:.0} bare commits/s over one connection. {} rounds, \
         medians; clients, servers and database share {cores} cores; load average {} at the \
         beginning, {} at the end. Figures of other runs are not comparable, those of a line are. \
         Limits: `bench/src/postgres`.\n\n{}",
        options.rounds,
        began.split(' ').next().unwrap_or_default(),
        load().split(' ').next().unwrap_or_default(),
        report.text
    );
    println!("{text}");
    if options.write {
        let date = output("date", &["+%Y-%m-%d"])?;
        let commit = output("git", &["rev-parse", "--short", "HEAD"])?;
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/results"));
        let path = folder.join(format!("{date}-{commit}-postgres.md"));
        std::fs::write(&path, format!("# On PostgreSQL, {date}, commit {commit}\n\n{text}"))?;
        println!("written to {}", path.display());
    }
    Ok(())
}

/// Runs this program under a temporary database.
fn with_database(args: &[String]) -> Result<()> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/with-postgres");
    let mut command = Command::new(script);
    command.arg("--durable").arg(std::env::current_exe()?).arg("postgres").args(args);
    let status = command.status()?;
    ensure!(status.success(), "the measurement failed: {status}");
    Ok(())
}
