//! The limits on the parts of one issue, in every call that writes one and in imports, and the
//! limits on the length of a request. Nothing of a refused request takes effect.

use std::fmt::Write as _;

use caseload_teststore::on_each_store;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use super::support::{ISSUES, assert_sound, create, desk, form, issue, put, send};
use crate::real_server::RealServer;
use crate::server::Server;

on_each_store!(
    a_call_that_leaves_too_many_of_a_part_is_refused,
    an_import_holds_the_limits_of_an_issue,
    an_issue_has_at_most_ten_thousand_messages,
    a_message_has_at_most_a_hundred_files,
    a_bulk_edit_of_too_many_bytes_is_refused_before_anything_is_written,
    a_bulk_edit_of_issues_that_are_too_long_together_is_refused,
    a_bulk_edit_of_too_many_tags_is_refused,
    an_import_of_a_great_id_leaves_the_next_id_as_it_is,
    unusable_urls_of_imported_attachments_are_left_out_and_hidden_types_are_faults,
    names_of_files_are_repaired_in_uploads_and_imports,
);

/// A JSON array of `count` different texts.
fn texts(count: usize) -> String {
    json!((0..count).map(|n| format!("t{n}")).collect::<Vec<_>>()).to_string()
}

/// A JSON map whose keys are those of `range`.
fn map(range: std::ops::Range<usize>, value: &str) -> String {
    let members: Vec<_> = range.map(|n| format!("\"k{n}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

const BY: &str = "action_taken_by";
const FIELD: &str = r#"{"type":"singleline","value":"x"}"#;

/// Parameter, code and detail of the first fault.
fn fault(body: &Value) -> (String, String, String) {
    let text = |member: &str| body["errors"][0][member].as_str().unwrap_or_default().to_owned();
    (text("parameter"), text("code"), text("detail"))
}

async fn refused(real: &RealServer, method: Method, path: &str, field: &str, value: &str) {
    let mut fields = vec![(field, value)];
    if method == Method::POST {
        fields.push(("message-body", "x"));
    }
    if path == ISSUES && method == Method::PUT {
        fields.push(("issue-ids", "[1]"));
    }
    let body = form(real, method, path, &fields, 400).await;
    let (parameter, code, detail) = fault(&body);
    assert_eq!((parameter.as_str(), code.as_str()), (field, "too_many"), "{body}");
    assert!(detail.contains("at most 1000"), "{detail}");
}

async fn a_call_that_leaves_too_many_of_a_part_is_refused() {
    let real = desk().await;
    let nested = format!(r#"{{"a":{},"b":[{}]}}"#, map(0..500, "1"), map(0..500, "2"));
    let full = [
        ("message-body", "x"),
        ("tags", &texts(1000)),
        ("meta", &map(0..1000, "1")),
        ("custom_fields", &map(0..1000, FIELD)),
    ];
    let path = create(&real, &full).await;
    let (tags, fields) = (texts(1001), map(0..1001, FIELD));
    for (method, path) in
        [(Method::POST, ISSUES), (Method::PUT, path.as_str()), (Method::PUT, ISSUES)]
    {
        refused(&real, method.clone(), path, "tags", &tags).await;
        refused(&real, method.clone(), path, "custom_fields", &fields).await;
        if (method.clone(), path) != (Method::PUT, ISSUES) {
            refused(&real, method, path, "meta", &nested).await;
        }
    }
    // Each patch is small, and the issue has as many as it may have.
    refused(&real, Method::PUT, &path, "meta", r#"{"more":1}"#).await;
    refused(&real, Method::PUT, &path, "custom_fields", &map(5000..5001, FIELD)).await;
    refused(&real, Method::PUT, ISSUES, "custom_fields", &map(5000..5001, FIELD)).await;
    let full = issue(&real, &path).await;
    assert_eq!(full["meta"].as_object().unwrap().len(), 1000);
    // One for another is not too many.
    put(&real, &path, &[("meta", r#"{"k0":null,"more":1}"#)]).await;
    put(&real, &path, &[("custom_fields", &format!(r#"{{"k0":null,"more":{FIELD}}}"#))]).await;
    let tag = json!(["x".repeat(1000), "ä".repeat(1000)]).to_string();
    put(&real, &path, &[("tags", &tag)]).await;
    let found = real.json(&format!("{ISSUES}?tags=%5B%22{}%22%5D", "x".repeat(1000))).await;
    assert_eq!(found["total-hits"], 1);
    assert_sound(&real).await;
    real.stop().await;
}

async fn an_import_holds_the_limits_of_an_issue() {
    let real = RealServer::start().await;
    let messages = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
    let files = |count: usize| format!("[{{\"attachments\":{}}}]", messages(count));
    let cases = [
        ("tags", texts(1001), texts(1000), "/tags"),
        ("meta", map(0..1001, "1"), map(0..1000, "1"), "/meta"),
        ("custom_fields", map(0..1001, FIELD), map(0..1000, FIELD), "/custom_fields"),
        ("messages", messages(10_001), messages(10_000), "/messages"),
        ("messages", files(101), files(100), "/messages/0/attachments"),
    ];
    let mut lines = String::new();
    for (field, over, full, _) in &cases {
        let _ = writeln!(lines, r#"{{"created_at":200000000000,"{field}":{over}}}"#);
        let _ = writeln!(lines, r#"{{"created_at":200000000000,"{field}":{full}}}"#);
    }
    let task = real.run("issues", "import_issues", &lines).await;
    let counts = json!({"total": 10, "succeeded": 5, "failed": 5, "unprocessed": 0});
    assert_eq!(task["counts"], counts);
    let errors = real.lines(&task, "errors").await;
    for (line, (.., pointer)) in errors.lines().zip(&cases) {
        let record: Value = serde_json::from_str(line).unwrap();
        let faults = record["errors"].as_array().unwrap();
        assert_eq!(faults.len(), 1);
        assert_eq!(
            (&faults[0]["code"], &faults[0]["pointer"]),
            (&json!("too_many"), &json!(pointer))
        );
        assert!(faults[0]["detail"].as_str().unwrap().contains("at most"), "{}", faults[0]);
    }
    assert_sound(&real).await;
    real.stop().await;
}

async fn an_issue_has_at_most_ten_thousand_messages() {
    let real = RealServer::start().await;
    let messages = vec![r#"{"body":"x"}"#; 9_999].join(",");
    let line = format!(r#"{{"id":1,"created_at":200000000000,"messages":[{messages}]}}"#);
    real.run("issues", "import_issues", &line).await;
    let path = format!("{ISSUES}/1/messages");
    form(&real, Method::POST, &path, &[("message-body", "the last")], 201).await;
    let body = form(&real, Method::POST, &path, &[("message-body", "one more")], 400).await;
    assert_eq!(fault(&body).0, "message-body");
    assert_eq!(fault(&body).1, "too_many");
    let bulk = [("issue-ids", "1"), ("message-body", "one more")];
    let body = form(&real, Method::PUT, ISSUES, &bulk, 400).await;
    assert_eq!(fault(&body).1, "too_many");
    // Anything else about it may change.
    put(&real, &format!("{ISSUES}/1"), &[("title", "full")]).await;
    assert_sound(&real).await;
    real.stop().await;
}

async fn a_message_has_at_most_a_hundred_files() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x")]).await;
    let mut many = Form::new().text("message-body", "x");
    for n in 0..101 {
        many = many.part("attachments[]", Part::bytes(vec![b'x']).file_name(format!("{n}")));
    }
    let request = real.request(Method::POST, &format!("{path}/messages")).multipart(many);
    let (status, body) = send(request).await;
    assert_eq!((status, fault(&body).1.as_str()), (400, "too_many"), "{body}");
    assert_eq!(issue(&real, &path).await["messages"].as_array().unwrap().len(), 1);
    real.stop().await;
}

async fn a_bulk_edit_of_too_many_bytes_is_refused_before_anything_is_written() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x")]).await;
    let ids = json!((1..=5000).collect::<Vec<_>>()).to_string();
    let long = "x".repeat(1700);
    let field = format!(r#"{{"type":"multiline","value":"{long}"}}"#);
    let (tags, fields) = (texts(1000), map(0..1, &field));
    for (field, value) in
        [("tags", &tags), ("custom_fields", &fields), ("message-body", &long), (BY, &long)]
    {
        let mut call = vec![("issue-ids", ids.as_str()), (field, value.as_str())];
        if field == BY {
            call.push(("message-body", "x"));
        }
        let body = form(&real, Method::PUT, ISSUES, &call, 413).await;
        let (parameter, code, detail) = fault(&body);
        assert_eq!((parameter.as_str(), code.as_str()), (field, "too_large"), "{body}");
        assert!(detail.contains("over all issues"), "{detail}");
    }
    put(&real, &path, &[("tags", &tags)]).await;
    assert_eq!(issue(&real, &path).await["custom_fields"], json!({}));
    real.stop().await;
}

async fn a_bulk_edit_of_issues_that_are_too_long_together_is_refused() {
    let real = RealServer::start().await;
    // Issues of 7 MiB, of which nine fit.
    let message = json!({"created_at": 1, "body": "x".repeat(1 << 20)}).to_string();
    let messages = [message.as_str(); 7].join(",");
    let line =
        |id: usize| format!("{{\"id\":{id},\"created_at\":{id},\"messages\":[{messages}]}}\n");
    for ids in [1..6, 6..11] {
        let lines: String = ids.clone().map(line).collect();
        let task = real.run("issues", "import_issues", &lines).await;
        assert_eq!(task["counts"]["succeeded"], ids.len(), "{task}");
    }
    let ids = json!((1..=10).collect::<Vec<_>>()).to_string();
    let short = async |id: usize| {
        let path = format!("{ISSUES}/{id}?excludes=messages");
        let issue = real.json(&path).await["issues"][0].take();
        (issue["tags"].clone(), issue["updated_at"].clone())
    };
    let before = short(1).await;
    let call = [("issue-ids", ids.as_str()), ("tags", "[\"short\"]")];
    let body = form(&real, Method::PUT, ISSUES, &call, 413).await;
    let (parameter, code, detail) = fault(&body);
    assert_eq!((parameter.as_str(), code.as_str()), ("issue-ids", "too_large"), "{body}");
    assert!(detail.contains("67108864"), "{detail}");
    assert_eq!(short(1).await, before, "nothing was written");
    let ids = json!((1..=9).collect::<Vec<_>>()).to_string();
    let call = [("issue-ids", ids.as_str()), ("tags", "[\"short\"]")];
    form(&real, Method::PUT, ISSUES, &call, 200).await;
    assert_eq!((short(9).await.0, short(10).await.0), (json!(["short"]), json!([])));
    assert_sound(&real).await;
    real.stop().await;
}

async fn a_bulk_edit_of_too_many_tags_is_refused() {
    let real = RealServer::start().await;
    let line = |id: usize| format!("{{\"id\":{id},\"created_at\":{id}}}\n");
    real.run("issues", "import_issues", &(1..=1000).map(line).collect::<String>()).await;
    let tags = texts(1000);
    let ids = |count: usize| json!((1..=count).collect::<Vec<_>>()).to_string();
    let call = |ids: &str| [("issue-ids", ids.to_owned()), ("tags", tags.clone())];
    let edit = async |count: usize, status: u16| {
        let call = call(&ids(count));
        let call = call.each_ref().map(|(field, value)| (*field, value.as_str()));
        form(&real, Method::PUT, ISSUES, &call, status).await
    };
    let body = edit(1000, 413).await;
    let (parameter, code, detail) = fault(&body);
    assert_eq!((parameter.as_str(), code.as_str()), ("issue-ids", "too_large"), "{body}");
    assert!(detail.contains("500000"), "{detail}");
    assert_eq!(issue(&real, &format!("{ISSUES}/1")).await["tags"], json!([]));
    edit(100, 200).await;
    assert_eq!(
        issue(&real, &format!("{ISSUES}/100")).await["tags"].as_array().unwrap().len(),
        1000
    );
    assert_sound(&real).await;
    real.stop().await;
}

async fn an_import_of_a_great_id_leaves_the_next_id_as_it_is() {
    let real = RealServer::start().await;
    let line = |id: u64| format!("{{\"id\":{id},\"created_at\":200000000000}}\n");
    let made = async |expected: u64| {
        let made = form(&real, Method::POST, ISSUES, &[("message-body", "x")], 201).await;
        assert_eq!(made["id"], expected.to_string());
    };
    let last = 8_000_000_000_000_000;
    let lines = [line(last + 1), line(8_999_999_999_999_999), line((1 << 53) - 1)].concat();
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["counts"]["succeeded"], 3);
    made(1).await;
    // The greatest id that counts: the ids after it that are taken are passed over.
    real.run("issues", "import_issues", &[line(last), line(last + 3)].concat()).await;
    made(last + 2).await;
    let task = real.run("issues", "import_issues", "{\"created_at\":200000000000}").await;
    let results: Value = serde_json::from_str(&real.lines(&task, "results").await).unwrap();
    assert_eq!(results["id"], last + 4);
    made(last + 5).await;
    assert_sound(&real).await;
    real.stop().await;
}

async fn unusable_urls_of_imported_attachments_are_left_out_and_hidden_types_are_faults() {
    let real = RealServer::start().await;
    let entry = |member: &str, value: &str| {
        let files = json!([{ member: value, "size": 1 }]);
        let messages = json!([{"attachments": files}]);
        format!("{}\n", json!({"created_at": 200_000_000_000_i64, "messages": messages}))
    };
    let long = format!("data:image/png;base64,{}", "A".repeat(200_000));
    let unusable = [
        "cid:image001.png@01DA6F",
        "javascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,<script>",
        &long,
        "//elsewhere.example/x",
        "/v1/acme/attachments/%2e%2E/issues",
        "https://files.example/gpj.\u{202e}exe",
    ];
    let good = [
        ("url", "https://files.example/a.png"),
        ("url", "http://files.example/a.png"),
        ("url", "/files/a.png"),
        ("url", "/files/report..final.pdf"),
        ("content_type", "text/plain; charset=utf-8"),
    ];
    let all = unusable.iter().map(|url| ("url", *url)).chain(good);
    let mut lines: String = all.map(|(member, value)| entry(member, value)).collect();
    lines.push_str(&entry("content_type", "text/html\r\nX: y"));
    let task = real.run("issues", "import_issues", &lines).await;
    let counts = &task["counts"];
    assert_eq!((&counts["failed"], &counts["succeeded"]), (&json!(1), &json!(13)));
    assert_eq!(task["warnings"], unusable.len());
    let error: Value = serde_json::from_str(&real.lines(&task, "errors").await).unwrap();
    let pointer = "/messages/0/attachments/0/content_type";
    assert_eq!((&error["errors"][0]["pointer"]), &json!(pointer));
    let results = real.lines(&task, "results").await;
    for (line, url) in results.lines().zip(unusable) {
        let record: Value = serde_json::from_str(line).unwrap();
        let warning = &record["warnings"][0];
        let pointer = "/messages/0/attachments/0/url";
        let expected = (&json!("unusable_url"), &json!(pointer));
        assert_eq!((&warning["code"], &warning["pointer"]), expected, "{record}");
        assert!(url == long || warning["value"] == url, "{warning}");
        let stored = issue(&real, &format!("{ISSUES}/{}", record["id"])).await;
        assert_eq!(stored["messages"][0]["attachments"], json!([{"size": 1}]));
    }
    real.stop().await;
}

async fn names_of_files_are_repaired_in_uploads_and_imports() {
    let real = RealServer::start().await;
    let mut lines = Vec::new();
    for (n, (sent, stored)) in [
        ("final..v2...pdf", "final..v2...pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\docs\\a.pdf", "a.pdf"),
        ("a/..", "attachment"),
        ("=?UTF-8?B?w6QucGRm?=", "ä.pdf"),
        ("=?UTF-8?Q?..=2F=3D=3FUTF-8=3FQ=3Fa=3F=3D?=", "a"),
        ("gpj.\u{202e}\u{2066}exe", "gpj.exe"),
        ("a\r\nSet-Cookie: x", "aSet-Cookie: x"),
    ]
    .into_iter()
    .enumerate()
    {
        let files = json!([{ "file_name": sent }, { "file_name": stored }]);
        let entry = json!({"created_at": 200_000_000_000_i64 + n as i64,
                           "messages": [{ "attachments": files }]});
        lines.push(entry.to_string());
        // A client sends no line breaks in a header.
        let part = Part::bytes(b"x".to_vec()).file_name(sent.replace(['\r', '\n'], ""));
        let form = Form::new().text("message-body", "x").part("attachment", part);
        let (status, body) = send(real.request(Method::POST, ISSUES).multipart(form)).await;
        assert_eq!(status, 201, "{body}");
        assert_eq!(body["attachment"]["file_name"], stored);
    }
    let task = real.run("issues", "import_issues", &lines.join("\n")).await;
    assert_eq!(task["counts"]["failed"], 0);
    assert_eq!(task["warnings"], lines.len() - 1, "one name is good");
    let results = real.lines(&task, "results").await;
    let last: Value = serde_json::from_str(results.lines().last().unwrap()).unwrap();
    let warning = &last["warnings"][0];
    assert_eq!(
        (&warning["code"], &warning["value"]),
        (&json!("mended_name"), &json!("a\r\nSet-Cookie: x"))
    );
    assert!(
        warning["detail"].as_str().unwrap().contains("stored as \"aSet-Cookie: x\""),
        "{warning}"
    );
    let list = format!("{ISSUES}?page-size=100");
    let (_, list) = send(real.request(Method::GET, &list)).await;
    for issue in list["issues"].as_array().unwrap() {
        let files = &issue["messages"][0]["attachments"];
        let last = files.as_array().unwrap().last().unwrap();
        assert_eq!(files[0]["file_name"], last["file_name"], "{files}");
    }
    assert_eq!(list["issues"].as_array().unwrap().len(), 16);
    real.stop().await;
}

#[tokio::test]
async fn a_query_of_more_than_a_hundred_parameters_is_refused() {
    let server = Server::start().await;
    for path in ["/v1/acme/issues", "/v1/acme/issues/1", "/v2/acme/identity/bulk_actions"] {
        let query = |count: usize| vec!["page-size=5"; count].join("&");
        let answer = server.get(&format!("{path}?{}", query(101))).await;
        assert_eq!(answer.status(), 400, "{path}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["code"], "too_many");
        assert!(body["detail"].as_str().unwrap().contains("at most 100"), "{body}");
        let text = server.get(&format!("{path}?{}", query(100))).await.text().await.unwrap();
        assert!(!text.contains("too_many"), "{text}");
    }
}

#[tokio::test]
async fn at_most_a_hundred_faults_of_a_request_are_listed() {
    let server = Server::start().await;
    let words = vec!["x"; 5000].join(",");
    let unknown: Vec<_> = (0..90).map(|n| format!("p{n}=1")).collect();
    let path = format!("/v1/acme/issues?state={words}&{}", unknown.join("&"));
    let body: Value = server.get(&path).await.json().await.unwrap();
    assert_eq!(body["errors"].as_array().unwrap().len(), 100);
}
