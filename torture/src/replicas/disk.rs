//! The full disk of a worker. A shim (`shim/disk.c`) is preloaded into the server, and no file of
//! it grows while another file says so. Writes of its domains must be refused and those of the
//! other worker must go on. The server may crash for want of room; it is started again once there
//! is some.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio::time::sleep;
use tokio_postgres::Client;

use super::database::Database;
use super::fleet::Fleet;
use super::nodes;

/// Time limit for the room inside of the files to be used up.
const USED_UP_MAX: Duration = Duration::from_mins(1);
/// Time without a new issue after which writes count as refused.
const STILL: Duration = Duration::from_secs(3);
/// Time limit for the other domain to get a new issue.
const OTHER_MAX: Duration = Duration::from_secs(30);

/// Fills the disk of a domain's worker, and makes room after a while.
pub(super) async fn fill(
    database: &Database,
    fleet: &Fleet,
    domain: usize,
    away: Duration,
) -> Result<()> {
    let client = database.client().await?;
    let port = nodes::port_of(&client, domain).await?;
    let other = 1 - domain;
    let other_goes_on = nodes::port_of(&client, other).await? != port;
    let worker = database.workers.iter().find(|worker| worker.port() == port);
    let worker = worker.context("no worker has the domain")?;
    worker.restart_on_a_small_disk(&database.bin).await?;
    let refused = || fleet.counts.unavailable.load(Ordering::Relaxed);
    let before = refused();
    worker.fill_disk(true)?;
    let done = async {
        used_up(&client, domain).await?;
        ensure!(refused() > before, "no write was refused");
        if other_goes_on {
            grows(&client, other).await?;
        }
        sleep(away).await;
        anyhow::Ok(())
    };
    let done = done.await;
    worker.fill_disk(false)?;
    worker.revive(&database.bin).await?;
    done
}

/// Waits until a domain gets no new issues, or its worker has crashed.
async fn used_up(client: &Client, domain: usize) -> Result<()> {
    let begun = Instant::now();
    let mut before = issues(client, domain).await;
    loop {
        sleep(STILL).await;
        let now = issues(client, domain).await;
        if now.is_none() || now == before {
            return Ok(());
        }
        ensure!(begun.elapsed() < USED_UP_MAX, "writes go on though the disk is full");
        before = now;
    }
}

/// Waits until a domain gets a new issue.
async fn grows(client: &Client, domain: usize) -> Result<()> {
    let begun = Instant::now();
    let before = issues(client, domain).await.context("the other worker does not answer")?;
    while issues(client, domain).await.is_none_or(|now| now <= before) {
        ensure!(begun.elapsed() < OTHER_MAX, "the domain of the other worker waits, too");
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// The number of a domain's issues, if its worker answers.
async fn issues(client: &Client, domain: usize) -> Option<i64> {
    let id = nodes::id_of(client, domain).await.ok()?;
    let count = "SELECT count(*) FROM issues WHERE domain_id = $1";
    client.query_one(count, &[&id]).await.ok().map(|row| row.get(0))
}
