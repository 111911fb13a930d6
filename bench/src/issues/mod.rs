//! The issue API at scale. `bench issues-store FOLDER N` fills a store with generated issues
//! through the bulk import; `bench issues FOLDER` measures a server on it, request by request in
//! turns with a server that has the same bytes in memory. Only the ratios within one table are
//! comparable.

pub(crate) mod cases;
pub(crate) mod data;
pub(crate) mod fill;
mod index;
pub(crate) mod memory;
mod raw;
pub(crate) mod scan;
mod texts;
pub(crate) mod wire;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use caseload_client::Client;

use crate::figures::{median, real};
use bench::server::Store;
use cases::Case;
use memory::MemoryServer;
use wire::{Connection, Run, Target, drive, total_hits};

pub(crate) use raw::{OF, import};

/// Time for each side in a round, and the number of rounds.
const TURN: Duration = Duration::from_millis(700);
const ROUNDS: usize = 3;
/// Different requests of a case, each with a body in the memory server. Together, pages have more
/// bytes than the cache of a core, for both sides.
const VARIETY: usize = 64;
/// Rows that the text index has not taken in yet, and that a search may read as well.
const MARKED_FEW: i64 = 1024;

/// Fills a store at `folder`, which remains.
#[expect(clippy::print_stdout, reason = "the figures are the output")]
pub(crate) async fn make(folder: &Path, count: usize) -> Result<()> {
    let store = Store::at(folder)?;
    let key = store.domain("bench")?;
    let server = store.serve()?;
    let client = Client::new(&server.url, "bench", &key)?;
    let filled = fill::fill(&client, count).await?;
    println!(
        "{count} issues, {} bytes of JSON, {:.1} s, {:.0} issues/s; tenths: {:?}",
        filled.json_bytes,
        filled.seconds,
        real(count) / filled.seconds,
        filled.rates.iter().map(|rate| rate.round()).collect::<Vec<_>>()
    );
    std::fs::write(folder.join("key"), key)?;
    std::fs::write(folder.join("json-bytes"), filled.json_bytes.to_string())?;
    server.kill()
}

/// Measures a server on the store at `folder`; `only` selects cases by a part of their names.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn measure(folder: &Path, only: &str) -> Result<()> {
    let store = Store::at(folder)?;
    let server = store.serve()?;
    let key = std::fs::read_to_string(folder.join("key"))?;
    let address = server.url.trim_start_matches("http://").to_owned();
    let target = Target { address, key };
    settled(&store.path()).await?;
    let memory = MemoryServer::start()?;
    let limit = Target { address: memory.address.clone(), key: String::new() };
    let (_, first) =
        Connection::open(&target).await?.get("/v1/bench/issues?page-size=1", true).await?;
    let count = total_hits(&first)?;
    let json: f64 = std::fs::read_to_string(folder.join("json-bytes"))?.parse()?;
    println!("{count} issues, {:.0} bytes of JSON each", json / real(count));
    println!();
    println!("| request | bytes | p50 ms | p99 ms | conns | req/s | limit req/s | ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    for case in cases::cases(count).into_iter().filter(|case| case.name.contains(only)) {
        line(&case, &target, &limit, &memory).await?;
    }
    if "cursor".contains(only) {
        line(&scan::cursor_case(&target).await?, &target, &limit, &memory).await?;
    }
    println!();
    texts::measure(&target, only).await?;
    if "texts".contains(only) {
        scan::texts(&target).await?;
    }
    if "stream".contains(only) {
        scan::stream(&target, server.pid(), "/v1/bench/issues").await?;
    }
    server.kill()
}

/// Waits until the server has taken the texts of a new store into its text index. It leaves marks
/// of few rows.
async fn settled(path: &Path) -> Result<()> {
    let marked = "SELECT coalesce(sum(last_row - first_row + 1), 0) FROM issue_text_marks";
    let db = rusqlite::Connection::open(path)?;
    while db.query_row(marked, [], |row| row.get::<_, i64>(0))? >= MARKED_FEW {
        tokio::time::sleep(TURN).await;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn line(
    case: &Case,
    target: &Target,
    limit: &Target,
    memory: &MemoryServer,
) -> Result<()> {
    let mut connection = Connection::open(target).await?;
    let mut bytes = 0;
    for n in 0..VARIETY {
        let (status, body) = connection.get(&(case.path)(n), true).await?;
        ensure!(status == 200, "{} answered {status}", (case.path)(n));
        bytes += body.len();
        memory.add(&n.to_string(), body);
    }
    let bytes = bytes / VARIETY;
    let against_hello = case.against_hello;
    let of_memory: wire::Path = std::sync::Arc::new(move |n| {
        if against_hello { "/hello".to_owned() } else { format!("/{}", n % VARIETY) }
    });
    let alone = drive(target, &case.path, 1, TURN).await?;
    let (mut served, mut limits) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        served.push(drive(target, &case.path, case.connections, TURN).await?);
        limits.push(drive(limit, &of_memory, case.connections, TURN).await?);
    }
    let rate = |runs: &[Run]| median(runs.iter().map(|run| run.per_second).collect());
    let (served, limits) = (rate(&served), rate(&limits));
    println!(
        "| {} | {bytes} | {:.2} | {:.2} | {} | {served:.0} | {limits:.0} | {:.2} |",
        case.name,
        alone.at(0.5),
        alone.at(0.99),
        case.connections,
        served / limits
    );
    Ok(())
}
