//! Connections that are left open, and clients that do not read their answers: others always get
//! one.

use std::time::Duration;

use caseload_api::{ApiConfig, MinimumRateLimits};
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::server::{PATIENCE, Server, WRITE, http_client};
use crate::wire::{connect, rest};

/// A request on a connection of its own.
async fn fresh(server: &Server, path: &str, key: &str) -> u16 {
    let client = http_client().pool_max_idle_per_host(0).build().unwrap();
    let request = client.request(Method::GET, server.url(path)).bearer_auth(key);
    request.send().await.unwrap().status().as_u16()
}

/// Whether the server has closed the connection.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    matches!(timeout(Duration::from_millis(1), stream.read(&mut byte)).await, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn connections_that_never_send_make_room_for_others() {
    let config = ApiConfig { connections_max: 40, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(connect(&server).await);
    }
    assert_eq!(fresh(&server, "/healthz", "").await, 200);
    // A quarter of the connections is for one address; of those, the oldest ended.
    let closed = async {
        loop {
            let mut open = 0;
            for stream in &mut silent {
                open += usize::from(!is_closed(stream).await);
            }
            if open <= 10 {
                return;
            }
        }
    };
    timeout(PATIENCE, closed).await.expect("the oldest connections end");
    assert!(is_closed(&mut silent[0]).await);
    for _ in 0..20 {
        assert_eq!(fresh(&server, "/healthz", "").await, 200);
        assert_eq!(fresh(&server, "/v1/acme/issues", WRITE).await, 200);
    }
}

#[tokio::test]
async fn a_connection_with_a_key_is_not_ended_by_those_without() {
    let config = ApiConfig { connections_max: 40, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let request =
        format!("GET /v1/acme/issues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\n");
    let mut known = connect(&server).await;
    known.write_all(format!("{request}\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let bytes = timeout(PATIENCE, known.read(&mut answer)).await.unwrap().unwrap();
    assert!(answer[..bytes].starts_with(b"HTTP/1.1 200"));
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(connect(&server).await);
    }
    assert_eq!(fresh(&server, "/healthz", "").await, 200);
    known.write_all(format!("{request}Connection: close\r\n\r\n").as_bytes()).await.unwrap();
    assert!(rest(&mut known).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn an_answer_that_is_not_read_ends_its_connection() {
    let (grace, window) = (Duration::from_millis(20), Duration::from_millis(80));
    let minimum_rate = MinimumRateLimits { grace, window, ..MinimumRateLimits::default() };
    // The server looks at its connections as often as this.
    let head_timeout = Duration::from_secs(1);
    let config = ApiConfig { minimum_rate, head_timeout, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let length = 64 << 20;
    server.store.page.lock().unwrap().body = vec![b'1'; length];
    let mut unread = connect(&server).await;
    let request =
        format!("GET /v1/acme/issues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\n\r\n");
    unread.write_all(request.as_bytes()).await.unwrap();
    let mut received = 0;
    let mut buffer = vec![0; 1 << 20];
    let ended = async {
        // Nothing is read until the server has closed the connection, which a write shows.
        while unread.write_all(b"\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        while let Ok(bytes) = unread.read(&mut buffer).await {
            received += bytes;
            if bytes == 0 {
                break;
            }
        }
    };
    timeout(PATIENCE, ended).await.expect("the connection ends");
    assert!(received < length, "{received} bytes arrived");
}

#[tokio::test]
async fn a_connection_without_further_requests_ends() {
    let idle_timeout = Duration::from_millis(300);
    let server = Server::configured(ApiConfig { idle_timeout, ..ApiConfig::default() }).await;
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut all = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("it ends").unwrap();
    assert!(all.starts_with(b"HTTP/1.1 200"));
}
