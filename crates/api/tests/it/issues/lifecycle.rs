//! The life of an issue over the real store: its states, writes that arrive at once, and the way
//! through an export and an import.

use std::collections::HashSet;

use caseload_model::task::Action;
use caseload_teststore::on_each_store;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::support::{ISSUES, assert_sound, create, desk, form, issue, put, say, send, state};

on_each_store!(
    create_reply_resolve_reopen,
    states_follow_the_state_table,
    unassigning_returns_open_issues_to_new_and_leaves_the_others,
    an_exported_issue_is_unchanged_if_imported_again,
);
on_each_store!(threads 4:
    concurrent_writes_are_all_stored_in_order,
);

/// Fields of a form.
type Fields<'f> = &'f [(&'f str, &'f str)];

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

async fn states_follow_the_state_table() {
    let real = desk().await;
    // A state, then the states after a message of the end user, a message of an agent, and removing
    // the assignee.
    for (from, end_user, agent, unassigned) in [
        ("new", "new", "agent-replied", "new"),
        ("new-for-agent", "new-for-agent", "agent-replied", "new"),
        ("agent-replied", "waiting-for-agent", "agent-replied", "new"),
        ("waiting-for-agent", "waiting-for-agent", "agent-replied", "new"),
        ("pending-reassignment", "pending-reassignment", "agent-replied", "pending-reassignment"),
        ("resolved", "waiting-for-agent", "agent-replied", "resolved"),
        ("rejected", "waiting-for-agent", "agent-replied", "rejected"),
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

async fn unassigning_returns_open_issues_to_new_and_leaves_the_others() {
    let real = desk().await;
    for (from, to) in [
        ("new-for-agent", "new"),
        ("agent-replied", "new"),
        ("waiting-for-agent", "new"),
        ("resolved", "resolved"),
        ("rejected", "rejected"),
        ("pending-reassignment", "pending-reassignment"),
    ] {
        let paths = [
            create(&real, &[("message-body", "x")]).await,
            create(&real, &[("message-body", "x")]).await,
        ];
        for path in &paths {
            put(&real, path, &[("assignee-id", "eva"), ("status", from)]).await;
        }
        put(&real, &paths[0], &[("assignee-id", "unassigned")]).await;
        let id = paths[1].rsplit('/').next().unwrap();
        let fields = [("issue-ids", &*format!("[{id}]")), ("assignee-id", "unassigned")];
        form(&real, Method::PUT, ISSUES, &fields, 200).await;
        for path in &paths {
            let issue = issue(&real, path).await;
            assert_eq!(issue["assignee_id"], "unassigned", "{from}");
            assert_eq!(issue["state_data"]["state"], to, "{from}");
        }
    }
    assert_sound(&real).await;
    real.stop().await;
}

async fn concurrent_writes_are_all_stored_in_order() {
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

async fn an_exported_issue_is_unchanged_if_imported_again() {
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
