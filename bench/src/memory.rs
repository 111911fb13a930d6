//! Peak memory of the server: it receives ten tasks of 10,000 entries and runs them while ten
//! clients download result files of 10,000 profiles. The figure is the peak of its resident memory
//! (`VmHWM`) as the system reports it; Linux only.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use caseload_client::{Client, Payload, RecordList};
use caseload_model::task::{Action, Family};
use tokio::task::JoinSet;

use crate::figures::real;
use crate::profiles;
use bench::server::Server;

const ENTRIES: usize = 10_000;
const AT_ONCE: usize = 10;
/// Bytes of text that make an entry of the large variant about 6 KB long.
const FILLER_BYTES: usize = 5_400;

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn measure() -> Result<()> {
    println!("{AT_ONCE} uploads of {ENTRIES} entries and {AT_ONCE} downloads at the same time");
    println!("body MB  result MB  idle MiB  peak MiB  accepted s  downloaded s");
    for filler in [0, FILLER_BYTES] {
        let row = peak(filler).await?;
        println!(
            "{:>7.1}  {:>9.1}  {:>8.0}  {:>8.0}  {:>10.1}  {:>12.1}",
            row.body, row.result, row.idle, row.peak, row.accepted, row.downloaded
        );
    }
    Ok(())
}

struct Row {
    body: f64,
    result: f64,
    idle: f64,
    peak: f64,
    accepted: f64,
    downloaded: f64,
}

async fn peak(filler: usize) -> Result<Row> {
    let server = Server::start()?;
    let client = Client::new(&server.url, "bench", &server.key)?;
    let idle = resident(server.pid(), "VmRSS")?;
    let exported = export(&client).await?;
    // Resets the peak: only memory from here on counts.
    std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5")
        .context("the peak cannot be reset")?;
    let bodies: Vec<_> = (1..=AT_ONCE)
        .map(|n| padded(&profiles::lines_from(n * ENTRIES, ENTRIES), filler))
        .collect();
    let body = bodies[0].len();
    let begun = Instant::now();
    let (mut uploads, mut downloads) = (JoinSet::new(), JoinSet::new());
    for body in bodies {
        let client = client.clone();
        uploads.spawn(async move {
            let payload = Payload::bytes(body);
            let bulk = client.bulk(Family::Identity);
            bulk.submit(Action::CreateCoreProfiles, payload).await.map(|_| ())
        });
    }
    for _ in 0..AT_ONCE {
        let (client, task) = (client.clone(), exported.clone());
        downloads.spawn(async move { download(&client, &task).await });
    }
    let accepted = all(uploads, begun).await?.0;
    let (downloaded, bytes) = all(downloads, begun).await?;
    // The tasks are still running, and their chunks count too.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let peak = resident(server.pid(), "VmHWM")?;
    server.stop()?;
    let mega = |bytes: usize| real(bytes) / 1e6;
    let result = mega(bytes.first().copied().unwrap_or(0));
    Ok(Row { body: mega(body), result, idle, peak, accepted, downloaded })
}

/// Creates profiles and exports them; returns the id of the exporting task.
async fn export(client: &Client) -> Result<String> {
    let bulk = client.bulk(Family::Identity);
    let lines = profiles::lines(ENTRIES);
    let made = bulk.submit(Action::CreateCoreProfiles, Payload::bytes(lines)).await?;
    let made = bulk.wait(&made.task_id, |_| {}).await?;
    let mut records = bulk.records(&made.task_id, RecordList::Results).await?.lines();
    let mut ids = Vec::new();
    while let Some(line) = records.next().await? {
        let record: serde_json::Value = serde_json::from_slice(&line)?;
        let id = record["core-profile-id"].as_str().context("a record without id")?;
        ids.push(id.parse()?);
    }
    let gets = Payload::bytes(profiles::gets(&ids));
    let export = bulk.submit(Action::GetCoreProfiles, gets).await?;
    let export = bulk.wait(&export.task_id, |_| {}).await?;
    ensure!(export.counts.succeeded == ENTRIES as u64, "{}", export.record);
    Ok(export.task_id)
}

/// Reads a whole result file; returns its length.
async fn download(client: &Client, task: &str) -> Result<usize> {
    let bulk = client.bulk(Family::Identity);
    let mut records = bulk.records(task, RecordList::Results).await?.lines();
    let mut bytes = 0;
    while let Some(line) = records.next().await? {
        bytes += line.len() + 1;
    }
    Ok(bytes)
}

/// Waits for all of them; returns the seconds since `begun` and their values.
async fn all<T: 'static, E>(mut set: JoinSet<Result<T, E>>, begun: Instant) -> Result<(f64, Vec<T>)>
where
    E: Into<anyhow::Error> + 'static,
{
    let mut gave = Vec::new();
    while let Some(done) = set.join_next().await {
        gave.push(done?.map_err(Into::into)?);
    }
    Ok((begun.elapsed().as_secs_f64(), gave))
}

/// The lines with so many bytes more in each, which hardly compress.
fn padded(lines: &[u8], filler: usize) -> Vec<u8> {
    if filler == 0 {
        return lines.to_vec();
    }
    let mut number = 1_u64;
    let mut out = Vec::new();
    let marker = "\"custom_fields\":{";
    for line in String::from_utf8_lossy(lines).lines() {
        let mut text = String::with_capacity(filler);
        for _ in 0..filler / 16 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let _ = write!(text, "{number:016x}");
        }
        let with = line.replacen(marker, &format!("{marker}\"filler\":\"{text}\","), 1);
        out.extend_from_slice(with.as_bytes());
        out.push(b'\n');
    }
    out
}

/// Reads a figure of a process's memory, in MiB.
pub(crate) fn resident(pid: u32, figure: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")).context("no such figure")?;
    Ok(kib.trim().parse::<f64>()? / 1024.0)
}
