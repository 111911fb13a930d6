//! The end of the server: idle connections close at once, requests in flight are answered for a
//! time, and new connections are refused.

use std::net::SocketAddr;
use std::time::Duration;

use caseload_api::SHUTDOWN_SECONDS_MAX;
use reqwest::Response;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::server::Server;
use crate::still_clock::StillClock;

/// A request that the server is answering, and the clock, which is stopped.
async fn in_flight(server: &Server) -> (JoinHandle<reqwest::Result<Response>>, StillClock) {
    let mut clock = StillClock::new();
    let request = server.request(reqwest::Method::GET, "/v1/acme/issues");
    let in_flight = tokio::spawn(request.send());
    clock.until(|| !server.store.listed.lock().unwrap().is_empty()).await;
    (in_flight, clock)
}

/// Waits until the listener is closed.
async fn refuses_connections(clock: &mut StillClock, address: SocketAddr) {
    clock.at_once(async { while TcpStream::connect(address).await.is_ok() {} }).await;
}

#[tokio::test]
async fn an_idle_server_stops_at_once() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await.status(), 200);
    StillClock::new().at_once(server.stop()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stop_awaits_the_first_request_of_a_new_connection_for_a_second() {
    let server = Server::start().await;
    let _silent = TcpStream::connect(server.address).await.unwrap();
    let mut late = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(server.get("/healthz").await.status(), 200);
    let (mut clock, address) = (StillClock::new(), server.address);
    let stopping = server.stop();
    refuses_connections(&mut clock, address).await;
    late.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    clock.at_once(late.read_exact(&mut head)).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    assert!(!stopping.is_finished());
    clock.pass(Duration::from_secs(1)).await;
    clock.at_once(stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn requests_in_flight_are_answered_and_new_connections_are_refused() {
    let server = Server::start().await;
    let gate = server.store.list_gate.close();
    let (in_flight, mut clock) = in_flight(&server).await;
    let address = server.address;
    let stopping = server.stop();
    refuses_connections(&mut clock, address).await;
    gate.notify_one();
    assert_eq!(clock.at_once(in_flight).await.unwrap().unwrap().status(), 200);
    clock.at_once(stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn connections_that_do_not_end_in_time_are_cut() {
    let server = Server::start().await;
    let _closed = server.store.list_gate.close();
    let (in_flight, mut clock) = in_flight(&server).await;
    let address = server.address;
    let stopping = server.stop();
    refuses_connections(&mut clock, address).await;
    clock.pass(Duration::from_secs(SHUTDOWN_SECONDS_MAX - 1)).await;
    assert!(!stopping.is_finished() && !in_flight.is_finished());
    clock.pass(Duration::from_secs(2)).await;
    clock.at_once(stopping).await.unwrap().unwrap();
    assert!(clock.at_once(in_flight).await.unwrap().is_err());
}
