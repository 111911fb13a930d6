//! Heads of requests that HTTP clients build by hand: raw quotes and brackets in a query, and heads
//! that the server cannot parse at all.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{Server, WRITE};
use crate::wire::{connect, exchange, rest};

/// Status line, headers in lower case, and body of an answer.
struct Answer {
    status: u16,
    headers: String,
    body: Value,
}

fn parsed(answer: &str) -> Answer {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer:?}"));
    Answer { status, headers: head.to_ascii_lowercase(), body }
}

fn get(target: &str, more: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\n{more}\r\n")
}

#[tokio::test]
async fn a_request_that_is_refused_before_it_is_parsed_gets_a_problem() {
    let server = Server::start().await;
    let many = "X: 1\r\n".repeat(101);
    let long = "x".repeat(70_000);
    for (request, status, code) in [
        ("nonsense\r\n\r\n".to_owned(), 400, "invalid_request"),
        ("GET /healthz HTTP/1.1\r\nbad header\r\n\r\n".to_owned(), 400, "invalid_request"),
        (get("/healthz", "Content-Length: x\r\n"), 400, "invalid_request"),
        (get("http://[", ""), 400, "invalid_request"),
        (get("/v1/acme/<issues>", ""), 400, "invalid_request"),
        (get("/v1/acme/issues?q=two words", ""), 400, "invalid_request"),
        (get("/healthz", &many), 431, "head_too_large"),
        (get("/healthz", &format!("X: {long}{long}\r\n")), 431, "head_too_large"),
        (get("/healthz", &format!("X: {}\r\n", "x".repeat(1 << 20))), 431, "head_too_large"),
        (get(&format!("/v1/acme/issues?q={long}"), ""), 414, "target_too_long"),
    ] {
        let shown: String = request.chars().take(80).collect();
        let answer = parsed(&exchange(&server, &request).await);
        assert_eq!((answer.status, &answer.body["code"]), (status, &code.into()), "{shown:?}");
        assert_eq!(answer.body["status"], status, "{shown:?}");
        assert!(answer.headers.contains("content-type: application/problem+json"), "{shown:?}");
        let id = answer.body["request_id"].as_str().unwrap();
        assert!(answer.headers.contains(&format!("x-request-id: {id}")), "{shown:?}");
        assert!(answer.headers.contains("connection: close"), "{shown:?}");
    }
    let metrics = server.client.get(format!("http://{}/metrics", server.address)).send().await;
    let metrics = metrics.unwrap().text().await.unwrap();
    let counted = "caseload_http_request_duration_seconds_count\
                   {route=\"other\",method=\"other\",status=\"4xx\"} 10\n";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn a_request_after_good_ones_on_the_same_connection_is_refused_with_a_problem_too() {
    let server = Server::start().await;
    let request = format!("{}{}", get("/healthz", ""), "nonsense\r\n\r\n");
    let answers = exchange(&server, &request).await;
    let second = answers.rfind("HTTP/1.1 400").unwrap();
    assert!(answers[..second].starts_with("HTTP/1.1 200"), "{answers}");
    assert_eq!(parsed(&answers[second..]).body["code"], "invalid_request");
}

#[tokio::test]
async fn raw_quotes_braces_bars_and_angle_brackets_in_a_query_are_accepted() {
    let server = Server::start().await;
    let raw = r#"/v1/acme/issues?tags={"or":["a|b","<c>"]}&page-size=7"#;
    let answer = exchange(&server, &get(raw, "Connection: close\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let listed = server.store.listed.lock().unwrap();
    assert_eq!(listed[0].paging.page_size, 7);
    assert!(format!("{:?}", listed[0].query.tags).contains("<c>"), "{:?}", listed[0].query.tags);
}

#[tokio::test]
async fn raw_quotes_are_accepted_in_every_request_of_a_connection_and_bodies_stay_as_they_are() {
    let server = Server::start().await;
    let raw = get(r#"/v1/acme/issues?tags={"or":["<a>"]}"#, "");
    let body = r#"GET /?"<>" HTTP/1.1"#;
    let post = format!(
        "POST /v1/acme/nothing?q=\"1\" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let last = get(r#"/v1/acme/issues?tags={"or":["b"]}"#, "Connection: close\r\n");
    let all = format!("{raw}{post}{raw}{last}");
    // All at once, and byte by byte.
    for piece in [all.len(), 1] {
        let mut stream = connect(&server).await;
        for bytes in all.as_bytes().chunks(piece) {
            stream.write_all(bytes).await.unwrap();
        }
        let answers = rest(&mut stream).await;
        let statuses: Vec<&str> =
            answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
        assert_eq!(statuses, ["200", "404", "200", "200"], "{answers}");
    }
}

#[tokio::test]
async fn many_requests_with_raw_quotes_share_a_connection() {
    let server = Server::start().await;
    let mut stream = connect(&server).await;
    for n in 0..3 {
        let request = get(&format!("/v1/acme/issues?tags={{\"or\":[\"{n}\"]}}"), "");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let bytes = stream.read(&mut answer).await.unwrap();
        assert!(answer[..bytes].starts_with(b"HTTP/1.1 200"), "{n}");
    }
}
