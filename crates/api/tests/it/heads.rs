//! Heads that HTTP clients do not send, over a plain connection. A head that the HTTP library
//! cannot read gets its bare status, and the connection ends. The server answers all others.

use tokio::io::AsyncWriteExt;

use crate::server::{Server, WRITE};
use crate::wire::{connect, exchange, rest};

fn get(target: &str, more: &str) -> String {
    format!(
        "GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\n\
         Connection: close\r\n{more}\r\n"
    )
}

fn post(more: &str, body: &str) -> String {
    format!(
        "POST /v1/acme/nothing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\n\
         Connection: close\r\n{more}\r\n{body}"
    )
}

#[tokio::test]
async fn each_unusual_head_has_one_status_and_the_library_refuses_without_a_body() {
    const BARE: bool = true;
    const OURS: bool = false;
    let server = Server::start().await;
    let issues = |query: &str| get(&format!("/v1/acme/issues?{query}"), "");
    let long = "x".repeat(70_000);
    let chunks = "3\r\nabc\r\n0\r\n\r\n";
    let cases = [
        // The target.
        (issues("tags=%7B%22or%22:%5B%22a%22%5D%7D"), 200, OURS),
        (issues("tags={%22or%22:[%22a|b%22]}"), 200, OURS),
        (issues(r#"tags={"or":["a"]}"#), 400, BARE),
        (issues("q=a<b"), 400, BARE),
        (issues("q=two words"), 400, BARE),
        (issues(&format!("q={long}")), 414, BARE),
        (get("/v1/acme/<issues>", ""), 400, BARE),
        (get("http://[", ""), 400, BARE),
        // The length of a head, and its form.
        (get("/healthz", &"X: 1\r\n".repeat(101)), 431, BARE),
        (get("/healthz", &format!("X: {long}{long}\r\n")), 431, BARE),
        (get("/healthz", "bad header\r\n"), 400, BARE),
        ("nonsense\r\n\r\n".to_owned(), 400, BARE),
        // The length of a body.
        (post("Content-Length: x\r\n", ""), 400, BARE),
        (post("Content-Length: -1\r\n", ""), 400, BARE),
        (post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"), 400, BARE),
        (post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", chunks), 404, OURS),
        (post("Transfer-Encoding: gzip\r\n", chunks), 400, BARE),
        (post("Transfer-Encoding: gzip, chunked\r\n", chunks), 501, OURS),
        (post("Transfer-Encoding: chunked\r\n", chunks), 404, OURS),
        // The version, and the host.
        ("GET /healthz HTTP/1.0\r\n\r\n".to_owned(), 200, OURS),
        ("GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n".to_owned(), 400, BARE),
        ("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(), 400, OURS),
        (get("/healthz", "Host: y\r\n"), 400, OURS),
    ];
    let mut bare = 0;
    for (request, status, is_bare) in &cases {
        let shown: String = request.chars().take(200).collect();
        let mut stream = connect(&server).await;
        // The server may have refused a long head before all of it was sent.
        let _ = stream.write_all(request.as_bytes()).await;
        let answer = rest(&mut stream).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let found = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        assert_eq!(found, Some(*status), "{shown:?}: {answer}");
        assert_eq!(!head.contains("x-request-id"), *is_bare, "{shown:?}: {answer}");
        assert_eq!(body.is_empty(), *is_bare, "{shown:?}: {answer}");
        bare += u32::from(*is_bare);
    }
    let metrics = server.client.get(format!("http://{}/metrics", server.address)).send().await;
    let metrics = metrics.unwrap().text().await.unwrap();
    let counted = format!(
        "caseload_http_request_duration_seconds_count\
         {{route=\"other\",method=\"other\",status=\"4xx\"}} {bare}\n"
    );
    assert!(metrics.contains(&counted), "{counted}{metrics}");
}

#[tokio::test]
async fn a_refusal_by_the_library_follows_the_answers_to_good_requests() {
    let server = Server::start().await;
    let good = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let answers = exchange(&server, &format!("{good}nonsense\r\n\r\n{good}")).await;
    let statuses: Vec<&str> =
        answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "400"], "{answers}");
}
