//! How much a running task delays other writers: the time until a small durable write of another
//! domain is acknowledged, with and without tasks of 10,000 creations; and how many commits many
//! simultaneous acceptances need. For comparison, because all of them share the machine: plain
//! appends with fsync at the same time, and the times that the server itself reports.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use caseload_client::{Client, Payload};
use caseload_model::task::{Action, Family};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::jobs::Domains;
use super::sizes::ENTRIES;
use crate::profiles;
use bench::server::Store;

/// Time between two small writes.
const PAUSE: Duration = Duration::from_millis(3);
/// Tasks of 10,000 creations per round while the small writes are timed.
const TASKS_PER_ROUND: usize = 8;
/// Simultaneous senders, and the number of tasks that each sends.
const SENDERS: usize = 32;
const SENT_EACH: usize = 10;

/// Milliseconds, sorted.
pub(super) struct Waits {
    pub(super) alone: Vec<f64>,
    pub(super) contended: Vec<f64>,
    /// Plain appends of a page, each with its fsync, while the tasks ran.
    pub(super) plain: Vec<f64>,
    /// Small writes of the server while the tasks ran, and how many of them were durable within 50
    /// ms of entering its queue.
    pub(super) served: u64,
    pub(super) served_in_time: u64,
}

/// Times small writes of the second domain, first alone, then while the first domain imports.
pub(super) async fn writers(rounds: usize) -> Result<Waits> {
    let mut domains = Domains::open(Store::new()?, 2).await?;
    let alone = Arc::new(AtomicBool::new(true));
    let timing = tokio::spawn(small_writes(domains.client(1).clone(), alone.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    alone.store(false, Ordering::SeqCst);
    let mut alone_waits = timing.await??;
    let busy = Arc::new(AtomicBool::new(true));
    let before = served(domains.url()).await?;
    let timing = tokio::spawn(small_writes(domains.client(1).clone(), busy.clone()));
    let appending = {
        let busy = busy.clone();
        std::thread::spawn(move || plain_appends(&busy))
    };
    for n in 0..rounds * TASKS_PER_ROUND {
        let lines = profiles::lines_from(n * ENTRIES, ENTRIES);
        domains.run(Action::CreateCoreProfiles, &[lines]).await?;
    }
    busy.store(false, Ordering::SeqCst);
    let mut contended = timing.await??;
    let after = served(domains.url()).await?;
    let plain = tokio::task::spawn_blocking(move || appending.join()).await?;
    let mut plain = plain.map_err(|_| anyhow!("the appending thread panicked"))??;
    for waits in [&mut alone_waits, &mut contended, &mut plain] {
        waits.sort_by(f64::total_cmp);
    }
    let [served, served_in_time] = [0, 1].map(|n| after[n] - before[n]);
    Ok(Waits { alone: alone_waits, contended, plain, served, served_in_time })
}

/// Small writes of the server so far, and how many took at most 50 ms.
async fn served(url: &str) -> Result<[u64; 2]> {
    let name = "caseload_store_write_duration_seconds";
    let in_time = format!("{name}_bucket{{le=\"0.05\"}}");
    Ok([figure(url, &format!("{name}_count")).await?, figure(url, &in_time).await?])
}

/// Milliseconds of each append of a page with its fsync, until it is stopped.
fn plain_appends(go_on: &AtomicBool) -> Result<Vec<f64>> {
    let dir = tempfile::tempdir()?;
    let mut file = File::create(dir.path().join("log"))?;
    let mut waits = Vec::new();
    while go_on.load(Ordering::SeqCst) {
        let begun = Instant::now();
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
        waits.push(begun.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(PAUSE);
    }
    Ok(waits)
}

/// Milliseconds from the POST of a task of one entry to its 201, until it is stopped.
async fn small_writes(client: Client, go_on: Arc<AtomicBool>) -> Result<Vec<f64>> {
    let bulk = client.bulk(Family::Identity);
    let mut waits = Vec::new();
    while go_on.load(Ordering::SeqCst) {
        let entry = Payload::bytes(profiles::gets(&[1]));
        let begun = Instant::now();
        bulk.submit(Action::GetCoreProfiles, entry).await?;
        waits.push(begun.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(PAUSE).await;
    }
    Ok(waits)
}

/// The number of acceptances, and of all commits during them.
pub(super) async fn shared_commits() -> Result<(u64, u64)> {
    let domains = Domains::open(Store::new()?, 1).await?;
    let commits = "caseload_store_commits_total";
    let before = figure(domains.url(), commits).await?;
    let mut senders = Vec::new();
    for _ in 0..SENDERS {
        let client = domains.client(0).clone();
        senders.push(tokio::spawn(async move {
            let bulk = client.bulk(Family::Identity);
            for _ in 0..SENT_EACH {
                let entry = Payload::bytes(profiles::gets(&[1]));
                bulk.submit(Action::GetCoreProfiles, entry).await?;
            }
            anyhow::Ok(())
        }));
    }
    for sender in senders {
        sender.await??;
    }
    let after = figure(domains.url(), commits).await?;
    Ok(((SENDERS * SENT_EACH) as u64, after - before))
}

/// Reads a count from the metrics of a server, by name and labels.
async fn figure(url: &str, name: &str) -> Result<u64> {
    let address = url.strip_prefix("http://").context("the URL is not plain HTTP")?;
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let mut lines = answer.lines().filter_map(|line| line.rsplit_once(' '));
    let found = lines.find(|(found, _)| *found == name);
    let (_, number) = found.with_context(|| format!("no metric {name}"))?;
    Ok(number.parse::<f64>()? as u64)
}
