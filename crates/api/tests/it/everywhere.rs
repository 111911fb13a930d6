//! Rules for every answer: the request id, the problem form, and panics.

use reqwest::Method;
use serde_json::Value;

use crate::server::{Server, snapshot};

#[tokio::test]
async fn a_valid_request_id_is_returned_and_any_other_is_replaced() {
    let server = Server::start().await;
    let longest = "x".repeat(128);
    for (sent, is_returned) in [
        ("abc-123", true),
        ("~!@#", true),
        (longest.as_str(), true),
        (&"x".repeat(129), false),
        ("two words", false),
        ("", false),
    ] {
        let request = server.bare(Method::GET, "/healthz").header("X-Request-Id", sent);
        let answer = request.send().await.unwrap();
        let id = answer.headers()["x-request-id"].to_str().unwrap();
        if is_returned {
            assert_eq!(id, sent);
        } else {
            assert_eq!(id.len(), 36, "a UUID instead of {sent:?}");
        }
    }
}

#[tokio::test]
async fn the_body_of_an_error_names_the_request_id_of_its_header() {
    let server = Server::start().await;
    for path in ["/nothing", "/v1/acme/issues?x=1", "/v1/acme/issues/x"] {
        let answer = server.get(path).await;
        let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
        assert_eq!(answer.headers()["content-type"], "application/problem+json; charset=utf-8");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["request_id"], id);
        let words: Vec<&String> = body.as_object().unwrap().keys().collect();
        let order = ["type", "title", "status", "detail", "code", "request_id", "errors"];
        assert!(words.iter().zip(order).all(|(word, known)| *word == known), "{words:?}");
    }
}

#[tokio::test]
async fn unknown_paths_are_problems() {
    let server = Server::start().await;
    let answer = server.bare(Method::GET, "/v3/acme/issues").send().await.unwrap();
    insta::assert_snapshot!(snapshot(answer).await);
    for path in ["/v10", "/healthz/x", "/docs", "/docs/x.md"] {
        assert_eq!(server.bare(Method::GET, path).send().await.unwrap().status(), 404, "{path}");
    }
}

#[tokio::test]
async fn a_panic_is_an_internal_error_without_its_text_and_the_server_continues() {
    let server = Server::start().await;
    server.store.fail(|| panic!("secret words"));
    let answer = server.get("/v1/acme/issues").await;
    insta::assert_snapshot!(snapshot(answer).await);
    *server.store.fault.lock().unwrap() = None;
    assert_eq!(server.get("/v1/acme/issues").await.status(), 200);
}

#[tokio::test]
async fn a_head_request_that_fails_has_the_headers_only() {
    let server = Server::start().await;
    let answer = server.bare(Method::HEAD, "/v1/acme/issues").send().await.unwrap();
    assert_eq!(answer.status(), 401);
    assert!(answer.headers().contains_key("content-length"));
    assert_eq!(answer.text().await.unwrap(), "");
}
