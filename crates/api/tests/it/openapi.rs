//! The description of the API against a running server: it is served without a key, it equals the
//! committed file, it has exactly the methods of every path, and it describes every member of the
//! answers.

use std::collections::BTreeSet;
use std::path::Path;

use caseload_api::{openapi, openapi_text};
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use crate::real_server::RealServer;
use crate::server::Server;

on_each_store!(every_member_of_every_answer_is_described,);

#[test]
fn the_committed_description_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi.json");
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        committed == openapi_text(),
        "openapi.json differs from the description of the server; regenerate it: \
         cargo run -- openapi > openapi.json"
    );
}

#[tokio::test]
async fn the_description_is_served_without_a_key() {
    let server = Server::start().await;
    let answer = server.bare(Method::GET, "/openapi.json").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/json; charset=utf-8");
    assert!(answer.headers().contains_key("x-request-id"));
    assert_eq!(answer.json::<Value>().await.unwrap(), openapi());
    let head = server.bare(Method::HEAD, "/openapi.json/").send().await.unwrap();
    assert_eq!(head.status(), 200);
}

#[tokio::test]
async fn every_path_has_exactly_the_described_methods() {
    let server = Server::start().await;
    let document = openapi();
    let unheard = Method::from_bytes(b"BREW").unwrap();
    for (template, methods) in document["paths"].as_object().unwrap() {
        let path = template
            .replace("{domain}", "acme")
            .replace("{issue_id}", "1")
            .replace("{core_profile_id}", "1")
            .replace("{import_id}", "019b7716-2a80-7c3e-9a51-0f3c8d1e4b22")
            .replace("{task_id}", "019b7716-2a80-7c3e-9a51-0f3c8d1e4b22");
        let answer = server.request(unheard.clone(), &path).send().await.unwrap();
        assert_eq!(answer.status(), 405, "{template}");
        let allowed: BTreeSet<_> = answer.headers()["allow"]
            .to_str()
            .unwrap()
            .split(',')
            .map(|method| method.trim().to_lowercase())
            .filter(|method| method != "head")
            .collect();
        let described = methods.as_object().unwrap().keys().cloned().collect();
        assert_eq!(allowed, described, "{template}");
    }
}

/// The members of `value` that `schema` does not describe, by their places.
fn undescribed(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let schema = match schema["$ref"].as_str() {
        Some(target) => document.pointer(&target[1..]).expect(target),
        None => schema,
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let place = format!("{at}/{name}");
                match (schema["properties"].get(name), schema.get("additionalProperties")) {
                    (Some(schema), _) => undescribed(document, schema, value, &place, found),
                    (None, Some(Value::Bool(true))) => {}
                    (None, Some(schema)) if schema.is_object() => {
                        undescribed(document, schema, value, &place, found);
                    }
                    _ => found.push(place),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                undescribed(document, &schema["items"], item, at, found);
            }
        }
        _ => {}
    }
}

fn assert_described(name: &str, value: &Value) {
    let document = openapi();
    let mut found = Vec::new();
    let schema = &document["components"]["schemas"][name];
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(required.as_str().unwrap()).is_some(), "{name} has no {required}");
    }
    undescribed(&document, schema, value, name, &mut found);
    assert!(found.is_empty(), "not in the description: {found:?}");
}

/// An issue with every field there is.
fn whole_issue() -> Value {
    let person = json!({
        "name": "Ada", "id": "p-1", "emails": ["ada@example.org"], "phone_number": "1",
    });
    let file = json!({"url": "/x", "file_name": "x.png", "content_type": "image/png", "size": 3});
    json!({
        "title": "No mail", "tags": ["billing"], "created_at": 5, "updated_at": 9,
        "original_created_at": 4, "language": "en", "platform_type": "web",
        "issue_mode_data": {"issue_mode": "chat"}, "cc": ["bob@example.org"],
        "state_data": {"state": "resolved", "changed_at": 8},
        "messages": [{
            "body": "Nothing arrives.", "created_at": 5, "origin": "end-user", "author": person,
            "attachments": [file], "intent_labels": ["a"], "sentiment": {"label": "b"},
            "type": "Text",
        }],
        "meta": {"hardware": {"device-model": "x"}, "userType": "y"},
        "custom_fields": {"plan": {"type": "dropdown", "value": "gold"}},
        "feedback_rating": 5, "feedback_comment": "great",
        "queue": {"id": "1", "name": "Queue A"},
        "private_notes": [{"body": "n", "created_at": 6, "author": person}],
        "current_predict_label": "a", "original_predict_label": "b",
        "sentiment_analysis": {"sentiment_enabled": true}, "smart_intents": {"intent": {}},
    })
}

async fn every_member_of_every_answer_is_described() {
    let real = RealServer::start().await;
    let entries = format!("{}\n{{\"title\":1}}\n", whole_issue());
    let task = real.run("issues", "import_issues", &entries).await;
    assert_described("Task", &task);
    let includes = "includes=%5B%22feedback%22,%22custom_fields%22,%22queue%22,%22private_notes%22,\
                    %22predict_labels%22,%22sentiment_analysis%22,%22smart_intents%22%5D";
    let list = real.json(&format!("/v1/acme/issues?{includes}")).await;
    assert_eq!(list["issues"][0]["private_notes"][0]["body"], "n", "{list}");
    assert_described("IssueEnvelope", &list);
    assert_described("Issue", &list["issues"][0]);
    assert_described("Message", &list["issues"][0]["messages"][0]);
    let record = |lines: String| serde_json::from_str::<Value>(lines.trim()).unwrap();
    assert_described("ImportedIssue", &record(real.lines(&task, "results").await));
    assert_described("ErrorRecord", &record(real.lines(&task, "errors").await));
    assert_described("TaskEnvelope", &real.json("/v2/acme/issues/bulk_actions").await);

    let entry = r#"{"identities":[{"uid":"u","x":"y"}],"names":{"first_name":"A"},"age":3}"#;
    let task = real.run("identity", "create_core_profiles", entry).await;
    let created = record(real.lines(&task, "results").await);
    assert_described("CreatedCoreProfile", &created);
    let get = json!({"core-profile-id": created["core-profile-id"]}).to_string();
    let task = real.run("identity", "get_core_profiles", &get).await;
    assert_described("CoreProfile", &record(real.lines(&task, "results").await));
    let task = real.run("identity", "get_app_profiles", r#"{"pid":"p-1"}"#).await;
    assert_described("AppProfile", &record(real.lines(&task, "results").await));
    real.stop().await;
}
