//! One person: app profiles that share an identity with a core profile, and the issues of their
//! authors.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use crate::real_server::RealServer;

on_each_store!(threads 4:
    a_core_profile_and_the_app_profiles_of_the_person_lead_to_each_other,
    the_issues_of_a_person_are_listed_counted_and_streamed,
);

const CORE: &str = "/v2/acme/identity/core_profiles";
const APP: &str = "/v2/acme/identity/app_profiles";
const ISSUES: &str = "/v1/acme/issues";

/// Ada with an address and a `uid`, and an older namesake with the same `uid` in another case; the
/// ids of both. Ada wrote from an address in two apps, and once with an identifier.
async fn with_ada() -> (RealServer, [String; 2]) {
    let real = RealServer::start().await;
    let entries = [
        r#"{"identities":[{"uid":"ADA-1"}]}"#,
        r#"{"identities":[{"email":"Ada@example.org"},{"uid":"ada-1"}]}"#,
    ];
    let task = real.run("identity", "create_core_profiles", &entries.join("\n")).await;
    let results = real.lines(&task, "results").await;
    let mut ids = results.lines().map(|line| {
        let made: Value = serde_json::from_str(line).unwrap();
        made["core-profile-id"].as_str().unwrap().to_owned()
    });
    let ids = [ids.next().unwrap(), ids.next().unwrap()];
    let issues = [
        json!({"id": 1, "created_at": 1, "hs_user_id": "p2", "author_email": "ADA@example.org",
            "state_data": {"state": "resolved"}}),
        json!({"id": 2, "created_at": 2, "hs_user_id": "p10", "author_email": "ada@example.org",
            "app_id": "mobile"}),
        json!({"id": 3, "created_at": 3, "hs_user_id": "p3", "author_email": "eve@example.org"}),
    ];
    let lines = issues.map(|issue| issue.to_string()).join("\n");
    real.run("issues", "import_issues", &lines).await;
    for identity in [("identifier", "ada-1"), ("end_user_id", "ada-1"), ("identifier", "nobody")] {
        let fields = [("message-body", "Help"), identity];
        let sent = real.request(Method::POST, ISSUES).form(&fields).send().await.unwrap();
        assert_eq!(sent.status(), 201, "{}", sent.text().await.unwrap());
    }
    (real, ids)
}

fn ids(page: &Value) -> Vec<u64> {
    let issues = page["issues"].as_array().unwrap().iter();
    let mut ids: Vec<u64> = issues.map(|issue| issue["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

async fn a_core_profile_and_the_app_profiles_of_the_person_lead_to_each_other() {
    let (real, [namesake, ada]) = with_ada().await;
    let written = real.json(&format!("{ISSUES}?ids=[4]")).await;
    let by_identifier = written["issues"][0]["hs_user_id"].as_str().unwrap().to_owned();
    let mut pids = vec!["p2".to_owned(), "p10".to_owned(), by_identifier.clone()];
    pids.sort();
    let shown = real.json(&format!("{CORE}/{ada}?includes=[\"app_profiles\"]")).await;
    assert_eq!(shown["app_profile_pids"], json!(pids));
    let shown = real.json(&format!("{CORE}/{ada}")).await;
    assert_eq!(shown.get("app_profile_pids"), None);
    let shown = real.json(&format!("{CORE}/{namesake}?includes=app_profiles")).await;
    assert_eq!(shown["app_profile_pids"], json!([]));
    let listed = real.json(&format!("{CORE}?includes=app_profiles&sort-order=asc")).await;
    assert_eq!(listed["core_profiles"][1]["app_profile_pids"], json!(pids));
    let rows = real.text(&format!("{CORE}?format=csv&columns=app_profile_pids")).await;
    assert!(rows.contains("p10") && rows.contains("[]"), "{rows}");
    for pid in &pids {
        let shown = real.json(&format!("{APP}/{pid}?includes=core_profile")).await;
        assert_eq!(shown["core-profile-id"], json!(ada), "{pid}");
    }
    let shown = real.json(&format!("{APP}/p3?includes=core_profile")).await;
    assert_eq!(shown["core-profile-id"], Value::Null);
    for (identity, found) in [("uid:ada-1", 1), ("email:ADA@EXAMPLE.ORG", 2), ("uid:ADA-1", 0)] {
        let page = real.json(&format!("{APP}?identity={identity}")).await;
        assert_eq!(page["total-hits"], found, "{identity}");
    }
    // Of several core profiles it is the oldest, and a deleted app profile is not there any more.
    let more = json!({"core-profile-id": namesake, "identities": [{"uid": "ADA-1"},
        {"email": "eve@example.org"}]});
    real.run("identity", "update_core_profiles", &more.to_string()).await;
    let shown = real.json(&format!("{APP}/p3?includes=core_profile")).await;
    assert_eq!(shown["core-profile-id"], json!(namesake));
    let deleted = pids.iter().map(|pid| json!({"pid": pid}).to_string()).collect::<Vec<_>>();
    real.run("identity", "delete_app_profiles", &deleted.join("\n")).await;
    let shown = real.json(&format!("{CORE}/{ada}?includes=app_profiles")).await;
    assert_eq!(shown["app_profile_pids"], json!([]));
    real.stop().await;
}

async fn the_issues_of_a_person_are_listed_counted_and_streamed() {
    let (real, [namesake, ada]) = with_ada().await;
    let of_ada = format!("{ISSUES}?core-profile-id={ada}");
    for (query, found) in [
        (of_ada.clone(), vec![1, 2, 4, 5]),
        (format!("{of_ada}&state=resolved"), vec![1]),
        (format!("{of_ada}&end-user-ids=[\"p2\",\"p3\"]"), vec![1]),
        (format!("{of_ada}&end-user-ids=p3"), vec![]),
        (format!("{ISSUES}?core_profile_id={namesake}"), vec![]),
        (format!("{ISSUES}?core-profile-id=17"), vec![]),
        (format!("{ISSUES}?core-profile-id=99999999999999999999999"), vec![]),
    ] {
        let page = real.json(&query).await;
        assert_eq!(page["total-hits"], found.len(), "{query}");
        assert_eq!(ids(&page), found, "{query}");
    }
    let query = format!("/v1/acme/issues/counts?core-profile-id={ada}&group-by=state");
    let counts = real.json(&query).await;
    assert_eq!(counts["total-hits"], 4);
    assert_eq!(counts["groups"][0], json!({"state": "new", "count": 3}));
    let lines = real.text(&format!("{of_ada}&format=jsonl")).await;
    assert_eq!(lines.lines().count(), 5, "{lines}");
    // Another issue of a new app profile comes in while the list is read step by step.
    let step = real.json(&format!("{of_ada}&page-size=1&cursor=*&sort-order=asc")).await;
    assert_eq!(ids(&step), [1]);
    let late = json!({"id": 9, "created_at": 9, "hs_user_id": "p9",
        "author_email": "ada@example.org"});
    real.run("issues", "import_issues", &late.to_string()).await;
    let cursor = step["next-cursor"].as_str().unwrap();
    let query = format!("{of_ada}&page-size=100&cursor={cursor}&sort-order=asc");
    assert_eq!(ids(&real.json(&query).await), [2, 4, 5, 9]);
    let other = format!("{ISSUES}?core-profile-id={namesake}&cursor={cursor}&sort-order=asc");
    let refused = real.request(Method::GET, &other).send().await.unwrap();
    assert_eq!(refused.status(), 400, "a cursor is that of one list");
    for value in ["", "x", "1,2", "-1"] {
        let query = format!("{ISSUES}?core-profile-id={value}");
        let refused = real.request(Method::GET, &query).send().await.unwrap();
        assert_eq!(refused.status(), 400, "{value}");
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["errors"][0]["parameter"], "core-profile-id", "{problem}");
    }
    real.stop().await;
}
