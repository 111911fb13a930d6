//! `PUT /v1/{domain}/issues/{issue_id}` and `PUT /v1/{domain}/issues`: the changes and the answers.

use std::collections::HashSet;

use caseload_teststore::on_each_store;
use reqwest::multipart::Form;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::support::{ISSUES, assert_sound, create, desk, form, issue, put, send, state};
use crate::real_server::RealServer;

on_each_store!(
    an_edit_answers_with_the_changed_members_only,
    a_bulk_edit_changes_all_or_none,
    an_edit_that_changes_nothing_leaves_the_time_and_the_tag,
    a_bulk_edit_writes_only_the_issues_that_it_changes,
    a_repeated_edit_gets_the_first_answer_and_changes_nothing_more,
);

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
            &[(
                "custom-fields",
                r#"{"c":null,"d":{"type":"date","value":"1970-01-01T02:00:00.005+0200"}}"#,
            )],
            json!({"custom_fields": {"c": null, "d": {"type": "date", "value": 5}}}),
        ),
        (&[("meta", r#"{"k":null,"n":7}"#)], json!({"meta": {"k": null, "n": "7"}})),
    ];
    for (fields, told) in cases {
        let before = state(&real, &path).await;
        assert_eq!(put(&real, &path, fields).await, told, "{fields:?}");
        let moved = state(&real, &path).await.2 > before.2;
        assert_eq!(moved, told != json!({}), "{fields:?}: updated_at");
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
    let author = &issue["messages"][1]["author"];
    assert_eq!(
        (&author["name"], &author["emails"]),
        (&json!("Desk"), &json!(["desk@acme.invalid"]))
    );
    assert_eq!(issue["state_data"]["state"], "resolved", "a given status has the last word");
    assert_sound(&real).await;
    real.stop().await;
}

/// The entity tag of a GET.
async fn tag(real: &RealServer, path: &str) -> String {
    let answer = real.request(Method::GET, path).send().await.unwrap();
    answer.headers()["etag"].to_str().unwrap().to_owned()
}

async fn an_edit_that_changes_nothing_leaves_the_time_and_the_tag() {
    let mut real = desk().await;
    real.run_tasks();
    let entry = json!({
        "id": 7, "title": "Help", "created_at": 5, "tags": ["a", "b"], "assignee_id": "eva",
        "assignee_name": "Eva of old", "state_data": {"state": "resolved", "changed_at": 6},
        "meta": {"k": "1"}, "custom_fields": {"c": {"type": "number", "value": 2}},
        "queue": {"id": "q", "name": "Queue"},
    });
    real.run("issues", "import_issues", &entry.to_string()).await;
    let path = format!("{ISSUES}/7");
    let list = format!("{ISSUES}?state=resolved");
    let before = (real.text(&path).await, tag(&real, &path).await, tag(&real, &list).await);
    let same: [&[(&str, &str)]; 10] = [
        &[("status", "resolved")],
        &[("status", "RESOLVED"), ("title", "Help")],
        &[("tags", r#"["a","b"]"#)],
        &[("assignee-id", "eva")],
        &[("assignee-email", "eva@desk.example")],
        &[("meta", r#"{"k":1}"#)],
        &[("meta", r#"{"gone":null}"#)],
        &[("custom_fields", r#"{"c":{"value":2,"type":"number"},"gone":null}"#)],
        &[("queue_id", "q")],
        &[("assignee-id", "eva"), ("status", "resolved"), ("tags", r#"["a", "b"]"#)],
    ];
    for fields in same {
        assert_eq!(put(&real, &path, fields).await, json!({}), "{fields:?}");
        let after = (real.text(&path).await, tag(&real, &path).await, tag(&real, &list).await);
        assert_eq!(after, before, "{fields:?}");
    }
    put(&real, &path, &[("tags", r#"["b","a"]"#)]).await;
    assert_ne!(tag(&real, &path).await, before.1);
    assert_ne!(tag(&real, &list).await, before.2);
    assert_sound(&real).await;
    real.stop().await;
}

async fn a_bulk_edit_writes_only_the_issues_that_it_changes() {
    let real = desk().await;
    let tags = [r#"["a"]"#, r#"["b"]"#, r#"["a"]"#];
    let mut paths = Vec::new();
    for tags in tags {
        paths.push(create(&real, &[("message-body", "x"), ("tags", tags)]).await);
    }
    let before = [state(&real, &paths[0]).await, state(&real, &paths[1]).await];
    let fields = [("issue-ids", "[1,2,3]"), ("tags", tags[0]), ("status", "new")];
    let answer = form(&real, Method::PUT, ISSUES, &fields, 200).await;
    assert_eq!(answer["issue-count"], 3, "the named issues are counted");
    assert_eq!(state(&real, &paths[0]).await, before[0], "it had these tags");
    assert!(state(&real, &paths[1]).await.2 > before[1].2);
    let all = real.text(ISSUES).await;
    let fields = [
        ("issue-ids", "[1,2,3]"),
        ("tags", tags[0]),
        ("status", "New"),
        ("assignee-id", "unassigned"),
        ("custom_fields", r#"{"gone":null}"#),
    ];
    form(&real, Method::PUT, ISSUES, &fields, 200).await;
    assert_eq!(real.text(ISSUES).await, all, "nothing was written");
    let fields = [("issue-ids", "[1,2,3]"), ("tags", tags[0]), ("message-body", "m")];
    form(&real, Method::PUT, ISSUES, &fields, 200).await;
    for path in &paths {
        assert_eq!(issue(&real, path).await["messages"][1]["body"], "m", "a message is a change");
    }
    assert_sound(&real).await;
    real.stop().await;
}

/// Status, mark of a replay, location and body of an answer.
async fn whole(request: RequestBuilder) -> (u16, Option<String>, Option<String>, String) {
    let answer = request.send().await.unwrap();
    let header = |name: &str| answer.headers().get(name).map(|v| v.to_str().unwrap().to_owned());
    let (replayed, location) = (header("idempotent-replayed"), header("location"));
    (answer.status().as_u16(), replayed, location, answer.text().await.unwrap())
}

async fn a_repeated_edit_gets_the_first_answer_and_changes_nothing_more() {
    let real = desk().await;
    let path = create(&real, &[("message-body", "x")]).await;
    let edit = |key: &'static str, fields: &[(&str, &str)]| {
        real.request(Method::PUT, &path).header("Idempotency-Key", key).form(fields)
    };
    let first = whole(edit("one", &[("status", "resolved"), ("title", "T")])).await;
    let body = r#"{"updated-data":{"status":"resolved","title":"T"}}"#;
    assert_eq!(first, (200, None, None, body.to_owned()));
    put(&real, &path, &[("status", "rejected")]).await;
    let before = real.text(&path).await;
    let multipart = Form::new().text("title", "T").text("status", "resolved");
    let turned = real.request(Method::PUT, &path).header("Idempotency-Key", "one");
    for again in
        [edit("one", &[("status", "resolved"), ("title", "T")]), turned.multipart(multipart)]
    {
        let again = whole(again).await;
        assert_eq!(again, (200, Some("true".to_owned()), None, body.to_owned()));
    }
    assert_eq!(real.text(&path).await, before, "a repeat changes nothing");
    assert_eq!(whole(edit("one", &[("status", "new")])).await.0, 422, "another content");

    let many = |key: &'static str, text: &'static str| {
        let fields = [("issue-ids", "[1]"), ("message-body", text)];
        real.request(Method::PUT, ISSUES).header("Idempotency-Key", key).form(&fields)
    };
    assert_eq!(whole(many("one", "m")).await.0, 422, "another call");
    let first = whole(many("two", "m")).await;
    assert_eq!((first.0, &first.1), (200, &None), "{}", first.3);
    let again = whole(many("two", "m")).await;
    assert_eq!(again, (200, Some("true".to_owned()), None, first.3));
    assert_eq!(issue(&real, &path).await["messages"].as_array().unwrap().len(), 2);
    let refused = whole(edit("free", &[("status", "odd")])).await;
    assert_eq!(refused.0, 400, "{}", refused.3);
    assert_eq!(whole(edit("free", &[("status", "new")])).await.0, 200, "a fault uses no key up");
    let long = "x".repeat(256);
    let faulty = real.request(Method::PUT, &path).header("Idempotency-Key", &long);
    let (status, body) = send(faulty.form(&[("status", "odd")])).await;
    let faults = body["errors"].as_array().unwrap().iter();
    let names: Vec<_> = faults.map(|fault| fault["parameter"].as_str().unwrap()).collect();
    assert_eq!((status, names), (400, vec!["Idempotency-Key", "status"]), "{body}");
    assert_sound(&real).await;
    real.stop().await;
}
