//! `GET …/bulk_actions/{task_id}`: the wire form of the task record, and the keys and paths that
//! can read it. A task is visible only below its own path, to keys of its own domain.

use caseload_model::task::{Counts, TaskStatus};
use reqwest::Method;

use crate::server::{OTHER, READ, Server, snapshot};

const ID: &str = "0198f0c2-0000-7000-8000-000000000001";
const PATH: &str = "/v2/acme/identity/bulk_actions/0198f0c2-0000-7000-8000-000000000001";

async fn with_task() -> Server {
    let server = Server::start().await;
    server.store.add_completed(ID, 1, &["{}\n{}\n"], &["{}\n"]);
    server
}

#[tokio::test]
async fn a_completed_task_shows_its_whole_record() {
    insta::assert_snapshot!(with_task().await.snapshot(PATH).await);
}

#[tokio::test]
async fn members_of_the_record_have_the_documented_order() {
    let text = with_task().await.get(PATH).await.text().await.unwrap();
    let members = [
        "task_id",
        "action",
        "status",
        "progress",
        "errors",
        "results",
        "outcome",
        "dry_run",
        "counts",
        "warnings",
        "created_at",
        "queued_at",
        "started_at",
        "completed_at",
        "expires_at",
        "links",
    ];
    let places: Vec<_> = members.iter().map(|m| text.find(&format!("\"{m}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
}

#[tokio::test]
async fn a_running_task_has_no_outcome_yet() {
    let server = with_task().await;
    server.store.change_task(ID, |task| {
        task.status = TaskStatus::Processing;
        task.outcome = None;
        task.completed_at = None;
        task.counts = Counts { total: 3, succeeded: 1, failed: 0, unprocessed: 2 };
    });
    let task: serde_json::Value = server.get(PATH).await.json().await.unwrap();
    assert_eq!(task["progress"], 33);
    assert_eq!((&task["errors"], &task["results"]), (&false.into(), &false.into()));
    assert!(task["outcome"].is_null() && task["completed_at"].is_null());
}

#[tokio::test]
async fn a_read_key_may_read_and_a_trailing_slash_is_the_same_path() {
    let server = with_task().await;
    for path in [PATH.to_owned(), format!("{PATH}/")] {
        let answer = server.bare(Method::GET, &path).bearer_auth(READ).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn tasks_of_other_paths_and_domains_are_not_found() {
    let server = with_task().await;
    let issues = PATH.replace("identity", "issues");
    insta::assert_snapshot!(server.snapshot(&issues).await);
    for path in [
        PATH.replace("0001", "0002"),
        PATH.replace("0198f0c2", "%ff"),
        PATH.replace("0198f0c2", "..%2F"),
        format!("{issues}/results"),
    ] {
        assert_eq!(server.get(&path).await.status(), 404, "{path}");
    }
    let path = PATH.replace("acme", "other");
    let answer = server.bare(Method::GET, &path).bearer_auth(OTHER).send().await.unwrap();
    assert_eq!(answer.status(), 404);
}

#[tokio::test]
async fn the_status_takes_no_query_parameters() {
    let server = with_task().await;
    let answer = server.get(&format!("{PATH}?wiat=1")).await;
    insta::assert_snapshot!(snapshot(answer).await);
}

#[tokio::test]
async fn other_methods_are_refused_with_a_list_of_the_allowed_ones() {
    let server = with_task().await;
    for (method, path, allow) in [
        (Method::DELETE, PATH, "GET,HEAD"),
        (Method::POST, PATH, "GET,HEAD"),
        (Method::PUT, "/v2/acme/identity/bulk_actions", "POST,GET,HEAD"),
        (Method::PATCH, "/v1/acme/issues/7", "PUT,GET,HEAD,DELETE"),
        (Method::POST, "/healthz", "GET,HEAD"),
    ] {
        let answer = server.request(method, path).send().await.unwrap();
        assert_eq!(answer.status(), 405, "{path}");
        assert_eq!(answer.headers()["allow"], allow, "{path}");
        let body: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(body["code"], "method_not_allowed");
    }
}
