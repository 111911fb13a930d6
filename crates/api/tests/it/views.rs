//! Named views over HTTP: who sees and changes them, their faults, and their limits.

use caseload_model::key::Access;
use caseload_model::named_view::{KEY_VIEWS_MAX, VIEW_NAME_CHARS_MAX, VIEW_QUERY_BYTES_MAX};
use caseload_teststore::on_each_store;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::real_server::RealServer;
use crate::server::{READ, WRITE};

on_each_store!(threads 2:
    a_view_is_created_listed_changed_and_deleted,
    a_key_sees_its_own_views_and_those_of_its_domain,
    a_reading_key_has_views_of_its_own_and_changes_none_of_the_domain,
    all_faults_of_a_view_come_at_once,
    names_are_taken_once_and_limits_are_named,
);

const ALL: &str = "/v1/acme/views";

async fn call(
    real: &RealServer,
    key: &str,
    (method, path): (Method, &str),
    body: Option<&Value>,
) -> Response {
    let mut request = real.client.request(method, real.url(path)).bearer_auth(key);
    if let Some(body) = body {
        request = request.json(body);
    }
    request.send().await.unwrap()
}

/// The JSON of an answer with this status.
async fn json_of(answer: Response, status: u16) -> Value {
    let (found, text) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(found, status, "{text}");
    serde_json::from_str(&text).unwrap()
}

async fn views(real: &RealServer, key: &str) -> Vec<Value> {
    let answer = json_of(call(real, key, (Method::GET, ALL), None).await, 200).await;
    answer["views"].as_array().unwrap().clone()
}

fn form(name: &str, scope: &str) -> Value {
    json!({"name": name, "list": "issues", "query": "state=new&tags=gold", "scope": scope})
}

/// A new view, and its path.
async fn create(real: &RealServer, key: &str, form: &Value) -> (Value, String) {
    let made = json_of(call(real, key, (Method::POST, ALL), Some(form)).await, 201).await;
    let path = format!("{ALL}/{}", made["id"].as_str().unwrap());
    (made, path)
}

async fn a_view_is_created_listed_changed_and_deleted() {
    let real = RealServer::start().await;
    assert_eq!(views(&real, WRITE).await, [json!(null); 0]);
    let sent = json!({
        "name": "Zornige ☂", "list": "people", "query": "tag=gold&q=%C3%A4", "scope": "domain",
    });
    let (made, path) = create(&real, WRITE, &sent).await;
    for (name, value) in sent.as_object().unwrap() {
        assert_eq!(&made[name], value, "{name}");
    }
    assert!(made["id"].as_str().unwrap().starts_with("view-"), "{made}");
    assert_eq!(made["created_at"], made["updated_at"]);
    // A form is as good.
    let fields = [("name", "Angry"), ("list", "imports"), ("query", ""), ("scope", "key")];
    let request = real.client.post(real.url(ALL)).bearer_auth(WRITE).form(&fields);
    let second = json_of(request.send().await.unwrap(), 201).await;
    assert_eq!(views(&real, WRITE).await, [second.clone(), made.clone()], "by name");
    let edit = json!({"name": "Calm"});
    let edited = json_of(call(&real, WRITE, (Method::PUT, &path), Some(&edit)).await, 200).await;
    let mut wanted = made.clone();
    wanted["name"] = "Calm".into();
    wanted["updated_at"] = edited["updated_at"].clone();
    assert_eq!(edited, wanted);
    assert!(edited["updated_at"].as_i64() >= made["created_at"].as_i64());
    assert_eq!(call(&real, WRITE, (Method::DELETE, &path), None).await.status(), 204);
    assert_eq!(views(&real, WRITE).await, [second]);
    for method in [Method::PUT, Method::DELETE] {
        let body = (method == Method::PUT).then_some(&edit);
        for path in [path.as_str(), "/v1/acme/views/%ff"] {
            let gone = call(&real, WRITE, (method.clone(), path), body).await;
            assert_eq!(json_of(gone, 404).await["code"], "not_found", "{method} {path}");
        }
    }
    let log = call(&real, WRITE, (Method::GET, "/v1/acme/changes?cursor=*"), None).await;
    assert!(!json_of(log, 200).await.to_string().contains("view-"), "views are not in the log");
}

async fn a_key_sees_its_own_views_and_those_of_its_domain() {
    let real = RealServer::start().await;
    real.add_other_domain(Access::Write).await;
    let (own, path) = create(&real, WRITE, &form("own", "key")).await;
    let (shared, _) = create(&real, WRITE, &form("shared", "domain")).await;
    assert_eq!(views(&real, WRITE).await, [own, shared.clone()]);
    assert_eq!(views(&real, READ).await, [shared]);
    for (method, body) in [(Method::PUT, Some(json!({"name": "mine"}))), (Method::DELETE, None)] {
        let answer = call(&real, READ, (method, &path), body.as_ref()).await;
        assert_eq!(answer.status(), 404, "a view of another key");
    }
    let other = path.replace("acme", "other");
    let answer = call(&real, "other", (Method::DELETE, &other), None).await;
    assert_eq!(answer.status(), 404, "a view of another domain");
    assert_eq!(views(&real, WRITE).await.len(), 2);
}

async fn a_reading_key_has_views_of_its_own_and_changes_none_of_the_domain() {
    let real = RealServer::start().await;
    let (_, path) = create(&real, WRITE, &form("shared", "domain")).await;
    let (_, own) = create(&real, READ, &form("own", "key")).await;
    for (method, path, body) in [
        (Method::POST, ALL, Some(form("more", "domain"))),
        (Method::PUT, path.as_str(), Some(json!({"name": "mine"}))),
        (Method::DELETE, path.as_str(), None),
    ] {
        let answer = call(&real, READ, (method.clone(), path), body.as_ref()).await;
        let answer = json_of(answer, 403).await;
        assert!(answer["detail"].as_str().unwrap().contains("write key"), "{method}: {answer}");
    }
    let edit = json!({"query": "state=rejected"});
    let edited = json_of(call(&real, READ, (Method::PUT, &own), Some(&edit)).await, 200).await;
    assert_eq!(edited["query"], "state=rejected");
    assert_eq!(call(&real, READ, (Method::DELETE, &own), None).await.status(), 204);
    assert_eq!(views(&real, READ).await.len(), 1);
}

async fn all_faults_of_a_view_come_at_once() {
    let real = RealServer::start().await;
    let long_name = "ä".repeat(VIEW_NAME_CHARS_MAX + 1);
    let long_query = "a".repeat(VIEW_QUERY_BYTES_MAX + 1);
    for (sent, wanted) in [
        (json!({}), vec!["list", "name", "query", "scope"]),
        (
            json!({"name": "a\nb", "list": "tasks", "query": "?a=b", "scope": "me", "id": "x"}),
            vec!["id", "list", "name", "query", "scope"],
        ),
        (
            json!({"name": long_name, "list": "issues", "query": long_query, "scope": "key"}),
            vec!["name", "query"],
        ),
        (
            json!({"name": " ", "list": "issues", "query": "text=a b", "scope": "key"}),
            vec!["name", "query"],
        ),
    ] {
        let answer = call(&real, WRITE, (Method::POST, ALL), Some(&sent)).await;
        let answer = json_of(answer, 400).await;
        let faults = answer["errors"].as_array().unwrap().iter();
        let mut named: Vec<_> = faults.map(|fault| fault["parameter"].as_str().unwrap()).collect();
        named.sort_unstable();
        assert_eq!(named, wanted, "{answer}");
    }
    let (_, path) = create(&real, WRITE, &form("one", "key")).await;
    let edit = json!({"scope": "domain", "list": "people"});
    let answer = json_of(call(&real, WRITE, (Method::PUT, &path), Some(&edit)).await, 400).await;
    assert_eq!(answer["errors"].as_array().unwrap().len(), 2, "{answer}");
    let unknown = format!("{ALL}?scope=key");
    let answer = json_of(call(&real, WRITE, (Method::GET, &unknown), None).await, 400).await;
    assert_eq!(answer["code"], "unknown_parameter");
    assert_eq!(views(&real, WRITE).await.len(), 1);
}

async fn names_are_taken_once_and_limits_are_named() {
    let real = RealServer::start().await;
    let (_, path) = create(&real, READ, &form("one", "key")).await;
    let again = call(&real, READ, (Method::POST, ALL), Some(&form("one", "key"))).await;
    assert_eq!(json_of(again, 409).await["code"], "name_taken");
    // Another key and another scope have names of their own.
    create(&real, WRITE, &form("one", "key")).await;
    create(&real, WRITE, &form("one", "domain")).await;
    for n in 1..KEY_VIEWS_MAX {
        create(&real, READ, &form(&format!("view {n}"), "key")).await;
    }
    let rename = json!({"name": "view 1"});
    let answer = call(&real, READ, (Method::PUT, &path), Some(&rename)).await;
    assert_eq!(json_of(answer, 409).await["code"], "name_taken");
    let full = call(&real, READ, (Method::POST, ALL), Some(&form("more", "key"))).await;
    let full = json_of(full, 409).await;
    assert_eq!(
        (&full["code"], &full["errors"][0]["parameter"]),
        (&json!("limit_reached"), &json!("scope"))
    );
    assert!(full["detail"].as_str().unwrap().contains("50 views"), "{full}");
    assert_eq!(call(&real, READ, (Method::DELETE, &path), None).await.status(), 204);
    create(&real, READ, &form("more", "key")).await;
}
