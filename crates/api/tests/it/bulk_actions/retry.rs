//! `POST …/{task_id}/retry` over the real store and runner: the new task, its entries and limits.

use std::sync::atomic::Ordering;

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{DAY, PATH, create, forbidden, post, this, uid};
use crate::real_server::RealServer;

on_each_store!(
    a_retry_runs_failed_and_unprocessed_entries_under_their_index_and_line,
    a_retry_may_be_repeated_and_obeys_the_queue_limit,
);

async fn a_retry_runs_failed_and_unprocessed_entries_under_their_index_and_line() {
    let mut real = RealServer::without_runner(ApiConfig::default()).await;
    let stopped = create(&real, &[uid("a"), uid("b")]).await;
    let path = format!("{}/retry", this(&stopped));
    let (status, problem) = post(&real, &path).await;
    assert_eq!((status, &problem["code"]), (409, &json!("not_completed")));
    post(&real, &format!("{}/cancel", this(&stopped))).await;
    assert!(forbidden(&real, &path).await);
    real.run_tasks();
    let answer = real.request(Method::POST, &path).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let retry: Value = answer.json().await.unwrap();
    assert_eq!(retry["parent_task_id"], stopped["task_id"]);
    assert_eq!((&retry["action"], &retry["status"]), (&stopped["action"], &json!("created")));
    assert_eq!(location, this(&retry));
    let retry = real.completed(&location).await;
    assert_eq!((&retry["outcome"], &retry["counts"]["total"]), (&json!("succeeded"), &json!(2)));
    let (status, problem) = post(&real, &format!("{location}/retry")).await;
    assert_eq!((status, &problem["code"]), (409, &json!("nothing_to_retry")));

    let lines =
        "{\"identities\":[{\"uid\":\"n\"}]}\n\n no json \n{\"identities\":[{\"uid\":\"a\"}]}";
    let parent = real.run("identity", "create_core_profiles", lines).await;
    let (_, child) = post(&real, &format!("{}/retry", this(&parent))).await;
    let child = real.completed(&this(&child)).await;
    assert_eq!(child["counts"], json!({"total":2,"succeeded":0,"failed":2,"unprocessed":0}));
    let errors = real.lines(&child, "errors").await;
    assert_eq!(errors, real.lines(&parent, "errors").await, "the same places, the same bytes");
    assert!(errors.contains("\"index\":2,\"line\":4"), "{errors}");
    let (status, grandchild) = post(&real, &format!("{}/retry", this(&child))).await;
    assert_eq!((status, &grandchild["parent_task_id"]), (201, &child["task_id"]));
    real.stop().await;
}

async fn a_retry_may_be_repeated_and_obeys_the_queue_limit() {
    let config = ApiConfig { unfinished_tasks_max: 1, ..ApiConfig::default() };
    let real = RealServer::without_runner(config).await;
    let parents = [create(&real, &[uid("a")]).await, {
        let cancelled = real.json(PATH).await["tasks"][0].clone();
        post(&real, &format!("{}/cancel", this(&cancelled))).await;
        create(&real, &[uid("b")]).await
    }];
    post(&real, &format!("{}/cancel", this(&parents[1]))).await;
    let retry = async |parent: &Value, key: &str| {
        let path = format!("{}/retry", this(parent));
        let request = real.request(Method::POST, &path).header("Idempotency-Key", key);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let first = retry(&parents[0], "k").await;
    assert_eq!(first.0, 201);
    assert_eq!(retry(&parents[0], "k").await, first, "though the queue is full");
    assert_eq!(retry(&parents[1], "k").await.0, 422);
    assert_eq!(retry(&parents[1], "l").await.0, 429);
    real.turned.store(31 * DAY, Ordering::SeqCst);
    let (status, body) = retry(&parents[1], "m").await;
    assert_eq!(status, 404);
    assert!(body.contains("\"code\":\"expired\""), "{body}");
    real.stop().await;
}
