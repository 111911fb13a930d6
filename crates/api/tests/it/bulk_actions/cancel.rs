//! `POST …/{task_id}/cancel` over the real store and runner: before, during and after a task.

use std::time::Duration;

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{PATH, create, forbidden, post, submit, this, uid};
use crate::real_server::RealServer;

on_each_store!(
    waiting_tasks_are_cancelled_at_once_and_completed_ones_not_at_all,
    calls_without_fields_refuse_fields,
);
on_each_store!(threads 4:
    cancels_and_retries_during_a_task_apply_each_entry_once,
);

async fn waiting_tasks_are_cancelled_at_once_and_completed_ones_not_at_all() {
    let mut real = RealServer::without_runner(ApiConfig::default()).await;
    let tasks = [create(&real, &[uid("a"), uid("b")]).await, create(&real, &[uid("c")]).await];
    assert!(tasks[0].get("position").is_none(), "the answer to POST knows no queue");
    for (task, position) in tasks.iter().zip([0, 1]) {
        assert_eq!(real.json(&this(task)).await["position"], position);
    }
    let cancel = format!("{}/cancel", this(&tasks[0]));
    assert!(forbidden(&real, &cancel).await);
    let (status, task) = post(&real, &cancel).await;
    assert_eq!((status, &task["outcome"]), (200, &json!("cancelled")));
    assert_eq!((&task["status"], &task["progress"]), (&json!("completed"), &json!(100)));
    assert_eq!(task["counts"], json!({"total":2,"succeeded":0,"failed":0,"unprocessed":2}));
    assert_eq!(real.text(task["links"]["results"].as_str().unwrap()).await, "[]");
    assert_eq!(real.json(&this(&tasks[1])).await["position"], 0);
    real.run_tasks();
    let done = real.completed(&this(&tasks[1])).await;
    assert!(done.get("position").is_none());
    for path in [cancel, format!("{}/cancel", this(&done))] {
        let (status, problem) = post(&real, &path).await;
        assert_eq!((status, &problem["code"]), (409, &json!("already_completed")));
    }
    let (status, _) = post(&real, &this(&done).replace("identity", "issues")).await;
    assert_eq!(status, 405);
    let strange = format!("{}/cancel", this(&done).replace("identity", "issues"));
    assert_eq!(post(&real, &strange).await.0, 404, "each path knows its own tasks");
    real.stop().await;
}

async fn calls_without_fields_refuse_fields() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    let task = create(&real, &[uid("a")]).await;
    for call in ["cancel", "retry"] {
        let path = format!("{}/{call}?wait=1", this(&task));
        let (status, problem) = submit(&real, &path, &[("dry_run", "true")]).await;
        assert_eq!(status, 400, "{problem}");
        let faults = problem["errors"].as_array().unwrap();
        let names: Vec<_> = faults.iter().map(|f| f["parameter"].as_str().unwrap()).collect();
        assert_eq!(names, ["wait", "dry_run"]);
    }
    assert_eq!(real.json(&this(&task)).await["status"], "created");
    real.stop().await;
}

async fn cancels_and_retries_during_a_task_apply_each_entry_once() {
    let real = RealServer::start().await;
    let line = |n: u32| format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}]}}\n");
    let lines: String = (0..10_000).map(line).collect();
    let mut task = {
        let part = reqwest::multipart::Part::text(lines).file_name("p.jsonl");
        let form = reqwest::multipart::Form::new()
            .text("action", "create_core_profiles")
            .part("payload", part);
        let answer = real.request(Method::POST, PATH).multipart(form).send().await.unwrap();
        answer.json::<Value>().await.unwrap()
    };
    let mut succeeded = 0;
    for pause in [0, 20, 60, 120, 1_000_000_u64] {
        if pause < 1_000 {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let (status, body) = post(&real, &format!("{}/cancel", this(&task))).await;
            assert!(status == 200 || body["code"] == "already_completed", "{status} {body}");
        }
        task = real.completed(&this(&task)).await;
        succeeded += task["counts"]["succeeded"].as_u64().unwrap();
        assert_eq!(task["counts"]["failed"], 0, "no entry is applied twice");
        if task["outcome"] == "succeeded" {
            break;
        }
        assert_eq!(task["outcome"], "cancelled");
        let (status, retry) = post(&real, &format!("{}/retry", this(&task))).await;
        assert_eq!(status, 201, "{retry}");
        assert_eq!(retry["counts"]["total"], task["counts"]["unprocessed"]);
        task = retry;
    }
    // A cancel does not wait for the chunk that is running, so even the first may come too late.
    assert_eq!(succeeded, 10_000);
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
    real.stop().await;
}
