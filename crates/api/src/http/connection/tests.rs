//! Tests of the stream around a connection: which bytes count as a head, and the head that finds no
//! memory.

use std::io::ErrorKind;
use std::sync::Arc;

use axum::body::Body;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::Slots;
use super::exchange::{Direction, Exchange};
use super::room::{CONNECTION_BYTES, ConnectionMemory};
use super::stream::ObservedStream;
use super::timing::TimeLimits;
use crate::config::ApiConfig;
use crate::http::memory::MemoryBudget;

/// A connection with this much memory, its client, and its exchange.
fn connection(memory: usize) -> (DuplexStream, ObservedStream<DuplexStream>, Arc<Exchange>) {
    let (client, server) = duplex(1 << 20);
    let exchange = Arc::new(Exchange::new(TimeLimits::of(&ApiConfig::default())));
    let slots = Slots::new(10, None, Arc::default());
    let budget = MemoryBudget::new(memory, slots, Arc::default());
    let memory = ConnectionMemory::new(Arc::new(budget));
    (client, ObservedStream::new(server, exchange.clone(), memory, |_| ()), exchange)
}

#[tokio::test]
async fn bytes_count_as_a_head_only_between_two_requests() {
    let (mut client, mut stream, exchange) = connection(1 << 20);
    let body = |direction, request| exchange.observe(Body::empty(), direction, request);
    let mut received = async |bytes: usize| {
        client.write_all(&vec![b'x'; bytes]).await.expect("room");
        stream.read_exact(&mut vec![0; bytes]).await.expect("the same bytes");
    };
    received(100).await;
    received(20).await;
    assert_eq!(exchange.head_bytes(), Some(120));
    let first = exchange.begin(true);
    received(5000).await;
    assert_eq!(exchange.head_bytes(), None, "a body arrives");
    exchange.flushed();
    assert_eq!(exchange.head_bytes(), None, "the answer is not complete");
    drop(body(Direction::Out, first));
    assert_eq!(exchange.head_bytes(), None, "the answer is not flushed");
    exchange.flushed();
    received(5000).await;
    assert_eq!(exchange.head_bytes(), None, "the rest of the body arrives after the answer");
    drop(body(Direction::In, first));
    assert_eq!(exchange.head_bytes(), Some(0));
    received(30).await;
    assert_eq!(exchange.head_bytes(), Some(30));
    exchange.begin(false);
    // The bodies of the first request say nothing about the second.
    drop((body(Direction::In, first), body(Direction::Out, first)));
    exchange.flushed();
    assert_eq!(exchange.head_bytes(), None);
}

#[tokio::test]
async fn a_head_without_memory_ends_the_connection_and_a_body_needs_none() {
    let (mut client, mut stream, exchange) = connection(CONNECTION_BYTES);
    client.write_all(&[b'x'; 8 << 10]).await.expect("room");
    stream.read_exact(&mut [0; 8 << 10]).await.expect("a short head needs no more memory");
    client.write_all(b"x").await.expect("room");
    let error = stream.read(&mut [0; 1 << 10]).await.expect_err("no memory");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    exchange.begin(true);
    assert_eq!(stream.read(&mut [0; 1 << 10]).await.expect("a body"), 1);
}
