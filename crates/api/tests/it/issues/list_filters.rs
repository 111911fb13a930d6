//! The filters of `GET /v1/{domain}/issues` on the wire: requests as clients of the API family send
//! them, and the answers to invalid filters.

use caseload_model::decimal::Decimal;
use caseload_model::issue::FieldType;
use caseload_model::issue_query::{
    Comparison, Condition, FieldFilter, FieldTest, FieldTests, IssueQuery,
};
use reqwest::Method;
use serde_json::Value;

use crate::server::{Server, snapshot};

const PATH: &str = "/v1/acme/issues";

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn any_of(list: &[&str]) -> Condition {
    Condition { or: Some(texts(list)), ..Condition::default() }
}

/// One field with these tests under `and`.
fn field(field_type: FieldType, key: &str, tests: Vec<FieldTest>) -> Vec<FieldFilter> {
    let and = vec![FieldTests { key: key.to_owned(), tests }];
    vec![FieldFilter { field_type, and, or: None }]
}

#[tokio::test]
async fn filters_reach_the_store_as_clients_encode_them() {
    let server = Server::start().await;
    let q = IssueQuery::default;
    let date = FieldTest::Compare(Comparison::Greater, Decimal::parse("1507248000000").unwrap());
    for (parameters, expected) in [
        (
            // Percent encoding of every sign.
            "author_emails=%7B%22or%22%3A%5B%22A%40x%22%2C%22b%40x%22%5D%2C%22exists%22%3A%22\
             true%22%7D",
            IssueQuery {
                author_emails: Condition { exists: Some(true), ..any_of(&["a@x", "b@x"]) },
                ..q()
            },
        ),
        // Signs that need no encoding left as they are; a plus for a blank.
        (r#"tags={"or":["vip+customer"]}"#, IssueQuery { tags: any_of(&["vip customer"]), ..q() }),
        (
            "assignee_emails=%7B%22or%22:%20%5B%22Ann@Desk%22%5D%7D",
            IssueQuery { assignee_emails: any_of(&["ann@desk"]), ..q() },
        ),
        (
            "custom_fields=%7B%22dropdown%22%3A%7B%22and%22%3A%7B%22application%22%3A%7B%22\
             is_set%22%3Atrue%2C%22is%22%3A%22Name%22%7D%7D%7D%7D",
            IssueQuery {
                custom_fields: field(
                    FieldType::Dropdown,
                    "application",
                    vec![FieldTest::IsSet(true), FieldTest::OneOf(texts(&["Name"]))],
                ),
                ..q()
            },
        ),
        (
            r#"custom-fields={"date":{"and":{"since":{"is_after":"1507248000000"}}}}"#,
            IssueQuery { custom_fields: field(FieldType::Date, "since", vec![date]), ..q() },
        ),
        (
            "text=Crash%20ON+login&title=[%22%C3%84%22]",
            IssueQuery {
                text: Some("crash on login".to_owned()),
                title: Condition { or: Some(texts(&["ä"])), ..Condition::default() },
                ..q()
            },
        ),
        (
            r#"messages={"and":["Stra%C3%9Fe"]}&issue_modes=["chat"]"#,
            IssueQuery {
                messages: Condition { and: texts(&["straße"]), ..Condition::default() },
                issue_modes: Some(texts(&["chat"])),
                ..q()
            },
        ),
    ] {
        let answer = server.get(&format!("{PATH}?{parameters}")).await;
        assert_eq!(answer.status(), 200, "{parameters}: {}", answer.text().await.unwrap());
        let listed = server.store.listed.lock().unwrap();
        assert_eq!(listed.last().unwrap().query, expected, "{parameters}");
    }
}

#[tokio::test]
async fn each_wrong_filter_is_a_fault_of_its_parameter() {
    let server = Server::start().await;
    for (name, value, place) in [
        ("tags", r#"{"any":["a"]}"#, "at /any: "),
        ("languages", r#"{"or":"en"}"#, "at /or: "),
        ("assignee-ids", r#"{"or":[1]}"#, "at /or/0: "),
        ("assignee_emails", r#"{"exists":true}"#, "at /exists: "),
        ("author_emails", r#"{"nor":[]}"#, "at /nor: "),
        ("text", "", "text is empty; leave text out"),
        ("title", r#"{"has":["a"]}"#, "at /has: "),
        ("messages", "[crash", "the value is not JSON"),
        ("messages", "", "a value of messages is empty"),
        ("notes", r#"{"exists":"yes"}"#, "at /exists: "),
        ("feedback-comment", r#"{"or":["a"]}"#, "at /or: "),
        ("feedback_rating", r#"{"and":[{"is":"x"}]}"#, "at /and/0/is: "),
        ("custom_fields", r#"{"number":{"and":{"n":{"is":"x"}}}}"#, "at /number/and/n/is: "),
        ("custom-fields", r#"{"checkbox":{"and":{"c":{"is":true}}}}"#, "at /checkbox/and/c: "),
        ("issue_modes", r#"["chat",7]"#, "at /1: "),
        ("timestamp_format", "iso", "\"iso\" is not one of unix, iso-8601"),
        ("redacted", "yes", "\"yes\" is neither true nor false"),
    ] {
        let answer = server.get(&format!("{PATH}?{name}={value}")).await;
        assert_eq!(answer.status(), 400, "{name}={value}");
        let body: Value = answer.json().await.unwrap();
        let faults = body["errors"].as_array().unwrap();
        assert_eq!(faults.len(), 1, "{name}={value}: {body}");
        assert_eq!(faults[0]["parameter"], name);
        assert_eq!(faults[0]["code"], "invalid_value");
        let detail = faults[0]["detail"].as_str().unwrap();
        assert!(detail.starts_with(place), "{name}={value}: {detail}");
    }
    assert!(server.store.listed.lock().unwrap().is_empty());
}

#[tokio::test]
async fn names_of_other_apis_are_answered_with_the_names_here() {
    let server = Server::start().await;
    let tasks = "/v2/acme/identity/bulk_actions";
    for (path, name, said) in [
        (PATH, "limit", "page-size"),
        (PATH, "per_page", "page-size"),
        (PATH, "offset", "cursor"),
        (PATH, "since", "created-since or updated-since"),
        (PATH, "q", "did you mean text, to search for a text?"),
        (PATH, "page%5Bsize%5D", "page-size"),
        (tasks, "limit", "page-size"),
        (tasks, "offset", "did you mean page?"),
        (tasks, "state", "did you mean status?"),
    ] {
        let answer = server.get(&format!("{path}?{name}=5")).await;
        assert_eq!(answer.status(), 400, "{name}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["errors"][0]["code"], "unknown_parameter");
        let detail = body["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{path} {name}: {detail}");
    }
    let request = server.request(Method::POST, tasks).form(&[("type", "x"), ("file", "y")]);
    let body: Value = request.send().await.unwrap().json().await.unwrap();
    let body = body.to_string();
    assert!(body.contains("did you mean action?") && body.contains("did you mean payload?"));
}

#[tokio::test]
async fn a_time_after_the_year_9999_is_refused_and_a_seconds_value_is_taken_as_it_is() {
    let server = Server::start().await;
    for (value, said) in [
        ("1700000000000000", "looks like microseconds; in milliseconds it is 1700000000000"),
        ("1700000000000000000", "looks like nanoseconds; in milliseconds it is 1700000000000"),
        ("99999999999999999999", "is after the year 9999"),
    ] {
        for name in ["created-since", "updated_until", "state-since"] {
            let answer = server.get(&format!("{PATH}?{name}={value}")).await;
            assert_eq!(answer.status(), 400, "{name}={value}");
            let body: Value = answer.json().await.unwrap();
            let fault = &body["errors"][0];
            assert_eq!(
                (&fault["parameter"], &fault["code"]),
                (&name.into(), &"out_of_range".into())
            );
            let detail = fault["detail"].as_str().unwrap();
            assert!(detail.contains("after the year 9999") && detail.contains(said), "{detail}");
        }
    }
    let answer =
        server.get(&format!("{PATH}?created-since=1700000000&updated-until=99999999999")).await;
    assert_eq!(answer.status(), 200);
    let listed = server.store.listed.lock().unwrap();
    let query = &listed.last().unwrap().query;
    assert_eq!(query.created.since.unwrap().0, 1_700_000_000);
    assert_eq!(query.updated.until.unwrap().0, 99_999_999_999);
}

#[tokio::test]
async fn all_faults_of_all_filters_are_reported_at_once_with_their_pointers() {
    let server = Server::start().await;
    let parameters = [
        r#"tags={"and":["a",1],"exists":"yes"}"#,
        r#"messages={"or":[]}"#,
        "state=new&state=open",
        r#"custom_fields={"number":{"and":{"n":{"gt":5,"is":"x"}}},"text":{}}"#,
    ];
    let path = format!("{PATH}?{}", parameters.join("&"));
    insta::assert_snapshot!(snapshot(server.get(&path).await).await);
}
