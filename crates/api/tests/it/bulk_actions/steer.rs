//! Dry runs, cancel, retry, lists and expiry over the real store and runner.

use std::sync::atomic::Ordering;
use std::time::Duration;

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::real::Real;
use crate::server::{OTHER, READ};

on_each_store!(
    a_dry_run_tells_what_would_be_and_writes_nothing,
    a_dry_run_beyond_the_size_of_a_chunk_still_knows_its_first_entry,
    a_dry_run_of_an_import_tells_what_would_be_and_writes_nothing,
    waiting_tasks_are_cancelled_at_once_and_completed_ones_not_at_all,
    calls_without_fields_refuse_fields,
    a_retry_runs_what_failed_or_was_left_and_keeps_the_places,
    a_retry_may_be_repeated_and_keeps_to_the_limit_of_the_queue,
    tasks_are_listed_newest_first_in_pages,
    expired_results_are_gone_and_then_removed_while_the_task_stays,
);
on_each_store!(threads 4:
    cancels_and_retries_in_the_middle_apply_each_entry_once,
);

const PATH: &str = "/v2/acme/identity/bulk_actions";
const ISSUES: &str = "/v2/acme/issues/bulk_actions";
const DAY: i64 = 24 * 3_600_000;

fn uid(value: &str) -> Value {
    json!({"identities": [{"uid": value}]})
}

/// Sends an empty POST with the write key; status and body.
async fn post(real: &Real, path: &str) -> (u16, Value) {
    let answer = real.request(Method::POST, path).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn submit(real: &Real, path: &str, fields: &[(&str, &str)]) -> (u16, Value) {
    let answer = real.request(Method::POST, path).form(fields).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn create(real: &Real, entries: &[Value]) -> Value {
    let payload = Value::from(entries.to_vec()).to_string();
    let fields = [("action", "create_core_profiles"), ("payload", payload.as_str())];
    let (status, task) = submit(real, PATH, &fields).await;
    assert_eq!(status, 201, "{task}");
    task
}

fn this(task: &Value) -> String {
    task["links"]["self"].as_str().unwrap().to_owned()
}

async fn forbidden(real: &Real, path: &str) -> bool {
    let url = format!("http://{}{path}", real.address);
    let answer = real.client.post(url).bearer_auth(READ).send().await.unwrap();
    answer.status() == StatusCode::FORBIDDEN
}

async fn a_dry_run_tells_what_would_be_and_writes_nothing() {
    let real = Real::start().await;
    let first = create(&real, &[uid("a")]).await;
    let first = real.completed(&this(&first)).await;
    let created = real.json(first["links"]["results"].as_str().unwrap()).await;
    let id = created[0]["core-profile-id"].as_str().unwrap().to_owned();
    let payload = json!([uid("x"), uid("a"), uid("x"), {"age": "30"}, uid("y")]).to_string();
    let dry =
        [("action", "create_core_profiles"), ("payload", payload.as_str()), ("dry_run", "true")];
    let url = format!("http://{}{PATH}", real.address);
    let answer = real.client.post(url).bearer_auth(READ).form(&dry).send().await.unwrap();
    assert_eq!(answer.status(), 201, "a read key may try what it may not do");
    let task: Value = answer.json().await.unwrap();
    let task = real.completed(&this(&task)).await;
    assert_eq!(
        (&task["dry_run"], &task["outcome"]),
        (&json!(true), &json!("completed_with_errors"))
    );
    let results = real.json(task["links"]["results"].as_str().unwrap()).await;
    let created = |index: u32| json!({"index":index,"line":index + 1,"outcome":"created"});
    assert_eq!(results, json!([created(0), created(4)]));
    let errors = real.json(task["links"]["errors"].as_str().unwrap()).await;
    let details: Vec<_> =
        errors.as_array().unwrap().iter().map(|e| e["errors"][0]["detail"].to_string()).collect();
    assert!(details[0].contains(&id) && details[1].contains("entry 0"), "{details:?}");
    assert_eq!(errors[2]["errors"].as_array().unwrap().len(), 2, "{errors}");
    let again = create(&real, &[uid("x"), uid("y")]).await;
    assert_eq!(real.completed(&this(&again)).await["outcome"], "succeeded");
    real.stop().await;
}

async fn a_dry_run_beyond_the_size_of_a_chunk_still_knows_its_first_entry() {
    let real = Real::start().await;
    let long = "x".repeat(80_000);
    let entry = |uid: &str| {
        json!({"identities":[{"uid":uid}],"custom_fields":{"a":long,"b":long,"c":long}}).to_string()
    };
    let mut lines: Vec<_> = (0..40).map(|n| entry(&format!("u{n}"))).collect();
    lines.push(entry("u0"));
    let lines = lines.join("\n");
    assert!(lines.len() > 9 << 20, "more than a chunk takes");
    let form = reqwest::multipart::Form::new()
        .text("action", "create_core_profiles")
        .text("dry_run", "true")
        .text("payload", lines);
    let answer = real.request(Method::POST, PATH).multipart(form).send().await.unwrap();
    let task: Value = answer.json().await.unwrap();
    let task = real.completed(&this(&task)).await;
    assert_eq!(task["counts"], json!({"total":41,"succeeded":40,"failed":1,"unprocessed":0}));
    let errors = real.lines(&task, "errors").await;
    assert!(errors.contains("\"index\":40") && errors.contains("entry 0 of"), "{errors:.300}");
    real.stop().await;
}

async fn a_dry_run_of_an_import_tells_what_would_be_and_writes_nothing() {
    let real = Real::start().await;
    let issue = |id: u32, title: &str| json!({"id":id,"created_at":1000 + id,"title":title});
    let payload = json!([issue(1, "a"), issue(2, "b"), {"id": "x"}, issue(1, "c")]).to_string();
    let fields = [("action", "import_issues"), ("payload", payload.as_str()), ("dry_run", "true")];
    let (status, task) = submit(&real, ISSUES, &fields).await;
    assert_eq!(status, 201, "{task}");
    let task = real.completed(&this(&task)).await;
    assert_eq!(task["counts"], json!({"total":4,"succeeded":2,"failed":2,"unprocessed":0}));
    assert_eq!(real.json("/v1/acme/issues").await["total-hits"], 0);
    let (_, real_task) = submit(&real, ISSUES, &fields[..2]).await;
    let real_task = real.completed(&this(&real_task)).await;
    assert_eq!(real_task["counts"], task["counts"]);
    assert_eq!(real.json("/v1/acme/issues").await["total-hits"], 2);
    real.stop().await;
}

async fn waiting_tasks_are_cancelled_at_once_and_completed_ones_not_at_all() {
    let mut real = Real::without_runner(ApiConfig::default()).await;
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
    let real = Real::without_runner(ApiConfig::default()).await;
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

async fn a_retry_runs_what_failed_or_was_left_and_keeps_the_places() {
    let mut real = Real::without_runner(ApiConfig::default()).await;
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

async fn a_retry_may_be_repeated_and_keeps_to_the_limit_of_the_queue() {
    let config = ApiConfig { unfinished_tasks_max: 1, ..ApiConfig::default() };
    let real = Real::without_runner(config).await;
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

async fn tasks_are_listed_newest_first_in_pages() {
    let real = Real::without_runner(ApiConfig::default()).await;
    assert_eq!(
        real.text(PATH).await,
        "{\"page\":1,\"page-size\":100,\"tasks\":[],\"total-hits\":0,\"total-pages\":1}"
    );
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.insert(0, create(&real, &[uid(&n.to_string())]).await["task_id"].clone());
    }
    let get = [("action", "get_core_profiles"), ("payload", "[{}]")];
    submit(&real, PATH, &get).await;
    submit(&real, ISSUES, &[("action", "import_issues"), ("payload", "[{}]")]).await;
    let list = async |query: &str| real.json(&format!("{PATH}{query}")).await;
    let creates = list("?action=create_core_profiles&page-size=2&page=2").await;
    let found: Vec<_> =
        creates["tasks"].as_array().unwrap().iter().map(|t| t["task_id"].clone()).collect();
    assert_eq!(found, ids[2..4]);
    assert_eq!((&creates["total-hits"], &creates["total-pages"]), (&json!(5), &json!(3)));
    assert_eq!(creates["tasks"][0]["links"]["self"], this(&creates["tasks"][0]));
    assert_eq!(list("").await["total-hits"], 6);
    assert_eq!(list("?status=completed").await["total-hits"], 0);
    assert_eq!(real.json(ISSUES).await["total-hits"], 1);
    let path = format!("{PATH}?status=created&page_size=2&page=2");
    let answer = real.request(Method::GET, &path).send().await.unwrap();
    let page = |n| format!("<{PATH}?status=created&page_size=2&page={n}>");
    let links = format!(
        "{}; rel=\"first\", {}; rel=\"prev\", {}; rel=\"next\", {}; rel=\"last\"",
        page(1),
        page(1),
        page(3),
        page(3)
    );
    assert_eq!(answer.headers()["link"], links.as_str());
    let wrong = format!("{PATH}?status=done&action=import_issues&page=501&order=asc");
    let answer = real.request(Method::GET, &wrong).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["errors"].as_array().unwrap().len(), 4, "{problem}");
    let url = format!("http://{}{PATH}", real.address);
    let other = real.client.get(url).bearer_auth(OTHER).send().await.unwrap();
    assert_eq!(other.status(), 401, "a key that this store does not know");
    real.stop().await;
}

async fn expired_results_are_gone_and_then_removed_while_the_task_stays() {
    let real = Real::start().await;
    let task = real
        .run("identity", "create_core_profiles", "{\"identities\":[{\"uid\":\"a\"}]}\nx\n")
        .await;
    let id = task["task_id"].as_str().unwrap().to_owned();
    let results = task["links"]["results"].as_str().unwrap();
    let expires = task["expires_at"].as_i64().unwrap();
    let kept = async || {
        let kind = caseload_store::RecordKind::Results;
        real.store.record_block(real.domain, &id, kind, 0).await.unwrap().is_some()
    };
    real.turned.store(expires - real.clock.now().0 - 10_000, Ordering::SeqCst);
    assert_eq!(real.json(results).await.as_array().unwrap().len(), 1);
    real.turned.fetch_add(11_000, Ordering::SeqCst);
    let answer = real.request(Method::GET, results).send().await.unwrap();
    assert_eq!(answer.status(), 404);
    assert_eq!(answer.json::<Value>().await.unwrap()["code"], "expired");
    assert!(kept().await, "a download that began before may go on");
    real.turned.fetch_add(DAY, Ordering::SeqCst);
    while kept().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(real.store.payload_block(real.domain, &id, 0).await.unwrap(), None);
    assert_eq!(real.json(&this(&task)).await["counts"], task["counts"]);
    assert_eq!(real.json(PATH).await["total-hits"], 1);
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
    real.stop().await;
}

async fn cancels_and_retries_in_the_middle_apply_each_entry_once() {
    let real = Real::start().await;
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
    let (mut succeeded, mut cancelled) = (0, 0);
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
        cancelled += 1;
        assert_eq!(task["outcome"], "cancelled");
        let (status, retry) = post(&real, &format!("{}/retry", this(&task))).await;
        assert_eq!(status, 201, "{retry}");
        assert_eq!(retry["counts"]["total"], task["counts"]["unprocessed"]);
        task = retry;
    }
    assert!(cancelled > 0, "the first cancel comes before the end");
    assert_eq!(succeeded, 10_000);
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
    real.stop().await;
}
