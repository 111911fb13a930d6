//! Unusual requests, byte by byte over a plain connection, which networks produce and HTTP clients
//! do not. Each of them gets an answer or ends its connection, and the next connection is served.

use std::time::Duration;

use caseload_api::{ApiConfig, MinimumRateLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::server::{PATIENCE, Server, WRITE};

pub(crate) async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.address).await.unwrap()
}

/// Reads until the server closes the connection.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut answer));
    let _ = read.await.expect("the server closes the connection");
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) async fn exchange(server: &Server, request: &str) -> String {
    let mut stream = connect(server).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    rest(&mut stream).await
}

fn post_head(extra: &str) -> String {
    format!(
        "POST /v2/acme/identity/bulk_actions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {WRITE}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         {extra}\r\n"
    )
}

/// Limits that a slow client exceeds soon.
fn hasty() -> ApiConfig {
    let (grace, window) = (Duration::from_millis(20), Duration::from_millis(80));
    let minimum_rate = MinimumRateLimits {
        grace,
        window,
        bytes_per_second: 1 << 20,
        ..MinimumRateLimits::default()
    };
    ApiConfig { minimum_rate, ..ApiConfig::default() }
}

async fn small() -> Server {
    Server::configured(ApiConfig { body_bytes_max: 1000, ..ApiConfig::default() }).await
}

#[tokio::test]
async fn http_1_0_is_answered_and_closed() {
    let server = Server::start().await;
    let answer = exchange(&server, "GET /healthz HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    assert!(answer.ends_with("{\"status\":\"ok\"}"), "{answer}");
}

#[tokio::test]
async fn a_length_over_the_limit_is_refused_before_the_body_arrives() {
    let server = small().await;
    let answer = exchange(&server, &post_head("Content-Length: 1001\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn a_client_that_expects_100_continue_gets_the_refusal_instead() {
    let server = small().await;
    let head = post_head("Content-Length: 1001\r\nExpect: 100-continue\r\n");
    let answer = exchange(&server, &head).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let body = "action=get_core_profiles&payload=%5B%7B%7D%5D";
    let head = post_head(&format!("Content-Length: {}\r\nExpect: 100-continue\r\n", body.len()));
    let answer = exchange(&server, &format!("{head}{body}")).await;
    assert!(answer.starts_with("HTTP/1.1 100"), "{answer}");
    assert!(answer.contains("HTTP/1.1 201"), "{answer}");
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_refused_and_the_answer_arrives() {
    let server = small().await;
    let chunk = format!("64\r\n{}\r\n", "x".repeat(100));
    let request = post_head("Transfer-Encoding: chunked\r\n") + &chunk.repeat(2000) + "0\r\n\r\n";
    let answer = exchange(&server, &request).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("too_large"), "{answer}");
}

#[tokio::test]
async fn a_body_that_stops_arriving_is_refused() {
    let server = Server::configured(hasty()).await;
    let answer = exchange(&server, &(post_head("Content-Length: 100\r\n") + "action=")).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("too_slow"), "{answer}");
}

#[tokio::test]
async fn a_head_that_does_not_arrive_ends_the_connection() {
    let config = ApiConfig { head_timeout: Duration::from_millis(100), ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let answer = exchange(&server, "GET /healthz HTTP/1.1\r\nHost").await;
    assert!(!answer.contains("200"), "{answer}");
}

#[tokio::test]
async fn unusual_header_bytes_do_no_harm() {
    let server = Server::start().await;
    let mut stream = connect(&server).await;
    let request = b"GET /v1/acme/issues HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                    Authorization: Bearer \xff\xfe\r\nX-Request-Id: \xff\r\nAccept: \xff\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

#[tokio::test]
async fn the_answer_arrives_even_if_the_body_is_not_read() {
    let server = Server::start().await;
    let body = "x".repeat(4 << 20);
    let request = format!(
        "POST /v2/acme/identity/bulk_actions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(&server, &request).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}
