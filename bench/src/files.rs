//! A table as an import against the same people as ready tasks of JSON lines, sent by one client:
//! from the first byte to `completed`, with the peak of the server's resident memory. Rounds
//! alternate, each on an empty store.

use std::fmt::Write as _;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use caseload_client::{Client, FileSource, ImportForm, Params, Payload, Upload};
use caseload_model::task::{Action, Family};

use crate::figures::median;
use crate::memory::resident;
use bench::server::Server;

const ACTION: Action = Action::CreateCoreProfiles;
/// Entries of one task: the most that a request may have.
const ENTRIES: usize = 10_000;

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn measure(rows: usize, rounds: usize) -> Result<()> {
    let (table, tasks) = people(rows);
    let mega = |bytes: usize| crate::figures::real(bytes) / 1e6;
    let lines: usize = tasks.iter().map(Vec::len).sum();
    println!(
        "{rows} people: a table of {:.0} MB, JSON lines of {:.0} MB",
        mega(table.len()),
        mega(lines)
    );
    println!("round  tasks s  MiB  lines as import s  MiB  table s  MiB  table against tasks");
    let mut ratios = Vec::new();
    let all = tasks.concat();
    for round in 1..=rounds {
        let (ready, of_tasks) = sent_as_tasks(&tasks).await?;
        let (lines, of_lines) = imported(&all, rows).await?;
        let (took, of_table) = imported(&table, rows).await?;
        let ratio = ready / took;
        println!(
            "{round:>5}  {ready:>7.1}  {of_tasks:>3.0}  {lines:>17.1}  {of_lines:>3.0}  \
             {took:>7.1}  {of_table:>3.0}  {ratio:>19.2}"
        );
        ratios.push(ratio);
    }
    println!("median of the rates, table against tasks: {:.2}", median(ratios));
    Ok(())
}

/// The people as a table, and as JSON lines of one task each.
fn people(rows: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut table =
        "E-mail,First name,Last name,Country,tags,custom_fields.plan,age\r\n".to_owned();
    let mut tasks = Vec::new();
    for first in (0..rows).step_by(ENTRIES) {
        let mut lines = String::new();
        for n in first..rows.min(first + ENTRIES) {
            let h = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let (age, plan) = (18 + h % 60, if h.is_multiple_of(3) { "pro" } else { "free" });
            let _ = write!(
                table,
                "user{h:x}@example.org,Ada {n},\"Byron, {}\",Sweden,beta|news,{plan},{age}\r\n",
                h % 1000
            );
            let _ = writeln!(
                lines,
                "{{\"identities\":[{{\"email\":\"user{h:x}@example.org\"}}],\"names\":\
                 {{\"first_name\":\"Ada {n}\",\"last_name\":\"Byron, {}\"}},\"last_country\":\
                 \"Sweden\",\"tags\":[\"beta\",\"news\"],\"custom_fields\":{{\"plan\":\"{plan}\"}},\
                 \"age\":{age}}}",
                h % 1000
            );
        }
        tasks.push(lines.into_bytes());
    }
    (table.into_bytes(), tasks)
}

/// Sends the tasks one after another, and waits for all. Seconds, and the peak in MiB.
async fn sent_as_tasks(tasks: &[Vec<u8>]) -> Result<(f64, f64)> {
    let server = Server::start()?;
    let client = Client::new(&server.url, "bench", &server.key)?;
    let bulk = client.bulk(Family::Identity);
    let begun = Instant::now();
    let mut ids = Vec::new();
    for lines in tasks {
        ids.push(bulk.submit(ACTION, Payload::bytes(lines.clone())).await?.task_id);
    }
    for id in ids {
        let task = bulk.wait(&id, |_| {}).await?;
        ensure!(task.counts.succeeded == task.counts.total, "an entry failed: {}", task.record);
    }
    finished(server, begun)
}

/// Imports a file. Seconds, and the peak in MiB.
async fn imported(file: &[u8], rows: usize) -> Result<(f64, f64)> {
    let server = Server::start()?;
    let client = Client::new(&server.url, "bench", &server.key)?;
    let mut options = Params::default();
    options.push("action", ACTION.as_str());
    // Each import has a server of its own.
    let idempotency_key = "bench".to_owned();
    let form = ImportForm { options, idempotency_key, ..ImportForm::default() };
    let begun = Instant::now();
    let imports = client.imports(Family::Identity);
    let source = FileSource::reader(Cursor::new(file.to_vec()));
    let import = imports.import(&form, source, &Arc::new(Upload::default()), |_| {}).await?;
    let import = imports.wait(&import.task_id, |_| {}).await?;
    ensure!(import.counts.succeeded == rows as u64, "an entry failed: {}", import.record);
    finished(server, begun)
}

fn finished(server: Server, begun: Instant) -> Result<(f64, f64)> {
    let took = begun.elapsed().as_secs_f64();
    let peak = resident(server.pid(), "VmHWM")?;
    server.stop()?;
    Ok((took, peak))
}
