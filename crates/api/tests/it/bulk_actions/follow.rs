//! `GET …/bulk_actions/{task_id}` with `wait`, and as a stream of events: an answer is sent when
//! there is a new record and not before, followers share the reads of the store, and a server that
//! stops answers all of them. The clock is stopped, so that each wait is exact.

use std::sync::atomic::Ordering;
use std::time::Duration;

use caseload_model::key::Access;
use caseload_model::task::{Counts, Task, TaskStatus};
use caseload_teststore::on_each_store;
use futures_util::future::join_all;
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::real_server::RealServer;
use crate::scripted_store::NOW;
use crate::server::{Server, snapshot};
use crate::still_clock::StillClock;

on_each_store!(real_tasks_are_followed_to_their_end,);

const PATH: &str = "/v2/acme/identity/bulk_actions/t";
/// In this time the server reads the followed tasks once.
const ROUND: Duration = Duration::from_millis(150);

async fn with_running_task() -> (Server, StillClock) {
    let server = Server::start().await;
    server.store.add_completed("t", 1, &["{}\n{}\n{}\n"], &[]);
    run(&server, 1);
    (server, StillClock::new())
}

/// How often the task was read so far.
fn reads(server: &Server) -> usize {
    server.store.task_reads.load(Ordering::SeqCst)
}

/// Sets how many entries the task has processed.
fn run(server: &Server, done: u32) {
    server.store.change_task("t", |task| {
        let counts = Counts { total: 3, succeeded: done, failed: 0, unprocessed: 3 - done };
        (task.status, task.outcome, task.counts) = (TaskStatus::Processing, None, counts);
        task.completed_at = None;
    });
}

fn complete(server: &Server) {
    server.store.change_task("t", |task| {
        let counts = Counts { total: 3, succeeded: 3, failed: 0, unprocessed: 0 };
        (task.status, task.counts) = (TaskStatus::Completed, counts);
        task.outcome = Some(Task::outcome_by_counts(&counts));
        task.completed_at = Some(NOW);
    });
}

fn ask(server: &Server, query: &str) -> JoinHandle<Value> {
    let request = server.request(Method::GET, &format!("{PATH}{query}"));
    tokio::spawn(async move {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.json().await.unwrap()
    })
}

/// Asks with a wait, and returns once the first round of reads shows that the task is followed.
async fn ask_and_wait(server: &Server, clock: &mut StillClock) -> JoinHandle<Value> {
    let asked = ask(server, "?wait=60");
    clock.until(|| reads(server) >= 2).await;
    asked
}

async fn events_of(server: &Server) -> Response {
    let request = server.request(Method::GET, PATH).header("Accept", "text/event-stream");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    answer
}

/// The records in a stream of events.
fn records(text: &str) -> Vec<Value> {
    let events = text.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    events.map(|event| serde_json::from_str(event).unwrap()).collect()
}

/// The next record, which must arrive at once.
async fn next(clock: &mut StillClock, answer: &mut Response) -> Option<Value> {
    let piece = clock.at_once(answer.chunk()).await.unwrap()?;
    let found = records(std::str::from_utf8(&piece).unwrap());
    assert_eq!(found.len(), 1, "one event per change");
    found.into_iter().next()
}

#[tokio::test]
async fn a_wait_ends_when_the_task_completes() {
    let (server, mut clock) = with_running_task().await;
    let asked = ask_and_wait(&server, &mut clock).await;
    // Progress alone does not end a wait.
    run(&server, 2);
    clock.pass(ROUND).await;
    clock.until(|| reads(&server) >= 3).await;
    complete(&server);
    clock.pass(ROUND).await;
    assert_eq!(clock.at_once(asked).await.unwrap()["status"], "completed");
}

#[tokio::test]
async fn a_wait_ends_when_its_time_is_up() {
    let (server, mut clock) = with_running_task().await;
    let asked = ask_and_wait(&server, &mut clock).await;
    run(&server, 2);
    clock.pass(Duration::from_secs(59)).await;
    clock.until(|| reads(&server) >= 3).await;
    clock.at_once(server.get("/healthz")).await;
    assert!(!asked.is_finished());
    clock.pass(Duration::from_secs(2)).await;
    let task = clock.at_once(asked).await.unwrap();
    assert_eq!((&task["status"], &task["progress"]), (&"processing".into(), &66.into()));
}

#[tokio::test]
async fn a_wait_ends_at_once_without_a_reason_to_wait() {
    let (server, mut clock) = with_running_task().await;
    for query in ["", "?wait=0", "?wait=00"] {
        clock.at_once(ask(&server, query)).await.unwrap();
    }
    complete(&server);
    clock.at_once(ask(&server, "?wait=60")).await.unwrap();
}

#[tokio::test]
async fn waits_that_are_not_a_number_of_seconds_are_refused() {
    let (server, _clock) = with_running_task().await;
    for wait in ["61", "-1", "1.5", "", "x", "99999999999999999999", "%2B1"] {
        let answer = server.get(&format!("{PATH}?wait={wait}")).await;
        assert_eq!(answer.status(), 400, "{wait}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["errors"][0]["parameter"], "wait");
    }
    insta::assert_snapshot!(snapshot(server.get(&format!("{PATH}?wait=61")).await).await);
}

#[tokio::test]
async fn callers_that_wait_share_the_reads() {
    let (server, mut clock) = with_running_task().await;
    let asked: Vec<_> = (0..100).map(|_| ask(&server, "?wait=60")).collect();
    // Each caller reads the task once.
    clock.until(|| reads(&server) > 100).await;
    for round in 1..10 {
        assert_eq!(reads(&server), 100 + round);
        clock.pass(ROUND).await;
        clock.until(|| reads(&server) > 100 + round).await;
    }
    clock.pass(Duration::from_mins(1)).await;
    clock.at_once(join_all(asked)).await;
    let before = reads(&server);
    for _ in 0..5 {
        clock.pass(ROUND).await;
        clock.at_once(server.get("/healthz")).await;
    }
    assert_eq!(reads(&server), before, "the last caller has left");
}

#[tokio::test]
async fn a_stream_sends_the_record_at_once_then_each_change_then_ends() {
    let (server, mut clock) = with_running_task().await;
    let mut answer = events_of(&server).await;
    assert_eq!(next(&mut clock, &mut answer).await.unwrap()["progress"], 33);
    run(&server, 2);
    clock.pass(ROUND).await;
    assert_eq!(next(&mut clock, &mut answer).await.unwrap()["progress"], 66);
    complete(&server);
    clock.pass(ROUND).await;
    let last = next(&mut clock, &mut answer).await.unwrap();
    assert_eq!((&last["status"], &last["progress"]), (&"completed".into(), &100.into()));
    assert_eq!(next(&mut clock, &mut answer).await, None);
    let whole = events_of(&server).await.text().await.unwrap();
    assert_eq!(records(&whole).len(), 1, "a completed task is one event: {whole}");
}

#[tokio::test]
async fn events_equal_the_polled_records_and_are_never_compressed() {
    let (server, _clock) = with_running_task().await;
    complete(&server);
    let polled = server.get(PATH).await.text().await.unwrap();
    let request = server.request(Method::GET, PATH).header("Accept", "text/event-stream");
    let answer = request.header("Accept-Encoding", "gzip, identity;q=0").send().await.unwrap();
    assert!(answer.headers().get("content-encoding").is_none());
    assert_eq!(answer.text().await.unwrap(), format!("data: {polled}\n\n"));
}

#[tokio::test]
async fn events_are_sent_only_if_accept_prefers_them() {
    let (server, _clock) = with_running_task().await;
    complete(&server);
    let json = "application/json; charset=utf-8";
    for (accept, kind) in [
        ("*/*", json),
        ("text/event-stream;q=0.5, application/json", json),
        ("text/event-stream;q=0", json),
        ("application/json;q=0.5, Text/Event-Stream", "text/event-stream"),
        ("text/event-stream, application/json", json),
        ("text/event-stream, */*", json),
        ("text/event-stream, */*;q=0.1", "text/event-stream"),
        ("text/*, application/json;q=0.9", "text/event-stream"),
    ] {
        let request = server.request(Method::GET, PATH).header("Accept", accept);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], kind, "{accept}");
        assert_eq!(answer.headers()["vary"], "Accept");
    }
}

#[tokio::test]
async fn followers_of_a_removed_task_stop() {
    let (server, mut clock) = with_running_task().await;
    let asked = ask_and_wait(&server, &mut clock).await;
    let mut answer = events_of(&server).await;
    next(&mut clock, &mut answer).await.unwrap();
    server.store.tasks.lock().unwrap().clear();
    clock.pass(ROUND).await;
    assert_eq!(next(&mut clock, &mut answer).await, None);
    assert_eq!(clock.at_once(asked).await.unwrap()["status"], "processing");
}

#[tokio::test]
async fn a_server_that_stops_answers_all_callers_that_wait() {
    let (server, mut clock) = with_running_task().await;
    let asked = ask_and_wait(&server, &mut clock).await;
    let mut answer = events_of(&server).await;
    next(&mut clock, &mut answer).await.unwrap();
    let stopped = server.stop();
    assert_eq!(clock.at_once(asked).await.unwrap()["status"], "processing");
    assert_eq!(next(&mut clock, &mut answer).await, None);
    clock.at_once(stopped).await.unwrap().unwrap();
}

async fn real_tasks_are_followed_to_their_end() {
    let real = RealServer::start().await;
    let entry = |n: u32| format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}]}}\n");
    let entries: String = (0..2000).map(entry).fold(String::new(), |all, one| all + &one);
    let form = reqwest::multipart::Form::new()
        .text("action", "create_core_profiles")
        .part("payload", reqwest::multipart::Part::text(entries).file_name("p"));
    let path = "/v2/acme/identity/bulk_actions";
    let answer = real.request(Method::POST, path).multipart(form).send().await.unwrap();
    let task: Value = answer.json().await.unwrap();
    let path = task["links"]["self"].as_str().unwrap();
    let events = real.request(Method::GET, path).header("Accept", "text/event-stream");
    let waiting = format!("{path}?wait=60");
    let (events, waited) = tokio::join!(events.send(), real.json(&waiting));
    assert_eq!(waited["status"], "completed");
    let told = records(&events.unwrap().text().await.unwrap());
    assert_eq!(told.last().unwrap(), &waited);
    let progress: Vec<_> = told.iter().map(|task| task["progress"].as_u64().unwrap()).collect();
    assert!(progress.is_sorted(), "{progress:?}");
    real.stop().await;
}

#[tokio::test]
async fn a_revoked_key_ends_its_waits_within_five_seconds() {
    let (server, mut clock) = with_running_task().await;
    server.store.add_key("short", 1, "acme", Access::Read);
    let of_short = |query: &str, accept: &str| {
        let request = server.bare(Method::GET, &format!("{PATH}{query}")).bearer_auth("short");
        tokio::spawn(request.header("Accept", accept.to_owned()).send())
    };
    let waits = of_short("?wait=60", "application/json");
    clock.until(|| reads(&server) >= 2).await;
    let mut stream = of_short("", "text/event-stream").await.unwrap().unwrap();
    assert_eq!(stream.status(), 200);
    assert!(next(&mut clock, &mut stream).await.is_some());
    // The stream of a key that still works continues.
    let mut other = events_of(&server).await;
    assert!(next(&mut clock, &mut other).await.is_some());
    let before = server.store.key_reads.load(Ordering::SeqCst);
    clock.pass(Duration::from_secs(6)).await;
    clock.until(|| server.store.key_reads.load(Ordering::SeqCst) >= before + 2).await;
    clock.at_once(server.get("/healthz")).await;
    assert!(!waits.is_finished());
    server.store.change_key("short", |key| key.revoked_at = Some(NOW));
    clock.pass(Duration::from_secs(5)).await;
    assert_eq!(clock.at_once(waits).await.unwrap().unwrap().status(), 401);
    assert_eq!(next(&mut clock, &mut stream).await, None);
    complete(&server);
    clock.pass(ROUND).await;
    assert_eq!(next(&mut clock, &mut other).await.unwrap()["status"], "completed");
}
