//! Writing issues over the real store: what a call answers and what the issue then looks like.

use std::collections::HashSet;

use caseload_api::ApiConfig;
use caseload_model::key::Access;
use caseload_model::task::Action;
use caseload_store::{CreateAgent, CreateApp, CreateKey};
use caseload_teststore::on_each_store;
use futures_util::future::join_all;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::real::Real;

on_each_store!(
    what_a_key_without_a_name_writes_is_the_desks,
    a_new_issue_has_what_the_form_says_and_defaults_for_the_rest,
    one_app_profile_per_app_and_identity,
    create_reply_resolve_reopen,
    the_state_table_holds_over_http,
    an_edit_tells_what_changed_and_nothing_else,
    messages_are_the_end_users_or_an_agents,
    notes_are_seen_by_those_who_ask_for_them,
    a_bulk_edit_changes_all_issues_or_none,
    a_repeated_creation_gets_the_first_answer_and_makes_one_issue,
    what_was_written_is_exported_and_imported_as_the_same,
    attachments_come_back_as_they_went,
    apps_agents_and_queues_are_listed,
);
on_each_store!(threads 4:
    what_is_written_at_once_is_all_there_and_in_order,
);

/// Fields of a form.
type Fields<'f> = &'f [(&'f str, &'f str)];
/// Field, file name, content type, bytes, and the type that it is served as.
type File = (&'static str, &'static str, Option<&'static str>, Vec<u8>, &'static str);

const ISSUES: &str = "/v1/acme/issues";

/// A server with the agents `eva` and `tom`, and the app `mobile`.
pub(super) async fn desk() -> Real {
    let real = Real::without_runner(ApiConfig::default()).await;
    for (id, name) in [("eva", "Eva"), ("tom", "Tom")] {
        let command = CreateAgent {
            domain: real.domain,
            id: id.to_owned(),
            name: name.to_owned(),
            email: format!("{name}@Desk.example"),
            now: real.clock.now(),
        };
        real.store.create_agent(command).await.unwrap();
    }
    let (id, title) = ("mobile".to_owned(), "Mobile".to_owned());
    let command = CreateApp { domain: real.domain, id, title, now: real.clock.now() };
    real.store.create_app(command).await.unwrap();
    real
}

pub(super) async fn json_of(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: {text}")))
}

pub(super) async fn send(request: RequestBuilder) -> (u16, Value) {
    json_of(request.send().await.unwrap()).await
}

/// Sends a form; the answer, whose status has to be `status`.
pub(super) async fn form(
    real: &Real,
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
pub(super) async fn create(real: &Real, fields: &[(&str, &str)]) -> String {
    let made = form(real, Method::POST, ISSUES, fields, 201).await;
    format!("{ISSUES}/{}", made["id"].as_str().unwrap())
}

async fn put(real: &Real, path: &str, fields: &[(&str, &str)]) -> Value {
    form(real, Method::PUT, path, fields, 200).await["updated-data"].take()
}

async fn say(real: &Real, path: &str, fields: &[(&str, &str)]) -> Value {
    form(real, Method::POST, &format!("{path}/messages"), fields, 201).await
}

/// The issue in every detail.
pub(super) async fn issue(real: &Real, path: &str) -> Value {
    let includes = "%5B%22meta%22,%22private_notes%22,%22queue%22,%22custom_fields%22%5D";
    real.json(&format!("{path}?includes={includes}")).await["issues"][0].take()
}

async fn state(real: &Real, path: &str) -> (String, i64, i64) {
    let issue = issue(real, path).await;
    (
        issue["state_data"]["state"].as_str().unwrap().to_owned(),
        issue["state_data"]["changed_at"].as_i64().unwrap(),
        issue["updated_at"].as_i64().unwrap(),
    )
}

async fn assert_sound(real: &Real) {
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
}

async fn a_new_issue_has_what_the_form_says_and_defaults_for_the_rest() {
    let real = desk().await;
    let fields = [
        ("message-body", "Nothing <b>works</b>\u{0}"),
        ("email", "Ada@Example.org"),
        ("author_name", "Ada"),
        ("title", "Help"),
        ("tags", r#"["new","new","ünï"]"#),
        ("meta", r#"{"level":3,"vip":true,"device":{"os":"x","n":1.50},"gone":null}"#),
        ("custom_fields", r#"{"n":{"type":"number","value":12345678901234567890.10},"x":null}"#),
        ("platform-type", "ios"),
        ("platform_id", "p"),
        ("app-id", "mobile"),
        ("language", "de"),
        ("cc", r#"["b@example.org"]"#),
    ];
    let (status, made) =
        send(real.request(Method::POST, &format!("{ISSUES}/")).form(&fields)).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("{ISSUES}/1");
    let meta = json!({"level": "3", "vip": "true", "device": {"os": "x", "n": "1.50"}});
    let issue = issue(&real, &path).await;
    assert_eq!(
        made,
        json!({
            "created_at": issue["created_at"], "id": "1", "title": "Help",
            "tags": ["new", "new", "ünï"], "meta": meta,
            "custom_fields": issue["custom_fields"],
        })
    );
    assert_eq!(made["custom_fields"]["n"]["type"], "number");
    let text = real.text(&path).await;
    assert!(text.contains(r#""value":12345678901234567890.10"#), "digits stay: {text}");
    let at = issue["created_at"].as_i64().unwrap();
    let pid = issue["hs_user_id"].as_str().unwrap();
    assert_eq!(pid.len(), "acme_profile_".len() + 40);
    let message = &issue["messages"][0];
    assert!(message["id"].as_str().unwrap().starts_with("acme_message_2023"), "{message}");
    assert_eq!(
        issue,
        json!({
            "id": 1, "title": "Help", "tags": ["new", "new", "ünï"], "app_id": "mobile",
            "app_publish_id": "2", "domain": "acme", "hs_user_id": pid, "author_name": "Ada",
            "author_email": "Ada@Example.org", "assignee_id": "unassigned", "assignee_name": null,
            "redacted": false, "state_data": {"state": "new", "changed_at": at},
            "created_at": at, "updated_at": at, "language": "de", "platform_type": "ios",
            "cc": ["b@example.org"],
            "messages": [{
                "id": message["id"], "body": "Nothing <b>works</b>\u{0}", "created_at": at,
                "origin": "end-user",
                "author": {"name": "Ada", "id": pid, "emails": ["Ada@Example.org"]},
            }],
            "meta": meta, "custom_fields": issue["custom_fields"],
        })
    );
    let path = create(&real, &[("message-body", "only this")]).await;
    let bare = self::issue(&real, &path).await;
    assert_eq!((&bare["title"], &bare["author_email"]), (&json!("only this"), &json!("")));
    assert_eq!((&bare["app_publish_id"], &bare["id"]), (&json!("1"), &json!(2)));
    assert_eq!(bare["messages"][0]["author"]["emails"], json!([]));
    assert_sound(&real).await;
    real.stop().await;
}

async fn one_app_profile_per_app_and_identity() {
    let real = desk().await;
    let web = real.json("/v1/acme/apps/1").await["id"].as_str().unwrap().to_owned();
    let mut pids = Vec::new();
    for fields in [
        &[("email", "ada@example.org")][..],
        &[("email", "ADA@example.org"), ("app-id", &web)],
        &[("email", "ada@example.org"), ("app-id", "mobile")],
        &[("end_user_id", "u1")],
        &[("end-user-id", "u1"), ("author-name", "U")],
        &[("identifier", "u1")],
        &[],
        &[],
    ] {
        let fields = [&[("message-body", "x")], fields].concat();
        let issue = issue(&real, &create(&real, &fields).await).await;
        assert_eq!(issue["hs_user_id"], issue["messages"][0]["author"]["id"]);
        pids.push(issue["hs_user_id"].as_str().unwrap().to_owned());
    }
    assert_eq!((&pids[0], &pids[3]), (&pids[1], &pids[4]));
    let distinct: HashSet<_> = pids.iter().collect();
    assert_eq!(distinct.len(), 6, "{pids:?}");
    // An end user may also be named by the profile there is.
    let again = create(&real, &[("message-body", "x"), ("end_user_id", &pids[0])]).await;
    let again = issue(&real, &again).await;
    assert_eq!(again["hs_user_id"], pids[0]);
    assert_eq!(again["author_email"], "ada@example.org");
    assert_sound(&real).await;
    real.stop().await;
}

async fn create_reply_resolve_reopen() {
    let real = desk().await;
    let mut transcript = Vec::new();
    let steps: [(Method, &str, Fields<'_>); 6] = [
        (Method::POST, "", &[("message-body", "It broke"), ("email", "ada@example.org")]),
        (Method::PUT, "/1", &[("assignee-email", "eva@desk.example")]),
        (Method::POST, "/1/messages", &[("message-body", "Try this"), ("agent-id", "eva")]),
        (Method::POST, "/1/messages", &[("message-body", "Still"), ("message-type", "Text")]),
        (Method::PUT, "/1", &[("status", "Resolved")]),
        (Method::POST, "/1/messages", &[("message-body", "Did not accept the solution")]),
    ];
    for (method, path, fields) in steps {
        let path = format!("{ISSUES}{path}");
        let (status, answer) = send(real.request(method.clone(), &path).form(fields)).await;
        let issue = issue(&real, &format!("{ISSUES}/1")).await;
        transcript.push(json!({
            "request": format!("{method} {path}"), "form": fields, "status": status,
            "answer": answer, "state": issue["state_data"]["state"],
            "state_moved": issue["state_data"]["changed_at"] == issue["updated_at"],
            "messages": issue["messages"].as_array().unwrap().len(),
            "last": issue["messages"].as_array().unwrap().last().unwrap()["author"]["name"],
        }));
    }
    insta::assert_json_snapshot!(transcript, {
        "[].answer.created_at" => "[at]",
    });
    assert_sound(&real).await;
    real.stop().await;
}

async fn the_state_table_holds_over_http() {
    let real = desk().await;
    // A state, then what follows an end user's message, an agent's, and unassigning.
    for (from, end_user, agent, unassigned) in [
        ("new", "new", "agent-replied", "new"),
        ("new-for-agent", "new-for-agent", "agent-replied", "new"),
        ("agent-replied", "waiting-for-agent", "agent-replied", "new"),
        ("waiting-for-agent", "waiting-for-agent", "agent-replied", "new"),
        ("pending-reassignment", "pending-reassignment", "agent-replied", "new"),
        ("resolved", "waiting-for-agent", "agent-replied", "new"),
        ("rejected", "waiting-for-agent", "agent-replied", "new"),
    ] {
        let events: [(&str, Fields<'_>, &str); 3] = [
            ("/messages", &[("message-body", "x")], end_user),
            ("/messages", &[("message-body", "x"), ("agent-id", "tom")], agent),
            ("", &[("assignee-id", "unassigned")], unassigned),
        ];
        for (call, fields, to) in events {
            let path = create(&real, &[("message-body", "x")]).await;
            let upper = from.to_uppercase();
            put(&real, &path, &[("assignee-id", "eva"), ("status", &upper)]).await;
            let before = state(&real, &path).await;
            assert_eq!(before.0, from);
            let (method, status) =
                if call.is_empty() { (Method::PUT, 200) } else { (Method::POST, 201) };
            form(&real, method, &format!("{path}{call}"), fields, status).await;
            let after = state(&real, &path).await;
            assert_eq!(after.0, to, "{from} {call} {fields:?}");
            assert!(after.2 > before.2, "every write moves updated_at");
            let changed = if from == to { before.1 } else { after.2 };
            assert_eq!(after.1, changed, "{from} {call} {fields:?}: changed_at");
        }
    }
    assert_sound(&real).await;
    real.stop().await;
}

async fn an_edit_tells_what_changed_and_nothing_else() {
    let real = desk().await;
    let path = create(
        &real,
        &[
            ("message-body", "x"),
            ("tags", r#"["a"]"#),
            ("meta", r#"{"k":"1","m":"2"}"#),
            ("custom_fields", r#"{"c":{"type":"checkbox","value":"true"}}"#),
        ],
    )
    .await;
    let cases: [(&[(&str, &str)], Value); 9] = [
        (&[("title", "T"), ("tags", r#"["a"]"#)], json!({"title": "T"})),
        (&[("tags", r#"["b","c"]"#)], json!({"tags": ["b", "c"]})),
        (&[("status", "NEW")], json!({})),
        (&[("assignee_id", "eva")], json!({"status": "new-for-agent", "assignee": "eva"})),
        (&[("assignee-email", "TOM@desk.example")], json!({"assignee": "tom"})),
        (&[("assignee-id", "unassigned")], json!({"status": "new", "assignee": "unassigned"})),
        (
            &[("status", "rejected"), ("assignee-id", "eva"), ("agent-profile-id", "tom")],
            json!({"status": "rejected", "assignee": "eva"}),
        ),
        (
            &[("custom-fields", r#"{"c":null,"d":{"type":"date","value":5}}"#)],
            json!({"custom_fields": {"c": null, "d": {"type": "date", "value": 5}}}),
        ),
        (&[("meta", r#"{"k":null,"n":7}"#)], json!({"meta": {"k": null, "n": "7"}})),
    ];
    for (fields, told) in cases {
        let before = state(&real, &path).await;
        assert_eq!(put(&real, &path, fields).await, told, "{fields:?}");
        assert!(state(&real, &path).await.2 > before.2, "{fields:?}: updated_at");
    }
    let issue = issue(&real, &path).await;
    assert_eq!(issue["title"], "T");
    assert_eq!(issue["tags"], json!(["b", "c"]));
    assert_eq!(issue["meta"], json!({"m": "2", "n": "7"}));
    assert_eq!(issue["custom_fields"], json!({"d": {"type": "date", "value": 5}}));
    assert_eq!((&issue["assignee_id"], &issue["assignee_name"]), (&json!("eva"), &json!("Eva")));
    assert_sound(&real).await;
    real.stop().await;
}

async fn messages_are_the_end_users_or_an_agents() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x"), ("email", "ada@example.org")]).await;
    let end_user = say(&real, &path, &[("message-body", "more")]).await;
    assert_eq!(end_user, json!({"added-message": {"body": "more", "type": "Text"}}));
    say(&real, &path, &[("message-body", "answer"), ("agent_id", "eva"), ("message-type", "text")])
        .await;
    let issue = issue(&real, &path).await;
    let [first, second, third] = issue["messages"].as_array().unwrap().as_slice() else {
        panic!("three messages: {issue}");
    };
    assert_eq!(second["author"], first["author"]);
    assert_eq!((&second["origin"], &third["origin"]), (&json!("end-user"), &json!("helpshift")));
    let eva = json!({"name": "Eva", "id": "eva", "emails": ["Eva@Desk.example"]});
    assert_eq!(third["author"], eva);
    assert_eq!(third["created_at"], issue["updated_at"]);
    assert_eq!(third.as_object().unwrap().len(), 5, "{third}");
    assert_sound(&real).await;
    real.stop().await;
}

async fn notes_are_seen_by_those_who_ask_for_them() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x")]).await;
    let notes = format!("{path}/private-notes");
    let fields = [("note-text", "careful"), ("profile-id", "tom")];
    let added = form(&real, Method::POST, &notes, &fields, 201).await;
    assert_eq!(added, json!({"added-note": "careful"}));
    form(&real, Method::POST, &notes, &[("note_text", "who?")], 201).await;
    let issue = issue(&real, &path).await;
    let notes = issue["private_notes"].as_array().unwrap();
    let tom = json!({"name": "Tom", "id": "tom", "emails": ["Tom@Desk.example"]});
    assert_eq!((&notes[0]["body"], &notes[0]["author"]), (&json!("careful"), &tom));
    assert_eq!(notes[1]["author"]["name"], "write-key");
    assert_eq!(notes[1]["created_at"], issue["updated_at"]);
    assert_eq!(issue["state_data"]["state"], "new");
    assert!(!real.text(&path).await.contains("careful"));
    assert_sound(&real).await;
    real.stop().await;
}

async fn what_a_key_without_a_name_writes_is_the_desks() {
    let real = desk().await;
    let key = CreateKey {
        domain: real.domain,
        id: "unnamed".to_owned(),
        hash: Sha256::digest("unnamed").into(),
        name: String::new(),
        access: Access::Write,
        now: real.clock.now(),
        expires_at: None,
    };
    real.store.create_key(key).await.unwrap();
    let path = create(&real, &[("message-body", "x")]).await;
    for (method, path, fields) in [
        (Method::PUT, ISSUES.to_owned(), &[("issue-ids", "[1]"), ("message-body", "y")][..]),
        (Method::POST, format!("{path}/private-notes"), &[("note-text", "z")]),
    ] {
        let url = format!("http://{}{path}", real.address);
        let request = real.client.request(method, url).bearer_auth("unnamed").form(fields);
        let (status, body) = send(request).await;
        assert!([200, 201].contains(&status), "{body}");
    }
    let issue = issue(&real, &path).await;
    let (message, note) = (&issue["messages"][1]["author"], &issue["private_notes"][0]["author"]);
    assert_eq!(message["name"], "Desk");
    assert_eq!(message, note, "one author, whatever is written");
    real.stop().await;
}

async fn a_bulk_edit_changes_all_issues_or_none() {
    let real = desk().await;
    let mut paths = Vec::new();
    for _ in 0..3 {
        paths.push(create(&real, &[("message-body", "x"), ("tags", r#"["a"]"#)]).await);
    }
    let fields = [
        ("issue-ids", r#"[1,"2",2]"#),
        ("tags", r#"["b"]"#),
        ("assignee-id", "eva"),
        ("message-body", "All of you"),
        ("action_taken_by", "tom@desk.example"),
    ];
    let told = form(&real, Method::PUT, ISSUES, &fields, 200).await;
    assert_eq!(
        told,
        json!({
            "issue-count": 2,
            "edit-info": {"message-body": "All of you", "assignee": "eva", "assignee-id": "eva",
                          "tags": ["b"]},
            "action_taken_by": "tom@desk.example",
        })
    );
    let mut ids = HashSet::new();
    for path in &paths[..2] {
        let issue = issue(&real, path).await;
        assert_eq!(issue["state_data"]["state"], "agent-replied");
        assert_eq!(issue["messages"][1]["author"]["id"], "tom");
        ids.insert(issue["messages"][1]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids.len(), 2, "each message has an id of its own");
    let untouched = real.text(&paths[2]).await;
    let before = real.text(&paths[0]).await;
    for (fields, named) in [
        (&[("issue-ids", "[1,99]"), ("status", "resolved")][..], "99"),
        (&[("issue-ids", "[1,3]"), ("status", "resolved"), ("assignee-id", "nobody")], "nobody"),
        (&[("issue-ids", "[1,3,99]"), ("assignee-id", "nobody"), ("status", "odd")], "99"),
    ] {
        let (status, body) = send(real.request(Method::PUT, ISSUES).form(fields)).await;
        assert_eq!(status, 400, "{body}");
        assert!(body["errors"].to_string().contains(named), "{body}");
    }
    assert_eq!(real.text(&paths[0]).await, before);
    assert_eq!(real.text(&paths[2]).await, untouched);
    let key = [("issue-ids", "[3]"), ("message-body", "x"), ("status", "Resolved")];
    form(&real, Method::PUT, ISSUES, &key, 200).await;
    let issue = issue(&real, &paths[2]).await;
    assert_eq!(issue["messages"][1]["author"]["name"], "write-key");
    assert_eq!(issue["state_data"]["state"], "resolved", "a given status has the last word");
    assert_sound(&real).await;
    real.stop().await;
}

async fn a_repeated_creation_gets_the_first_answer_and_makes_one_issue() {
    let real = desk().await;
    let post = |fields: &[(&str, &str)]| {
        real.request(Method::POST, ISSUES).header("Idempotency-Key", "k").form(fields)
    };
    let first = post(&[("message-body", "x"), ("title", "t")]).send().await.unwrap();
    assert_eq!(first.headers()["location"], "/v1/acme/issues/1");
    let first = json_of(first).await;
    assert_eq!(first.0, 201);
    let multipart = Form::new().text("title", "t").text("message_body", "x");
    let turned = real.request(Method::POST, ISSUES).header("Idempotency-Key", "k");
    assert_eq!(send(turned.multipart(multipart)).await, first, "another form of the same");
    assert_eq!(send(post(&[("message-body", "y")])).await.0, 422);
    let messages = real.request(Method::POST, &format!("{ISSUES}/1/messages"));
    let message = messages.header("Idempotency-Key", "k").form(&[("message-body", "x")]);
    assert_eq!(send(message).await.0, 422, "another call");
    for call in ["messages", "private-notes"] {
        let field = if call == "messages" { "message-body" } else { "note-text" };
        let twice = || {
            let path = format!("{ISSUES}/1/{call}");
            real.request(Method::POST, &path).header("Idempotency-Key", call).form(&[(field, "z")])
        };
        let first = send(twice()).await;
        assert_eq!(first.0, 201);
        assert_eq!(send(twice()).await, first);
    }
    let issue = issue(&real, &format!("{ISSUES}/1")).await;
    assert_eq!(issue["messages"].as_array().unwrap().len(), 2);
    assert_eq!(issue["private_notes"].as_array().unwrap().len(), 1);
    assert_eq!(real.json(ISSUES).await["total-hits"], 1);
    real.stop().await;
}

async fn what_is_written_at_once_is_all_there_and_in_order() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x")]).await;
    let messages = format!("{path}/messages");
    let texts: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let saying = texts.iter().map(|text| {
        let fields = [("message-body", text.as_str())];
        let request = real.request(Method::POST, &messages).form(&fields);
        async { send(request).await.0 }
    });
    let creating = (0..40).map(|_| {
        let request = real.request(Method::POST, ISSUES).form(&[("message-body", "y")]);
        async { send(request).await.0 }
    });
    let (said, created) = tokio::join!(join_all(saying), join_all(creating));
    assert!(said.iter().chain(&created).all(|status| *status == 201));
    let issue = issue(&real, &path).await;
    let found = issue["messages"].as_array().unwrap();
    let times: Vec<_> = found.iter().map(|m| m["created_at"].as_i64().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    let bodies: HashSet<_> = found.iter().map(|m| m["body"].as_str().unwrap()).collect();
    assert_eq!(bodies.len(), 41);
    let all = real.json(&format!("{ISSUES}?sort-order=asc")).await;
    let all = all["issues"].as_array().unwrap();
    let order: Vec<_> = all.iter().map(|i| (i["created_at"].as_i64(), i["id"].as_i64())).collect();
    assert_eq!(all.len(), 41);
    assert!(order.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{order:?}");
    assert_sound(&real).await;
    real.stop().await;
}

async fn what_was_written_is_exported_and_imported_as_the_same() {
    let mut real = desk().await;
    real.run_tasks();
    let path = create(&real, &[("message-body", "x"), ("email", "ada@example.org")]).await;
    say(&real, &path, &[("message-body", "y"), ("agent-id", "eva")]).await;
    form(&real, Method::POST, &format!("{path}/private-notes"), &[("note-text", "n")], 201).await;
    let before = issue(&real, &path).await;
    let action = Action::ImportIssues.as_str();
    let task = real.run("issues", action, &before.to_string()).await;
    let results = real.lines(&task, "results").await;
    assert!(results.contains("\"unchanged\""), "{results}");
    real.stop().await;
}

async fn attachments_come_back_as_they_went() {
    let real = desk().await;
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let files: [File; 4] = [
        ("attachment", "shot.png", Some("image/png"), long, "image/png"),
        (
            "attachments",
            "ä page.html",
            Some("text/html"),
            b"<script>".to_vec(),
            "application/octet-stream",
        ),
        (
            "attachments",
            "x.svg",
            Some("image/svg+xml"),
            b"<svg/>".to_vec(),
            "application/octet-stream",
        ),
        ("attachments", "empty.txt", None, Vec::new(), "application/octet-stream"),
    ];
    let mut form = Form::new().text("message-body", "look");
    for (field, name, kind, bytes, _) in files.clone() {
        let part = Part::bytes(bytes).file_name(name);
        let part = match kind {
            Some(kind) => part.mime_str(kind).unwrap(),
            None => part,
        };
        form = form.part(field, part);
    }
    let (status, made) = send(real.request(Method::POST, ISSUES).multipart(form)).await;
    assert_eq!(status, 201, "{made}");
    let issue = issue(&real, &format!("{ISSUES}/1")).await;
    let message = &issue["messages"][0];
    assert_eq!(message["attachments"], made["attachments"]);
    assert_eq!(message["attachment"], made["attachments"][0]);
    assert_eq!(made["attachments"].as_array().unwrap().len(), 4);
    for (n, (_, name, kind, bytes, served)) in files.into_iter().enumerate() {
        let record = &made["attachments"][n];
        assert_eq!(record["file_name"], name);
        assert_eq!(record["content_type"], kind.unwrap_or("application/octet-stream"));
        assert_eq!(record["size"], bytes.len());
        let url = record["url"].as_str().unwrap();
        assert!(url.starts_with("/v1/acme/attachments/acme_attachment_2023"), "{url}");
        let answer = real.request(Method::GET, url).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), served, "{name}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-disposition").starts_with("attachment; filename="));
        assert_eq!(header("content-length"), bytes.len().to_string());
        assert_eq!(answer.bytes().await.unwrap(), bytes, "{name}");
        let bare = real.client.get(format!("http://{}{url}", real.address)).send().await.unwrap();
        assert_eq!(bare.status(), 401, "a key is needed");
    }
    let unknown = real.request(Method::GET, "/v1/acme/attachments/x").send().await.unwrap();
    assert_eq!(unknown.status(), 404);
    let form = Form::new().text("message-body", "y").part("attachment", Part::text("z"));
    let path = format!("{ISSUES}/1/messages");
    let (status, said) = send(real.request(Method::POST, &path).multipart(form)).await;
    assert_eq!((status, &said["added-message"]["attachment"]["size"]), (201, &json!(1)), "{said}");
    assert_sound(&real).await;
    real.stop().await;
}

async fn apps_agents_and_queues_are_listed() {
    let mut real = desk().await;
    real.run_tasks();
    let entry = json!({"created_at": 5, "queue": {"id": "123", "name": "Queue A"}});
    real.run("issues", Action::ImportIssues.as_str(), &entry.to_string()).await;
    let apps = real.json("/v1/acme/apps/?page=1&page-size=1000&odd=1").await;
    let apps = apps["apps"].as_array().unwrap();
    assert_eq!((&apps[0]["title"], &apps[0]["publish_id"]), (&json!("Web"), &json!("1")));
    assert_eq!(apps[1]["id"], "mobile");
    assert_eq!(real.json("/v1/acme/apps/2").await, apps[1]);
    let unknown = real.request(Method::GET, "/v1/acme/apps/9").send().await.unwrap();
    assert_eq!(unknown.status(), 404);
    let queues = real.json("/v1/acme/queues").await;
    assert_eq!(queues, json!({"queues": [{"id": "123", "name": "Queue A", "title": "Queue A"}]}));
    let agents = real.json("/v1/acme/agents?page_size=1&page=2&includes=%5B%22groups%22%5D").await;
    assert_eq!(agents["profiles"][0]["id"], "tom");
    assert_eq!((&agents["page"], &agents["page-size"]), (&json!(2), &json!(1)));
    assert_eq!((&agents["total-profiles"], &agents["total-pages"]), (&json!(2), &json!(2)));
    let eva = real.json("/v1/acme/agents?emails=%5B%22EVA@desk.example%22%5D").await;
    assert_eq!((&eva["profiles"][0]["name"], &eva["total-profiles"]), (&json!("Eva"), &json!(1)));
    real.stop().await;
}
