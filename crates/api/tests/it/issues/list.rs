//! `GET /v1/{domain}/issues` by page: the envelope, the parameters and the deadline.

use std::time::Duration;

use caseload_api::ApiConfig;
use caseload_model::issue_query::ListPosition;
use caseload_model::time::UnixMillis;
use caseload_store::{IssuePage, RenderedIssue, StoreError};
use reqwest::Method;
use serde_json::Value;

use crate::server::{Server, snapshot};

const PATH: &str = "/v1/acme/issues";

pub(super) async fn with_issues(total_hits: u64) -> Server {
    let server = Server::start().await;
    *server.store.page.lock().unwrap() = IssuePage {
        total_hits,
        count: 2,
        body: br#"{"id":1,"lifetime":1.10},{"id":2}"#.to_vec(),
        last: Some(ListPosition { at: UnixMillis(41), id: 2 }),
        version: [7; 16],
        ..IssuePage::default()
    };
    *server.store.issue.lock().unwrap() = Some(RenderedIssue {
        body: br#"{"id":7}"#.to_vec(),
        version: [7; 16],
        ..Default::default()
    });
    server
}

#[tokio::test]
async fn a_list_is_an_envelope_around_the_stored_bytes() {
    let server = with_issues(250).await;
    let answer = server.get(&format!("{PATH}?page=2&state=new")).await;
    let page = |n: u32| format!("<{}?page={n}&state=new>", server.url(PATH));
    let links = format!(
        "{}; rel=\"first\", {}; rel=\"prev\", {}; rel=\"next\", {}; rel=\"last\"",
        page(1),
        page(1),
        page(3),
        page(3)
    );
    assert_eq!(answer.headers()["link"], links.as_str());
    assert_eq!(answer.headers()["content-type"], "application/json; charset=utf-8");
    assert_eq!(
        answer.text().await.unwrap(),
        "{\"page\":2,\"page-size\":100,\"issues\":[{\"id\":1,\"lifetime\":1.10},{\"id\":2}],\
         \"total-hits\":250,\"total-pages\":3}"
    );
    let listed = server.store.listed.lock().unwrap();
    assert_eq!((listed[0].paging.page, listed[0].paging.page_size), (2, 100));
    assert_eq!(listed[0].budget.time, Duration::from_secs(10));
}

#[tokio::test]
async fn a_list_without_matches_is_one_empty_page() {
    let server = Server::start().await;
    insta::assert_snapshot!(server.snapshot(&format!("{PATH}/")).await);
}

#[tokio::test]
async fn head_gives_the_headers_of_a_get() {
    let server = with_issues(2).await;
    let get = server.get(PATH).await;
    let head = server.request(Method::HEAD, PATH).send().await.unwrap();
    assert_eq!(head.status(), 200);
    for name in ["content-type", "link", "content-length"] {
        assert_eq!(head.headers()[name], get.headers()[name], "{name}");
    }
    assert_eq!(head.text().await.unwrap(), "");
}

#[tokio::test]
async fn bad_parameters_have_their_codes() {
    let server = with_issues(0).await;
    for (query, parameter, code) in [
        ("page=0", "page", "out_of_range"),
        ("page=x", "page", "invalid_value"),
        ("page=-1", "page", "invalid_value"),
        ("page-size=1001", "page-size", "out_of_range"),
        ("page_size=0", "page_size", "out_of_range"),
        ("page=50001&page-size=1", "page", "page_too_deep"),
        ("page=1&page=2", "page", "conflicting_parameter"),
        ("created-since=1&created_since=2", "created_since", "conflicting_parameter"),
        ("created-since=abc", "created-since", "invalid_value"),
        ("sate=new", "sate", "unknown_parameter"),
        ("state=open", "state", "invalid_value"),
        ("sort-by=id", "sort-by", "invalid_value"),
        ("includes=feedbak", "includes", "invalid_value"),
        ("created-since=253402300800000", "created-since", "out_of_range"),
        ("state=%zz", "state", "invalid_value"),
        ("state=%ff", "state", "invalid_value"),
    ] {
        let answer = server.get(&format!("{PATH}?{query}")).await;
        assert_eq!(answer.status(), 400, "{query}");
        let body: Value = answer.json().await.unwrap();
        let fault = &body["errors"][0];
        assert_eq!(
            (&fault["parameter"], &fault["code"]),
            (&parameter.into(), &code.into()),
            "{query}"
        );
        assert_eq!(body["code"], code);
    }
    assert!(server.store.listed.lock().unwrap().is_empty());
}

#[tokio::test]
async fn all_faults_of_a_query_are_reported_at_once() {
    let server = with_issues(0).await;
    let answer =
        server.get(&format!("{PATH}?page=0&page-size=1001&stat=new&created-since=x")).await;
    insta::assert_snapshot!(snapshot(answer).await);
}

#[tokio::test]
async fn a_page_at_the_depth_limit_is_still_a_page() {
    let server = with_issues(0).await;
    assert_eq!(server.get(&format!("{PATH}?page=50&page-size=1000")).await.status(), 200);
    assert_eq!(server.get(&format!("{PATH}?page=50000&page-size=1")).await.status(), 200);
}

#[tokio::test]
async fn a_list_past_its_deadline_names_its_filters() {
    let server = with_issues(0).await;
    server.store.fail(|| StoreError::DeadlinePassed);
    let query = "page=2&state=new&created_since=1&includes=%5B%22meta%22%5D";
    insta::assert_snapshot!(server.snapshot(&format!("{PATH}?{query}")).await);
    assert_eq!(server.get(&format!("{PATH}/7")).await.status(), 503);
}

#[tokio::test]
async fn a_list_past_its_deadline_names_the_filters_on_texts() {
    let server = with_issues(0).await;
    server.store.fail(|| StoreError::DeadlinePassed);
    let words = "%7B%22and%22%3A%5B%22refund%22%5D%7D";
    let answer = server.get(&format!("{PATH}?state=new&messages={words}&notes={words}")).await;
    assert_eq!(answer.status(), 503);
    let body: Value = answer.json().await.unwrap();
    let detail = body["detail"].as_str().unwrap();
    assert!(detail.contains("for messages, notes, the server reads each issue"), "{detail}");
    assert!(detail.contains("for example by a longer text, created_since and"), "{detail}");
}

#[tokio::test]
async fn a_store_that_exceeds_its_deadline_is_not_waited_for() {
    let config = ApiConfig { query_timeout: Duration::from_millis(50), ..ApiConfig::default() };
    let server = Server::configured(config).await;
    let _closed = server.store.list_gate.close();
    let answer = server.get(PATH).await;
    assert_eq!(answer.status(), 503);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["code"], "query_too_expensive");
}
