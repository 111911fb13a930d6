//! JSON bodies of the calls that write issues: the same effects, answers and errors as of forms,
//! with lists and maps unquoted.

use std::io::Write as _;

use caseload_teststore::on_each_store;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::support::{ISSUES, assert_sound, create, desk, issue, json_of, send};
use crate::real_server::RealServer;

on_each_store!(
    every_writing_call_takes_a_json_object,
    a_json_body_and_a_form_make_the_same_issue,
    a_repeat_in_another_form_of_body_is_the_same_request,
    every_wrong_member_of_a_json_body_has_its_fault,
    a_member_that_comes_twice_in_a_json_body_is_refused,
    a_body_that_is_not_a_json_object_is_refused_at_its_byte,
);

fn body(real: &RealServer, method: Method, path: &str, body: &Value) -> RequestBuilder {
    real.request(method, path).json(body)
}

/// Parameter and code of each fault.
fn faults(body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let fault = |fault: &Value| (text(&fault["parameter"]), text(&fault["code"]));
    body["errors"].as_array().unwrap().iter().map(fault).collect()
}

async fn every_writing_call_takes_a_json_object() {
    let real = desk().await;
    let path = format!("{ISSUES}/1");
    let steps = [
        (Method::POST, ISSUES.to_owned(), json!({"message_body": "x", "tags": ["a"]}), 201),
        (
            Method::POST,
            format!("{path}/messages"),
            json!({"message-body": "y", "agent-id": "eva"}),
            201,
        ),
        (
            Method::POST,
            format!("{path}/private-notes"),
            json!({"note-text": "n", "profile_id": "tom"}),
            201,
        ),
        (Method::PUT, path.clone(), json!({"title": "T", "meta": {"k": 1, "l": {"m": true}}}), 200),
        (
            Method::PUT,
            path.clone(),
            json!({"custom_fields": {"c": {"type": "number", "value": 2}}}),
            200,
        ),
        (Method::PUT, ISSUES.to_owned(), json!({"issue_ids": [1, "1"], "status": "Resolved"}), 200),
    ];
    let mut answers = Vec::new();
    for (method, path, fields, status) in steps {
        let (found, answer) = send(body(&real, method.clone(), &path, &fields)).await;
        assert_eq!(found, status, "{method} {path}: {answer}");
        answers.push(answer);
    }
    assert_eq!(
        answers[3]["updated-data"],
        json!({"title": "T", "meta": {"k": "1", "l": {"m": "true"}}})
    );
    assert_eq!(answers[5], json!({"issue-count": 1, "edit-info": {"status": "resolved"}}));
    let issue = issue(&real, &path).await;
    assert_eq!((&issue["tags"], &issue["title"]), (&json!(["a"]), &json!("T")));
    assert_eq!(issue["messages"][1]["author"]["id"], "eva");
    assert_eq!(issue["private_notes"][0]["author"]["id"], "tom");
    assert_eq!(issue["custom_fields"], json!({"c": {"type": "number", "value": 2}}));
    assert_eq!(issue["state_data"]["state"], "resolved");
    assert_sound(&real).await;
    real.stop().await;
}

async fn a_json_body_and_a_form_make_the_same_issue() {
    let real = desk().await;
    let fields = json!({
        "message-body": "Nothing \u{1F600}\u{0} <b>", "email": "Ada@Example.org", "title": "Help",
        "author-name": "Ada", "platform_type": "ios", "platform-id": 7, "app-id": "mobile",
        "language": null, "cc": ["b@example.org"], "tags": ["new", "ü,ñ"],
        "meta": {"level": 3, "gone": null},
        "custom_fields": {"n": {"type": "checkbox", "value": true}, "gone": null},
    });
    let form: Vec<(String, String)> = fields
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| match value {
            Value::String(text) => (name.clone(), text.clone()),
            other => (name.clone(), other.to_string()),
        })
        .collect();
    let digits = concat!(
        r#"{"message-body":"x","custom_fields":"#,
        r#"{"n":{"type":"number","value":12345678901234567890.10}}}"#,
    );
    for request in
        [body(&real, Method::POST, ISSUES, &fields), real.request(Method::POST, ISSUES).form(&form)]
    {
        let (status, made) = send(request).await;
        assert_eq!(status, 201, "{made}");
    }
    let mut issues =
        [issue(&real, &format!("{ISSUES}/1")).await, issue(&real, &format!("{ISSUES}/2")).await];
    for issue in &mut issues {
        for member in ["id", "created_at", "updated_at", "state_data"] {
            issue.as_object_mut().unwrap().remove(member);
        }
        let message = issue["messages"][0].as_object_mut().unwrap();
        message.remove("id");
        message.remove("created_at");
    }
    assert_eq!(issues[0], issues[1]);
    let compressed = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(digits.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let request = real
        .request(Method::POST, ISSUES)
        .header("Content-Type", "application/json; charset=utf-8");
    let (status, made) = send(request.header("Content-Encoding", "gzip").body(compressed)).await;
    assert_eq!(status, 201, "{made}");
    let text = real.text(&format!("{ISSUES}/3")).await;
    assert!(text.contains(r#""value":12345678901234567890.10"#), "digits stay: {text}");
    let quoted = json!({"message-body": "q", "tags": "[\"a\"]", "meta": "{\"k\":\"v\"}"});
    let (status, made) = send(body(&real, Method::POST, ISSUES, &quoted)).await;
    assert_eq!((status, &made["tags"], &made["meta"]), (201, &json!(["a"]), &json!({"k": "v"})));
    assert_sound(&real).await;
    real.stop().await;
}

async fn a_repeat_in_another_form_of_body_is_the_same_request() {
    let real = desk().await;
    let keyed = || real.request(Method::POST, ISSUES).header("Idempotency-Key", "k");
    let first = send(keyed().json(&json!({"message-body": "x", "tags": ["a", "b"]}))).await;
    assert_eq!(first.0, 201);
    let spaced = "{ \"tags\" : [ \"a\",\n\"\\u0062\" ], \"message_body\":\"x\", \"title\": null }";
    for again in [
        keyed().header("Content-Type", "application/json").body(spaced),
        keyed().form(&[("message_body", "x"), ("tags", r#"["a","b"]"#)]),
        keyed().form(&[("message_body", "x"), ("tags", r#"["a", "b"]"#), ("cc", "")]),
        keyed().form(&[("tags[]", "a"), ("tags[]", "b"), ("message-body", "x")]),
        keyed().form(&[("tags", "a"), ("tags", "b"), ("message-body", "x")]),
    ] {
        let answer = again.send().await.unwrap();
        assert_eq!(answer.headers()["idempotent-replayed"], "true");
        assert_eq!(json_of(answer).await, first);
    }
    for other in [json!({"message-body": "x", "tags": ["b", "a"]}), json!({"message-body": "x"})] {
        assert_eq!(send(keyed().json(&other)).await.0, 422, "{other}");
    }
    assert_eq!(real.json(ISSUES).await["total-hits"], 1);
    real.stop().await;
}

async fn every_wrong_member_of_a_json_body_has_its_fault() {
    let real = desk().await;
    create(&real, &[("message-body", "x")]).await;
    let (invalid, missing, range) = ("invalid_value", "missing_field", "out_of_range");
    let unknown = "unknown_parameter";
    let one = format!("{ISSUES}/1");
    let cases = [
        (Method::POST, ISSUES, json!({}), vec![("message-body", missing)]),
        (Method::POST, ISSUES, json!({"message-body": null}), vec![("message-body", missing)]),
        (Method::POST, ISSUES, json!({"message-body": ""}), vec![("message-body", missing)]),
        (Method::POST, ISSUES, json!({"message_body": 5}), vec![("message_body", invalid)]),
        (Method::POST, ISSUES, json!({"message-body": ["x"]}), vec![("message-body", invalid)]),
        (
            Method::POST,
            ISSUES,
            json!({"mesage": "x", "tags": {"a": 1}, "title": true}),
            vec![
                ("tags", invalid),
                ("title", invalid),
                ("mesage", unknown),
                ("message-body", missing),
            ],
        ),
        (
            Method::POST,
            ISSUES,
            json!({"message-body": "x", "tags": [1], "cc": "", "app-id": 1.5, "meta": 7}),
            vec![("app-id", invalid), ("cc", invalid), ("meta", invalid), ("tags", invalid)],
        ),
        (
            Method::POST,
            ISSUES,
            json!({"message-body": "x", "tags": "a", "cc": "[", "meta": "k"}),
            vec![("cc", invalid), ("meta", invalid), ("tags", invalid)],
        ),
        (
            Method::POST,
            ISSUES,
            json!({"message-body": "x", "custom_fields": {"a": {"type": "odd"}}}),
            vec![("custom_fields", invalid)],
        ),
        (
            Method::POST,
            ISSUES,
            json!({"message-body": "x", "attachments": ["x"]}),
            vec![("attachments", invalid)],
        ),
        (Method::PUT, &one, json!({}), vec![("title", missing)]),
        (Method::PUT, &one, json!({"status": null}), vec![("title", missing)]),
        (Method::PUT, &one, json!({"status": 5}), vec![("status", invalid)]),
        (Method::PUT, &one, json!({"assignee-id": 99}), vec![("assignee-id", invalid)]),
        (
            Method::PUT,
            &one,
            json!({"queue_id": 123, "status": "odd"}),
            vec![("status", invalid), ("queue_id", invalid)],
        ),
        (
            Method::PUT,
            ISSUES,
            json!({"issue-ids": [], "status": "new"}),
            vec![("issue-ids", range)],
        ),
        (
            Method::PUT,
            ISSUES,
            json!({"issue-ids": [1.5, 1], "status": "new"}),
            vec![("issue-ids", invalid)],
        ),
        (
            Method::PUT,
            ISSUES,
            json!({"issue-ids": {"a": 1}, "status": "new"}),
            vec![("issue-ids", invalid)],
        ),
    ];
    for (method, path, fields, expected) in cases {
        let (status, found) = send(body(&real, method.clone(), path, &fields)).await;
        assert_eq!(status, 400, "{method} {path} {fields}: {found}");
        let mut found_faults = faults(&found);
        let mut expected: Vec<_> =
            expected.into_iter().map(|(name, code)| (name.to_owned(), code.to_owned())).collect();
        found_faults.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found_faults, expected, "{method} {path} {fields}: {found}");
    }
    let hint = json!({"message-body": "x", "tagz": []});
    let (_, found) = send(body(&real, Method::POST, ISSUES, &hint)).await;
    assert!(found["detail"].as_str().unwrap().contains("did you mean tags?"), "{found}");
    real.stop().await;
}

async fn a_member_that_comes_twice_in_a_json_body_is_refused() {
    let real = desk().await;
    create(&real, &[("message-body", "x")]).await;
    let one = format!("{ISSUES}/1");
    for twice in [r#"{"title":"a","title":"b"}"#, r#"{"queue_id":"a","queue-id":"b"}"#] {
        let request = real.request(Method::PUT, &one).header("Content-Type", "application/json");
        let (status, found) = send(request.body(twice)).await;
        assert_eq!(status, 400, "{twice}");
        assert_eq!(faults(&found)[0].1, "conflicting_parameter", "{twice}: {found}");
    }
    let nested = r#"{"message-body":"x","meta":{"a":1,"a":2}}"#;
    let request = real.request(Method::POST, ISSUES).header("Content-Type", "application/json");
    let (status, found) = send(request.body(nested)).await;
    assert_eq!(
        (status, faults(&found)),
        (400, vec![("meta".to_owned(), "invalid_value".to_owned())])
    );
    assert_eq!(real.json(ISSUES).await["total-hits"], 1);
    real.stop().await;
}

async fn a_body_that_is_not_a_json_object_is_refused_at_its_byte() {
    let real = desk().await;
    for (body, byte) in [
        ("", "byte 0"),
        ("message-body=x", "byte 0"),
        ("[1]", "byte 1"),
        ("\"x\"", "byte 0"),
        ("{\"message-body\":\"x\"", "byte 19"),
        ("{\"message-body\":\"x\",}", "byte 20"),
        ("{\"message-body\":\"\\ud800\"}", "byte 23"),
    ] {
        let request = real.request(Method::POST, ISSUES).header("Content-Type", "application/json");
        let (status, found) = send(request.body(body)).await;
        assert_eq!((status, &found["code"]), (400, &json!("invalid_request")), "{body}");
        assert!(found["detail"].as_str().unwrap().contains(byte), "{body}: {found}");
    }
    let request = real.request(Method::POST, ISSUES).header("Content-Type", "application/json");
    let (status, found) = send(request.body(b"{\"message-body\":\"\xff\"}".to_vec())).await;
    assert_eq!((status, faults(&found).len()), (400, 1), "{found}");
    assert_eq!(real.json(ISSUES).await["total-hits"], 0);
    real.stop().await;
}
