//! The history of one record, and its form for clients of the API family.

use caseload_model::key::Access;
use caseload_teststore::on_each_store;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::issues::support::create;
use crate::real_server::RealServer;
use crate::server::READ;

on_each_store!(threads 2:
    a_history_has_each_change_of_its_record_newest_first,
    an_audit_log_has_an_entry_for_each_thing_that_changed,
    a_history_is_of_one_domain_and_of_a_record_that_was_there,
    a_faulty_request_for_a_history_names_all_faults,
);

const CORE: &str = "/v2/acme/identity/core_profiles";
const ISSUES: &str = "/v1/acme/issues";

async fn status(real: &RealServer, path: &str) -> u16 {
    real.request(Method::GET, path).send().await.unwrap().status().as_u16()
}

async fn edit(real: &RealServer, issue: &str, fields: &[(&str, &str)]) {
    let answer = real.request(Method::PUT, issue).form(fields).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
}

async fn delete(real: &RealServer, path: &str) {
    assert_eq!(real.request(Method::DELETE, path).send().await.unwrap().status(), 204);
}

/// An issue that was created, edited, answered and deleted; its path.
async fn with_deleted_issue(real: &RealServer) -> String {
    let issue = create(real, &[("message-body", "x"), ("tags", r#"["a"]"#)]).await;
    edit(real, &issue, &[("status", "resolved"), ("tags", r#"["b"]"#)]).await;
    let answer = real.request(Method::POST, &format!("{issue}/messages"));
    let answer = answer.form(&[("message-body", "y")]).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    delete(real, &issue).await;
    issue
}

/// The members of the records of a list, as texts.
fn told(list: &Value, members: &[&str]) -> Vec<String> {
    let shown = |record: &Value| -> Vec<String> {
        members.iter().map(|name| record[*name].to_string().replace('"', "")).collect()
    };
    list.as_array().unwrap().iter().map(|record| shown(record).join(" ")).collect()
}

async fn a_history_has_each_change_of_its_record_newest_first() {
    let real = RealServer::start().await;
    let issue = with_deleted_issue(&real).await;
    let all = real.json(&format!("{issue}/changes")).await;
    assert_eq!(
        told(&all["changes"], &["action", "fields", "resource"]),
        [
            "deleted [] issue",
            "updated [state,messages] issue",
            "updated [state,tags] issue",
            "created [] issue"
        ]
    );
    assert_eq!(all["next-cursor"], Value::Null);
    let edited = &all["changes"][2];
    assert_eq!(edited["changes"]["tags"], json!({"from": ["a"], "to": ["b"]}));
    assert_eq!(edited["by"], json!({"key_id": "key-write-key", "key_name": "write-key"}));
    let mut cursor = String::new();
    for change in all["changes"].as_array().unwrap() {
        let page = real.json(&format!("{issue}/changes?page_size=1&cursor={cursor}")).await;
        assert_eq!(page["changes"], json!([change]));
        page["next-cursor"].as_str().unwrap_or("end").clone_into(&mut cursor);
    }
    assert_eq!(cursor, "end");
    // An import that replaces, and a chunk of many profiles.
    let entry = |title: &str| json!({"id": 900, "created_at": 1, "title": title}).to_string();
    real.run("issues", "import_issues", &entry("old")).await;
    let imported = real.json(&format!("{ISSUES}/900/changes")).await;
    assert_eq!(told(&imported["changes"], &["action"]), ["created"]);
    assert!(imported["changes"][0]["by"]["task_id"].is_string());
    let people: Vec<_> = (0..50)
        .map(|n| json!({"identities": [{"email": format!("u{n}@example.org")}]}).to_string())
        .collect();
    let task = real.run("identity", "create_core_profiles", &people.join("\n")).await;
    let made = real.lines(&task, "results").await;
    let made: Value = serde_json::from_str(made.lines().nth(30).unwrap()).unwrap();
    let id = made["core-profile-id"].as_str().unwrap();
    let update = json!({"core-profile-id": id, "age": 5}).to_string();
    real.run("identity", "update_core_profiles", &update).await;
    let core = format!("{CORE}/{id}");
    delete(&real, &core).await;
    let history = real.json(&format!("{core}/changes")).await;
    assert_eq!(
        told(&history["changes"], &["action", "fields", "id"]),
        [format!("deleted [] {id}"), format!("updated [age] {id}"), format!("created [] {id}")]
    );
    assert!(history["changes"][1].get("changes").is_none(), "values of a profile are not logged");
    assert_eq!(history["changes"][2]["by"]["index"], 30);
    real.stop().await;
}

async fn an_audit_log_has_an_entry_for_each_thing_that_changed() {
    let real = RealServer::start().await;
    let issue = with_deleted_issue(&real).await;
    let log = format!("/v2{}/_audit_logs", issue.strip_prefix("/v1").unwrap());
    let all = real.json(&log).await;
    assert_eq!(
        (&all["page"], &all["page_size"], &all["total"]),
        (&1.into(), &200.into(), &7.into())
    );
    let newest = told(&all["audit_logs"], &["action"]);
    assert_eq!(
        newest,
        [
            "delete-issue",
            "add-messages",
            "update-state",
            "remove-tags",
            "add-tags",
            "update-state",
            "create-issue"
        ]
    );
    let state = &all["audit_logs"][5];
    assert_eq!(state["data"]["to"], "resolved");
    assert_eq!(state["action_owner"]["key_id"], "key-write-key");
    assert!(state["action_taken_at"].is_u64());
    for (order, expected) in [("desc", newest.clone()), ("asc", newest.into_iter().rev().collect())]
    {
        for page_size in [1, 2, 4, 6, 7, 500] {
            let mut found = Vec::new();
            for page in 1..=7 {
                let query = format!("sort_order={order}&page={page}&page_size={page_size}");
                let part = real.json(&format!("{log}?{query}")).await;
                assert_eq!(part["total"], 7);
                assert!(part["audit_logs"].as_array().unwrap().len() <= page_size);
                found.extend(told(&part["audit_logs"], &["action"]));
            }
            assert_eq!(found, expected, "{order} by {page_size}");
        }
    }
    let (at, total) = (state["action_taken_at"].as_u64().unwrap(), async |query: String| {
        let page = real.json(&format!("{log}?{query}")).await;
        (page["total"].clone(), page["page_size"].clone())
    });
    for (query, count) in [
        (r#"actions=["add-tags","create-issue"]"#.to_owned(), 2),
        ("actions=add-tags,remove-tags,erase-issue".to_owned(), 2),
        ("actions=erase-issue".to_owned(), 0),
        (format!("until={at}&actions=create-issue"), 1),
        (format!("since={at}&until={at}&actions=update-state"), 1),
        (format!("since={}", at + 1_000_000_000), 0),
    ] {
        assert_eq!(total(query.clone()).await, (count.into(), 200.into()), "{query}");
    }
    for (size, read) in [(0, 200), (501, 200), (500, 500)] {
        assert_eq!(total(format!("page_size={size}")).await, (7.into(), read.into()));
    }
    real.stop().await;
}

async fn a_history_is_of_one_domain_and_of_a_record_that_was_there() {
    let real = RealServer::start().await;
    let issue = with_deleted_issue(&real).await;
    real.add_other_domain(Access::Write).await;
    let log = format!("/v2{}/_audit_logs", issue.strip_prefix("/v1").unwrap());
    for path in [format!("{issue}/changes"), log] {
        let theirs = path.replace("/acme/", "/other/");
        for (path, key, wanted) in [
            (&path, READ, 200),
            (&path, "other", 403),
            (&path, "none", 401),
            (&theirs, "other", 404),
        ] {
            let answer = real.client.get(real.url(path)).bearer_auth(key).send().await.unwrap();
            assert_eq!(answer.status(), wanted, "{path} {key}: {}", answer.text().await.unwrap());
        }
    }
    let beyond = "99999999999999999999999";
    for id in ["7777", beyond] {
        for path in [
            format!("{ISSUES}/{id}/changes"),
            format!("{CORE}/{id}/changes"),
            format!("/v2/acme/issues/{id}/_audit_logs"),
            format!("/v2/acme/issues/{id}/_audit_logs?sort_order=asc"),
        ] {
            assert_eq!(status(&real, &path).await, 404, "{path}");
        }
    }
    real.stop().await;
}

async fn a_faulty_request_for_a_history_names_all_faults() {
    let real = RealServer::start().await;
    let named = async |answer: Response| {
        assert_eq!(answer.status(), 400);
        let problem: Value = answer.json().await.unwrap();
        told(&problem["errors"], &["parameter"])
    };
    for (path, wanted) in [
        (
            format!("{ISSUES}/x/changes?cursor=-&page-size=1001&page=1"),
            vec!["issue-id", "page", "page-size", "cursor"],
        ),
        (
            format!("{CORE}/x/changes?page_size=0&format=csv"),
            vec!["core-profile-id", "format", "page_size"],
        ),
        (
            "/v2/acme/issues/x/_audit_logs?page=0&actions=close&since=now&sort-order=up".to_owned(),
            vec!["issue-id", "sort-order", "actions", "since", "page"],
        ),
    ] {
        let answer = real.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(named(answer).await, wanted, "{path}");
    }
    for path in [format!("{ISSUES}/1/changes"), format!("{CORE}/1/changes")] {
        let answer = real.request(Method::POST, &path).send().await.unwrap();
        assert_eq!(answer.status(), 405, "{path}");
    }
    real.stop().await;
}
