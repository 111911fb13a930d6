//! The memory of requests: pages of large issues, a budget that is used up, and bodies that unpack
//! to very much more than was sent.

use std::io::Write;
use std::time::{Duration, Instant};

use caseload_api::ApiConfig;
use caseload_store::ListStep;
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::real_server::RealServer;
use crate::server::{OTHER, PATIENCE, Server, WRITE, until};
use crate::wire::connect;

const MIB: usize = 1 << 20;

on_each_store!(
    a_page_of_large_issues_arrives_whole_and_is_rendered_8_mib_ahead,
    a_page_without_messages_has_every_issue_however_long_its_messages_are,
    a_long_issue_among_short_ones_is_in_its_place_on_every_page,
);

/// An issue with a message of so many bytes, three times.
fn large(id: usize, bytes: usize) -> String {
    let message = json!({"body": "x".repeat(bytes), "created_at": id, "origin": "end-user"});
    let messages = [&message, &message, &message];
    json!({"id": id, "title": "large", "created_at": id, "messages": messages}).to_string() + "\n"
}

async fn a_page_of_large_issues_arrives_whole_and_is_rendered_8_mib_ahead() {
    let real = RealServer::start().await;
    let lines: String = (1..=5).map(|id| large(id, if id == 5 { 10 } else { MIB })).collect();
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["counts"]["succeeded"], 5, "{task}");
    let ids = |page: &Value| -> Vec<u64> {
        let issues = page["issues"].as_array().unwrap().iter();
        issues.map(|issue| issue["id"].as_u64().unwrap()).collect()
    };
    for (query, expected) in [
        ("sort-order=asc", &[1, 2, 3, 4, 5][..]),
        ("sort-order=desc", &[5, 4, 3, 2, 1]),
        ("sort-order=asc&page=2&page-size=3", &[4, 5]),
        ("sort-by=update-time&page-size=4", &[5, 4, 3, 2]),
        ("state=new&messages={\"or\":[\"xxx\"]}&sort-order=asc&page-size=3", &[1, 2, 3]),
    ] {
        let answer = real.request(Method::GET, &format!("/v1/acme/issues?{query}")).send().await;
        let answer = answer.unwrap();
        let is_cut = expected.iter().filter(|id| **id != 5).count() > 2;
        assert_eq!(answer.headers().contains_key("etag"), !is_cut, "{query}");
        let page: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        assert_eq!(ids(&page), expected, "{query}");
        assert_eq!(page["total-hits"], 5, "{query}");
    }
    // By cursor, a step ends before 8 MiB and the next one goes on.
    let (mut cursor, mut walked, mut steps) = (String::new(), Vec::new(), 0);
    loop {
        let text = real.text(&format!("/v1/acme/issues?cursor={cursor}&sort-order=asc")).await;
        assert!(text.len() <= 8 * MIB + 4096, "{}", text.len());
        let step: Value = serde_json::from_str(&text).unwrap();
        walked.extend(ids(&step));
        steps += 1;
        let Some(next) = step["next-cursor"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    assert_eq!((walked, steps), (vec![1, 2, 3, 4, 5], 2));
    let lines = real.text("/v1/acme/issues?format=jsonl&sort-order=asc").await;
    assert_eq!(lines.lines().count(), 6);
    real.stop().await;
}

async fn a_page_without_messages_has_every_issue_however_long_its_messages_are() {
    let real = RealServer::start().await;
    let lines: String = (1..=12).map(|id| large(id, MIB)).collect();
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["counts"]["succeeded"], 12, "{task}");
    for query in ["", "&cursor=", "&state=new&messages={\"or\":[\"xxx\"]}"] {
        let path = format!("/v1/acme/issues?excludes=messages&page-size=100{query}");
        let page = real.json(&path).await;
        assert_eq!(page["issues"].as_array().unwrap().len(), 12, "{query}");
    }
    real.stop().await;
}

async fn a_long_issue_among_short_ones_is_in_its_place_on_every_page() {
    let real = RealServer::start().await;
    let bytes = |id| if id % 4 == 3 { MIB / 2 } else { 10 };
    let lines: String = (1..=12).map(|id| large(id, bytes(id))).collect();
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["counts"]["succeeded"], 12, "{task}");
    for filter in ["", "&state=new", "&messages={\"or\":[\"xxx\"]}"] {
        for (size, pages) in [(100, 1), (5, 3), (1, 12), (1000, 1)] {
            let mut ids = Vec::new();
            for page in 1..=pages {
                let path =
                    format!("/v1/acme/issues?sort-order=asc&page-size={size}&page={page}{filter}");
                let answer = real.json(&path).await;
                assert_eq!(answer["total-hits"], 12, "{path}");
                let issues = answer["issues"].as_array().unwrap();
                for issue in issues {
                    let id = issue["id"].as_u64().unwrap();
                    let body = issue["messages"][0]["body"].as_str().unwrap();
                    assert_eq!(body.len(), bytes(id as usize), "{path}: issue {id}");
                    ids.push(id);
                }
            }
            assert_eq!(ids, (1..=12).collect::<Vec<u64>>(), "{filter} in pages of {size}");
        }
    }
    real.stop().await;
}

#[tokio::test]
async fn who_finds_no_memory_waits_a_second_and_gets_503_while_health_answers() {
    let config = ApiConfig { memory_bytes: 8 * MIB, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let gate = server.store.list_gate.close();
    let slow = tokio::spawn(server.request(Method::GET, "/v1/acme/issues").send());
    until("the list begins", async || !server.store.listed.lock().unwrap().is_empty()).await;
    let begun = Instant::now();
    let own = server.request(Method::GET, "/v1/acme/issues").send();
    let other = server.bare(Method::GET, "/v1/other/issues").bearer_auth(OTHER).send();
    let health = server.bare(Method::GET, "/healthz").send();
    let (own, other, health) = tokio::join!(own, other, health);
    assert_eq!(health.unwrap().status(), 200);
    for refused in [own.unwrap(), other.unwrap()] {
        assert_eq!(refused.status(), 503);
        assert!(refused.headers().contains_key("retry-after"));
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["code"], "unavailable", "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("memory"), "{problem}");
    }
    assert!(begun.elapsed() >= Duration::from_secs(1));
    gate.notify_one();
    assert_eq!(slow.await.unwrap().unwrap().status(), 200);
    assert_eq!(server.get("/v1/acme/issues").await.status(), 200, "the memory was returned");
}

#[tokio::test]
async fn reads_that_wait_for_their_turn_have_no_memory_yet() {
    let config = ApiConfig { memory_bytes: 8 * MIB, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let turn = server.store.turn_gate.close();
    let list = || tokio::spawn(server.request(Method::GET, "/v1/acme/issues").send());
    let waiting: Vec<_> = (0..20).map(|_| list()).collect();
    until("the lists wait", async || server.store.listed.lock().unwrap().len() == 20).await;
    // A step by cursor does not wait, and takes more than half of the memory.
    server.store.steps.lock().unwrap().push_back(ListStep::default());
    assert_eq!(server.get("/v1/acme/issues?cursor=").await.status(), 200);
    turn.notify_one();
    for read in waiting {
        assert_eq!(read.await.unwrap().unwrap().status(), 200);
    }
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

async fn post(server: &Server, kind: &str, body: Vec<u8>) -> (u16, Value) {
    let request = server.request(Method::POST, "/v2/acme/identity/bulk_actions");
    let request = request.header("Content-Type", kind).header("Content-Encoding", "gzip");
    let answer = request.body(body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn a_part_header_of_many_megabytes_is_refused_after_16_kib() {
    let server = Server::start().await;
    let filler: Vec<u8> = (0..8 * MIB).map(|n| b'a' + (n % 23) as u8).collect();
    let head = b"--b\r\nContent-Disposition: form-data; name=\"action\"\r\nX: ";
    let body = [&head[..], &filler, b"\r\n\r\nx\r\n--b--\r\n"].concat();
    let (status, problem) = post(&server, "multipart/form-data; boundary=b", gzip(&body)).await;
    assert_eq!((status, &problem["code"]), (413, &"too_large".into()), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("16384"), "{problem}");
}

#[tokio::test]
async fn empty_gzip_members_and_bodies_that_unpack_a_thousandfold_are_refused() {
    let server = Server::start().await;
    let form = "application/x-www-form-urlencoded";
    let begin = gzip(b"action=get_core_profiles&payload=%5B%7B%7D%5D");
    let (status, task) = post(&server, form, [begin.clone(), gzip(b"").repeat(999)].concat()).await;
    assert_eq!(status, 201, "{task}");
    let (status, problem) = post(&server, form, [begin, gzip(b"").repeat(1000)].concat()).await;
    assert_eq!((status, &problem["code"]), (413, &"too_large".into()), "{problem}");
    let zeros = [b"x=".to_vec(), vec![b'0'; 16 * MIB]].concat();
    let (status, problem) = post(&server, form, gzip(&zeros)).await;
    assert_eq!((status, &problem["code"]), (413, &"too_large".into()), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("1000 times"), "{problem}");
}

/// Reads until the server closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request with a key, whose head goes on with a field of so many bytes.
fn begun_head(bytes: usize) -> String {
    let field = "x".repeat(bytes);
    format!(
        "GET /v1/acme/issues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\nX: {field}"
    )
}

#[tokio::test]
async fn long_heads_draw_from_the_budget_and_connections_of_those_without_memory_end() {
    let config = ApiConfig { memory_bytes: 2 * MIB, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    // An address with a key may have more connections.
    let mut known = connect(&server).await;
    let short = format!("{}\r\n\r\n", begun_head(1));
    known.write_all(short.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    known.read_exact(&mut begin).await.unwrap();
    let mut open = Vec::new();
    for _ in 0..30 {
        let mut stream = connect(&server).await;
        stream.write_all(begun_head(100_000).as_bytes()).await.unwrap();
        open.push(stream);
    }
    // None of the heads has an end, so no request is answered.
    let answers = open.iter_mut().map(|stream| Box::pin(rest(stream)));
    let first = futures_util::future::select_all(answers);
    let (answer, _, _) = tokio::time::timeout(PATIENCE, first).await.expect("a connection ends");
    assert_eq!(answer, "");
    drop(open);
    let long = format!("{}\r\nConnection: close\r\n\r\n", begun_head(60_000));
    let patience = async {
        loop {
            let mut stream = connect(&server).await;
            // The server may end the connection before it has the whole head.
            let _ = stream.write_all(long.as_bytes()).await;
            if rest(&mut stream).await.starts_with("HTTP/1.1 200") {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, patience).await.expect("the memory returns");
}

#[tokio::test]
async fn idle_connections_draw_from_the_budget() {
    let config = ApiConfig { memory_bytes: 9 * MIB, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    assert_eq!(server.get("/v1/acme/issues").await.status(), 200);
    let mut idle = Vec::new();
    for _ in 0..150 {
        idle.push(connect(&server).await);
    }
    // The server accepts them one by one.
    let answered = async |status: u16| {
        until("the answer", async || server.get("/v1/acme/issues").await.status() == status).await;
    };
    answered(503).await;
    assert_eq!(server.get("/healthz").await.status(), 200);
    drop(idle);
    answered(200).await;
}
