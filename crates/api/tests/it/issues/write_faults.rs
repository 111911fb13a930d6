//! Invalid writes of issues: every fault is reported at once, under the field that has it, and no
//! write takes effect.

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use super::support::{create, desk, json_of, send};
use crate::real_server::RealServer;
use crate::server::READ;

on_each_store!(
    each_wrong_input_has_its_fault,
    all_faults_are_reported_at_once_including_those_of_references,
    unknown_issues_are_not_found_and_invalid_ids_are_refused,
    an_invalid_id_is_reported_with_the_other_faults,
    a_read_key_writes_nothing,
    other_content_types_and_methods_are_refused,
    a_file_over_the_limit_is_refused_and_leaves_nothing_in_the_store,
);

const ISSUES: &str = "/v1/acme/issues";
const FORM: &str = "application/x-www-form-urlencoded";

/// Parameter and code of every fault.
fn faults(body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let fault = |fault: &Value| (text(&fault["parameter"]), text(&fault["code"]));
    body["errors"].as_array().unwrap().iter().map(fault).collect()
}

/// A call, its fields, and the parameter and code of its fault.
type Wrong = (Method, &'static str, Vec<(&'static str, &'static str)>, &'static str, &'static str);

fn wrong_posts() -> Vec<Wrong> {
    let long_tag: &str = format!("[\"{}\"]", "x".repeat(1001)).leak();
    let long_body: &str = "x".repeat((1 << 20) + 1).leak();
    let long_id: &str = "x".repeat(256).leak();
    let body = ("message-body", "x");
    let (missing, invalid, range) = ("missing_field", "invalid_value", "out_of_range");
    let (unknown, twice) = ("unknown_parameter", "conflicting_parameter");
    vec![
        (Method::POST, "", vec![], "message-body", missing),
        (Method::POST, "", vec![("message_body", "")], "message-body", missing),
        (Method::POST, "", vec![("message_body", long_body)], "message_body", "too_large"),
        (Method::POST, "", vec![body, ("mesage", "x")], "mesage", unknown),
        (Method::POST, "", vec![body, ("status", "new")], "status", unknown),
        (Method::POST, "", vec![body, ("message_body", "y")], "message_body", twice),
        (Method::POST, "", vec![body, ("title", "x"), ("title", "y")], "title", twice),
        (Method::POST, "", vec![body, ("title[]", "x")], "title[]", unknown),
        (Method::POST, "", vec![body, ("tags", "[a"), ("tags", "b")], "tags", invalid),
        (Method::POST, "", vec![body, ("tags", r#"{"a":1}"#)], "tags", invalid),
        (Method::POST, "", vec![body, ("tags", "[1]")], "tags", invalid),
        (Method::POST, "", vec![body, ("tags", long_tag)], "tags", range),
        (Method::POST, "", vec![body, ("meta", "[1]")], "meta", invalid),
        (Method::POST, "", vec![body, ("meta", r#"{"a":1,"a":2}"#)], "meta", invalid),
        (Method::POST, "", vec![body, ("meta", "{")], "meta", invalid),
        (Method::POST, "", vec![body, ("custom_fields", r#"{"a":1}"#)], "custom_fields", invalid),
        (
            Method::POST,
            "",
            vec![body, ("custom_fields", r#"{"a":{"value":1}}"#)],
            "custom_fields",
            invalid,
        ),
        (
            Method::POST,
            "",
            vec![body, ("custom-fields", r#"{"a":{"type":"number","value":"1"}}"#)],
            "custom-fields",
            invalid,
        ),
        (Method::POST, "", vec![body, ("app-id", "none")], "app-id", invalid),
        (Method::POST, "", vec![body, ("language", long_id)], "language", range),
        (Method::POST, "", vec![body, ("cc", "[b@example.org]")], "cc", invalid),
        (Method::POST, "", vec![body, ("attachment", "x")], "attachment", invalid),
        (Method::POST, "/1/messages", vec![], "message-body", missing),
        (Method::POST, "/1/messages", vec![body, ("agent-id", "none")], "agent-id", invalid),
        (
            Method::POST,
            "/1/messages",
            vec![body, ("message-type", "Image")],
            "message-type",
            invalid,
        ),
        (Method::POST, "/1/messages", vec![body, ("agent", "eva")], "agent", unknown),
        (Method::POST, "/1/private-notes", vec![], "note-text", missing),
        (
            Method::POST,
            "/1/private-notes",
            vec![("note-text", "x"), ("profile-id", "none")],
            "profile-id",
            invalid,
        ),
    ]
}

fn wrong_puts() -> Vec<Wrong> {
    let many: &str =
        format!("[{}]", (1..=5001).map(|n| n.to_string()).collect::<Vec<_>>().join(",")).leak();
    let (missing, invalid, range) = ("missing_field", "invalid_value", "out_of_range");
    let (unknown, twice) = ("unknown_parameter", "conflicting_parameter");
    vec![
        (Method::PUT, "/1", vec![], "title", missing),
        (Method::PUT, "/1", vec![("agent-profile-id", "eva")], "title", missing),
        (Method::PUT, "/1", vec![("status", "open")], "status", invalid),
        (Method::PUT, "/1", vec![("assignee-id", "none")], "assignee-id", invalid),
        (
            Method::PUT,
            "/1",
            vec![("assignee-email", "none@example.org")],
            "assignee-email",
            invalid,
        ),
        (
            Method::PUT,
            "/1",
            vec![("assignee-id", "eva"), ("assignee-email", "tom@desk.example")],
            "assignee-email",
            twice,
        ),
        (
            Method::PUT,
            "/1",
            vec![("assignee-id", "unassigned"), ("assignee-email", "tom@desk.example")],
            "assignee-email",
            twice,
        ),
        (
            Method::PUT,
            "/1",
            vec![("title", "x"), ("agent-profile-id", "none")],
            "agent-profile-id",
            invalid,
        ),
        (Method::PUT, "/1", vec![("queue_id", "none")], "queue_id", invalid),
        (Method::PUT, "/1", vec![("message-body", "x")], "message-body", unknown),
        (Method::PUT, "", vec![("status", "new")], "issue-ids", missing),
        (Method::PUT, "", vec![("issue-ids", "[1]")], "tags", missing),
        (Method::PUT, "", vec![("issue-ids", "[]"), ("status", "new")], "issue-ids", range),
        (Method::PUT, "", vec![("issue-ids", "x"), ("status", "new")], "issue-ids", invalid),
        (Method::PUT, "", vec![("issue-ids", "1,"), ("status", "x")], "status", invalid),
        (Method::PUT, "", vec![("issue-ids[]", ""), ("status", "new")], "issue-ids[]", range),
        (Method::PUT, "", vec![("issue-ids", "[1.5]"), ("status", "new")], "issue-ids", invalid),
        (Method::PUT, "", vec![("issue-ids", "[0]"), ("status", "new")], "issue-ids", invalid),
        (Method::PUT, "", vec![("issue-ids", "[1,2]"), ("status", "new")], "issue-ids", invalid),
        (Method::PUT, "", vec![("issue_ids", many), ("status", "new")], "issue_ids", range),
    ]
}

async fn each_wrong_input_has_its_fault() {
    let real = desk().await;
    create(&real, &[("message-body", "x"), ("tags", r#"["kept"]"#)]).await;
    let before = real.text(&format!("{ISSUES}/1")).await;
    for (method, path, fields, parameter, code) in [wrong_posts(), wrong_puts()].concat() {
        let path = format!("{ISSUES}{path}");
        let shown = format!("{method} {path} {:.200}", format!("{fields:?}"));
        let (status, body) = send(real.request(method, &path).form(&fields)).await;
        assert_eq!(status, if code == "too_large" { 413 } else { 400 }, "{shown}: {body}");
        let found = faults(&body);
        assert_eq!(found[0], (parameter.to_owned(), code.to_owned()), "{shown}: {body}");
    }
    assert_eq!(real.text(&format!("{ISSUES}/1")).await, before);
    assert_eq!(real.json(ISSUES).await["total-hits"], 1);
    real.stop().await;
}

async fn all_faults_are_reported_at_once_including_those_of_references() {
    let real = desk().await;
    create(&real, &[("message-body", "x")]).await;
    let fields = [
        ("stauts", "resolved"),
        ("status", "closed"),
        ("tags", "{}"),
        ("assignee-id", "none"),
        ("queue-id", "none"),
        ("custom_fields", r#"{"a":{"type":"odd"},"b":{"type":"date","value":"x"}}"#),
    ];
    let request = real.request(Method::PUT, &format!("{ISSUES}/1?x=1")).form(&fields);
    let (status, body) = send(request).await;
    assert_eq!(status, 400);
    insta::assert_json_snapshot!(body, { ".request_id" => "[id]" });
    real.stop().await;
}

async fn unknown_issues_are_not_found_and_invalid_ids_are_refused() {
    let real = desk().await;
    for (path, status) in [("99", 404), ("99999999999999999999999", 404), ("x", 400), ("-1", 400)] {
        for (method, call, fields) in [
            (Method::POST, "/messages", [("message-body", "x")]),
            (Method::POST, "/private-notes", [("note-text", "x")]),
            (Method::PUT, "", [("title", "x")]),
        ] {
            let path = format!("{ISSUES}/{path}{call}");
            let (found, body) = send(real.request(method, &path).form(&fields)).await;
            assert_eq!(found, status, "{path}: {body}");
        }
    }
    real.stop().await;
}

async fn an_invalid_id_is_reported_with_the_other_faults() {
    let real = desk().await;
    for (method, call) in
        [(Method::POST, "/messages"), (Method::POST, "/private-notes"), (Method::PUT, "")]
    {
        let path = format!("{ISSUES}/one{call}");
        let (status, body) = send(real.request(method, &path).form(&[("odd", "x")])).await;
        assert_eq!(status, 400, "{path}: {body}");
        let names: Vec<_> = faults(&body).into_iter().map(|(name, _)| name).collect();
        for name in ["issue-id", "odd"] {
            assert!(names.iter().any(|found| found == name), "{path}: {names:?}");
        }
    }
    real.stop().await;
}

async fn a_read_key_writes_nothing() {
    let real = desk().await;
    create(&real, &[("message-body", "x")]).await;
    for (method, path) in [
        (Method::POST, ISSUES.to_owned()),
        (Method::PUT, ISSUES.to_owned()),
        (Method::PUT, format!("{ISSUES}/1")),
        (Method::POST, format!("{ISSUES}/1/messages")),
        (Method::POST, format!("{ISSUES}/1/private-notes")),
        (Method::PUT, format!("{ISSUES}/one")),
        (Method::POST, format!("{ISSUES}/one/messages")),
        (Method::POST, format!("{ISSUES}/one/private-notes")),
    ] {
        let url = format!("http://{}{path}", real.address);
        let request = real.client.request(method, url).bearer_auth(READ).form(&[("odd", "x")]);
        let (status, body) = send(request).await;
        assert_eq!((status, &body["code"]), (403, &"forbidden".into()), "{path}");
    }
    real.stop().await;
}

async fn other_content_types_and_methods_are_refused() {
    let real = desk().await;
    for kind in ["text/plain", "application/xml", "text/json"] {
        let request = real.request(Method::POST, ISSUES).header("Content-Type", kind);
        let (status, body) = send(request.body("message-body=x")).await;
        assert_eq!(status, 415, "{kind}");
        assert!(body["detail"].as_str().unwrap().contains("application/json"), "{body}");
    }
    let json = r#" {"message-body":"x=y&z"}"#;
    for kind in [None, Some("text/plain;charset=UTF-8"), Some(FORM)] {
        let mut request = real.request(Method::POST, ISSUES).body(json);
        if let Some(kind) = kind {
            request = request.header("Content-Type", kind);
        }
        let (status, body) = send(request).await;
        assert_eq!(status, if kind == Some(FORM) { 400 } else { 415 }, "{kind:?}");
        let advice = "this looks like JSON: send Content-Type: application/json";
        assert!(body.to_string().contains(advice), "{kind:?} {body}");
    }
    let (status, body) = send(real.request(Method::POST, ISSUES).body("message-body=x")).await;
    let detail = body["detail"].as_str().unwrap();
    assert!(status == 415 && detail.starts_with("the request has no Content-Type; send"), "{body}");
    let (status, body) = send(real.request(Method::POST, ISSUES)).await;
    let missing = (400, &"message-body".into());
    assert_eq!((status, &body["errors"][0]["parameter"]), missing, "no body is an empty form");
    let answer = real.request(Method::PATCH, &format!("{ISSUES}/1")).send().await.unwrap();
    assert_eq!(answer.status(), 405);
    assert_eq!(answer.headers()["allow"], "PUT,GET,HEAD,DELETE");
    real.stop().await;
}

async fn a_file_over_the_limit_is_refused_and_leaves_nothing_in_the_store() {
    let config = ApiConfig { attachment_bytes_max: 1_500_000, ..ApiConfig::default() };
    let real = RealServer::without_runner(config).await;
    let file = |bytes: usize| Part::bytes(vec![7; bytes]).file_name("f");
    let form = Form::new()
        .part("attachment", file(1_500_001))
        .part("attachments", file(1_500_000))
        .text("message-body", "x");
    let answer = real.request(Method::POST, ISSUES).multipart(form).send().await.unwrap();
    let (status, body) = json_of(answer).await;
    assert_eq!(status, 413, "{body}");
    assert_eq!(faults(&body), [("attachment".to_owned(), "too_large".to_owned())]);
    assert_eq!(real.json(ISSUES).await["total-hits"], 0);
    let form = Form::new().part("attachment", file(1_500_000)).text("message-body", "x");
    let answer = real.request(Method::POST, ISSUES).multipart(form).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    real.stop().await;
}
