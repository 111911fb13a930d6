//! `GET …/results` and `GET …/errors` as files: tables, tags, ranges, downloads and compressed
//! answers, all compared with the plain file.

use std::io::Read;

use caseload_model::task::Action;
use caseload_store::StoreError;
use reqwest::{Method, RequestBuilder, Response};

use crate::server::Server;

const PATH: &str = "/v2/acme/identity/bulk_actions/t";

/// A task with 300 results in three blocks, and errors with two faults.
async fn with_task() -> Server {
    let server = Server::start().await;
    let line = |n: u32| {
        let place = format!("{{\"index\":{n},\"line\":{},\"outcome\":\"created\"", n + 1);
        format!("{place},\"core-profile-id\":\"166631122147{n:04}\"}}\n")
    };
    let block = |range: std::ops::Range<u32>| range.map(line).collect::<String>();
    let blocks = [block(0..100), block(100..101), block(101..300)];
    let faults = "{\"index\":300,\"line\":301,\"errors\":[\
                  {\"code\":\"wrong_type\",\"pointer\":\"/age\",\
                  \"detail\":\"say 3, not \\\"3\\\"\",\"value\":\"3\"},\
                  {\"code\":\"required\",\"pointer\":\"/identities\",\
                  \"detail\":\"missing\"}],\"entry\":{\"age\":\"3\"}}\n";
    server.store.add_completed("t", 1, &[&blocks[0], &blocks[1], &blocks[2]], &[faults]);
    server.store.add_completed("clean", 1, &[], &[]);
    server
}

fn get(server: &Server, path: &str) -> RequestBuilder {
    server.request(Method::GET, path)
}

async fn with(server: &Server, path: &str, headers: &[(&str, &str)]) -> Response {
    let request =
        headers.iter().fold(get(server, path), |r, (name, value)| r.header(*name, *value));
    request.send().await.unwrap()
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn bytes(answer: Response) -> Vec<u8> {
    answer.bytes().await.unwrap().to_vec()
}

fn gunzip(packed: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut plain).unwrap();
    plain
}

#[tokio::test]
async fn results_are_a_table_by_format_or_accept() {
    let server = with_task().await;
    for (accept, query) in [("*/*", "?format=csv"), ("text/csv", ""), ("text/csv, */*;q=0.1", "")] {
        let answer = with(&server, &format!("{PATH}/results{query}"), &[("Accept", accept)]).await;
        assert_eq!(header(&answer, "content-type"), "text/csv; charset=utf-8; header=present");
        let text = answer.text().await.unwrap();
        let rows: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(rows.len(), 301);
        assert_eq!(rows[0], "index,line,outcome,core-profile-id,warnings");
        assert_eq!(rows[1], "0,1,created,1666311221470000,");
        assert_eq!(rows[300], "299,300,created,1666311221470299,");
    }
}

#[tokio::test]
async fn errors_are_one_row_per_fault() {
    let server = with_task().await;
    let text = get(&server, &format!("{PATH}/errors?format=csv")).send().await.unwrap();
    assert_eq!(
        text.text().await.unwrap(),
        "index,line,core-profile-id,code,pointer,detail,value,entry\r\n\
         300,301,,wrong_type,/age,\"say 3, not \"\"3\"\"\",3,\"{\"\"age\"\":\"\"3\"\"}\"\r\n\
         300,301,,required,/identities,missing,,\"{\"\"age\"\":\"\"3\"\"}\"\r\n"
    );
    let clean = "/v2/acme/identity/bulk_actions/clean/errors?format=csv";
    let header = get(&server, clean).send().await.unwrap().text().await.unwrap();
    assert_eq!(header, "index,line,core-profile-id,code,pointer,detail,value,entry\r\n");
}

#[tokio::test]
async fn profiles_have_one_column_per_field() {
    let server = Server::start().await;
    let line = "{\"core-profile-id\":\"7\",\"identities\":[{\"uid\":\"u\"}],\
                \"lifetime_value\":10.50,\"created_at\":1,\"updated_at\":2}\n";
    server.store.add_completed("t", 1, &[line], &[]);
    server.store.change_task("t", |task| task.action = Action::GetCoreProfiles);
    let text = get(&server, &format!("{PATH}/results?format=csv")).send().await.unwrap();
    let text = text.text().await.unwrap();
    let row = text.lines().nth(1).unwrap();
    assert_eq!(row, "7,\"[{\"\"uid\"\":\"\"u\"\"}]\",,,,,,,,10.50,,,,,,,1,2");
}

#[tokio::test]
async fn every_range_is_the_bytes_of_the_plain_file() {
    let server = with_task().await;
    for path in ["t/results", "t/errors", "clean/results"] {
        for format in ["json", "jsonl", "csv"] {
            let path = format!("/v2/acme/identity/bulk_actions/{path}?format={format}");
            let whole = get(&server, &path).send().await.unwrap();
            assert_eq!(header(&whole, "accept-ranges"), "bytes");
            let whole = bytes(whole).await;
            let total = whole.len();
            for (range, part) in [
                ("bytes=0-0".to_owned(), 0..1),
                ("bytes=1-1".to_owned(), 1..2),
                ("bytes=0-".to_owned(), 0..total),
                ("bytes=-1".to_owned(), total.saturating_sub(1)..total),
                (format!("bytes=-{}", total + 5), 0..total),
                ("bytes=7000-7999".to_owned(), 7000..8000),
                ("bytes=7900-99999999".to_owned(), 7900..total),
                (format!("bytes={}-", total.saturating_sub(1)), total.saturating_sub(1)..total),
                (format!("bytes={total}-"), total..total),
                ("bytes=-0".to_owned(), total..total),
            ] {
                let answer = with(&server, &path, &[("Range", &range)]).await;
                let part = part.start.min(total)..part.end.min(total);
                let place = header(&answer, "content-range").to_owned();
                if part.is_empty() {
                    assert_eq!(answer.status(), 416, "{path} {range}");
                    assert_eq!(place, format!("bytes */{total}"));
                    continue;
                }
                assert_eq!(answer.status(), 206, "{path} {range}");
                assert_eq!(place, format!("bytes {}-{}/{total}", part.start, part.end - 1));
                assert_eq!(header(&answer, "content-length"), part.len().to_string());
                assert_eq!(bytes(answer).await, whole[part], "{path} {range}");
            }
        }
    }
}

#[tokio::test]
async fn a_file_assembled_from_many_ranges_equals_the_file() {
    let server = with_task().await;
    for format in ["json", "jsonl", "csv"] {
        let path = format!("{PATH}/results?format={format}");
        let whole = bytes(get(&server, &path).send().await.unwrap()).await;
        let mut joined = Vec::new();
        while joined.len() < whole.len() {
            let range = format!("bytes={}-{}", joined.len(), joined.len() + 996);
            joined.extend(bytes(with(&server, &path, &[("Range", &range)]).await).await);
        }
        assert!(joined == whole, "{format}");
    }
}

#[tokio::test]
async fn other_ranges_than_one_of_bytes_are_ignored() {
    let server = with_task().await;
    let path = format!("{PATH}/results");
    for range in ["bytes=0-1,3-4", "bytes=9-3", "lines=0-1", "nonsense"] {
        let answer = with(&server, &path, &[("Range", range)]).await;
        assert_eq!(answer.status(), 200, "{range}");
        assert!(answer.headers().get("content-range").is_none());
    }
}

#[tokio::test]
async fn a_range_applies_only_to_the_file_of_if_range() {
    let server = with_task().await;
    let path = format!("{PATH}/results");
    let tag = header(&get(&server, &path).send().await.unwrap(), "etag").to_owned();
    assert!(tag.starts_with('"'), "{tag} is strong");
    for (condition, status) in
        [(tag.as_str(), 206), (&format!("W/{tag}"), 200), ("\"x\"", 200), ("Sat, 01 Jan", 200)]
    {
        let headers = [("Range", "bytes=0-9"), ("If-Range", condition)];
        assert_eq!(with(&server, &path, &headers).await.status(), status, "{condition}");
    }
}

#[tokio::test]
async fn tags_differ_by_task_kind_and_format_and_avoid_a_second_download() {
    let server = with_task().await;
    let mut tags = std::collections::HashSet::new();
    for path in ["t/results", "t/errors", "clean/results"] {
        for format in ["json", "jsonl", "csv"] {
            let path = format!("/v2/acme/identity/bulk_actions/{path}?format={format}");
            let tag = header(&get(&server, &path).send().await.unwrap(), "etag").to_owned();
            let tags_sent = format!("\"x\", W/{tag}");
            for sent in [tag.as_str(), tags_sent.as_str(), "*"] {
                let answer = with(&server, &path, &[("If-None-Match", sent)]).await;
                assert_eq!((answer.status().as_u16(), header(&answer, "etag")), (304, &*tag));
                assert_eq!(bytes(answer).await, b"");
            }
            let answer = with(&server, &path, &[("If-None-Match", "\"x\"")]).await;
            assert_eq!(answer.status(), 200);
            assert!(tags.insert(tag), "two files have the same tag");
        }
    }
}

#[tokio::test]
async fn a_download_is_a_gzip_file_with_a_name() {
    let server = with_task().await;
    for (kind, format) in [("results", "json"), ("results", "jsonl"), ("errors", "csv")] {
        let path = format!("{PATH}/{kind}?format={format}");
        let plain = bytes(get(&server, &path).send().await.unwrap()).await;
        for accept in ["identity", "gzip, zstd"] {
            let headers = [("Accept-Encoding", accept), ("Range", "bytes=0-1")];
            let answer = with(&server, &format!("{path}&download=true"), &headers).await;
            assert_eq!(answer.status(), 200);
            assert_eq!(header(&answer, "content-type"), "application/gzip");
            assert_eq!(header(&answer, "content-encoding"), "");
            assert_eq!(
                header(&answer, "content-disposition"),
                format!("attachment; filename=\"create_core_profiles-t-{kind}.{format}.gz\"")
            );
            assert!(gunzip(&bytes(answer).await) == plain, "{path}");
        }
    }
    for (word, content_type) in [
        ("false", "application/json; charset=utf-8"),
        ("False", "application/json; charset=utf-8"),
        ("0", "application/json; charset=utf-8"),
        ("True", "application/gzip"),
        ("1", "application/gzip"),
    ] {
        let path = format!("{PATH}/results?download={word}");
        let answer = get(&server, &path).send().await.unwrap();
        assert_eq!(header(&answer, "content-type"), content_type, "{word}");
    }
    let answer =
        get(&server, &format!("{PATH}/results?download=yes&format=x")).send().await.unwrap();
    let body: serde_json::Value = answer.json().await.unwrap();
    assert_eq!(body["errors"].as_array().unwrap().len(), 2, "{body}");
}

#[tokio::test]
async fn large_answers_are_compressed_as_the_caller_prefers() {
    let server = with_task().await;
    for path in [format!("{PATH}/results"), format!("{PATH}/results?format=csv")] {
        let plain = get(&server, &path).send().await.unwrap();
        let tag = header(&plain, "etag").to_owned();
        let plain = bytes(plain).await;
        for (accept, encoding) in [
            ("gzip", "gzip"),
            ("zstd", "zstd"),
            ("gzip, deflate, br, zstd", "zstd"),
            ("zstd;q=0.1, gzip;q=0.2", "gzip"),
            ("identity;q=0, *", "zstd"),
            ("br", ""),
            ("identity", ""),
            ("gzip;q=0", ""),
            ("identity;q=0", ""),
        ] {
            let answer = with(&server, &path, &[("Accept-Encoding", accept)]).await;
            assert_eq!(header(&answer, "content-encoding"), encoding, "{accept}");
            let vary: Vec<_> = answer.headers().get_all("vary").iter().collect();
            assert_eq!(vary, ["Accept", "Accept-Encoding"], "{accept}");
            let is_weak = header(&answer, "etag") == format!("W/{tag}");
            assert_eq!(is_weak, !encoding.is_empty(), "{accept}");
            let body = bytes(answer).await;
            let body = match encoding {
                "gzip" => gunzip(&body),
                "zstd" => zstd::decode_all(&body[..]).unwrap(),
                _ => body,
            };
            assert!(body == plain, "{accept}");
        }
    }
}

#[tokio::test]
async fn small_answers_ranges_and_errors_are_not_compressed() {
    let server = with_task().await;
    for (path, headers) in [
        (PATH.to_owned(), vec![]),
        (format!("{PATH}/errors"), vec![]),
        (format!("{PATH}/results"), vec![("Range", "bytes=0-9000")]),
        (format!("{PATH}/nothing"), vec![]),
    ] {
        let headers = [headers, vec![("Accept-Encoding", "gzip")]].concat();
        let answer = with(&server, &path, &headers).await;
        assert_eq!(header(&answer, "content-encoding"), "", "{path}");
    }
    let headers = [("Accept-Encoding", "gzip, identity;q=0")];
    let answer = with(&server, PATH, &headers).await;
    assert_eq!(header(&answer, "content-encoding"), "gzip", "small, but nothing else will do");
    assert!(serde_json::from_slice::<serde_json::Value>(&gunzip(&bytes(answer).await)).is_ok());
}

#[tokio::test]
async fn lists_of_4_kib_and_more_are_compressed() {
    let server = with_task().await;
    for (size, encoding) in [(3000, ""), (5000, "gzip")] {
        server.store.page.lock().unwrap().body = format!("\"{}\"", "x".repeat(size)).into_bytes();
        let answer = with(&server, "/v1/acme/issues", &[("Accept-Encoding", "gzip")]).await;
        assert_eq!(header(&answer, "content-encoding"), encoding);
        let body = bytes(answer).await;
        let body = if encoding.is_empty() { body } else { gunzip(&body) };
        assert!(body.len() > size && body.ends_with(b"}"));
    }
}

#[tokio::test]
async fn head_has_the_content_length_of_get() {
    let server = with_task().await;
    for format in ["json", "jsonl", "csv"] {
        let path = format!("{PATH}/results?format={format}");
        let whole = bytes(get(&server, &path).send().await.unwrap()).await;
        let answer = server.request(Method::HEAD, &path).header("Range", "bytes=0-1");
        let answer = answer.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(header(&answer, "content-length"), whole.len().to_string(), "{format}");
        let packed = server.request(Method::HEAD, &path).header("Accept-Encoding", "zstd");
        let packed = packed.send().await.unwrap();
        assert_eq!(header(&packed, "content-encoding"), "zstd");
        assert_eq!(header(&packed, "content-length"), "");
    }
}

#[tokio::test]
async fn a_file_that_lost_records_never_looks_complete() {
    let server = with_task().await;
    server.store.change_task("t", |task| task.counts.succeeded += 1);
    for format in ["json", "jsonl", "csv"] {
        let answer = get(&server, &format!("{PATH}/results?format={format}")).send().await;
        // Cut before the head arrived, or in the body.
        let Ok(answer) = answer else { continue };
        assert!(answer.bytes().await.is_err(), "{format}: the connection is cut");
    }
}

#[tokio::test]
async fn a_store_that_fails_is_an_error_for_every_kind_of_file() {
    let server = with_task().await;
    server.store.fail_records(|| StoreError::Unavailable("secret".to_owned()));
    for (query, range) in
        [("?format=csv", true), ("?format=jsonl", true), ("?download=true", false)]
    {
        let headers: &[_] = if range { &[("Range", "bytes=0-1")] } else { &[] };
        let answer = with(&server, &format!("{PATH}/results{query}"), headers).await;
        assert_eq!(answer.status(), 503, "{query}");
        assert!(!answer.text().await.unwrap().contains("secret"));
    }
}
