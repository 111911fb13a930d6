//! Redacting parts of issues by a call: the answers after it, the state of a redaction, and forms
//! with faults.

use caseload_model::key::Access;
use caseload_teststore::on_each_store;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::issues::support::{create, put, say};
use crate::real_server::RealServer;
use crate::server::READ;

on_each_store!(threads 2:
    a_redacted_part_is_in_no_answer_that_follows,
    a_redacted_attachment_cannot_be_downloaded,
    a_redaction_of_a_person_is_a_task,
    a_request_that_cannot_be_carried_out_has_a_reason_and_the_others_are,
    a_repeated_form_gets_the_first_answer,
    a_faulty_form_names_all_faults_and_redacts_nothing,
    the_issue_of_another_domain_is_not_found,
);

const REDACTIONS: &str = "/v1/acme/redactions";
const ISSUES: &str = "/v1/acme/issues";

fn request(kind: &str, property: &str, value: &str) -> Value {
    json!({"redaction_type": kind, "property": property, "value": value})
}

async fn json_of(answer: Response, status: u16) -> Value {
    let (found, body) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(found, status, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// The outcomes of these requests.
async fn redact(real: &RealServer, requests: &[Value]) -> Vec<Value> {
    let body = json!({"requests": requests});
    let answer = real.request(Method::POST, REDACTIONS).json(&body).send().await.unwrap();
    json_of(answer, 200).await["response"].as_array().unwrap().clone()
}

/// The state of the redaction of an outcome.
async fn state(real: &RealServer, outcome: &Value) -> Value {
    let id = outcome["redaction_id"].as_str().unwrap_or_else(|| panic!("{outcome}"));
    real.json(&format!("{REDACTIONS}/{id}")).await
}

fn number(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

async fn tag(real: &RealServer, path: &str) -> String {
    let answer = real.request(Method::GET, path).send().await.unwrap();
    answer.headers()["etag"].to_str().unwrap().to_owned()
}

async fn hits(real: &RealServer, text: &str) -> Value {
    real.json(&format!("{ISSUES}?text={text}")).await["total-hits"].take()
}

async fn a_redacted_part_is_in_no_answer_that_follows() {
    let real = RealServer::start().await;
    let fields =
        [("message-body", "first secret"), ("title", "titlesecret"), ("email", "ada@x.org")];
    let issue = create(&real, &fields).await;
    say(&real, &issue, &[("message-body", "second words")]).await;
    put(&real, &issue, &[("title", "othersecret")]).await;
    let shown = real.json(&issue).await;
    let first = shown["issues"][0]["messages"][0]["id"].as_str().unwrap();
    let tags = [tag(&real, &issue).await, tag(&real, ISSUES).await];
    for text in ["first%20secret", "othersecret", "second%20words"] {
        assert_eq!(hits(&real, text).await, 1, "{text}");
    }
    let requests =
        [request("title", "issue_id", number(&issue)), request("message", "message_id", first)];
    let found = redact(&real, &requests).await;
    assert_ne!(found[0]["redaction_id"], found[1]["redaction_id"]);
    for outcome in &found {
        let state = state(&real, outcome).await;
        assert_eq!(
            (&state["status"], &state["redaction_id"]),
            (&json!("done"), &outcome["redaction_id"])
        );
        let number: u64 = number(&issue).parse().unwrap();
        assert_eq!((&state["issue_ids"], &state["task_id"]), (&json!([number]), &Value::Null));
        assert_eq!(state["completed_at"], state["created_at"]);
    }
    for (text, count) in [("first%20secret", 0), ("othersecret", 0), ("second%20words", 1)] {
        assert_eq!(hits(&real, text).await, count, "{text}");
    }
    let paths: [&str; 4] = [&issue, ISSUES, "/v1/acme/changes", &format!("{issue}/changes")];
    for path in paths {
        let shown = real.text(path).await;
        assert!(!shown.contains("secret"), "{path}: {shown}");
    }
    assert_ne!([tag(&real, &issue).await, tag(&real, ISSUES).await], tags);
    assert_eq!(real.json(&format!("{ISSUES}?redacted=true")).await["total-hits"], 1);
    let again = redact(&real, &requests).await;
    assert!(again.iter().all(|one| one["success"] == true && one.get("redaction_id").is_none()));
    let whole = redact(&real, &[request("issue", "issue_id", number(&issue))]).await;
    assert_eq!(whole[0]["success"], true);
    let shown = real.text(&issue).await;
    assert!(!shown.contains("words") && !shown.contains("ada@"), "{shown}");
    assert_eq!(hits(&real, "second%20words").await, 0);
    crate::issues::support::assert_sound(&real).await;
}

async fn a_redacted_attachment_cannot_be_downloaded() {
    let real = RealServer::start().await;
    let file = |name: &'static str| Part::text("content").file_name(name);
    let form = Form::new()
        .text("message-body", "x")
        .part("attachments", file("a.txt"))
        .part("attachments", file("b.txt"));
    let made = real.request(Method::POST, ISSUES).multipart(form).send().await.unwrap();
    let made = json_of(made, 201).await;
    let issue = format!("{ISSUES}/{}", made["id"].as_str().unwrap());
    let shown = real.json(&issue).await;
    let files = shown["issues"][0]["messages"][0]["attachments"].as_array().unwrap().clone();
    let urls: Vec<&str> = files.iter().map(|file| file["url"].as_str().unwrap()).collect();
    let id = number(urls[0]);
    let found = redact(&real, &[request("attachment", "attachment_id", id)]).await;
    assert_eq!(state(&real, &found[0]).await["status"], "done");
    let statuses = [urls[0], urls[1]].map(|url| real.request(Method::GET, url).send());
    for (answer, status) in statuses.into_iter().zip([404, 200]) {
        assert_eq!(answer.await.unwrap().status(), status);
    }
    let shown = real.text(&issue).await;
    assert!(!shown.contains(id) && shown.contains(number(urls[1])), "{shown}");
    let again = redact(&real, &[request("attachment", "attachment_id", id)]).await;
    assert_eq!(again[0]["success"], false);
    crate::issues::support::assert_sound(&real).await;
}

async fn a_redaction_of_a_person_is_a_task() {
    let real = RealServer::start().await;
    let ada = [("message-body", "secret"), ("title", "t"), ("email", "ada@example.org")];
    let issue = create(&real, &ada).await;
    let bob = create(&real, &[("message-body", "bobsecret"), ("email", "bob@example.org")]).await;
    let issues_of = request("issue", "email", "bob@example.org");
    let user = request("user", "email", "Ada@example.org");
    let found = redact(&real, &[user.clone(), issues_of, user]).await;
    let shown = real.text(&bob).await;
    assert!(!shown.contains("bob"), "{shown}");
    let task = state(&real, &found[0]).await;
    assert_eq!(task["task_id"], found[0]["redaction_id"]);
    let path = format!("/v2/acme/issues/bulk_actions/{}", task["task_id"].as_str().unwrap());
    assert_eq!(real.completed(&path).await["action"], "erase_person");
    let done = state(&real, &found[0]).await;
    assert_eq!(done["status"], "done");
    assert!(done["completed_at"].is_i64());
    let shown = real.text(&issue).await;
    assert!(!shown.contains("secret") && !shown.contains("ada@"), "{shown}");
    let last =
        format!("/v2/acme/issues/bulk_actions/{}", found[2]["redaction_id"].as_str().unwrap());
    real.completed(&last).await;
    let gone = redact(&real, &[request("user", "email", "ada@example.org")]).await;
    assert_eq!(gone[0]["success"], false);
    let import = json!({"id": 900, "created_at": 1, "messages": []}).to_string();
    let other = real.run("issues", "import_issues", &import).await;
    let path = format!("{REDACTIONS}/{}", other["task_id"].as_str().unwrap());
    let answer = real.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(answer.status(), 404, "a task that is not an erasure");
}

async fn a_request_that_cannot_be_carried_out_has_a_reason_and_the_others_are() {
    let real = RealServer::start().await;
    let issue = create(&real, &[("message-body", "x"), ("title", "secret")]).await;
    let id = number(&issue);
    let app = real.json(&issue).await["issues"][0]["app_publish_id"].take();
    let with = |more: Value| {
        let mut request = request("title", "issue_id", id);
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        request
    };
    let wrong = [
        with(json!({"app_publish_id": "other", "external_redaction_id": "e1"})),
        request("title", "issue_id", "999999"),
        request("message", "message_id", "no\"message"),
        request("attachment", "attachment_id", "no"),
        request("issue", "issue_id", "x"),
        request("issue", "email", "nobody@example.org"),
        request("user", "hs_user_id", "nobody"),
        request("user", "message_id", "m"),
        json!({}),
        json!(7),
        json!(null),
        with(json!({"value": null})),
        with(json!({"who": "me"})),
    ];
    let found = redact(&real, &wrong).await;
    for (request, outcome) in wrong.iter().zip(&found) {
        assert_eq!(outcome["success"], false, "{request}");
        assert!(outcome["reason"].is_string() && outcome.get("redaction_id").is_none());
    }
    assert_eq!(found[0]["external_redaction_id"], "e1");
    assert_eq!(real.json(&issue).await["issues"][0]["title"], "secret");
    let mut all = wrong.to_vec();
    all.push(with(json!({"app_publish_id": app, "author": "eva"})));
    let found = redact(&real, &all).await;
    assert_eq!(found.iter().filter(|one| one["success"] == true).count(), 1);
    assert_eq!(real.json(&issue).await["issues"][0]["title"], "[redacted]");
}

async fn a_repeated_form_gets_the_first_answer() {
    let real = RealServer::start().await;
    let first = create(&real, &[("message-body", "x"), ("title", "secret")]).await;
    let send = async |id: &str| {
        let requests = json!([request("title", "issue_id", id)]).to_string();
        let request = real.request(Method::POST, REDACTIONS).header("Idempotency-Key", "k");
        request.form(&[("requests", requests)]).send().await.unwrap()
    };
    let answer = send(number(&first)).await;
    assert!(answer.headers().get("idempotent-replayed").is_none());
    let answer = json_of(answer, 200).await;
    assert_eq!(answer["response"][0]["success"], true);
    put(&real, &first, &[("title", "new")]).await;
    let again = send(number(&first)).await;
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(json_of(again, 200).await, answer);
    assert_eq!(real.json(&first).await["issues"][0]["title"], "new");
    json_of(send("7000").await, 422).await;
}

async fn a_faulty_form_names_all_faults_and_redacts_nothing() {
    let real = RealServer::start().await;
    let issue = create(&real, &[("message-body", "x"), ("title", "secret")]).await;
    let valid = json!([request("title", "issue_id", number(&issue))]);
    for (path, body, faults) in [
        (REDACTIONS, json!({}), 1),
        (REDACTIONS, json!({"requests": {}}), 1),
        (REDACTIONS, json!({"requests": []}), 1),
        (REDACTIONS, json!({"requests": vec![json!({}); 101]}), 1),
        (REDACTIONS, json!({"requests": valid, "dry_run": true}), 1),
        ("/v1/acme/redactions?a=b", json!({"requests": 7, "c": "d"}), 3),
    ] {
        let answer = real.request(Method::POST, path).json(&body).send().await.unwrap();
        let problem = json_of(answer, 400).await;
        assert_eq!(problem["errors"].as_array().unwrap().len(), faults, "{problem}");
    }
    let by_reader = real.client.post(real.url(REDACTIONS)).basic_auth(READ, Some(""));
    let body = json!({"requests": valid});
    json_of(by_reader.json(&body).send().await.unwrap(), 403).await;
    assert_eq!(real.json(&issue).await["issues"][0]["title"], "secret");
    for id in ["x", "1-2-3-4", "1-0-0-0", "18446744073709551615-1-0-1", "1--1-0-1", "%00", "é"] {
        let path = format!("{REDACTIONS}/{id}");
        let answer = real.request(Method::GET, &path).send().await.unwrap();
        assert!([400, 404].contains(&answer.status().as_u16()), "{id}: {}", answer.status());
    }
    json_of(real.request(Method::GET, "/v1/acme/redactions/x?a=b").send().await.unwrap(), 400)
        .await;
}

async fn the_issue_of_another_domain_is_not_found() {
    let real = RealServer::start().await;
    real.add_other_domain(Access::Write).await;
    let issue = create(&real, &[("message-body", "x"), ("title", "secret")]).await;
    let shown = real.json(&issue).await;
    let message = shown["issues"][0]["messages"][0]["id"].as_str().unwrap();
    let requests = [
        request("title", "issue_id", number(&issue)),
        request("message", "message_id", message),
        request("issue", "issue_id", number(&issue)),
    ];
    let url = real.url("/v1/other/redactions");
    let by_other = real.client.post(url).bearer_auth("other");
    let answer = by_other.json(&json!({"requests": requests})).send().await.unwrap();
    let answer = json_of(answer, 200).await;
    let all = answer["response"].as_array().unwrap();
    assert!(all.iter().all(|outcome| outcome["success"] == false), "{answer}");
    let found = redact(&real, &requests[..1]).await;
    let id = found[0]["redaction_id"].as_str().unwrap();
    let url = real.url(&format!("/v1/other/redactions/{id}"));
    let answer = real.client.get(url).bearer_auth("other").send().await.unwrap();
    assert_eq!(answer.status(), 404);
}
