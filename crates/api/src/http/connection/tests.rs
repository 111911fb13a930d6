//! Tests of the stream around a connection: which bytes count as a head, the head that finds no
//! memory, and the pieces of an answer on HTTP/2.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::Slots;
use super::body::ObservedBody;
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
    let memory = ConnectionMemory::new(Arc::new(budget), false);
    (
        client,
        ObservedStream::new(server, exchange.clone(), memory, |_| panic!("is not cut")),
        exchange,
    )
}

#[tokio::test]
async fn bytes_count_as_a_head_only_between_two_requests() {
    let (mut client, mut stream, exchange) = connection(1 << 20);
    let body = |direction, request| ObservedBody::new(&exchange, Body::empty(), direction, request);
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

#[tokio::test]
async fn an_answer_on_http2_leaves_in_long_pieces_and_waits_until_they_are_taken() {
    let (_client, _stream, exchange) = connection(1 << 20);
    exchange.multiplex();
    let request = exchange.begin(false);
    let text: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
    let lengths = [1_usize, 700, 30_000, 3].into_iter().cycle();
    let mut rest = Bytes::from(text.clone());
    let parts = lengths.map_while(move |length| {
        (!rest.is_empty()).then(|| Ok::<_, Infallible>(rest.split_to(length.min(rest.len()))))
    });
    let body = Body::from_stream(futures_util::stream::iter(parts.collect::<Vec<_>>()));
    let mut body = ObservedBody::new(&exchange, body, Direction::Out, request);
    exchange.answer_begins(request, false);
    assert_eq!(exchange.waiting(), None, "the server works");
    let mut pieces = Vec::new();
    while let Some(frame) = body.frame().await {
        pieces.push(frame.expect("no fault").into_data().expect("data"));
    }
    assert!(body.is_end_stream());
    let lengths: Vec<usize> = pieces.iter().map(Bytes::len).collect();
    assert_eq!(lengths, [16 << 10, 16 << 10, 16 << 10, 16 << 10, 16 << 10, 16 << 10, 1696]);
    assert_eq!(pieces.concat(), text);
    drop(body);
    let is_idle = || exchange.waiting().map(|waiting| waiting.is_idle);
    while let Some(piece) = pieces.pop() {
        assert_eq!(is_idle(), Some(false), "the client has not taken all");
        drop(piece);
    }
    assert_eq!(is_idle(), Some(true));
}
