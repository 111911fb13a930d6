//! `POST /v1/{domain}/issues/{issue_id}/private-notes`: the author of a note and its readers, and
//! the authors of messages and notes that no agent signs.

use caseload_model::issue::write::Desk;
use caseload_store::{CreateAgent, OpenMode};
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, assert_sound, create, desk, form, issue, say};
use crate::real_server::RealServer;

/// The address of a desk that has none of its own.
const DEFAULT_ADDRESS: &str = "desk@acme.invalid";

on_each_store!(
    notes_are_shown_only_if_included,
    the_desk_writes_under_its_own_name_and_never_under_that_of_a_key,
    an_agent_without_an_address_writes_from_that_of_the_desk,
);

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
    assert_eq!(notes[1]["author"]["name"], "Desk");
    assert_eq!(notes[1]["created_at"], issue["updated_at"]);
    assert_eq!(issue["state_data"]["state"], "new");
    assert!(!real.text(&path).await.contains("careful"));
    assert_sound(&real).await;
    real.stop().await;
}

/// Adds a message and a note without an agent to issue 1; their authors.
async fn by_the_desk(real: &RealServer) -> [Value; 2] {
    let note = format!("{ISSUES}/1/private-notes");
    form(real, Method::POST, &note, &[("note-text", "z")], 201).await;
    let fields = [("issue-ids", "[1]"), ("message-body", "y")];
    form(real, Method::PUT, ISSUES, &fields, 200).await;
    let mut issue = issue(real, &format!("{ISSUES}/1")).await;
    ["messages", "private_notes"].map(|list| {
        let last = issue[list].as_array_mut().unwrap().pop().unwrap();
        last["author"].clone()
    })
}

async fn the_desk_writes_under_its_own_name_and_never_under_that_of_a_key() {
    let real = desk().await;
    create(&real, &[("message-body", "x")]).await;
    let [message, note] = by_the_desk(&real).await;
    assert_eq!((&message["name"], &message["emails"]), (&json!("Desk"), &json!([DEFAULT_ADDRESS])));
    assert_eq!(message, note, "messages and notes have the same author");
    // As `caseload domain edit` does, in another process.
    let admin = caseload_location::open(&real.place.location(), OpenMode::Admin).await.unwrap();
    let (name, email) = ("Help & co".to_owned(), Some("help@acme.example".to_owned()));
    admin.set_desk(real.domain, Desk { name, email }, real.clock.now().into()).await.unwrap();
    let [message, note] = by_the_desk(&real).await;
    let expected = (&json!("Help & co"), &json!(["help@acme.example"]));
    assert_eq!((&message["name"], &message["emails"]), expected, "from the next request on");
    assert_eq!(message, note);
    admin.set_desk(real.domain, Desk::default(), real.clock.now().into()).await.unwrap();
    admin.close().await.unwrap();
    let [message, _] = by_the_desk(&real).await;
    assert_eq!((&message["name"], &message["emails"]), (&json!("Desk"), &json!([DEFAULT_ADDRESS])));
    assert_sound(&real).await;
    real.stop().await;
}

async fn an_agent_without_an_address_writes_from_that_of_the_desk() {
    let real = desk().await;
    create(&real, &[("message-body", "x")]).await;
    let command = CreateAgent {
        domain: real.domain,
        id: "imported".to_owned(),
        name: "Ida".to_owned(),
        email: String::new(),
        origin: real.clock.now().into(),
    };
    real.store.create_agent(command).await.unwrap();
    let path = format!("{ISSUES}/1");
    let author = json!({"name": "Ida", "id": "imported", "emails": [DEFAULT_ADDRESS]});
    say(&real, &path, &[("message-body", "m"), ("agent-id", "imported")]).await;
    let note = format!("{path}/private-notes");
    let fields = [("note-text", "n"), ("profile-id", "imported")];
    form(&real, Method::POST, &note, &fields, 201).await;
    for taken_by in ["imported", "Someone"] {
        let fields = [("issue-ids", "[1]"), ("message-body", "b"), ("action_taken_by", taken_by)];
        form(&real, Method::PUT, ISSUES, &fields, 200).await;
    }
    let issue = issue(&real, &path).await;
    let messages = issue["messages"].as_array().unwrap();
    assert_eq!((&messages[1]["author"], &messages[2]["author"]), (&author, &author));
    assert_eq!(issue["private_notes"][0]["author"], author);
    let someone = &messages[3]["author"];
    assert_eq!(
        (&someone["name"], &someone["emails"]),
        (&json!("Someone"), &json!([DEFAULT_ADDRESS]))
    );
    assert_sound(&real).await;
    real.stop().await;
}
