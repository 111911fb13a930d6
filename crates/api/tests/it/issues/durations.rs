//! `GET /v1/{domain}/issues/durations`: the times of stored issues, and the refusal of wrong
//! parameters.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use crate::real_server::RealServer;
use crate::server::Server;

on_each_store!(
    issues_of_the_matches_are_timed_by_period,
    durations_are_of_all_matches_beyond_one_step,
);

const PATH: &str = "/v1/acme/issues/durations";
const MINUTE: u64 = 60_000;
/// 2026-02-01 23:00 UTC, a Sunday, the last day of week 5.
const SUNDAY: u64 = 1_769_986_800_000;

fn issue(id: u64, created_at: u64, reply: u64, resolution: Option<u64>) -> String {
    let state = match resolution {
        Some(after) => json!({"state": "resolved", "changed_at": created_at + after}),
        None => json!({"state": "agent-replied", "changed_at": created_at + reply}),
    };
    let messages = json!([
        {"body": "It broke", "origin": "end-user", "created_at": created_at},
        {"body": "Sorry", "origin": "helpshift", "created_at": created_at + reply},
    ]);
    json!({"id": id, "created_at": created_at, "state_data": state, "messages": messages,
        "tags": [if id % 2 == 1 { "odd" } else { "even" }]})
    .to_string()
        + "\n"
}

async fn import(real: &RealServer, lines: &str, issues: usize) {
    let task = real.run("issues", "import_issues", lines).await;
    assert_eq!(task["counts"]["succeeded"], issues, "{task}");
}

fn times(count: u64, median_ms: u64, p90_ms: u64) -> Value {
    json!({"count": count, "median_ms": median_ms, "p90_ms": p90_ms})
}

fn none() -> Value {
    json!({"count": 0, "median_ms": null, "p90_ms": null})
}

async fn issues_of_the_matches_are_timed_by_period() {
    let real = RealServer::start().await;
    let lines = [
        issue(1, SUNDAY, 10 * MINUTE, Some(50 * MINUTE)),
        issue(2, SUNDAY + MINUTE, 20 * MINUTE, None),
        issue(3, SUNDAY + 60 * MINUTE, 40 * MINUTE, Some(90 * MINUTE)),
    ];
    import(&real, &lines.concat(), 3).await;
    let found = real.json(PATH).await;
    let expected = json!({
        "total-hits": 3,
        "first_reply": times(3, 20 * MINUTE, 40 * MINUTE),
        "resolution": times(2, 50 * MINUTE, 90 * MINUTE),
        "groups": [
            {"created-week": "2026-W05", "count": 2,
             "first_reply": times(2, 10 * MINUTE, 20 * MINUTE),
             "resolution": times(1, 50 * MINUTE, 50 * MINUTE)},
            {"created-week": "2026-W06", "count": 1,
             "first_reply": times(1, 40 * MINUTE, 40 * MINUTE),
             "resolution": times(1, 90 * MINUTE, 90 * MINUTE)},
        ],
    });
    assert_eq!(found, expected);
    let berlin = real.json(&format!("{PATH}?group_by=created-day&timezone=Europe/Berlin")).await;
    assert_eq!(berlin["groups"][0]["created-day"], "2026-02-02");
    assert_eq!(berlin["groups"].as_array().unwrap().len(), 1);
    let even = real.json(&format!("{PATH}?tags=even&group-by=created-month")).await;
    assert_eq!(even["total-hits"], 1);
    assert_eq!(even["resolution"], none());
    assert_eq!(even["groups"][0]["created-month"], "2026-02");
    let nothing = real.json(&format!("{PATH}?tags=none")).await;
    let empty = json!({"total-hits": 0, "first_reply": none(), "resolution": none(), "groups": []});
    assert_eq!(nothing, empty);
    real.stop().await;
}

/// A step of the list has 1,000 issues.
async fn durations_are_of_all_matches_beyond_one_step() {
    let real = RealServer::start().await;
    let lines: String = (1..=2001).map(|id| issue(id, SUNDAY + id, id, Some(2 * id))).collect();
    import(&real, &lines, 2001).await;
    let found = real.json(PATH).await;
    assert_eq!(found["total-hits"], 2001);
    assert_eq!(found["first_reply"], times(2001, 1001, 1801));
    assert_eq!(found["resolution"], times(2001, 2002, 3602));
    real.stop().await;
}

#[tokio::test]
async fn every_wrong_parameter_of_durations_is_a_fault() {
    let server = Server::start().await;
    for (query, parameter, code) in [
        ("group-by=state", "group-by", "invalid_value"),
        ("group-by=", "group-by", "invalid_value"),
        ("timezone=Mars", "timezone", "invalid_value"),
        ("limit=3", "limit", "unknown_parameter"),
        ("tag=a", "tag", "unknown_parameter"),
    ] {
        let answer = server.request(Method::GET, &format!("{PATH}?{query}")).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{query}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["errors"][0]["parameter"], parameter, "{query}: {body}");
        assert_eq!(body["errors"][0]["code"], code, "{query}: {body}");
    }
}
