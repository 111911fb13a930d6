//! The limit on requests: the counted requests, the headers of every answer, and the refusal of a
//! request over the limit.

use std::sync::atomic::Ordering;

use caseload_api::ApiConfig;
use reqwest::{Method, Response};
use serde_json::Value;

use crate::scripted_store::NOW;
use crate::server::{OTHER, READ, Server, WRITE, snapshot};

const LIST: &str = "/v1/acme/issues";

async fn limited(rate_limit: u32) -> Server {
    Server::configured(ApiConfig { rate_limit, ..ApiConfig::default() }).await
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

async fn ask(server: &Server, key: &str, path: &str) -> Response {
    server.bare(Method::GET, path).bearer_auth(key).send().await.unwrap()
}

#[tokio::test]
async fn every_answer_shows_the_remaining_quota() {
    let server = limited(1500).await;
    let reset = (NOW.0 + 60_000).to_string();
    for (n, path, status) in [
        (1, LIST, 200),
        (2, "/v1/acme/issues?x=1", 400),
        (3, "/v1/acme/nothing", 404),
        (4, "/v1/other/issues", 403),
        (5, "/v2/acme/identity/bulk_actions/t/cancel", 405),
        (6, LIST, 200),
    ] {
        let answer = ask(&server, WRITE, path).await;
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(header(&answer, "x-rate-limit-limit"), "1500", "{path}");
        assert_eq!(header(&answer, "x-rate-limit-remaining"), (1500 - n).to_string());
        assert_eq!(header(&answer, "x-rate-limit-reset"), reset);
        assert_eq!(header(&answer, "ratelimit-policy"), "\"key\";q=1500;w=60");
        assert_eq!(header(&answer, "ratelimit"), format!("\"key\";r={};t=60", 1500 - n));
    }
}

#[tokio::test]
async fn a_request_over_the_limit_is_refused_with_the_time_to_retry() {
    let server = limited(2).await;
    ask(&server, WRITE, LIST).await;
    server.now.store(NOW.0 + 30_500, Ordering::SeqCst);
    assert_eq!(ask(&server, WRITE, LIST).await.status(), 200);
    let answer = ask(&server, WRITE, LIST).await;
    assert_eq!(answer.status(), 429);
    assert_eq!(header(&answer, "retry-after"), "30");
    assert_eq!(header(&answer, "x-rate-limit-remaining"), "0");
    assert_eq!(header(&answer, "ratelimit"), "\"key\";r=0;t=30");
    insta::assert_snapshot!(snapshot(answer).await);
    // The time in the text is not before the end of the window, so a request at that time works.
    server.now.store(NOW.0 + 60_000, Ordering::SeqCst);
    assert_eq!(ask(&server, WRITE, LIST).await.status(), 200);
}

#[tokio::test]
async fn a_refused_request_does_not_reach_the_store() {
    let server = limited(1).await;
    ask(&server, WRITE, LIST).await;
    let form = [("action", "create_core_profiles"), ("payload", "[{}]")];
    let post = server.request(Method::POST, "/v2/acme/identity/bulk_actions").form(&form);
    let answer = post.send().await.unwrap();
    assert_eq!(answer.status(), 429);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["code"], "rate_limited");
    assert!(server.store.created.lock().unwrap().is_empty());
}

#[tokio::test]
async fn each_key_has_its_own_quota_and_unknown_keys_have_none() {
    let server = limited(1).await;
    for _ in 0..5 {
        for request in [
            server.bare(Method::GET, LIST),
            server.bare(Method::GET, LIST).bearer_auth("no such key"),
        ] {
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), 401);
            assert_eq!(header(&answer, "ratelimit"), "\"key\";r=1;t=60", "an unused quota");
            assert_eq!(header(&answer, "x-rate-limit-remaining"), "1");
        }
    }
    assert_eq!(ask(&server, WRITE, LIST).await.status(), 200);
    assert_eq!(ask(&server, READ, LIST).await.status(), 200);
    assert_eq!(ask(&server, OTHER, "/v1/other/issues").await.status(), 200);
    assert_eq!(ask(&server, WRITE, LIST).await.status(), 429);
    assert_eq!(ask(&server, READ, LIST).await.status(), 429);
}

#[tokio::test]
async fn paths_outside_of_the_apis_are_not_counted() {
    let server = limited(1).await;
    for path in ["/healthz", "/readyz", "/nothing"] {
        for _ in 0..3 {
            let answer = ask(&server, WRITE, path).await;
            assert_ne!(answer.status(), 429);
            assert_eq!(header(&answer, "ratelimit"), "");
        }
    }
}

#[tokio::test]
async fn without_a_limit_the_headers_report_the_largest_32_bit_number() {
    let server = limited(0).await;
    let reset = (NOW.0 + 60_000).to_string();
    let largest = [
        ("x-rate-limit-limit", "2147483647"),
        ("x-rate-limit-remaining", "2147483647"),
        ("x-rate-limit-reset", &reset),
        ("ratelimit-policy", "\"key\";q=2147483647;w=60"),
        ("ratelimit", "\"key\";r=2147483647;t=60"),
    ];
    for _ in 0..50 {
        assert_eq!(ask(&server, WRITE, LIST).await.status(), 200);
    }
    for (key, path, status) in [
        (WRITE, LIST, 200),
        ("no such key", LIST, 401),
        (WRITE, "/v1/other/issues", 403),
        (WRITE, "/v1/acme/nothing", 404),
    ] {
        let answer = ask(&server, key, path).await;
        assert_eq!(answer.status(), status, "{path}");
        for (name, value) in largest {
            assert_eq!(header(&answer, name), value, "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn an_answer_after_a_panic_has_the_headers_too() {
    let server = limited(1500).await;
    server.store.fail(|| panic!("words"));
    let answer = ask(&server, WRITE, LIST).await;
    assert_eq!(
        (answer.status().as_u16(), header(&answer, "x-rate-limit-remaining")),
        (500, "1499")
    );
}
