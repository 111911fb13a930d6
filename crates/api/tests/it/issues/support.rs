//! A server with a desk of agents, and the calls that the tests of writing make.

use caseload_api::ApiConfig;
use caseload_store::{CreateAgent, CreateApp};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use crate::real_server::RealServer;

pub(crate) const ISSUES: &str = "/v1/acme/issues";

/// A server with the agents `eva` and `tom`, and the app `mobile`.
pub(crate) async fn desk() -> RealServer {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    for (id, name) in [("eva", "Eva"), ("tom", "Tom")] {
        let command = CreateAgent {
            domain: real.domain,
            id: id.to_owned(),
            name: name.to_owned(),
            email: format!("{name}@Desk.example"),
            origin: real.clock.now().into(),
        };
        real.store.create_agent(command).await.unwrap();
    }
    let (id, title) = ("mobile".to_owned(), "Mobile".to_owned());
    let command = CreateApp { domain: real.domain, id, title, origin: real.clock.now().into() };
    real.store.create_app(command).await.unwrap();
    real
}

pub(crate) async fn json_of(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: {text}")))
}

pub(crate) async fn send(request: RequestBuilder) -> (u16, Value) {
    json_of(request.send().await.unwrap()).await
}

/// Sends a form; the answer, whose status has to be `status`.
pub(crate) async fn form(
    real: &RealServer,
    method: Method,
    path: &str,
    fields: &[(&str, &str)],
    status: u16,
) -> Value {
    let (found, body) = send(real.request(method, path).form(fields)).await;
    assert_eq!(found, status, "{path} {fields:?}: {body}");
    body
}

/// Makes an issue; its path.
pub(crate) async fn create(real: &RealServer, fields: &[(&str, &str)]) -> String {
    let made = form(real, Method::POST, ISSUES, fields, 201).await;
    format!("{ISSUES}/{}", made["id"].as_str().unwrap())
}

pub(crate) async fn put(real: &RealServer, path: &str, fields: &[(&str, &str)]) -> Value {
    form(real, Method::PUT, path, fields, 200).await["updated-data"].take()
}

pub(crate) async fn say(real: &RealServer, path: &str, fields: &[(&str, &str)]) -> Value {
    form(real, Method::POST, &format!("{path}/messages"), fields, 201).await
}

/// The issue in every detail.
pub(crate) async fn issue(real: &RealServer, path: &str) -> Value {
    let includes = "%5B%22meta%22,%22private_notes%22,%22queue%22,%22custom_fields%22%5D";
    real.json(&format!("{path}?includes={includes}")).await["issues"][0].take()
}

pub(crate) async fn state(real: &RealServer, path: &str) -> (String, i64, i64) {
    let issue = issue(real, path).await;
    (
        issue["state_data"]["state"].as_str().unwrap().to_owned(),
        issue["state_data"]["changed_at"].as_i64().unwrap(),
        issue["updated_at"].as_i64().unwrap(),
    )
}

pub(crate) async fn assert_sound(real: &RealServer) {
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
}
