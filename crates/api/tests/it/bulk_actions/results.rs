//! `GET …/results` and `GET …/errors`: formats, blocks joined into one body, and the states of a
//! task without readable records. If the store fails before the first byte, the answer is an error
//! and not a cut body.

use std::sync::atomic::Ordering;

use caseload_model::task::TaskStatus;
use caseload_store::StoreError;
use reqwest::Method;

use crate::scripted_store::NOW;
use crate::server::{Server, snapshot};

const PATH: &str = "/v2/acme/identity/bulk_actions/t";

async fn with_task() -> Server {
    let server = Server::start().await;
    let results = ["{\"index\":0,\"n\":1.10}\n{\"index\":2}\n", "{\"index\":3}\n"];
    server.store.add_completed("t", 1, &results, &["{\"index\":1}\n"]);
    server.store.add_completed("clean", 1, &[], &[]);
    server
}

#[tokio::test]
async fn records_are_an_array_or_lines_as_requested() {
    let server = with_task().await;
    let array = "[{\"index\":0,\"n\":1.10},{\"index\":2},{\"index\":3}]";
    let lines = "{\"index\":0,\"n\":1.10}\n{\"index\":2}\n{\"index\":3}\n";
    for (accept, query, content_type, body) in [
        ("*/*", "", "application/json", array),
        ("application/x-ndjson", "", "application/x-ndjson", lines),
        ("*/*", "?format=jsonl", "application/x-ndjson", lines),
        ("*/*", "?format=ndjson", "application/x-ndjson", lines),
        ("application/jsonl", "", "application/jsonl", lines),
        ("application/ndjson", "", "application/ndjson", lines),
        ("application/jsonl, application/json", "", "application/json", array),
        ("application/*;q=0.5, application/json;q=0.4", "", "application/x-ndjson", lines),
        ("application/x-ndjson", "?format=json", "application/json", array),
    ] {
        let request = server.request(Method::GET, &format!("{PATH}/results{query}"));
        let answer = request.header("Accept", accept).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let with_charset = format!("{content_type}; charset=utf-8");
        assert_eq!(answer.headers()["content-type"], with_charset, "{accept} {query}");
        assert_eq!(answer.text().await.unwrap(), body, "{accept} {query}");
    }
    assert_eq!(
        server.get(&format!("{PATH}/errors")).await.text().await.unwrap(),
        "[{\"index\":1}]"
    );
}

#[tokio::test]
async fn an_empty_file_is_an_empty_array_or_has_no_lines() {
    let server = with_task().await;
    for (path, body) in
        [("clean/results", "[]"), ("clean/errors", "[]"), ("clean/errors?format=jsonl", "")]
    {
        let answer = server.get(&format!("/v2/acme/identity/bulk_actions/{path}")).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.text().await.unwrap(), body, "{path}");
    }
}

#[tokio::test]
async fn head_answers_without_a_body() {
    let server = with_task().await;
    let answer = server.request(Method::HEAD, &format!("{PATH}/results")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.text().await.unwrap(), "");
}

#[tokio::test]
async fn before_completion_records_are_a_conflict_with_retry_after() {
    let server = with_task().await;
    server.store.change_task("t", |task| task.status = TaskStatus::Queued);
    insta::assert_snapshot!(server.snapshot(&format!("{PATH}/results")).await);
    assert_eq!(server.get(&format!("{PATH}/errors")).await.status(), 409);
}

#[tokio::test]
async fn records_expire_at_their_time_and_the_task_remains() {
    let server = with_task().await;
    server.now.store(NOW.0 + 999, Ordering::SeqCst);
    assert_eq!(server.get(&format!("{PATH}/results")).await.status(), 200);
    server.now.store(NOW.0 + 1000, Ordering::SeqCst);
    insta::assert_snapshot!(server.snapshot(&format!("{PATH}/results")).await);
    assert_eq!(server.get(&format!("{PATH}/errors")).await.status(), 404);
    assert_eq!(server.get(PATH).await.status(), 200);
}

#[tokio::test]
async fn unknown_formats_and_parameters_are_named() {
    let server = with_task().await;
    let answer = server.get(&format!("{PATH}/results?format=xml&formt=json")).await;
    insta::assert_snapshot!(snapshot(answer).await);
    let answer = server.get(&format!("{PATH}/results?format=xml")).await;
    insta::assert_snapshot!(snapshot(answer).await);
}

#[tokio::test]
async fn damage_at_the_first_block_is_an_error_and_not_a_cut_body() {
    let server = with_task().await;
    server.store.fail(|| StoreError::Corrupt("block 7 of /var/data".to_owned()));
    let answer = server.get(&format!("{PATH}/results")).await;
    insta::assert_snapshot!(snapshot(answer).await);
}
