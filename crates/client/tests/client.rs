//! The client against a server that answers by script and records the requests: the requests on the
//! wire, the calls that the client repeats, and the error for each kind of answer.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Response;
use caseload_client::{Client, ClientError, Params, Payload, RecordList, SubmitOptions};
use caseload_model::task::{Action, Family};
use tokio::net::TcpListener;

/// A request as the server received it.
#[derive(Debug, Clone)]
struct ReceivedRequest {
    line: String,
    authorization: String,
    content_type: String,
    idempotency_key: String,
    body: String,
}

/// A client, and the requests that its server has received. The server answers in order; a test
/// fails if there are more requests than answers.
struct Script {
    client: Client,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

type Answer = (u16, &'static [(&'static str, &'static str)], String);

async fn script(answers: Vec<Answer>) -> Script {
    let received = Arc::new(Mutex::new(Vec::new()));
    let queue = Arc::new(Mutex::new(VecDeque::from(answers)));
    let log = Arc::clone(&received);
    let app = Router::new().fallback(move |request: Request| {
        let (queue, log) = (Arc::clone(&queue), Arc::clone(&log));
        async move {
            let request = read(request).await;
            log.lock().unwrap().push(request);
            let (status, headers, body) = queue.lock().unwrap().pop_front().unwrap_or_default();
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(*name, *value);
            }
            response.body(Body::from(body)).unwrap()
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    Script { client: Client::new(&url, "acme", "secret").unwrap(), received }
}

async fn read(request: Request) -> ReceivedRequest {
    let (head, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let line = format!("{} {}", head.method, head.uri);
    let header = |name: &str| {
        let value = head.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default().to_owned()
    };
    let (authorization, content_type) = (header("authorization"), header("content-type"));
    let idempotency_key = header("idempotency-key");
    let body = String::from_utf8(body.into()).unwrap();
    ReceivedRequest { line, authorization, content_type, idempotency_key, body }
}

impl Script {
    fn lines(&self) -> Vec<String> {
        self.received.lock().unwrap().iter().map(|request| request.line.clone()).collect()
    }

    fn last(&self) -> ReceivedRequest {
        self.received.lock().unwrap().last().unwrap().clone()
    }
}

fn task(status: &str, unprocessed: u64) -> String {
    let succeeded = 9 - unprocessed;
    let counts =
        format!(r#"{{"total":9,"succeeded":{succeeded},"failed":0,"unprocessed":{unprocessed}}}"#);
    let head = r#"{"task_id":"t-1","action":"create_core_profiles""#;
    let rest = r#""progress":0,"errors":false,"results":true,"outcome":null"#;
    format!(
        r#"{head},"status":"{status}",{rest},"counts":{counts},"created_at":1,"new_field":[1]}}"#
    )
}

fn page(issues: &str) -> String {
    let totals = r#""total-hits":2,"total-pages":1,"more":1"#;
    format!(r#"{{"page":1,"page-size":100,"issues":[{issues}],{totals}}}"#)
}

#[tokio::test]
async fn a_task_is_submitted_as_a_multipart_form_with_the_key_as_user_name() {
    let script = script(vec![(201, &[], task("created", 9)), (201, &[], task("created", 9))]).await;
    let bulk = script.client.bulk(Family::Identity);
    let lines = "{\"a\":1}\n{\"b\":2}\n";
    let sent = bulk.submit(Action::CreateCoreProfiles, Payload::bytes(lines)).await.unwrap();
    assert_eq!((sent.task_id.as_str(), sent.counts.total), ("t-1", 9));
    assert_eq!(sent.record, task("created", 9));
    let request = script.last();
    assert_eq!(request.line, "POST /v2/acme/identity/bulk_actions");
    assert_eq!(request.authorization, "Basic c2VjcmV0Og==");
    assert!(request.content_type.starts_with("multipart/form-data; boundary="));
    assert!(
        request.body.contains("name=\"action\"\r\n\r\ncreate_core_profiles\r\n"),
        "{request:?}"
    );
    assert!(request.body.contains(&format!("\r\n\r\n{lines}\r\n--")), "{request:?}");
    assert!(request.body.contains("filename=\"payload.jsonl\""), "{request:?}");

    let issues = script.client.bulk(Family::Issues);
    let reader = Payload::reader(lines.as_bytes());
    issues.submit(Action::ImportIssues, reader).await.unwrap();
    let request = script.last();
    assert_eq!(request.line, "POST /v2/acme/issues/bulk_actions");
    assert!(request.body.contains(&format!("\r\n\r\n{lines}\r\n--")), "{request:?}");
}

#[tokio::test]
async fn wait_polls_until_the_task_is_completed_and_reports_every_answer() {
    let answers = [("created", 9), ("processing", 5), ("completed", 0)];
    let answers = answers.map(|(status, left)| (200, &[][..], task(status, left)));
    let script = script(answers.into()).await;
    let mut seen = Vec::new();
    let bulk = script.client.bulk(Family::Identity);
    let task = bulk.wait("t-1", |task| seen.push(task.counts.unprocessed)).await.unwrap();
    assert!(task.is_completed());
    assert_eq!(seen, [9, 5, 0]);
    assert_eq!(script.lines(), ["GET /v2/acme/identity/bulk_actions/t-1?wait=1"; 3]);
}

#[tokio::test]
async fn records_are_read_as_bytes_or_as_lines() {
    let lines = "{\"index\":0}\n{\"index\":1}\n\n{\"index\":3}";
    let script = script(vec![(200, &[], lines.to_owned()), (200, &[], String::new())]).await;
    let bulk = script.client.bulk(Family::Identity);
    let mut records = bulk.records("t-1", RecordList::Results).await.unwrap().lines();
    let mut seen = Vec::new();
    while let Some(line) = records.next().await.unwrap() {
        seen.push(String::from_utf8(line.into()).unwrap());
    }
    assert_eq!(seen, ["{\"index\":0}", "{\"index\":1}", "", "{\"index\":3}"]);
    let mut empty = bulk.records("t-1", RecordList::Errors).await.unwrap();
    assert_eq!(empty.chunk().await.unwrap(), None);
    assert_eq!(
        script.lines(),
        [
            "GET /v2/acme/identity/bulk_actions/t-1/results?format=jsonl",
            "GET /v2/acme/identity/bulk_actions/t-1/errors?format=jsonl"
        ]
    );
}

#[tokio::test]
async fn issues_are_the_bytes_that_the_server_sent() {
    let odd = r#"{"id":1, "n":1.50,"big":12345678901234567890123,"t":"\u0000 \/ é"}"#;
    let script = script(vec![(200, &[], page(odd)), (200, &[], page(odd))]).await;
    let mut params = Params::default();
    params.push("state", "new,resolved");
    params.push("includes", r#"["meta"]"#);
    let listed = script.client.issues(&params).await.unwrap();
    assert_eq!(listed.issues[0].get(), odd);
    assert_eq!((listed.total_hits, listed.page_size), (2, 100));
    let issue = script.client.issue(1, &Params::default()).await.unwrap();
    assert_eq!(issue.get(), odd);
    assert_eq!(
        script.lines(),
        [
            "GET /v1/acme/issues?state=new%2Cresolved&includes=%5B%22meta%22%5D",
            "GET /v1/acme/issues/1"
        ]
    );
}

#[tokio::test]
async fn a_walk_follows_the_cursor_procedure_and_ends_by_its_rule() {
    let answers = ["{\"created_at\":10},{\"created_at\":20}", "{\"created_at\":20}"];
    let script = script(answers.map(|issues| (200, &[][..], page(issues))).into()).await;
    let mut walk = script.client.walk_issues(Some(5), Some(90));
    let mut seen = Vec::new();
    while let Some(batch) = walk.next().await.unwrap() {
        seen.extend(batch.iter().map(|issue| issue.get().to_owned()));
    }
    assert_eq!(seen, ["{\"created_at\":10}", "{\"created_at\":20}"]);
    for (line, since) in script.lines().iter().zip(["5", "20"]) {
        let rest =
            format!("&created_since={since}&created_until=90&sort-by=creation-time&sort-order=asc");
        assert!(line.ends_with(&rest), "{line}");
        assert!(line.contains("smart_intents") && !line.contains("page"), "{line}");
    }
    assert_eq!(script.lines().len(), 2);
}

#[tokio::test]
async fn reads_are_repeated_after_the_wait_of_retry_after() {
    let put_off: &[(&str, &str)] = &[("retry-after", "1")];
    let script = script(vec![
        (429, put_off, String::new()),
        (503, put_off, String::new()),
        (200, &[], task("created", 9)),
    ])
    .await;
    let begun = Instant::now();
    script.client.bulk(Family::Identity).status("t-1").await.unwrap();
    assert_eq!(script.lines().len(), 3);
    assert!(begun.elapsed() >= Duration::from_secs(2));
}

#[tokio::test]
async fn writes_and_final_answers_are_not_repeated() {
    let far: &[(&str, &str)] = &[("retry-after", "3600")];
    let near: &[(&str, &str)] = &[("retry-after", "1")];
    for (status, headers, write) in
        [(503, &[][..], false), (429, far, false), (500, near, false), (429, near, true)]
    {
        let script = script(vec![(status, headers, String::new())]).await;
        let bulk = script.client.bulk(Family::Identity);
        let refused = if write {
            bulk.submit(Action::CreateCoreProfiles, Payload::bytes("{}")).await.is_err()
        } else {
            bulk.status("t-1").await.is_err()
        };
        assert!(refused);
        assert_eq!(script.lines().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_write_with_an_idempotency_key_is_repeated_and_the_listener_learns_of_each_wait() {
    let soon: &[(&str, &str)] = &[("retry-after", "1")];
    let in_progress = r#"{"status":409,"code":"idempotency_in_progress"}"#;
    let replayed: &[(&str, &str)] = &[("idempotent-replayed", "true")];
    let answers = vec![
        (429, soon, String::new()),
        (409, soon, in_progress.to_owned()),
        (503, soon, String::new()),
        (201, replayed, task("created", 9)),
    ];
    let script = script(answers).await;
    let waits = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&waits);
    let client = script.client.clone().on_wait(move |refusal, wait| {
        seen.lock().unwrap().push((refusal.status(), wait.as_secs()));
    });
    let bulk = client.bulk(Family::Identity);
    let lines = Bytes::from_static(b"{\"a\":1}\n");
    let action = Action::CreateCoreProfiles;
    let task = bulk.submit_keyed(action, lines, &options(true, "key-1")).await.unwrap();
    assert!(task.replayed);
    assert_eq!(*waits.lock().unwrap(), [(Some(429), 1), (Some(409), 1), (Some(503), 1)]);
    let received = script.received.lock().unwrap();
    assert_eq!(received.len(), 4);
    for request in received.iter() {
        assert_eq!(request.idempotency_key, "key-1");
        assert!(request.body.contains("{\"a\":1}") && request.body.contains("dry_run"));
    }
}

fn options(dry_run: bool, key: &str) -> SubmitOptions {
    SubmitOptions { dry_run, idempotency_key: Some(key.to_owned()), ..SubmitOptions::default() }
}

#[tokio::test]
async fn a_refusal_that_will_not_change_is_not_repeated() {
    let reused = r#"{"status":422,"code":"idempotency_key_reused"}"#;
    let conflict = r#"{"status":409,"code":"not_completed"}"#;
    let soon: &[(&str, &str)] = &[("retry-after", "1")];
    for (status, headers, body) in [(422, soon, reused), (409, soon, conflict), (503, &[][..], "")]
    {
        let script = script(vec![(status, headers, body.to_owned())]).await;
        let bulk = script.client.bulk(Family::Identity);
        let lines = Bytes::from_static(b"{}\n");
        let sent = bulk.submit_keyed(Action::CreateCoreProfiles, lines, &options(false, "k")).await;
        assert_eq!(sent.unwrap_err().status(), Some(status));
        assert_eq!(script.lines().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn each_kind_of_answer_has_its_kind_of_error() {
    let problem = r#"{"status":404,"code":"expired","title":"Gone","detail":"kept 30 days"}"#;
    let redirect: &[(&str, &str)] = &[("location", "https://example.org/")];
    let script = script(vec![
        (404, &[], problem.to_owned()),
        (200, &[], "<html>".to_owned()),
        (301, redirect, String::new()),
    ])
    .await;
    let bulk = script.client.bulk(Family::Identity);
    let refused = bulk.status("t-1").await.unwrap_err();
    assert_eq!((refused.status(), refused.code()), (Some(404), Some("expired")));
    assert_eq!(refused.to_string(), "the server answered 404 expired: kept 30 days");
    let unexpected = bulk.status("t-1").await.unwrap_err();
    assert!(matches!(unexpected, ClientError::Unexpected { .. }), "{unexpected:?}");
    let elsewhere = bulk.status("t-1").await.unwrap_err().to_string();
    assert!(elsewhere.ends_with("301 leads to https://example.org/"), "{elsewhere}");
    let unreachable = Client::new("http://127.0.0.1:1", "acme", "secret").unwrap();
    let refused = unreachable.bulk(Family::Identity).status("t-1").await.unwrap_err().to_string();
    assert_eq!(refused, "cannot reach http://127.0.0.1:1: connection refused");
}

#[tokio::test]
async fn only_a_task_id_becomes_part_of_a_path() {
    let script = script(Vec::new()).await;
    for id in ["", "../x", "a/b", "a?b", "a b", "ä"] {
        let refused = script.client.bulk(Family::Issues).status(id).await.unwrap_err();
        assert_eq!(refused.status(), Some(404), "{id}");
    }
    assert!(script.lines().is_empty());
}
