//! The requests that the tests of tasks share: create, submit, cancel, retry.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::real_server::RealServer;
use crate::server::{READ, url_of};

pub(super) const PATH: &str = "/v2/acme/identity/bulk_actions";
pub(super) const ISSUES: &str = "/v2/acme/issues/bulk_actions";
/// Milliseconds of a day.
pub(super) const DAY: i64 = 24 * 3_600_000;

pub(super) fn uid(value: &str) -> Value {
    json!({"identities": [{"uid": value}]})
}

/// Sends an empty POST with the write key; status and body.
pub(super) async fn post(real: &RealServer, path: &str) -> (u16, Value) {
    let answer = real.request(Method::POST, path).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

pub(super) async fn submit(real: &RealServer, path: &str, fields: &[(&str, &str)]) -> (u16, Value) {
    let answer = real.request(Method::POST, path).form(fields).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

pub(super) async fn create(real: &RealServer, entries: &[Value]) -> Value {
    let payload = Value::from(entries.to_vec()).to_string();
    let fields = [("action", "create_core_profiles"), ("payload", payload.as_str())];
    let (status, task) = submit(real, PATH, &fields).await;
    assert_eq!(status, 201, "{task}");
    task
}

pub(super) fn this(task: &Value) -> String {
    task["links"]["self"].as_str().unwrap().to_owned()
}

pub(super) async fn forbidden(real: &RealServer, path: &str) -> bool {
    let url = url_of(real.address, path);
    let answer = real.client.post(url).bearer_auth(READ).send().await.unwrap();
    answer.status() == StatusCode::FORBIDDEN
}
