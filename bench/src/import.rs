//! 10,000 profile creations, from the first byte of the POST to `completed`, against the raw
//! insertion of the same lines into SQLite.

use anyhow::Result;
use caseload_client::Client;
use caseload_model::task::Action;

use crate::bulk::jobs::{TaskTimes, run};
use crate::figures::median;
use crate::{profiles, raw};
use bench::server::Server;

/// Entries of one task: the most that a request may have.
const ENTRIES: usize = 10_000;

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn measure(rounds: usize) -> Result<()> {
    let lines = profiles::lines(ENTRIES);
    println!("{ENTRIES} creations, {} bytes of JSON lines, {rounds} rounds", lines.len());
    println!("round  accepted ms  completed ms  raw SQLite ms  append log ms  ratio to raw");
    let mut rows = Vec::new();
    for round in 1..=rounds {
        let server = served(&lines).await?;
        let raw = raw::Raw::new()?.create(&lines)?;
        let log = raw::append_log(&lines)?;
        let ratio = raw / server.completed;
        println!(
            "{round:>5}  {:>11.1}  {:>12.1}  {raw:>13.1}  {log:>13.1}  {ratio:>12.2}",
            server.accepted, server.completed
        );
        rows.push((server.accepted, server.completed, raw, log, ratio));
    }
    println!(
        "median {:>11.1}  {:>12.1}  {:>13.1}  {:>13.1}  {:>12.2}",
        median(rows.iter().map(|r| r.0).collect()),
        median(rows.iter().map(|r| r.1).collect()),
        median(rows.iter().map(|r| r.2).collect()),
        median(rows.iter().map(|r| r.3).collect()),
        median(rows.iter().map(|r| r.4).collect()),
    );
    Ok(())
}

async fn served(lines: &[u8]) -> Result<TaskTimes> {
    let server = Server::start()?;
    let client = Client::new(&server.url, "bench", &server.key)?;
    let (served, _) = run(&client, Action::CreateCoreProfiles, lines.to_vec()).await?;
    server.stop()?;
    Ok(served)
}
