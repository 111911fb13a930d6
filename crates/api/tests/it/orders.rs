//! Every list is in the order of the times that it shows, also if records were not made in the
//! order of their times: servers have clocks of their own, and imports bring any time.

use caseload_model::ids::DomainId;
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use caseload_store::{CreateAgent, CreateApp, CreateKey};
use caseload_teststore::on_each_store;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::issues::support::{ISSUES, create, put, say};
use crate::real_server::RealServer;

on_each_store!(
    issues_are_in_the_order_of_the_time_they_are_sorted_by,
    messages_and_notes_are_in_the_order_of_their_times,
    tasks_are_in_the_order_of_their_creation,
    keys_apps_and_agents_are_in_the_order_of_their_creation,
    queues_are_in_the_order_of_their_creation,
);

/// Moments that do not ascend.
const MOMENTS: [i64; 6] = [5, 1, 9, 3, 7, 3];

fn entry(id: u64, at: i64) -> String {
    let message = |body: &str, at: i64| json!({"body": body, "created_at": at});
    let messages = [message("late", at + 9), message("early", at), message("between", at + 5)];
    json!({
        "id": id,
        "created_at": at,
        "updated_at": 1_000 - at,
        "state_data": {"state": "new", "changed_at": (at * 37) % 11},
        "queue": {"id": format!("queue-{id}"), "name": format!("Queue {id}")},
        "messages": messages,
        "private_notes": [message("late", at + 2), message("early", at + 1)],
    })
    .to_string()
}

/// A server with imported issues, and with some that were written.
async fn filled() -> RealServer {
    let real = RealServer::start().await;
    let lines: Vec<_> = MOMENTS.iter().zip(1..).map(|(at, id)| entry(id, *at)).collect();
    real.run("issues", "import_issues", &lines.join("\n")).await;
    for n in 0..3 {
        let path = create(&real, &[("message-body", "x")]).await;
        say(&real, &path, &[("message-body", "y")]).await;
        put(&real, &format!("{ISSUES}/{}", n + 1), &[("status", "resolved")]).await;
    }
    real
}

fn times(records: &Value, pointer: &str) -> Vec<i64> {
    let records = records.as_array().unwrap_or_else(|| panic!("{records}")).iter();
    let time = |one: &Value| one.pointer(pointer).and_then(Value::as_i64);
    records.map(|one| time(one).unwrap_or_else(|| panic!("{pointer} in {one}"))).collect()
}

async fn issues_are_in_the_order_of_the_time_they_are_sorted_by() {
    let real = filled().await;
    for (sort, pointer) in [
        ("creation-time", "/created_at"),
        ("update-time", "/updated_at"),
        ("state-change-time", "/state_data/changed_at"),
    ] {
        for (order, is_newest_first) in [("asc", false), ("desc", true)] {
            for paging in ["page=1", "cursor="] {
                let path = format!("{ISSUES}?sort-by={sort}&sort-order={order}&{paging}");
                let mut found = times(&real.json(&path).await["issues"], pointer);
                assert_eq!(found.len(), MOMENTS.len() + 3, "{path}");
                if is_newest_first {
                    found.reverse();
                }
                assert!(found.is_sorted(), "{path}: {found:?}");
            }
        }
    }
    real.stop().await;
}

async fn messages_and_notes_are_in_the_order_of_their_times() {
    let real = filled().await;
    for id in 1..=MOMENTS.len() {
        for (list, key) in [("messages", "messages"), ("private-notes", "private_notes")] {
            let path = format!("{ISSUES}/{id}/{list}");
            let found = times(&real.json(&path).await[key], "/created_at");
            assert!(found.len() > 1 && found.is_sorted(), "{path}: {found:?}");
        }
    }
    real.stop().await;
}

async fn tasks_are_in_the_order_of_their_creation() {
    let real = RealServer::start().await;
    for _ in 0..4 {
        real.run("issues", "import_issues", "{\"created_at\":1}").await;
    }
    let tasks = real.json("/v2/acme/issues/bulk_actions").await;
    let mut found = times(&tasks["tasks"], "/created_at");
    found.reverse();
    assert!(found.len() == 4 && found.is_sorted(), "newest first: {found:?}");
    real.stop().await;
}

async fn keys_apps_and_agents_are_in_the_order_of_their_creation() {
    let real = RealServer::start().await;
    let domain: DomainId = real.domain;
    for (at, n) in MOMENTS.iter().zip(0..) {
        let now = UnixMillis(*at);
        // Ids that do not ascend with time either.
        let id = format!("{}-{n}", (n * 7) % 5);
        let key = CreateKey {
            domain,
            id: id.clone(),
            hash: Sha256::digest(&id).into(),
            name: id.clone(),
            access: Access::Read,
            origin: now.into(),
            expires_at: None,
        };
        real.store.create_key(key).await.unwrap();
        let app = CreateApp { domain, id: id.clone(), title: id.clone(), origin: now.into() };
        real.store.create_app(app).await.unwrap();
        let email = format!("{id}@desk.example");
        let agent = CreateAgent { domain, id: id.clone(), name: id, email, origin: now.into() };
        real.store.create_agent(agent).await.unwrap();
    }
    let keys = real.store.keys(domain).await.unwrap();
    assert!(keys.is_sorted_by_key(|key| key.created_at), "{keys:?}");
    let agents = real.store.agents(domain).await.unwrap();
    assert!(agents.is_sorted_by_key(|agent| agent.created_at), "{agents:?}");
    let shown = real.json("/v1/acme/agents").await;
    let ids = agents.iter().map(|agent| agent.id.clone());
    let shown = shown["profiles"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap());
    assert!(ids.eq(shown), "the pages have the order of the list");
    let apps = times(&real.json("/v1/acme/apps").await["apps"], "/created_at");
    assert!(apps.len() == MOMENTS.len() + 1 && apps.is_sorted(), "{apps:?}");
    real.stop().await;
}

async fn queues_are_in_the_order_of_their_creation() {
    let real = RealServer::start().await;
    // Each import makes a queue.
    for n in [3, 1, 2] {
        let queue = json!({"id": format!("q{n}"), "name": "Q"});
        let line = json!({"created_at": n, "queue": queue}).to_string();
        real.run("issues", "import_issues", &line).await;
    }
    let queues = real.json("/v1/acme/queues").await;
    let queues = queues["queues"].as_array().unwrap().iter();
    let ids: Vec<_> = queues.map(|queue| queue["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["q3", "q1", "q2"]);
    real.stop().await;
}
