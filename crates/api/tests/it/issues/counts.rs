//! `GET /v1/{domain}/issues/counts`: the groups of stored issues, and the refusal of wrong
//! parameters.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use crate::real_server::RealServer;
use crate::server::Server;

on_each_store!(
    issues_are_counted_by_each_property_and_pair,
    filters_narrow_counts_as_they_narrow_the_list,
);

const PATH: &str = "/v1/acme/issues/counts";

async fn with_issues() -> RealServer {
    let real = RealServer::start().await;
    // 2026-02-01 is a Sunday, the last day of week 5.
    let lines = [
        json!({"id": 1, "created_at": 1_769_986_800_000_u64, "tags": ["a", "b", "a"],
               "language": "en", "feedback_rating": 5}),
        json!({"id": 2, "created_at": 1_769_986_800_001_u64, "tags": ["b"], "language": "de",
               "state_data": {"state": "resolved"}, "title": "No mail"}),
        json!({"id": 3, "created_at": 1_769_990_400_000_u64, "assignee_id": "eva",
               "queue": {"id": "q", "name": "Queue"}, "issue_mode_data": {"issue_mode": "chat"},
               "state_data": {"state": "resolved"}, "messages": [{"body": "no MAIL today"}]}),
    ];
    let lines = lines.map(|line| line.to_string() + "\n").concat();
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["counts"]["succeeded"], 3, "{task}");
    real
}

async fn issues_are_counted_by_each_property_and_pair() {
    let real = with_issues().await;
    for (query, groups, other) in [
        ("group-by=state", r#"{"state":"resolved","count":2},{"state":"new","count":1}"#, 0),
        (
            "group_by=tag",
            r#"{"tag":"b","count":2},{"tag":"a","count":1},{"tag":null,"count":1}"#,
            0,
        ),
        ("group-by=tag&limit=1", r#"{"tag":"b","count":2}"#, 2),
        ("group-by=rating", r#"{"rating":null,"count":2},{"rating":5,"count":1}"#, 0),
        ("group-by=mode", r#"{"mode":"default","count":2},{"mode":"chat","count":1}"#, 0),
        ("group-by=assignee", r#"{"assignee":null,"count":2},{"assignee":"eva","count":1}"#, 0),
        ("group-by=queue", r#"{"queue":null,"count":2},{"queue":"q","count":1}"#, 0),
        (
            "group-by=created-day",
            r#"{"created-day":"2026-02-01","count":2},{"created-day":"2026-02-02","count":1}"#,
            0,
        ),
        (
            "group-by=created-day&timezone=Europe/Berlin",
            r#"{"created-day":"2026-02-02","count":3}"#,
            0,
        ),
        ("group-by=created-month", r#"{"created-month":"2026-02","count":3}"#, 0),
        (
            "group-by=state,created-week",
            concat!(
                r#"{"state":"new","created-week":"2026-W05","count":1},"#,
                r#"{"state":"resolved","created-week":"2026-W05","count":1},"#,
                r#"{"state":"resolved","created-week":"2026-W06","count":1}"#,
            ),
            0,
        ),
        (
            "group-by[]=language&group-by[]=state",
            concat!(
                r#"{"language":"de","state":"resolved","count":1},"#,
                r#"{"language":"en","state":"new","count":1},"#,
                r#"{"language":null,"state":"resolved","count":1}"#,
            ),
            0,
        ),
    ] {
        let answer = real.request(Method::GET, &format!("{PATH}?{query}")).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{query}");
        assert_eq!(answer.headers()["content-type"], "application/json; charset=utf-8");
        let expected = format!(r#"{{"total-hits":3,"groups":[{groups}],"other":{other}}}"#);
        assert_eq!(answer.text().await.unwrap(), expected, "{query}");
    }
    real.stop().await;
}

async fn filters_narrow_counts_as_they_narrow_the_list() {
    let real = with_issues().await;
    for (query, expected) in [
        (
            "text=no%20mail",
            json!({"total-hits": 2, "groups": [{"state": "resolved", "count": 2}],
                                  "other": 0}),
        ),
        ("tags=a", json!({"total-hits": 1, "groups": [{"state": "new", "count": 1}], "other": 0})),
        ("tags=[]", json!({"total-hits": 0, "groups": [], "other": 0})),
        ("created-since=9&created-until=8", json!({"total-hits": 0, "groups": [], "other": 0})),
    ] {
        assert_eq!(real.json(&format!("{PATH}?group-by=state&{query}")).await, expected, "{query}");
    }
    real.stop().await;
}

#[tokio::test]
async fn every_wrong_parameter_of_counts_is_a_fault() {
    let server = Server::start().await;
    for (query, parameter, code, detail) in [
        ("", "group-by", "missing_field", "group-by is missing; give one or two of state, app"),
        ("group-by=", "group-by", "invalid_value", "\"\" is not one of state, app, queue"),
        ("group-by=[]", "group-by", "invalid_value", "group-by is empty; give one or two of"),
        ("group-by=colour", "group-by", "invalid_value", "\"colour\" is not one of state, app"),
        ("group_by=state,state", "group_by", "invalid_value", "group_by names state twice"),
        ("group-by=state,app,tag", "group-by", "too_many", "group-by names 3 properties"),
        (
            "group-by=state&timezone=Europe/Berln",
            "timezone",
            "invalid_value",
            "\"Europe/Berln\" is not a name of the IANA time zone database; did you mean Europe/Be",
        ),
        (
            "group-by=state&limit=0",
            "limit",
            "out_of_range",
            "0 is out of range: an answer has 1 to",
        ),
        ("group-by=state&limit=1001", "limit", "out_of_range", "1001 is out of range"),
        ("group-by=state&limit=x", "limit", "invalid_value", "\"x\" is not a whole number"),
        ("group-by=state&text=", "text", "invalid_value", "text is empty"),
        ("group-by=state&page=1", "page", "unknown_parameter", "\"page\" is not a parameter here"),
        ("group-by=state&tz=UTC", "tz", "unknown_parameter", "did you mean timezone?"),
    ] {
        let answer = server.get(&format!("{PATH}?{query}")).await;
        assert_eq!(answer.status(), 400, "{query}");
        let body: Value = answer.json().await.unwrap();
        let faults = body["errors"].as_array().unwrap();
        assert_eq!(faults.len(), 1, "{query}: {body}");
        assert_eq!(faults[0]["parameter"], parameter, "{query}");
        assert_eq!(faults[0]["code"], code, "{query}");
        assert!(faults[0]["detail"].as_str().unwrap().contains(detail), "{query}: {body}");
    }
}
