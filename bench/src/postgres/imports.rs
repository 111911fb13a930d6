//! Imports into PostgreSQL: 10,000 entries from the first byte of the POST to `completed`, in turns
//! with raw insertion of the same rows; and two servers that import into two domains, in turns with
//! one. Each side continues with the tables of its last turn.

use std::time::Instant;

use anyhow::{Result, ensure};
use caseload_client::Client;
use caseload_model::task::{Action, Family};

use super::database::{domain_id, fresh, seconds, seconds_of};
use super::raw::{RawIssues, RawProfiles, index_rows};
use super::report::{Report, Shares};
use crate::bulk::jobs::run;
use crate::issues::{OF, data};
use crate::profiles;
use crate::raw::parse;
use bench::server::{Process, Store};

/// Entries of one task: the most that a request may have.
const ENTRIES: usize = 10_000;
/// Tasks of each domain in a turn of the comparison of servers, one after another.
const TASKS: usize = 3;

fn issues(batch: usize) -> Vec<u8> {
    let mut lines = String::new();
    let first = batch * ENTRIES % OF;
    (first..first + ENTRIES).for_each(|n| data::line(n, OF, &mut lines));
    lines.into_bytes()
}

/// Measures profiles and issues against their limits.
pub(super) async fn against_raw(rounds: usize, report: &mut Report) -> Result<()> {
    let (database, client) = fresh().await?;
    let store = Store::in_database(database.url());
    let (key, other) = (store.domain("bench")?, store.domain("other")?);
    let server = store.serve()?;
    let (ours, other) =
        (Client::new(&server.url, "bench", &key)?, Client::new(&server.url, "other", &other)?);
    let domain = domain_id(&client, "bench").await?;
    let import = async { run(&other, Action::ImportIssues, issues(0)).await.map(|_| ()) };
    let index_rows = index_rows(&client, domain_id(&client, "other").await?, import).await?;
    let mut raw_profiles = RawProfiles::new(database.url(), domain).await?;
    let mut raw_issues = RawIssues::new(database.url(), domain, index_rows).await?;
    let (mut created, mut imported) = (Vec::new(), Vec::new());
    // The first round is discarded: connections, statements and tables are new in it.
    for round in 0..=rounds {
        let lines = profiles::lines_from(round * ENTRIES, ENTRIES);
        let parsing = parse(&lines)?;
        let (served, _) = run(&ours, Action::CreateCoreProfiles, lines).await?;
        let raw = raw_profiles.add_again().await?;
        created.push((served, raw, raw + parsing));
        let (served, _) = run(&ours, Action::ImportIssues, issues(round)).await?;
        // Compaction takes a moment longer; the raw insertion must not compete with it.
        settled(&client).await?;
        let (bare, with_deltas) = raw_issues.add_again().await?;
        imported.push((served, bare, with_deltas));
    }
    report.imports(&created[1..], &imported[1..]);
    server.kill()
}

/// Waits until compaction has merged all deltas.
pub(super) async fn settled(client: &tokio_postgres::Client) -> Result<()> {
    let left = "SELECT (SELECT count(*) FROM issue_count_deltas WHERE domain_id > 0)
                + (SELECT count(*) FROM issue_set_deltas WHERE domain_id > 0)";
    while client.query_one(left, &[]).await?.get::<_, i64>(0) > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    Ok(())
}

/// One server and one domain, one server and two domains, two servers and two domains.
pub(super) async fn servers(rounds: usize, report: &mut Report) -> Result<()> {
    let (database, client) = fresh().await?;
    let store = Store::in_database(database.url());
    let names = ["one", "two"];
    let keys = [store.domain(names[0])?, store.domain(names[1])?];
    let mut batch = 0;
    for action in [Action::CreateCoreProfiles, Action::ImportIssues] {
        let mut turns = Vec::new();
        for round in 0..=rounds {
            let mut found = Vec::new();
            for (servers, domains) in [(1, 1), (1, 2), (2, 2)] {
                let running: Vec<Process> =
                    (0..servers).map(|_| store.serve()).collect::<Result<_>>()?;
                let mut clients = Vec::new();
                for n in 0..domains {
                    let server = &running[n % servers];
                    let client = Client::new(&server.url, names[n], &keys[n])?;
                    client.bulk(Family::Identity).list(&[]).await?;
                    clients.push(client);
                }
                found.push(turn(action, &client, &running, &clients, batch).await?);
                batch += TASKS * domains;
                settled(&client).await?;
            }
            if round > 0 {
                turns.push(found);
            }
        }
        report.servers(action, &turns);
    }
    Ok(())
}

/// Entries per second of all clients together, and the processor time used by servers and database.
async fn turn(
    action: Action,
    database: &tokio_postgres::Client,
    servers: &[Process],
    clients: &[Client],
    first_batch: usize,
) -> Result<(f64, Shares)> {
    let payloads: Vec<Vec<Vec<u8>>> = (0..clients.len())
        .map(|n| {
            let batches = (0..TASKS).map(|task| first_batch + n * TASKS + task);
            batches
                .map(|batch| match action {
                    Action::ImportIssues => issues(batch),
                    _ => profiles::lines_from(batch * ENTRIES, ENTRIES),
                })
                .collect()
        })
        .collect();
    let used = || servers.iter().map(|server| seconds_of(server.pid())).sum::<Result<f64>>();
    let (by_servers, by_database) = (used()?, seconds(database).await?);
    let begun = Instant::now();
    let mut running = Vec::new();
    for (client, payloads) in clients.iter().zip(payloads) {
        let client = client.clone();
        running.push(tokio::spawn(async move {
            for payload in payloads {
                run(&client, action, payload).await?;
            }
            anyhow::Ok(())
        }));
    }
    for running in running {
        running.await??;
    }
    let took = begun.elapsed().as_secs_f64();
    let shares = Shares {
        servers: (used()? - by_servers) / took,
        database: (seconds(database).await? - by_database) / took,
    };
    ensure!(took > 0.0, "no time passed");
    Ok((crate::figures::real(clients.len() * TASKS * ENTRIES) / took, shares))
}
