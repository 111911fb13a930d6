//! `POST /v1/{domain}/issues`: the answer, and the issue that the call creates.

use std::collections::HashSet;

use caseload_teststore::on_each_store;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::json;

use super::support::{ISSUES, assert_sound, create, desk, issue, json_of, send};

on_each_store!(
    a_new_issue_has_the_fields_of_the_form_and_defaults_for_the_rest,
    one_app_profile_per_app_and_identity,
    a_repeated_creation_gets_the_first_answer_and_makes_one_issue,
    attachments_are_served_as_they_were_sent,
);

/// Field, file name, content type, bytes, and the type that it is served as.
type File = (&'static str, &'static str, Option<&'static str>, Vec<u8>, &'static str);

async fn a_new_issue_has_the_fields_of_the_form_and_defaults_for_the_rest() {
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
            "issue_mode_data": {"issue_mode": "default"}, "queue": null, "cc": ["b@example.org"],
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
    assert_eq!(pids[3], pids[5], "an id without a profile is a uid, as an identifier is");
    let distinct: HashSet<_> = pids.iter().collect();
    assert_eq!(distinct.len(), 5, "{pids:?}");
    // The id of an existing profile also identifies the end user.
    let again = create(&real, &[("message-body", "x"), ("end_user_id", &pids[0])]).await;
    let again = issue(&real, &again).await;
    assert_eq!(again["hs_user_id"], pids[0]);
    assert_eq!(again["author_email"], "ada@example.org");
    for (uid, found) in [("u1", 1), (&pids[0], 0)] {
        let path = format!("/v2/acme/identity/app_profiles?identity=uid:{uid}");
        assert_eq!(real.json(&path).await["total-hits"], found, "{uid}");
    }
    assert_sound(&real).await;
    real.stop().await;
}

async fn a_repeated_creation_gets_the_first_answer_and_makes_one_issue() {
    let real = desk().await;
    let post = |fields: &[(&str, &str)]| {
        real.request(Method::POST, ISSUES).header("Idempotency-Key", "k").form(fields)
    };
    let first = post(&[("message-body", "x"), ("title", "t")]).send().await.unwrap();
    assert_eq!(first.headers()["location"], real.url("/v1/acme/issues/1").as_str());
    assert!(!first.headers().contains_key("idempotent-replayed"));
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

async fn attachments_are_served_as_they_were_sent() {
    let real = desk().await;
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let files: [File; 5] = [
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
        ("attachments", "x.json", Some("application/json"), b"\xe4".to_vec(), "application/json"),
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
    assert_eq!(made["attachments"].as_array().unwrap().len(), 5);
    for (n, (_, name, kind, bytes, served)) in files.into_iter().enumerate() {
        let record = &made["attachments"][n];
        assert_eq!(record["file_name"], name);
        assert_eq!(record["content_type"], kind.unwrap_or("application/octet-stream"));
        assert_eq!(record["size"], bytes.len());
        let url = record["url"].as_str().unwrap();
        let path = "/v1/acme/attachments/acme_attachment_2023";
        assert!(url.starts_with(&real.url(path)), "{url}");
        let answer = real.request(Method::GET, url).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), served, "{name}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-disposition").starts_with("attachment; filename="));
        assert_eq!(header("content-length"), bytes.len().to_string());
        assert_eq!(answer.bytes().await.unwrap(), bytes, "{name}");
        let bare = real.client.get(url).send().await.unwrap();
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
