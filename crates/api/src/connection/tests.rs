//! Tests of the stream around a connection: the end of a head is the one that the parser of hyper
//! finds, and only targets change, however the bytes are cut.

use std::sync::Arc;

use axum::body::Body;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::exchange::{AnswerBody, Exchange};
use super::heads::{HeadReader, escaped};
use super::room::ConnectionMemory;
use super::stream::GuardedStream;
use super::timing::TimeLimits;
use crate::ApiConfig;
use crate::memory::MemoryBudget;
use crate::metrics::RequestCounts;

fn memory() -> ConnectionMemory {
    ConnectionMemory::new(Arc::new(MemoryBudget::new(1 << 20, Arc::default())))
}

/// The end of the head at the start of `bytes`, and its bytes as they are passed on.
fn read_head(bytes: &[u8], pieces: usize) -> (Option<usize>, Vec<u8>) {
    let mut reader = HeadReader::default();
    let (mut at, mut out) = (0, Vec::new());
    for piece in bytes.chunks(pieces.max(1)) {
        let mut escapes = Vec::new();
        let head = reader.read(piece, &mut escapes);
        out.extend(escaped(&piece[..head], &escapes));
        at += head;
        if reader.has_ended() {
            return (Some(at), out);
        }
    }
    (None, out)
}

/// Lines that look like heads, and bytes that do not.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"GET /v1/acme/issues?tags={\"or\":[\"a\"]} HTTP/1.1".to_vec()),
        Just(b"GET /a\"b?c<d>e?f\"g#h\" HTTP/1.1".to_vec()),
        Just(b"PUT http://x/\"?q=\" HTTP/1.0".to_vec()),
        Just(b"POST / HTTP/1.1".to_vec()),
        Just(b"Host: x\"<?>".to_vec()),
        Just(b"A:  ?\"".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b" ".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn the_parser_of_hyper_finds_the_same_end_of_a_head(bytes in heads(), pieces in 1..40_usize) {
        let mut headers = [httparse::EMPTY_HEADER; 100];
        let mut parsed = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(end)) = parsed.parse(&bytes) {
            prop_assert_eq!(read_head(&bytes, pieces).0, Some(end));
        }
    }

    #[test]
    fn only_the_query_of_the_target_changes(bytes in heads(), pieces in 1..40_usize) {
        let mut headers = [httparse::EMPTY_HEADER; 100];
        let mut before = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(_)) = before.parse(&bytes) else { return Ok(()) };
        let (_, passed) = read_head(&bytes, pieces);
        let mut headers = [httparse::EMPTY_HEADER; 100];
        let mut after = httparse::Request::new(&mut headers);
        prop_assert!(after.parse(&passed).is_ok_and(|status| status.is_complete()));
        prop_assert_eq!((before.method, before.version), (after.method, after.version));
        prop_assert_eq!(&*before.headers, &*after.headers);
        let (path, query) = before.path.and_then(|path| path.split_once('?')).unwrap_or_default();
        if query.is_empty() {
            prop_assert_eq!(before.path, after.path);
        } else {
            let query = query.replace('"', "%22").replace('<', "%3C").replace('>', "%3E");
            let escaped = format!("{path}?{query}");
            prop_assert_eq!(after.path, Some(escaped.as_str()));
        }
    }
}

/// A request with the length of its body; `None` for a body in chunks.
struct Sent {
    bytes: &'static str,
    body: Option<u64>,
}

/// Three requests in one connection, of which the middle one has a body that looks like a head.
const REQUESTS: [Sent; 3] = [
    Sent { bytes: "\r\nGET /a?q=\"1\" HTTP/1.1\r\nA: \"\r\n\r\n", body: Some(0) },
    Sent {
        bytes: "POST /b?q=<2> HTTP/1.1\r\nContent-Length: 24\r\n\r\nGET /?\"<> HTTP/1.1\r\n\r\n?\"",
        body: Some(24),
    },
    Sent { bytes: "GET /c?q={\"3\"} HTTP/1.1\n\n", body: Some(0) },
];
const PASSED_ON: &str = "\r\nGET /a?q=%221%22 HTTP/1.1\r\nA: \"\r\n\r\n\
    POST /b?q=%3C2%3E HTTP/1.1\r\nContent-Length: 24\r\n\r\nGET /?\"<> HTTP/1.1\r\n\r\n?\"\
    GET /c?q={%223%22} HTTP/1.1\n\n";

fn body_of(length: Option<u64>) -> Body {
    match length {
        Some(0) => Body::empty(),
        Some(length) => Body::from(vec![b'x'; length as usize]),
        None => Body::from_stream(futures_util::stream::empty::<Result<Vec<u8>, std::io::Error>>()),
    }
}

/// Reads as hyper does: up to the end of a head, then it reports the framing.
async fn read_as_hyper(stream: &mut GuardedStream<tokio::io::DuplexStream>, exchange: &Exchange) {
    let mut all = Vec::new();
    for request in REQUESTS {
        let mut reader = HeadReader::default();
        while !reader.has_ended() {
            let mut piece = [0; 7];
            let bytes = stream.read(&mut piece).await.expect("a readable stream");
            assert!(bytes > 0, "{}", String::from_utf8_lossy(&all));
            let head = reader.read(&piece[..bytes], &mut Vec::new());
            assert_eq!(
                head, bytes,
                "no byte after a head is passed on before its framing is known"
            );
            all.extend_from_slice(&piece[..bytes]);
        }
        exchange.begin(&body_of(request.body));
        let mut body = vec![0; request.body.unwrap_or_default() as usize];
        stream.read_exact(&mut body).await.expect("a whole body");
        all.extend(body);
    }
    assert_eq!(String::from_utf8_lossy(&all), PASSED_ON);
}

#[tokio::test]
async fn requests_are_separated_however_they_arrive() {
    let sent: String = REQUESTS.iter().map(|request| request.bytes).collect();
    for cut in 1..=sent.len() {
        let (mut client, server) = duplex(4096);
        let exchange = Arc::new(Exchange::new(TimeLimits::of(&ApiConfig::default())));
        let mut stream = GuardedStream::new(server, exchange.clone(), Arc::default(), memory());
        let (first, second) = sent.split_at(cut);
        client.write_all(first.as_bytes()).await.expect("room");
        let (second, reading) = (second.to_owned(), read_as_hyper(&mut stream, &exchange));
        let writing = async {
            tokio::task::yield_now().await;
            client.write_all(second.as_bytes()).await.expect("room");
        };
        tokio::join!(reading, writing);
    }
}

#[tokio::test]
async fn nothing_changes_after_a_body_in_chunks() {
    let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let rest = "0\r\n\r\nGET /?\" HTTP/1.1\r\n\r\n";
    let (mut client, server) = duplex(4096);
    let exchange = Arc::new(Exchange::new(TimeLimits::of(&ApiConfig::default())));
    let mut stream = GuardedStream::new(server, exchange.clone(), Arc::default(), memory());
    client.write_all(format!("{head}{rest}").as_bytes()).await.expect("room");
    let mut bytes = vec![0; head.len()];
    stream.read_exact(&mut bytes).await.expect("the head");
    exchange.begin(&body_of(None));
    let mut bytes = vec![0; rest.len()];
    stream.read_exact(&mut bytes).await.expect("the rest");
    assert_eq!(String::from_utf8_lossy(&bytes), rest);
}

#[tokio::test]
async fn bytes_of_an_answer_pass_and_only_an_answer_to_no_request_is_replaced() {
    let (mut client, server) = duplex(4096);
    let exchange = Arc::new(Exchange::new(TimeLimits::of(&ApiConfig::default())));
    let counts = Arc::new(RequestCounts::default());
    let mut stream = GuardedStream::new(server, exchange.clone(), counts, memory());
    let request = exchange.begin(&Body::empty());
    let answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
    stream.write_all(answer.as_bytes()).await.expect("room");
    stream.flush().await.expect("an open stream");
    stream.write_all(b"more").await.expect("room");
    // The body of an earlier answer says nothing about this one.
    drop(AnswerBody::new(Body::empty(), request - 1, exchange.clone()));
    stream.flush().await.expect("an open stream");
    stream.write_all(b"body").await.expect("room");
    drop(AnswerBody::new(Body::empty(), request, exchange.clone()));
    stream.write_all(b"last").await.expect("room");
    stream.flush().await.expect("an open stream");
    let mut passed = vec![0; answer.len() + 12];
    client.read_exact(&mut passed).await.expect("the answer");
    assert_eq!(String::from_utf8_lossy(&passed), format!("{answer}morebodylast"));
    let own = "HTTP/1.1 431 Request Header Fields Too Large\r\nDate: now\r\n\r\n";
    stream.write_all(own.as_bytes()).await.expect("room");
    stream.flush().await.expect("an open stream");
    drop(stream);
    let mut refused = String::new();
    client.read_to_string(&mut refused).await.expect("a text");
    assert!(refused.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{refused}");
    assert!(
        refused.contains("\r\nDate: now\r\n") && refused.contains("head_too_large"),
        "{refused}"
    );
}
