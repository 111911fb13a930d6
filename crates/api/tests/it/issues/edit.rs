//! `PUT /v1/{domain}/issues/{issue_id}` and `PUT /v1/{domain}/issues`: the changes and the answers.

use std::collections::HashSet;

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, assert_sound, create, desk, form, issue, put, send, state};

on_each_store!(an_edit_answers_with_the_changed_members_only, a_bulk_edit_changes_all_or_none,);

async fn an_edit_answers_with_the_changed_members_only() {
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

async fn a_bulk_edit_changes_all_or_none() {
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
    let answer = form(&real, Method::PUT, ISSUES, &fields, 200).await;
    assert_eq!(
        answer,
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
