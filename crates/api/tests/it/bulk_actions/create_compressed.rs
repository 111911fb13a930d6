//! `POST …/bulk_actions` with compressed bodies: both forms, both codings, and the limits on the
//! bytes sent, on the decompressed bytes and on the memory for decompression.

use std::io::Write;

use caseload_api::ApiConfig;
use caseload_model::payload::Block;
use caseload_store::unpack_block;
use reqwest::{Body, Method};
use serde_json::Value;

use crate::server::{Server, WRITE};

const PATH: &str = "/v2/acme/identity/bulk_actions";
const FORM_A: &str = "application/x-www-form-urlencoded";
const FORM_B: &str = "multipart/form-data; boundary=b";

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::encode_all(plain, 3).unwrap()
}

fn form_a(entries: usize) -> Vec<u8> {
    let payload = format!("[{}{{}}]", "{},".repeat(entries - 1));
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("action", "get_core_profiles").append_pair("payload", &payload);
    form.finish().into_bytes()
}

fn form_b(entries: usize) -> Vec<u8> {
    let part = |name, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let action = part("action", "get_core_profiles");
    (action + &part("payload", &"{}\n".repeat(entries)) + "--b--\r\n").into_bytes()
}

async fn post(server: &Server, kind: &str, coding: &str, body: impl Into<Body>) -> (u16, Value) {
    let request = server.request(Method::POST, PATH).header("Content-Type", kind);
    let request = request.header("Content-Encoding", coding).body(body);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// The same body in small pieces of unknown total length.
fn in_pieces(body: &[u8]) -> Body {
    let pieces: Vec<_> = body.chunks(7).map(|p| Ok::<_, std::io::Error>(p.to_vec())).collect();
    Body::wrap_stream(futures_util::stream::iter(pieces))
}

#[tokio::test]
async fn compressed_forms_equal_plain_ones() {
    let server = Server::start().await;
    for (kind, plain) in [(FORM_A, form_a(500)), (FORM_B, form_b(500))] {
        let two_members = [gzip(&plain[..100]), gzip(&plain[100..])].concat();
        for (coding, body) in [
            ("gzip", gzip(&plain)),
            ("X-GZIP", gzip(&plain)),
            ("zstd", zstd(&plain)),
            ("gzip", two_members),
            ("identity", plain.clone()),
        ] {
            for body in [Body::from(body.clone()), in_pieces(&body)] {
                let (status, task) = post(&server, kind, coding, body).await;
                assert_eq!(status, 201, "{kind} {coding}: {task}");
                assert_eq!(task["counts"]["total"], 500);
            }
            let command = server.store.created.lock().unwrap().pop().unwrap();
            let block = unpack_block(&command.blocks[0].bytes).unwrap();
            let block = Block::decode(block).unwrap();
            assert!(block.entries.iter().all(|entry| block.bytes_of(entry) == b"{}"));
        }
    }
}

#[tokio::test]
async fn the_limit_applies_before_and_after_decompression() {
    let config = ApiConfig { body_bytes_max: 10_000, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let mut state = 1_u64;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'@' + (state >> 59) as u8
    };
    let noise: Vec<u8> = (0..60_000).map(|_| noise()).collect();
    for (kind, large) in [(FORM_A, form_a(3000)), (FORM_B, form_b(5000))] {
        for body in [gzip(&large), zstd(&large)] {
            assert!(body.len() < 10_000, "it is small when packed");
            let coding = if body.starts_with(&[0x1f, 0x8b]) { "gzip" } else { "zstd" };
            let (status, problem) = post(&server, kind, coding, body).await;
            assert_eq!((status, &problem["code"]), (413, &"too_large".into()), "{kind} {coding}");
        }
        let payload_at = large.windows(9).position(|w| w == b"payload\"\r" || w == b"&payload=");
        let begun = &large[..payload_at.unwrap() + if kind == FORM_A { 9 } else { 11 }];
        let noisy = [begun, &noise[..]].concat();
        for (coding, body) in [("gzip", gzip(&noisy)), ("zstd", zstd(&noisy))] {
            assert!(body.len() > 10_000, "it is large when packed");
            for body in [Body::from(body.clone()), in_pieces(&body)] {
                let (status, problem) = post(&server, kind, coding, body).await;
                assert_eq!(status, 413, "{kind} {coding}: {problem}");
            }
        }
    }
    assert!(server.store.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_small_body_that_decompresses_to_gigabytes_is_refused_in_time() {
    let server = Server::start().await;
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(b"action=get_core_profiles&payload=%5B%7B%7D%5D&x=").unwrap();
    let zeros = vec![b'0'; 1 << 20];
    for _ in 0..160 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 100_000);
    let (status, problem) = post(&server, FORM_A, "zstd", bomb).await;
    assert_eq!(status, 413, "{problem}");
}

#[tokio::test]
async fn a_window_larger_than_the_web_allows_is_refused() {
    let server = Server::start().await;
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&form_a(10)).unwrap();
    let (status, problem) = post(&server, FORM_A, "zstd", encoder.finish().unwrap()).await;
    assert_eq!((status, &problem["code"]), (400, &"invalid_request".into()), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("8 MiB"), "{problem}");
}

#[tokio::test]
async fn broken_compression_is_a_fault_of_the_request() {
    let server = Server::start().await;
    for (kind, plain) in [(FORM_A, form_a(50)), (FORM_B, form_b(50))] {
        for (coding, packed) in [("gzip", gzip(&plain)), ("zstd", zstd(&plain))] {
            let mut flipped = packed.clone();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 0x55;
            for (case, body) in [
                ("plain", plain.clone()),
                ("empty", Vec::new()),
                ("cut", packed[..packed.len() - 5].to_vec()),
                ("flipped", flipped),
                ("with a tail", [&packed[..], b"tail"].concat()),
            ] {
                if (coding, case) == ("zstd", "flipped") {
                    // A frame without a checksum hides the damage, and the form may still be
                    // readable.
                    continue;
                }
                let (status, problem) = post(&server, kind, coding, body).await;
                assert_eq!(status, 400, "{kind} {coding} {case}: {problem}");
            }
            let (_, problem) = post(&server, kind, coding, plain.clone()).await;
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("Content-Encoding"), "{kind} {coding}: {detail}");
        }
    }
    assert!(server.store.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn unknown_codings_are_refused_with_a_list_of_the_known_ones() {
    let server = Server::start().await;
    for coding in ["br", "deflate", "gzip, gzip", "compress"] {
        let request = server.bare(Method::POST, PATH).bearer_auth(WRITE);
        let request = request.header("Content-Type", FORM_A).header("Content-Encoding", coding);
        let answer = request.body(form_a(1)).send().await.unwrap();
        assert_eq!(answer.status(), 415, "{coding}");
        assert_eq!(answer.headers()["accept-encoding"], "gzip, zstd");
    }
}
