//! 10,000 upserts, half of known people and half of new ones, from the first byte of the POST to
//! `completed`, against raw SQLite with the same lines: with identities alone, and with an index
//! entry for each value and time by which the server finds a profile.

use anyhow::Result;
use caseload_client::Client;
use caseload_model::task::Action;

use crate::bulk::jobs::run;
use crate::figures::median;
use crate::profiles;
use crate::raw::Raw;
use bench::server::Server;

/// Entries of one task: the most that a request may have.
const ENTRIES: usize = 10_000;

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn measure(rounds: usize) -> Result<()> {
    let known = profiles::lines(ENTRIES);
    println!("{ENTRIES} upserts, half of known people, {rounds} rounds");
    println!("round  completed ms  raw ms  raw with indexes ms  ratio  ratio with indexes");
    let mut rows = Vec::new();
    for round in 1..=rounds {
        let new = profiles::lines_from(ENTRIES, ENTRIES / 2);
        let lines = profiles::upserts(&known, &new, round);
        let served = served(&known, &lines).await?;
        let [raw, indexed] = [Raw::new()?, Raw::indexed()?].map(|mut raw| {
            raw.create(&known)?;
            raw.upsert(&lines)
        });
        let row = [served, raw?, indexed?];
        print(&round.to_string(), row);
        rows.push(row);
    }
    let of = |n: usize| median(rows.iter().map(|row| row[n]).collect());
    print("median", [of(0), of(1), of(2)]);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
fn print(name: &str, [served, raw, indexed]: [f64; 3]) {
    println!(
        "{name:>6}  {served:>11.1}  {raw:>6.1}  {indexed:>19.1}  {:>5.2}  {:>18.2}",
        raw / served,
        indexed / served
    );
}

async fn served(known: &[u8], lines: &[u8]) -> Result<f64> {
    let server = Server::start()?;
    let client = Client::new(&server.url, "bench", &server.key)?;
    run(&client, Action::CreateCoreProfiles, known.to_vec()).await?;
    let (served, _) = run(&client, Action::UpsertCoreProfiles, lines.to_vec()).await?;
    server.stop()?;
    Ok(served.completed)
}
