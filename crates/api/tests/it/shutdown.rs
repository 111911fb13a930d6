//! The end of the server: idle connections close at once, requests in flight are answered, and new
//! connections are refused.

use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::server::Server;

#[tokio::test]
async fn an_idle_server_stops_at_once() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await.status(), 200);
    let _open = TcpStream::connect(server.address).await.unwrap();
    let stopped = timeout(Duration::from_secs(5), server.stop()).await.expect("in time");
    stopped.unwrap().unwrap();
}

#[tokio::test]
async fn requests_in_flight_are_answered_and_new_connections_are_refused() {
    let server = Server::start().await;
    *server.store.list_takes.lock().unwrap() = Duration::from_millis(700);
    let begun = Instant::now();
    let request = server.request(reqwest::Method::GET, "/v1/acme/issues");
    let in_flight = tokio::spawn(request.send());
    sleep(Duration::from_millis(300)).await;
    let address = server.address;
    let stopping = server.stop();
    sleep(Duration::from_millis(100)).await;
    assert!(TcpStream::connect(address).await.is_err(), "the listener is closed");
    assert_eq!(in_flight.await.unwrap().unwrap().status(), 200);
    stopping.await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn connections_that_do_not_end_in_time_are_cut() {
    let server = Server::start().await;
    *server.store.list_takes.lock().unwrap() = Duration::from_secs(9);
    let request = server.request(reqwest::Method::GET, "/v1/acme/issues");
    let in_flight = tokio::spawn(request.send());
    sleep(Duration::from_millis(300)).await;
    timeout(Duration::from_millis(8500), server.stop()).await.expect("in time").unwrap().unwrap();
    assert!(in_flight.await.unwrap().is_err());
}
