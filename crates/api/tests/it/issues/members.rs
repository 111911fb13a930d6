//! The members that every issue has: its mode, its queue if it is asked for, and an address of each
//! author at the desk. Defaults survive an export and an import.

use caseload_model::issue::write::Desk;
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, assert_sound, create, desk, form, put};
use crate::real_server::RealServer;

on_each_store!(
    every_issue_has_a_mode_and_is_found_by_it,
    an_issue_without_a_queue_has_a_queue_of_null_if_it_is_asked_for,
    an_imported_message_of_the_desk_always_has_an_address,
    defaults_survive_an_export_and_an_import_into_an_empty_domain,
    a_repeated_import_is_unchanged_after_a_change_of_the_desk,
);

/// Everything that `includes` can add.
const ALL: &str = "includes=%5B%22feedback%22,%22custom_fields%22,%22queue%22,%22private_notes%22,\
                   %22predict_labels%22,%22sentiment_analysis%22,%22smart_intents%22%5D";

/// Imports entries; the outcomes.
async fn import(real: &RealServer, entries: &[Value]) -> Vec<String> {
    let lines = entries.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    import_lines(real, &lines).await
}

async fn import_lines(real: &RealServer, lines: &str) -> Vec<String> {
    let task = real.run("issues", "import_issues", lines).await;
    assert_eq!(task["counts"]["failed"], 0, "{}", real.lines(&task, "errors").await);
    let outcome = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["outcome"].as_str().unwrap().to_owned()
    };
    real.lines(&task, "results").await.lines().map(outcome).collect()
}

/// All issues as lines, oldest first, without the line at the end.
async fn export(real: &RealServer) -> String {
    let request = real.request(Method::GET, &format!("{ISSUES}?sort-order=asc&{ALL}"));
    let answer = request.header("accept", "application/x-ndjson").send().await.unwrap();
    let text = answer.text().await.unwrap();
    let (lines, end) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(end.contains("\"end\":true"), "{end}");
    lines.to_owned() + "\n"
}

fn entries() -> [Value; 6] {
    let of_desk = |emails: Value| json!({"origin": "helpshift", "body": "b", "author": emails});
    [
        json!({"id": 11, "created_at": 11}),
        json!({"id": 12, "created_at": 12, "cc": ["b@example.org"]}),
        json!({"id": 13, "created_at": 13, "issue_mode_data": {"issue_mode": "chat"}}),
        json!({"id": 14, "created_at": 14, "cc": [], "issue_mode_data": {"issue_mode": "default"}}),
        json!({"id": 15, "created_at": 15, "queue": {"id": "q", "name": "Queue"},
               "issue_mode_data": {}, "cc": [",\"cc\":["]}),
        json!({"id": 16, "created_at": 16, "assignee_id": "bot", "assignee_name": "Bot",
        "messages": [
            {"body": "a", "author": {"name": "Ada"}},
            of_desk(json!({"id": "ida", "name": "Ida", "emails": []})),
            of_desk(json!({"id": "eva", "name": "Eva"})),
            of_desk(json!({"id": "zoe", "name": "Zoe"})),
            of_desk(json!({"id": "zoe", "name": "Zoe", "emails": ["zoe@x.example"]})),
            {"origin": "helpshift", "body": "without an author"},
        ]}),
    ]
}

async fn every_issue_has_a_mode_and_is_found_by_it() {
    let mut real = desk().await;
    real.run_tasks();
    import(&real, &entries()).await;
    create(&real, &[("message-body", "x"), ("cc", r#"["c@example.org"]"#)]).await;
    let ids = async |query: &str| {
        let list = real.json(&format!("{ISSUES}?sort-order=asc&{query}")).await;
        let issues = list["issues"].as_array().unwrap().clone();
        assert_eq!(list["total-hits"], issues.len());
        issues.iter().map(|issue| issue["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let list = real.json(&format!("{ISSUES}?sort-order=asc")).await;
    for issue in list["issues"].as_array().unwrap() {
        let mode = if issue["id"] == 13 { "chat" } else { "default" };
        assert_eq!(issue["issue_mode_data"], json!({"issue_mode": mode}), "{issue}");
        let single = real.json(&format!("{ISSUES}/{}", issue["id"])).await;
        assert_eq!(single["issues"][0]["issue_mode_data"], issue["issue_mode_data"]);
    }
    assert_eq!(ids("issue_modes=%5B%22chat%22%5D").await, [13]);
    assert_eq!(ids("issue_modes=%5B%22default%22%5D").await, [11, 12, 14, 15, 16, 17]);
    assert_eq!(ids("issue_modes=%5B%22default%22,%22chat%22%5D").await.len(), 7);
    assert_eq!(ids("issue_modes=%5B%22default%22%5D&queue_ids=%5B%22q%22%5D").await, [15]);
    assert_eq!(ids("issue_modes=%5B%22default%22%5D&created-until=12").await, [11, 12]);
    assert_eq!(ids("issue_modes=%5B%22email%22%5D").await, [0_u64; 0]);
    put(&real, &format!("{ISSUES}/17"), &[("title", "t")]).await;
    assert_eq!(ids("issue_modes=%5B%22default%22%5D").await.len(), 6, "an edit leaves the mode");
    assert_sound(&real).await;
    real.stop().await;
}

async fn an_issue_without_a_queue_has_a_queue_of_null_if_it_is_asked_for() {
    let mut real = desk().await;
    real.run_tasks();
    import(&real, &entries()).await;
    create(&real, &[("message-body", "x")]).await;
    let include = "includes=%5B%22queue%22%5D";
    for issue in real.json(&format!("{ISSUES}?{include}")).await["issues"].as_array().unwrap() {
        let queue =
            if issue["id"] == 15 { json!({"id": "q", "name": "Queue"}) } else { json!(null) };
        assert_eq!(issue.get("queue"), Some(&queue), "{issue}");
    }
    let single = real.json(&format!("{ISSUES}/17?{include}")).await;
    assert_eq!(single["issues"][0].get("queue"), Some(&json!(null)));
    let plain = real.json(&format!("{ISSUES}/17")).await;
    assert_eq!(plain["issues"][0].get("queue"), None, "it was not asked for");
    real.stop().await;
}

/// The addresses of the authors of an issue's messages.
async fn addresses(real: &RealServer, id: u64) -> Vec<Value> {
    let issue = real.json(&format!("{ISSUES}/{id}")).await["issues"][0].take();
    let messages = issue["messages"].as_array().unwrap().iter();
    messages.map(|message| message["author"]["emails"].clone()).collect()
}

async fn an_imported_message_of_the_desk_always_has_an_address() {
    let mut real = desk().await;
    real.run_tasks();
    import(&real, &entries()).await;
    let expected = |desk: &str| {
        [
            json!([]),
            json!([desk]),
            json!(["Eva@Desk.example"]),
            json!(["zoe@x.example"]),
            json!(["zoe@x.example"]),
            json!([desk]),
        ]
    };
    assert_eq!(addresses(&real, 16).await, expected("desk@acme.invalid"));
    let (name, email) = ("Help".to_owned(), Some("help@acme.example".to_owned()));
    real.store.set_desk(real.domain, Desk { name, email }, real.clock.now().into()).await.unwrap();
    let mut entry = entries()[5].clone();
    entry["id"] = 26.into();
    entry["created_at"] = 26.into();
    import(&real, &[entry]).await;
    assert_eq!(addresses(&real, 26).await, expected("help@acme.example"));
    let agents = real.json("/v1/acme/agents").await;
    let of_ida = agents["profiles"].as_array().unwrap().iter().find(|agent| agent["id"] == "ida");
    assert_eq!(of_ida.unwrap()["email"], "", "the address of the desk is not the agent's");
    assert_sound(&real).await;
    real.stop().await;
}

async fn defaults_survive_an_export_and_an_import_into_an_empty_domain() {
    let (mut first, mut second) = (desk().await, desk().await);
    first.run_tasks();
    second.run_tasks();
    import(&first, &entries()).await;
    let path = create(&first, &[("message-body", "x"), ("cc", r#"["c@example.org"]"#)]).await;
    let fields = [("issue-ids", "[11,17]"), ("message-body", "of the desk")];
    form(&first, Method::PUT, ISSUES, &fields, 200).await;
    let note = format!("{path}/private-notes");
    form(&first, Method::POST, &note, &[("note-text", "n")], 201).await;
    let exported = export(&first).await;
    assert_eq!(import_lines(&second, &exported).await, ["created"; 7]);
    assert_eq!(export(&second).await, exported);
    assert_eq!(import_lines(&second, &exported).await, ["unchanged"; 7]);
    assert_eq!(import_lines(&first, &exported).await, ["unchanged"; 7]);
    for real in [first, second] {
        assert_sound(&real).await;
        real.stop().await;
    }
}

async fn a_repeated_import_is_unchanged_after_a_change_of_the_desk() {
    let mut real = desk().await;
    real.run_tasks();
    assert_eq!(import(&real, &entries()).await, ["created"; 6]);
    let before = export(&real).await;
    let (name, email) = ("Help".to_owned(), Some("help@acme.example".to_owned()));
    real.store.set_desk(real.domain, Desk { name, email }, real.clock.now().into()).await.unwrap();
    assert_eq!(import(&real, &entries()).await, ["unchanged"; 6]);
    assert_eq!(export(&real).await, before);
    let mut other = entries()[5].clone();
    other["messages"][1]["author"]["name"] = "Other".into();
    let task = real.run("issues", "import_issues", &other.to_string()).await;
    let errors = real.lines(&task, "errors").await;
    assert!(errors.contains("id_conflict") && errors.contains("messages"), "{errors}");
    real.stop().await;
}
