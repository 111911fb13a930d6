//! `POST …/{task_id}/retry` over the real store and runner: the new task, its entries and limits.

use std::sync::atomic::Ordering;

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{DAY, PATH, create, forbidden, post, this, uid};
use crate::real_server::RealServer;

on_each_store!(
    a_retry_runs_failed_and_unprocessed_entries_under_their_index_and_line,
    a_retry_may_be_repeated_and_obeys_the_queue_limit,
    a_task_names_its_retry_and_a_second_one_is_refused,
    of_many_retries_at_once_one_is_accepted,
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

/// A task with a failed entry, which a retry does not mend.
async fn failing(real: &RealServer) -> Value {
    let lines = "{\"identities\":[{\"uid\":\"n\"}],\"age\":-1}";
    let task = real.run("identity", "create_core_profiles", lines).await;
    assert!(task.get("retried_by").is_none(), "{task}");
    task
}

async fn a_task_names_its_retry_and_a_second_one_is_refused() {
    let real = RealServer::start().await;
    let parent = failing(&real).await;
    let path = format!("{}/retry", this(&parent));
    let keyed = async || {
        let request = real.request(Method::POST, &path).header("Idempotency-Key", "once");
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let first = keyed().await;
    let retry: Value = serde_json::from_str(&first.1).unwrap();
    assert_eq!((first.0, &retry["parent_task_id"]), (201, &parent["task_id"]));
    let named = real.json(&this(&parent)).await;
    assert_eq!(named["retried_by"], retry["task_id"]);
    let listed = real.json(PATH).await;
    assert_eq!(listed["tasks"][1]["retried_by"], retry["task_id"], "{listed}");
    let (status, problem) = post(&real, &path).await;
    assert_eq!((status, &problem["code"]), (409, &json!("already_retried")));
    assert_eq!(problem["retried_by"], retry["task_id"]);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains(retry["task_id"].as_str().unwrap()), "{detail}");
    assert_eq!(keyed().await, first, "the repeat of the first retry is answered as before");
    let retry = real.completed(&this(&retry)).await;
    assert_eq!(post(&real, &path).await.0, 409, "also when the retry has ended");
    let (status, grandchild) = post(&real, &format!("{}/retry", this(&retry))).await;
    assert_eq!((status, &grandchild["parent_task_id"]), (201, &retry["task_id"]));
    let report = real.store.check().await.unwrap();
    assert_eq!(report.faults, Vec::<String>::new());
    real.stop().await;
}

async fn of_many_retries_at_once_one_is_accepted() {
    let real = RealServer::start().await;
    let parent = failing(&real).await;
    let path = format!("{}/retry", this(&parent));
    let answers = join_all((0..8).map(|_| post(&real, &path))).await;
    let (accepted, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|(status, _)| *status == 201);
    assert_eq!((accepted.len(), refused.len()), (1, 7), "{refused:?}");
    for (status, problem) in refused {
        assert_eq!((status, &problem["code"]), (409, &json!("already_retried")));
        assert_eq!(problem["retried_by"], accepted[0].1["task_id"]);
    }
    real.stop().await;
}
