//! Erasures of single persons on SQLite, among many issues and profiles: the seconds of each, and
//! how long small writes of two clients take before, during and after them. Each figure has a fixed
//! limit next to it. Whether an erasure is complete is not measured here. The server's own work
//! after the filling, such as the text index, may still run before the first erasure.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use caseload_client::Client;
use caseload_model::task::Action;
use serde_json::Value;

use crate::bulk::jobs::run;
use crate::figures::{Limit, millis, print_head, print_line, print_waits};
use crate::issues::wire::{Connection, Target, create_issue};
use bench::server::Server;

/// Entries of one task: the most that a request may have.
const ENTRIES: usize = 10_000;
const ERASURES: usize = 3;
/// Number, in its task, of the first person who is erased.
const FIRST_ERASED: usize = 77;
/// Clients that write, and the time between two writes of one.
const WRITERS: usize = 2;
const PAUSE: Duration = Duration::from_millis(5);
/// The time before the first erasure, and after the last.
const ALONE: Duration = Duration::from_secs(3);
/// Creation time of the first issue. The others follow, one a second.
const FIRST_AT: usize = 1_500_000_000_000;

const PHASES: [&str; 3] = ["before", "during", "after"];

pub(crate) async fn measure(tasks: usize) -> Result<()> {
    ensure!(tasks > 0, "at least one task is needed, or there are no persons to erase");
    let server = Server::start_with("admin", &[])?;
    let target = Target::of(&server);
    let client = Client::new(&server.url, "bench", &server.key)?;
    for k in 0..tasks {
        run(&client, Action::ImportIssues, issues(k)).await?;
        run(&client, Action::CreateCoreProfiles, people(k)).await?;
    }

    let phase = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> =
        (0..WRITERS).map(|_| tokio::spawn(write(target.clone(), phase.clone()))).collect();
    tokio::time::sleep(ALONE).await;
    phase.store(1, Ordering::SeqCst);
    let mut connection = Connection::open(&target).await?;
    let mut seconds = Vec::new();
    for n in 0..ERASURES {
        let (k, i) = (n * (tasks - 1) / (ERASURES - 1), FIRST_ERASED + n);
        seconds.push(erase(&mut connection, &format!("p{k}-{i}")).await?);
    }
    phase.store(2, Ordering::SeqCst);
    tokio::time::sleep(ALONE).await;
    phase.store(PHASES.len(), Ordering::SeqCst);

    print_head();
    for (n, seconds) in seconds.into_iter().enumerate() {
        print_line(&format!("erasure {}", n + 1), seconds, "s", Limit::AtMost(2.0));
    }
    let mut waits = Vec::new();
    for writer in writers {
        waits.extend(writer.await??);
    }
    for (n, name) in PHASES.iter().enumerate() {
        let of_phase = waits.iter().filter(|(phase, _)| *phase == n).map(|(_, wait)| *wait);
        let name = format!("a small write {name} the erasures");
        print_waits(&name, of_phase.collect(), [Limit::None, Limit::AtMost(50.0)]);
    }
    server.stop()
}

/// The issues of task `k`, each of another person.
fn issues(k: usize) -> Vec<u8> {
    let mut out = String::new();
    for i in 0..ENTRIES {
        let at = FIRST_AT + (k * ENTRIES + i) * 1_000;
        let _ = writeln!(
            out,
            concat!(
                r#"{{"title":"issue {k}-{i}","created_at":{at},"author_name":"Person {k}-{i}","#,
                r#""author_email":"p{k}-{i}@example.org","messages":[{{"body":"message body "#,
                r#"number {k} {i} about billing and login","created_at":{at}}}]}}"#
            ),
            k = k,
            i = i,
            at = at,
        );
    }
    out.into_bytes()
}

/// The profiles of the same persons.
fn people(k: usize) -> Vec<u8> {
    let mut out = String::new();
    for i in 0..ENTRIES {
        let _ = writeln!(
            out,
            r#"{{"identities":[{{"email":"p{k}-{i}@example.org"}}],"age":{}}}"#,
            18 + i % 60
        );
    }
    out.into_bytes()
}

/// Erases a person; returns the seconds until the task is completed.
async fn erase(connection: &mut Connection, person: &str) -> Result<f64> {
    let begun = Instant::now();
    let form = format!("identity=email%3A{person}%40example.org");
    let (status, body) = connection.post("/v1/bench/erasures", &form).await?;
    ensure!(status == 201, "the erasure answered {status}: {}", String::from_utf8_lossy(&body));
    let task: Value = serde_json::from_slice(&body)?;
    let id = task["task_id"].as_str().context("an erasure without a task")?;
    let path = format!("/v2/bench/issues/bulk_actions/{id}?wait=20");
    loop {
        let (status, body) = connection.get(&path, true).await?;
        ensure!(status == 200, "the task answered {status}");
        let task: Value = serde_json::from_slice(&body)?;
        if task["status"] == "completed" {
            ensure!(task["outcome"] == "succeeded", "the erasure failed: {task}");
            return Ok(begun.elapsed().as_secs_f64());
        }
    }
}

/// Creates issues until the last phase has ended; returns the milliseconds of each, with the phase
/// in which it ended.
async fn write(target: Target, phase: Arc<AtomicUsize>) -> Result<Vec<(usize, f64)>> {
    let mut connection = Connection::open(&target).await?;
    let mut waits = Vec::new();
    loop {
        let begun = Instant::now();
        create_issue(&mut connection).await?;
        let (wait, phase) = (millis(begun.elapsed()), phase.load(Ordering::SeqCst));
        if phase == PHASES.len() {
            return Ok(waits);
        }
        waits.push((phase, wait));
        tokio::time::sleep(PAUSE).await;
    }
}
