//! `GET …/attachments/{id}`: tags and ranges. Every range has the bytes of the file as it was sent,
//! wherever the store cuts the file into pieces.

use std::ops::Range;

use caseload_store::ATTACHMENT_PIECE_BYTES;
use caseload_teststore::on_each_store;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, Response};

use crate::issues::support::{desk, send};
use crate::real_server::RealServer;
use crate::server::Server;

on_each_store!(every_range_is_the_bytes_of_the_file, a_file_has_a_tag_for_conditional_requests,);

fn file_bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n % 251) as u8).collect()
}

/// The path of a new attachment with these bytes.
async fn attach(real: &RealServer, bytes: Vec<u8>) -> String {
    let part = Part::bytes(bytes).file_name("a.bin");
    let form = Form::new().text("message-body", "x").part("attachment", part);
    let (status, made) = send(real.request(Method::POST, "/v1/acme/issues").multipart(form)).await;
    assert_eq!(status, 201, "{made}");
    made["attachment"]["url"].as_str().unwrap().to_owned()
}

async fn request(
    real: &RealServer,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
) -> Response {
    let call = real.request(method, url);
    let call = headers.iter().fold(call, |call, (name, value)| call.header(*name, *value));
    call.send().await.unwrap()
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn every_range_is_the_bytes_of_the_file() {
    const PIECE: usize = ATTACHMENT_PIECE_BYTES;
    let real = desk().await;
    for count in [0, 1, 10, PIECE, 2 * PIECE + 7] {
        let file = file_bytes(count);
        let url = attach(&real, file.clone()).await;
        for (range, part) in ranges(count) {
            let answer = request(&real, Method::GET, &url, &[("Range", &range)]).await;
            let content_range = header(&answer, "content-range").to_owned();
            let Some(part) = part else {
                assert_eq!(answer.status(), 416, "{range} of {count}");
                assert_eq!(content_range, format!("bytes */{count}"), "{range} of {count}");
                let body: serde_json::Value = answer.json().await.unwrap();
                assert_eq!(body["code"], "range_not_satisfiable");
                continue;
            };
            assert_eq!(answer.status(), 206, "{range} of {count}");
            assert_eq!(content_range, format!("bytes {}-{}/{count}", part.start, part.end - 1));
            assert_eq!(header(&answer, "content-length"), part.len().to_string());
            assert_eq!(header(&answer, "accept-ranges"), "bytes");
            assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
            assert!(header(&answer, "content-disposition").starts_with("attachment;"));
            assert!(answer.bytes().await.unwrap() == file[part], "{range} of {count}");
        }
    }
    real.stop().await;
}

/// Ranges of a file of `count` bytes, and the bytes of each; `None` if it has none.
fn ranges(count: usize) -> Vec<(String, Option<Range<usize>>)> {
    const PIECE: usize = ATTACHMENT_PIECE_BYTES;
    let within = |part: Range<usize>| {
        let part = part.start..part.end.min(count);
        Some(part).filter(|part| !part.is_empty())
    };
    let mut ranges = vec![
        ("bytes=0-".to_owned(), within(0..count)),
        ("bytes=-3".to_owned(), within(count.saturating_sub(3)..count)),
        (format!("bytes={count}-"), None),
        ("bytes=-0".to_owned(), None),
    ];
    for part in [0..1, 3..5, 9..100, PIECE - 1..PIECE + 1, PIECE..2 * PIECE, PIECE - 1..3 * PIECE] {
        ranges.push((format!("bytes={}-{}", part.start, part.end - 1), within(part)));
    }
    ranges
}

async fn a_file_has_a_tag_for_conditional_requests() {
    let real = desk().await;
    let (url, other) = (attach(&real, file_bytes(10)).await, attach(&real, vec![1]).await);
    let whole = request(&real, Method::GET, &url, &[]).await;
    assert_eq!(header(&whole, "accept-ranges"), "bytes");
    let tag = header(&whole, "etag").to_owned();
    assert!(tag.starts_with('"'), "{tag}");
    let of_other = request(&real, Method::GET, &other, &[]).await;
    assert_ne!(tag, header(&of_other, "etag"));
    for (headers, status) in [
        (&[("If-None-Match", &*tag)][..], 304),
        (&[("If-None-Match", "\"x\"")], 200),
        (&[("Range", "bytes=1-2"), ("If-Range", &*tag)], 206),
        (&[("Range", "bytes=1-2"), ("If-Range", "\"x\"")], 200),
        (&[("Range", "bytes=0-1,3-4")], 200),
        (&[("Range", "lines=0-1")], 200),
    ] {
        let answer = request(&real, Method::GET, &url, headers).await;
        assert_eq!(answer.status(), status, "{headers:?}");
        assert_eq!(header(&answer, "etag"), tag, "{headers:?}");
    }
    let head = request(&real, Method::HEAD, &url, &[("Range", "bytes=1-2")]).await;
    assert_eq!((head.status().as_u16(), header(&head, "content-length")), (200, "10"));
    real.stop().await;
}

#[tokio::test]
async fn damage_anywhere_in_a_file_is_an_error_answer_and_only_a_very_large_file_is_cut() {
    const PIECE: u64 = ATTACHMENT_PIECE_BYTES as u64;
    let server = Server::start().await;
    let path = "/v1/acme/attachments/a";
    for damaged in [0, 1, 24] {
        *server.store.file.lock().unwrap() = (24 * PIECE + 5, damaged);
        let answer = server.get(path).await;
        assert_eq!(answer.status(), 503, "piece {damaged}");
        let problem: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(problem["code"], "damaged", "{problem}");
    }
    // A range that does not need the damaged piece is served.
    for (range, status) in [("bytes=0-25165823", 206), ("bytes=0-25165824", 503)] {
        let answer = server.request(Method::GET, path).header("Range", range).send().await;
        assert_eq!(answer.unwrap().status(), status, "{range}");
    }
    *server.store.file.lock().unwrap() = (40 * PIECE, 39);
    let answer = server.get(path).await;
    assert_eq!(answer.status(), 200);
    assert!(answer.bytes().await.is_err(), "the transfer breaks off");
}
