//! `POST /v1/{domain}/issues/{issue_id}/private-notes`: the author of a note and its readers.

use caseload_model::key::Access;
use caseload_store::CreateKey;
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::support::{ISSUES, assert_sound, create, desk, form, issue, send};

on_each_store!(notes_are_shown_only_if_included, a_key_without_a_name_writes_as_the_desk,);

async fn notes_are_shown_only_if_included() {
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

async fn a_key_without_a_name_writes_as_the_desk() {
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
    assert_eq!(message, note, "messages and notes have the same author");
    real.stop().await;
}
