//! Rules that concern browsers and proxies: answers that no cache stores, writes of other sites,
//! hosts, paths with empty segments, transfer codings, and who sees the metrics.

use reqwest::Method;
use serde_json::Value;

use crate::server::{READ, Server, WRITE};
use crate::wire::exchange;

#[tokio::test]
async fn every_answer_of_a_domain_forbids_caches_and_guessed_types() {
    let server = Server::start().await;
    server.store.add_completed("t", 1, &["{}\n"], &[]);
    for (path, key, status) in [
        ("/v1/acme/issues", WRITE, 200),
        ("/v1/acme/issues?x=1", WRITE, 400),
        ("/v1/acme/issues", "unknown", 401),
        ("/v1/other/issues", WRITE, 403),
        ("/v1/acme/nothing", WRITE, 404),
        ("/v2/acme/identity/bulk_actions/t", READ, 200),
        ("/v2/acme/identity/bulk_actions/t/results", READ, 200),
    ] {
        let answer = server.bare(Method::GET, path).bearer_auth(key).send().await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(answer.headers()["cache-control"], "no-store", "{path}");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff", "{path}");
    }
}

#[tokio::test]
async fn a_write_that_a_browser_sends_for_another_site_is_refused() {
    let server = Server::start().await;
    let own = format!("http://{}", server.address);
    for (method, name, value, is_refused) in [
        (Method::POST, "Origin", "https://evil.example", true),
        (Method::POST, "Origin", "null", true),
        (Method::PUT, "Origin", "http://127.0.0.1:1", true),
        (Method::POST, "Sec-Fetch-Site", "cross-site", true),
        (Method::POST, "Origin", own.as_str(), false),
        (Method::POST, "Sec-Fetch-Site", "same-origin", false),
        (Method::GET, "Origin", "https://evil.example", false),
        (Method::GET, "Sec-Fetch-Site", "cross-site", false),
    ] {
        let request = server.request(method.clone(), "/v1/acme/issues").header(name, value);
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let problem = answer.json::<Value>().await.unwrap_or_default();
        let refused = (status, &problem["code"]) == (403, &"cross_site".into());
        assert_eq!(refused, is_refused, "{method} {name}: {value}: {status} {problem}");
    }
    // Without a key, the missing key is the answer.
    let request = server.bare(Method::POST, "/v1/acme/issues").header("Origin", "null");
    assert_eq!(request.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_path_with_an_empty_segment_is_not_found() {
    let server = Server::start().await;
    for path in [
        "/v1//issues",
        "/v1/acme//issues",
        "/v1/acme/issues//",
        "//v1/acme/issues",
        "//",
        "//healthz",
        "/healthz//",
    ] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Authorization: Bearer {WRITE}\r\n\r\n"
        );
        let answer = exchange(&server, &request).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    assert_eq!(server.get("/v1/acme/issues/").await.status(), 200, "one slash at the end is fine");
}

#[tokio::test]
async fn a_request_names_one_valid_host() {
    let server = Server::start().await;
    for (hosts, status) in [
        ("Host: a\r\nHost: a\r\n", 400),
        ("Host: a\r\nHost: b\r\n", 400),
        ("Host: a, b\r\n", 400),
        ("Host: a b\r\n", 400),
        ("Host: http://a\r\n", 400),
        ("", 400),
        ("Host: a\r\n", 200),
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        let answer = exchange(&server, &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{hosts:?}: {answer}");
    }
}

#[tokio::test]
async fn an_unknown_transfer_coding_before_chunks_is_501() {
    let server = Server::start().await;
    for coding in ["gzip, chunked", "chunked, chunked"] {
        let request = format!(
            "POST /v1/acme/issues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {WRITE}\r\n\
             Transfer-Encoding: {coding}\r\nConnection: close\r\n\r\n0\r\n\r\n"
        );
        let answer = exchange(&server, &request).await;
        assert!(answer.starts_with("HTTP/1.1 501 Not Implemented\r\n"), "{coding}: {answer}");
        assert!(answer.contains("unknown_coding") && answer.contains("x-request-id"), "{answer}");
    }
}

#[tokio::test]
async fn the_metrics_need_a_key_or_a_caller_on_the_same_machine() {
    let server = Server::start().await;
    let metrics = || server.bare(Method::GET, "/metrics");
    assert_eq!(metrics().send().await.unwrap().status(), 200);
    // A proxy on this machine passes on requests of other machines.
    for name in ["Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via"] {
        assert_eq!(metrics().header(name, "x").send().await.unwrap().status(), 401, "{name}");
    }
    let passed_on = || metrics().header("X-Forwarded-For", "203.0.113.9");
    let refused = passed_on().send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert!(refused.headers().contains_key("www-authenticate"));
    assert_eq!(passed_on().bearer_auth("unknown").send().await.unwrap().status(), 401);
    let allowed = passed_on().bearer_auth(READ).send().await.unwrap();
    assert_eq!(allowed.status(), 200);
    assert_eq!(allowed.headers()["cache-control"], "no-store");
    for (host, status) in [
        ("localhost", 200),
        ("LOCALHOST:8080", 200),
        ("127.8.9.10:80", 200),
        ("[::1]:8080", 200),
        ("evil.example", 401),
        ("localhost.evil.example", 401),
        ("127.0.0.1.evil.example:8080", 401),
        ("10.0.0.1", 401),
        ("0.0.0.0", 401),
        ("[::2]", 401),
    ] {
        let answer = metrics().header("Host", host).send().await.unwrap();
        assert_eq!(answer.status(), status, "{host}");
    }
    let trusted_proxies = "192.0.2.1".parse().unwrap();
    for config in [
        caseload_api::ApiConfig { trusted_proxies, ..Default::default() },
        caseload_api::ApiConfig {
            public_url: Some("http://localhost".parse().unwrap()),
            ..Default::default()
        },
    ] {
        let server = Server::configured(config).await;
        let request = || server.bare(Method::GET, "/metrics");
        assert_eq!(request().send().await.unwrap().status(), 401);
        assert_eq!(request().bearer_auth(READ).send().await.unwrap().status(), 200);
    }
    let config = caseload_api::ApiConfig { has_admin_address: true, ..Default::default() };
    let server = Server::configured(config).await;
    let moved = server.bare(Method::GET, "/metrics").bearer_auth(READ).send().await.unwrap();
    assert_eq!(moved.status(), 404);
    assert_eq!(server.bare(Method::GET, "/healthz").send().await.unwrap().status(), 200);
}
