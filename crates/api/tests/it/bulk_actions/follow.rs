//! `GET …/bulk_actions/{task_id}` with `wait`, and as a stream of events: an answer is sent when
//! there is a new record and not before, followers share the reads of the store, and a server that
//! stops answers all of them.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use caseload_model::key::Access;
use caseload_model::task::{Counts, Task, TaskStatus};
use caseload_teststore::on_each_store;
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::real_server::RealServer;
use crate::scripted_store::NOW;
use crate::server::{Server, snapshot};

on_each_store!(real_tasks_are_followed_to_their_end,);

const PATH: &str = "/v2/acme/identity/bulk_actions/t";

async fn with_running_task() -> Server {
    let server = Server::start().await;
    server.store.add_completed("t", 1, &["{}\n{}\n{}\n"], &[]);
    run(&server, 1);
    server
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

fn ask(server: &Server, query: &str) -> JoinHandle<(Value, Duration)> {
    let request = server.request(Method::GET, &format!("{PATH}{query}"));
    tokio::spawn(async move {
        let begun = Instant::now();
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        (answer.json().await.unwrap(), begun.elapsed())
    })
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

/// The next record, which must arrive soon.
async fn next(answer: &mut Response) -> Option<Value> {
    let piece = timeout(Duration::from_secs(5), answer.chunk()).await.expect("in time").unwrap()?;
    let found = records(std::str::from_utf8(&piece).unwrap());
    assert_eq!(found.len(), 1, "one event per change");
    found.into_iter().next()
}

#[tokio::test]
async fn a_wait_ends_when_the_task_completes() {
    let server = with_running_task().await;
    let asked = ask(&server, "?wait=30");
    sleep(Duration::from_millis(150)).await;
    run(&server, 2);
    sleep(Duration::from_millis(250)).await;
    assert!(!asked.is_finished(), "progress alone does not end a wait");
    complete(&server);
    let (task, took) = asked.await.unwrap();
    assert_eq!(task["status"], "completed");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_wait_ends_when_its_time_is_up() {
    let server = with_running_task().await;
    let asked = ask(&server, "?wait=1");
    sleep(Duration::from_millis(300)).await;
    run(&server, 2);
    let (task, took) = asked.await.unwrap();
    assert_eq!((&task["status"], &task["progress"]), (&"processing".into(), &66.into()));
    assert!((Duration::from_secs(1)..Duration::from_secs(4)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn a_wait_ends_at_once_without_a_reason_to_wait() {
    let server = with_running_task().await;
    for query in ["", "?wait=0", "?wait=00"] {
        let (_, took) = ask(&server, query).await.unwrap();
        assert!(took < Duration::from_secs(1), "{query} {took:?}");
    }
    complete(&server);
    let (_, took) = ask(&server, "?wait=60").await.unwrap();
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[tokio::test]
async fn waits_that_are_not_a_number_of_seconds_are_refused() {
    let server = with_running_task().await;
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
    let server = with_running_task().await;
    let asked: Vec<_> = (0..100).map(|_| ask(&server, "?wait=2")).collect();
    sleep(Duration::from_millis(700)).await;
    let before = server.store.task_reads.load(Ordering::SeqCst);
    sleep(Duration::from_millis(500)).await;
    let reads = server.store.task_reads.load(Ordering::SeqCst) - before;
    assert!((2..20).contains(&reads), "{reads} reads in half a second");
    for asked in asked {
        asked.await.unwrap();
    }
    sleep(Duration::from_millis(300)).await;
    let before = server.store.task_reads.load(Ordering::SeqCst);
    sleep(Duration::from_millis(300)).await;
    assert_eq!(server.store.task_reads.load(Ordering::SeqCst), before, "the last caller has left");
}

#[tokio::test]
async fn a_stream_sends_the_record_at_once_then_each_change_then_ends() {
    let server = with_running_task().await;
    let mut answer = events_of(&server).await;
    assert_eq!(next(&mut answer).await.unwrap()["progress"], 33);
    run(&server, 2);
    assert_eq!(next(&mut answer).await.unwrap()["progress"], 66);
    complete(&server);
    let last = next(&mut answer).await.unwrap();
    assert_eq!((&last["status"], &last["progress"]), (&"completed".into(), &100.into()));
    assert_eq!(next(&mut answer).await, None);
    let whole = events_of(&server).await.text().await.unwrap();
    assert_eq!(records(&whole).len(), 1, "a completed task is one event: {whole}");
}

#[tokio::test]
async fn events_equal_the_polled_records_and_are_never_compressed() {
    let server = with_running_task().await;
    complete(&server);
    let polled = server.get(PATH).await.text().await.unwrap();
    let request = server.request(Method::GET, PATH).header("Accept", "text/event-stream");
    let answer = request.header("Accept-Encoding", "gzip, identity;q=0").send().await.unwrap();
    assert!(answer.headers().get("content-encoding").is_none());
    assert_eq!(answer.text().await.unwrap(), format!("data: {polled}\n\n"));
}

#[tokio::test]
async fn events_are_sent_only_if_accept_prefers_them() {
    let server = with_running_task().await;
    complete(&server);
    for (accept, kind) in [
        ("*/*", "application/json"),
        ("text/event-stream;q=0.5, application/json", "application/json"),
        ("text/event-stream;q=0", "application/json"),
        ("application/json;q=0.5, Text/Event-Stream", "text/event-stream"),
        ("text/event-stream, application/json", "application/json"),
        ("text/event-stream, */*", "application/json"),
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
    let server = with_running_task().await;
    let mut answer = events_of(&server).await;
    next(&mut answer).await.unwrap();
    let asked = ask(&server, "?wait=60");
    sleep(Duration::from_millis(200)).await;
    server.store.tasks.lock().unwrap().clear();
    assert_eq!(next(&mut answer).await, None);
    assert_eq!(asked.await.unwrap().0["status"], "processing");
}

#[tokio::test]
async fn a_server_that_stops_answers_all_callers_that_wait() {
    let server = with_running_task().await;
    let asked = ask(&server, "?wait=60");
    let mut answer = events_of(&server).await;
    next(&mut answer).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    let stopped = server.stop();
    let (task, took) = asked.await.unwrap();
    assert_eq!(task["status"], "processing");
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(next(&mut answer).await, None);
    timeout(Duration::from_secs(3), stopped).await.expect("in time").unwrap().unwrap();
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
    let server = with_running_task().await;
    server.store.add_key("short", 1, "acme", Access::Read);
    let follow = |query: &str, accept: &str| {
        let request = server.bare(Method::GET, &format!("{PATH}{query}")).bearer_auth("short");
        let request = request.header("Accept", accept.to_owned());
        tokio::spawn(async move {
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        })
    };
    let waits = follow("?wait=60", "application/json");
    let stream = follow("", "text/event-stream");
    // The stream of a key that still works continues.
    let mut other = events_of(&server).await;
    assert!(next(&mut other).await.is_some());
    sleep(Duration::from_secs(1)).await;
    assert!(!waits.is_finished() && !stream.is_finished());
    server.store.change_key("short", |key| key.revoked_at = Some(NOW));
    let both = async { (waits.await.unwrap(), stream.await.unwrap()) };
    let (waited, streamed) = timeout(Duration::from_secs(5), both).await.expect("within 5 s");
    assert_eq!(waited.0, 401, "{}", waited.1);
    assert_eq!((streamed.0, records(&streamed.1).len()), (200, 1));
    complete(&server);
    assert_eq!(next(&mut other).await.unwrap()["status"], "completed");
}
