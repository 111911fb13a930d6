//! Payloads that are too long for memory: their blocks are staged while they arrive and become one
//! task. A payload that is refused or breaks off leaves no blocks in the store.

use std::time::Duration;

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use futures_util::StreamExt as _;
use reqwest::{Body, Method};
use serde_json::Value;

use crate::real_server::RealServer;
use crate::server::{PATIENCE, Server, until};

on_each_store!(a_staged_payload_runs_like_any_other_and_its_repeat_changes_nothing,);

const PATH: &str = "/v2/acme/identity/bulk_actions";
const FORM: &str = "multipart/form-data; boundary=b";

/// Limits that are smaller than a block of the payload.
fn config() -> ApiConfig {
    ApiConfig { upload_bytes_held: 1000, ..ApiConfig::default() }
}

/// `count` entries of about a kilobyte, which compress badly.
fn entries(count: usize) -> Vec<String> {
    entries_of(count, 60)
}

/// `count` entries, each with `words` words of 16 digits.
fn entries_of(count: usize, words: usize) -> Vec<String> {
    let mut number = 1_u64;
    let mut digits = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{number:016x}")
    };
    let mut text = || (0..words).map(|_| digits()).collect::<String>();
    let entry = |n| format!("{{\"identities\":[{{\"uid\":\"u{n}\",\"note\":\"{}\"}}]}}", text());
    (0..count).map(entry).collect()
}

fn body(payload: &str, end: &str) -> String {
    let part = |name, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    part("action", "create_core_profiles") + &part("payload", payload) + end
}

/// A body in pieces, with an error of the client at its end if it breaks off.
fn pieces(body: &str, breaks_off: bool) -> Body {
    let whole = body.as_bytes().chunks(50_000).map(|piece| Ok(piece.to_vec()));
    let broken = breaks_off.then(|| Err(std::io::Error::other("the client is gone")));
    let all: Vec<std::io::Result<Vec<u8>>> = whole.chain(broken).collect();
    Body::wrap_stream(futures_util::stream::iter(all))
}

/// Waits until the server has discarded the staged blocks, and returns the ids of their tasks.
async fn discarded(server: &Server) -> Vec<String> {
    let ids = || server.store.discarded.lock().unwrap().clone();
    until("they are discarded", async || !ids().is_empty()).await;
    ids()
}

#[tokio::test]
async fn a_long_payload_is_staged_in_order_and_its_task_takes_it_over() {
    let array = format!("[{}]", entries(9000).join(",\n"));
    for payload in [entries(9000).join("\n"), array] {
        let server = Server::configured(config()).await;
        let request = server.request(Method::POST, PATH).header("Content-Type", FORM);
        let answer =
            request.body(pieces(&body(&payload, "--b--\r\n"), false)).send().await.unwrap();
        assert_eq!(answer.status(), 201);
        let task: Value = answer.json().await.unwrap();
        let command = server.store.created.lock().unwrap().remove(0);
        let staged = server.store.staged.lock().unwrap();
        let blocks: Vec<_> = staged.iter().flat_map(|part| &part.blocks).collect();
        assert!(staged.len() > 5, "{} parts", staged.len());
        assert!(staged.iter().all(|part| part.task_id == command.id && part.domain.0 == 1));
        assert_eq!(
            (blocks.len() as u32, task["task_id"].as_str()),
            (command.staged, Some(&*command.id))
        );
        let mut next = 0;
        for block in blocks.into_iter().chain(&command.blocks) {
            assert_eq!(block.first_index, next);
            next = block.last_index + 1;
        }
        assert_eq!((next, command.total), (9000, 9000));
    }
}

#[tokio::test]
async fn a_short_payload_is_not_staged() {
    let server = Server::start().await;
    let payload = entries(3000).join("\n");
    let request = server.request(Method::POST, PATH).header("Content-Type", FORM);
    let answer = request.body(pieces(&body(&payload, "--b--\r\n"), false)).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    assert!(server.store.staged.lock().unwrap().is_empty());
    assert_eq!(server.store.created.lock().unwrap()[0].staged, 0);
}

#[tokio::test]
async fn an_upload_is_read_while_the_store_stages_its_first_blocks() {
    let server = Server::start().await;
    let gate = server.store.stage_gate.close();
    // More than the buffers between client and server hold, and less than the limit of an upload.
    let body = body(&entries_of(9800, 90).join("\n"), "--b--\r\n");
    let last = futures_util::stream::once(async move {
        gate.notify_one();
        Ok::<_, std::io::Error>(Vec::new())
    });
    let request = server.request(Method::POST, PATH).header("Content-Type", FORM);
    let pieces: Vec<std::io::Result<Vec<u8>>> =
        body.as_bytes().chunks(50_000).map(|piece| Ok(piece.to_vec())).collect();
    let all = futures_util::stream::iter(pieces).chain(last);
    let answer = request.body(Body::wrap_stream(all)).send();
    let answer = tokio::time::timeout(PATIENCE, answer).await.expect("it is read");
    assert_eq!(answer.unwrap().status(), 201);
    assert!(server.store.created.lock().unwrap()[0].staged > 0);
}

#[tokio::test]
async fn blocks_in_the_middle_of_staging_are_discarded_if_the_client_disconnects() {
    let server = Server::start().await;
    let gate = server.store.stage_gate.close();
    let body = body(&entries(6000).join("\n"), "");
    let request = server.request(Method::POST, PATH).header("Content-Type", FORM);
    request.body(pieces(&body, true)).send().await.unwrap_err();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(server.store.discarded.lock().unwrap().is_empty(), "its part is not staged yet");
    gate.notify_one();
    let ids = discarded(&server).await;
    let mut staged: Vec<_> = server.store.staged.lock().unwrap().clone();
    // A busy server may have staged a second part before it noticed the end.
    staged.dedup_by(|a, b| a.task_id == b.task_id);
    assert_eq!(staged.iter().map(|part| part.task_id.clone()).collect::<Vec<_>>(), ids);
}

#[tokio::test]
async fn all_uploads_together_keep_to_their_memory_limit() {
    let config = ApiConfig { uploads_bytes_held: 1000, ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let payload = entries(9000).join("\n");
    for _ in 0..2 {
        let request = server.request(Method::POST, PATH).header("Content-Type", FORM);
        let body = pieces(&body(&payload, "--b--\r\n"), false);
        assert_eq!(request.body(body).send().await.unwrap().status(), 201);
    }
    let created = server.store.created.lock().unwrap();
    let held = |command: &caseload_store::CreateTask| -> usize {
        command.blocks.iter().map(|block| block.bytes.len()).sum()
    };
    assert!(created.iter().all(|command| held(command) < 2 << 20), "the rest is small");
    assert!(created.iter().all(|command| command.staged > 0), "{created:?}");
}

#[tokio::test]
async fn the_staged_blocks_of_a_refused_upload_are_discarded() {
    let lines = entries(6000).join("\n");
    let too_many = format!("{lines}\n{}", "{}\n".repeat(5000));
    let broken_array = format!("[{}, nonsense]", entries(6000).join(","));
    let open_array = format!("[{}", entries(6000).join(","));
    let unknown =
        "--b\r\nContent-Disposition: form-data; name=\"dry-rum\"\r\n\r\ntrue\r\n--b--\r\n";
    let cases: [(&str, &str, bool, u16); 6] = [
        (&too_many, "--b--\r\n", false, 400),
        (&broken_array, "--b--\r\n", false, 400),
        (&open_array, "--b--\r\n", false, 400),
        (&lines, unknown, false, 400),
        (&lines, "", false, 400),
        (&lines, "", true, 0),
    ];
    for (payload, end, breaks_off, status) in cases {
        let server = Server::configured(config()).await;
        let request = server.request(Method::POST, PATH).header("Content-Type", FORM);
        let answer = request.body(pieces(&body(payload, end), breaks_off)).send().await;
        let answered = answer.map_or(0, |answer| answer.status().as_u16());
        assert_eq!(answered, status, "{end:?}");
        let ids = discarded(&server).await;
        let staged = server.store.staged.lock().unwrap();
        assert!(staged.iter().all(|part| ids == [part.task_id.clone()]));
        assert!(server.store.created.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_store_that_cannot_stage_is_reported() {
    let server = Server::configured(config()).await;
    *server.store.fault.lock().unwrap() =
        Some(|| caseload_store::StoreError::Unavailable("the disk is full".to_owned()));
    let payload = entries(6000).join("\n");
    let request = server.request(Method::POST, PATH).header("Content-Type", FORM);
    let answer = request.body(pieces(&body(&payload, "--b--\r\n"), false)).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(discarded(&server).await.len(), 1);
}

async fn a_staged_payload_runs_like_any_other_and_its_repeat_changes_nothing() {
    let mut real = RealServer::without_runner(config()).await;
    real.run_tasks();
    let all = entries(9000);
    let payload = body(&all.join("\n"), "--b--\r\n");
    let mut paths = Vec::new();
    for _ in 0..2 {
        let request = real.request(Method::POST, PATH).header("Content-Type", FORM);
        let request = request.header("Idempotency-Key", "k").body(pieces(&payload, false));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 201);
        let task: Value = answer.json().await.unwrap();
        paths.push(task["links"]["self"].as_str().unwrap().to_owned());
    }
    assert_eq!(paths[0], paths[1]);
    assert_eq!(real.completed(&paths[0]).await["counts"]["succeeded"], 9000);
    let faults = real.store.check().await.unwrap().faults;
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!(real.json(PATH).await["total-hits"], 1);
    real.stop().await;
}
