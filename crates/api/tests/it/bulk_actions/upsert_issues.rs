//! The field `upsert` of imports: its effect, its way into retries, runs and keys, and its faults.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, PATH, post, submit, this};
use crate::real_server::RealServer;

on_each_store!(
    an_import_with_upsert_replaces_issues_and_a_dry_run_says_so,
    a_retry_and_a_run_replace_as_their_parent_does,
    only_imports_take_upsert_and_only_truth_values,
    a_key_belongs_to_a_request_with_its_upsert,
);

fn entry(title: &str) -> Value {
    json!({"id": 7, "title": title, "created_at": 1000, "tags": [title]})
}

/// A completed import of these entries, with these fields.
async fn import(real: &RealServer, entries: &[Value], fields: &[(&str, &str)]) -> Value {
    let payload = Value::from(entries).to_string();
    let all = [&[("action", "import_issues"), ("payload", payload.as_str())], fields].concat();
    let (code, task) = submit(real, ISSUES, &all).await;
    assert_eq!(code, 201, "{task}");
    real.completed(&this(&task)).await
}

async fn outcomes(real: &RealServer, task: &Value) -> Vec<String> {
    let results = real.json(&format!("{}/results", this(task))).await;
    let outcome = |record: &Value| record["outcome"].as_str().unwrap().to_owned();
    results.as_array().unwrap().iter().map(outcome).collect()
}

async fn an_import_with_upsert_replaces_issues_and_a_dry_run_says_so() {
    let real = RealServer::start().await;
    import(&real, &[entry("a")], &[]).await;
    let entries = [entry("a"), entry("b"), entry("c"), json!({"id": 8, "created_at": 5})];
    let wanted = ["unchanged", "updated", "updated", "created"];
    let upsert = ("upsert", "True");
    let dry = import(&real, &entries, &[upsert, ("dry_run", "1")]).await;
    assert_eq!(outcomes(&real, &dry).await, wanted);
    let tag = async || {
        let answer = real.request(Method::GET, "/v1/acme/issues/7").send().await.unwrap();
        let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
        let body: Value = answer.json().await.unwrap();
        (tag, body["issues"][0]["title"].as_str().unwrap().to_owned())
    };
    let before = tag().await;
    assert_eq!(before.1, "a");
    let task = import(&real, &entries, &[upsert]).await;
    assert_eq!((&task["upsert"], &task["outcome"]), (&json!(true), &json!("succeeded")));
    assert_eq!(outcomes(&real, &task).await, wanted);
    let after = tag().await;
    assert_eq!(after.1, "c");
    assert_ne!(after.0, before.0, "the same times, another issue");
    let found = real.json("/v1/acme/issues?tags=b,a").await;
    assert_eq!(found["total-hits"], 0);
    let plain = import(&real, &[entry("d")], &[("upsert", "false")]).await;
    assert_eq!((plain.get("upsert"), &plain["counts"]["failed"]), (None, &json!(1)));
    let report = real.store.check().await.unwrap();
    assert_eq!(report.faults, Vec::<String>::new());
    real.stop().await;
}

async fn a_retry_and_a_run_replace_as_their_parent_does() {
    let real = RealServer::start().await;
    import(&real, &[entry("a")], &[]).await;
    let fields = [("upsert", "true"), ("dry_run", "true")];
    let dry = import(&real, &[entry("b"), json!({"id": 9})], &fields).await;
    let (code, run) = post(&real, &format!("{}/run", this(&dry))).await;
    assert_eq!((code, &run["upsert"]), (201, &json!(true)));
    let run = real.completed(&this(&run)).await;
    assert_eq!(outcomes(&real, &run).await, ["updated"]);
    let (code, retry) = post(&real, &format!("{}/retry", this(&run))).await;
    assert_eq!((code, &retry["upsert"]), (201, &json!(true)));
    real.stop().await;
}

async fn only_imports_take_upsert_and_only_truth_values() {
    let real = RealServer::start().await;
    let payload = ("payload", "[{}]");
    for (path, action, upsert, code) in [
        (ISSUES, "delete_issues", "true", "unknown_parameter"),
        (ISSUES, "delete_issues", "perhaps", "unknown_parameter"),
        (PATH, "upsert_core_profiles", "true", "unknown_parameter"),
        (ISSUES, "import_issues", "perhaps", "invalid_value"),
    ] {
        let fields = [("action", action), payload, ("upsert", upsert)];
        let (status, problem) = submit(&real, path, &fields).await;
        let fault = &problem["errors"][0];
        assert_eq!(
            (status, &fault["parameter"], &fault["code"]),
            (400, &json!("upsert"), &json!(code))
        );
    }
    let fields = [("action", "import_issues"), payload, ("upsert", "1"), ("upsert", "0")];
    let (status, problem) = submit(&real, ISSUES, &fields).await;
    assert_eq!((status, &problem["code"]), (400, &json!("conflicting_parameter")));
    let body = json!({"action": "import_issues", "payload": [entry("a")], "upsert": null});
    let sent = real.request(Method::POST, ISSUES).json(&body).send().await.unwrap();
    assert_eq!(sent.status(), 201);
    real.stop().await;
}

async fn a_key_belongs_to_a_request_with_its_upsert() {
    let real = RealServer::start().await;
    let sent = async |upsert: &str| {
        let payload = json!([entry("a")]).to_string();
        let mut fields = vec![("action", "import_issues"), ("payload", payload.as_str())];
        if !upsert.is_empty() {
            fields.push(("upsert", upsert));
        }
        let request = real.request(Method::POST, ISSUES).header("Idempotency-Key", "k");
        request.form(&fields).send().await.unwrap().status().as_u16()
    };
    let mut codes = Vec::new();
    for upsert in ["", "false", "true"] {
        codes.push(sent(upsert).await);
    }
    assert_eq!(codes, [201, 201, 422]);
    real.stop().await;
}
