//! How fast servers start work. Claims per second, each leasing one waiting task in a commit of its
//! own, by the store of one server and of several at once, against bare commits of one row over as
//! many connections; and tasks of one entry per second through one whole server, from the POST to
//! the completion of the last.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use caseload_client::{Client, Payload};
use caseload_location::open;
use caseload_model::task::{Action, Family};
use caseload_model::time::UnixMillis;
use caseload_store::{ClaimTasks, OpenMode, QueueTurn};

use super::database::{commits, connect, fresh};
use super::report::{ClaimRow, Report};
use crate::figures::{median, real};
use crate::profiles;
use bench::server::Store;

/// Domains that the tasks are spread over.
const DOMAINS: usize = 20;
/// Waiting tasks at the beginning of each turn.
const TASKS: usize = 400;
/// Claims of a turn.
const CLAIMS: usize = 200;
const CLAIMERS: [usize; 3] = [1, 2, 4];
/// Time for which bare commits are counted.
const BARE: Duration = Duration::from_millis(700);
const SENDERS: usize = 16;
/// The time of all claims: no lease expires within a turn.
const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

pub(super) async fn measure(rounds: usize, report: &mut Report) -> Result<()> {
    let (database, client) = fresh().await?;
    let store = Store::in_database(database.url());
    let mut named = Vec::new();
    for n in 0..DOMAINS {
        let name = format!("bench-{n}");
        named.push((store.domain(&name)?, name));
    }
    let mut whole = Vec::new();
    for _ in 0..rounds {
        let server = store.serve()?;
        whole.push(small_tasks(&clients(&server.url, &named)?).await?);
        server.kill()?;
    }
    // No server runs these tasks: the server ended while they waited, and the tasks that it had
    // begun are still leased.
    let mut rows: Vec<ClaimRow> = Vec::new();
    for claimers in CLAIMERS {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            waiting(&client).await?;
            ours.push(claims(database.url(), claimers).await?);
            bare.push(commits(database.url(), claimers, BARE).await?);
        }
        rows.push(ClaimRow { claimers, served: median(ours), bare: median(bare) });
    }
    report.claims(TASKS, DOMAINS, &rows, median(whole));
    Ok(())
}

fn clients(url: &str, named: &[(String, String)]) -> Result<Vec<Client>> {
    named.iter().map(|(key, name)| Ok(Client::new(url, name, key)?)).collect()
}

/// Tasks of one entry per second.
async fn small_tasks(clients: &[Client]) -> Result<f64> {
    let begun = Instant::now();
    let mut senders = Vec::new();
    for sender in 0..SENDERS {
        let client = clients[sender % clients.len()].clone();
        senders.push(tokio::spawn(async move {
            let bulk = client.bulk(Family::Identity);
            let mut ids = Vec::new();
            for _ in 0..TASKS / SENDERS {
                let entry = Payload::bytes(profiles::gets(&[1]));
                ids.push(bulk.submit(Action::GetCoreProfiles, entry).await?.task_id);
            }
            for id in ids {
                while !bulk.status(&id).await?.is_completed() {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
            anyhow::Ok(())
        }));
    }
    for sender in senders {
        sender.await??;
    }
    Ok(real(TASKS / SENDERS * SENDERS) / begun.elapsed().as_secs_f64())
}

/// Puts completed tasks back into the queue, as if no server had claimed them.
async fn waiting(client: &tokio_postgres::Client) -> Result<()> {
    client
        .batch_execute(&format!(
            "BEGIN; DELETE FROM task_queue;
             UPDATE tasks SET status = 1, outcome = NULL, completed_at = NULL, queued_at = NULL,
             started_at = NULL;
             INSERT INTO task_queue (domain_id, task_id, seq, writes)
             SELECT domain_id, id, seq, writes FROM tasks ORDER BY id LIMIT {TASKS}; COMMIT"
        ))
        .await?;
    Ok(())
}

/// Claims per second by the stores of so many servers at once.
async fn claims(url: &str, claimers: usize) -> Result<f64> {
    let mut stores = Vec::new();
    for _ in 0..claimers {
        stores.push(open(&url.parse()?, OpenMode::Server).await?);
    }
    let ask = |server: usize| ClaimTasks {
        server: format!("bench-{server}"),
        now: NOW,
        lease_until: UnixMillis(NOW.0 + 600_000),
        tasks_max: 1,
        reachable_since: UnixMillis(i64::MIN),
        turn: QueueTurn::default(),
    };
    let begun = Instant::now();
    let mut running = Vec::new();
    for (n, store) in stores.iter().map(Arc::clone).enumerate() {
        running.push(tokio::spawn(async move {
            let mut claimed = 0;
            while claimed < CLAIMS / claimers {
                claimed += store.claim_tasks(ask(n)).await?.len();
            }
            anyhow::Ok(claimed)
        }));
    }
    let mut claimed = 0;
    for running in running {
        claimed += running.await??;
    }
    let took = begun.elapsed().as_secs_f64();
    for store in stores {
        store.close().await?;
    }
    let leased = "SELECT count(*) FROM task_queue WHERE lease_server IS NOT NULL";
    let leased: i64 = connect(url).await?.query_one(leased, &[]).await?.get(0);
    ensure!(leased as usize == claimed, "{claimed} claims and {leased} leases");
    Ok(real(claimed) / took)
}
