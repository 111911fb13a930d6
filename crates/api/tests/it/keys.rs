//! Authentication on every API path: forms of the header, domains, access, and how soon a change of
//! a key takes effect.

use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use reqwest::Method;

use crate::scripted_store::NOW;
use crate::server::{OTHER, READ, Server, WRITE, snapshot};
use crate::still_clock::StillClock;

const PATHS: [&str; 8] = [
    "/v1/acme/issues",
    "/v1/acme/issues/1",
    "/v2/acme/identity/bulk_actions",
    "/v2/acme/identity/bulk_actions/x/results",
    "/v1/acme/nothing",
    "/v1/acme",
    "/v2",
    "/v1/ACME/issues",
];

#[tokio::test]
async fn every_documented_form_of_the_key_is_accepted() {
    let server = Server::start().await;
    let colon = STANDARD.encode(format!("{WRITE}:"));
    let bare = STANDARD.encode(WRITE);
    for header in [
        format!("Basic {colon}"),
        format!("basic {bare}"),
        format!("Bearer {WRITE}"),
        format!("bEARER {WRITE}"),
    ] {
        let request = server.bare(Method::GET, "/v1/acme/issues").header("Authorization", &header);
        assert_eq!(request.send().await.unwrap().status(), 200, "{header}");
    }
    let request = server.bare(Method::GET, "/v1/acme/issues").basic_auth(WRITE, Some(""));
    assert_eq!(request.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_basic_password_may_be_anything() {
    let server = Server::start().await;
    for password in ["", "\"\"", WRITE, "x", "a:b", "geheim ü", "\0"] {
        let request = server.bare(Method::GET, "/v1/acme/issues").basic_auth(WRITE, Some(password));
        assert_eq!(request.send().await.unwrap().status(), 200, "{password:?}");
        let request = server.bare(Method::GET, "/v1/acme/issues").basic_auth("x", Some(password));
        assert_eq!(request.send().await.unwrap().status(), 401, "{password:?}");
    }
    // The key is the user name and nothing else.
    let request = server.bare(Method::GET, "/v1/acme/issues").basic_auth("", Some(WRITE));
    assert_eq!(request.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn a_missing_key_is_reported_before_anything_else() {
    let server = Server::start().await;
    for path in PATHS {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let answer = server.bare(method, path).body("x").send().await.unwrap();
            assert_eq!(answer.status(), 401, "{path}");
            let challenge = answer.headers()["www-authenticate"].to_str().unwrap();
            assert_eq!(challenge, "Basic realm=\"caseload\", Bearer");
        }
    }
    let answer = server.bare(Method::GET, "/v1/acme/issues").send().await.unwrap();
    insta::assert_snapshot!(snapshot(answer).await);
}

#[tokio::test]
async fn bad_keys_are_refused() {
    let server = Server::start().await;
    let password = STANDARD.encode("unknown:secret");
    for header in [
        "Bearer unknown",
        "Basic bm9ib2R5Og==",
        "Basic %%%",
        "Digest x",
        "Bearer",
        &format!("Basic {password}"),
        WRITE,
    ] {
        let request = server.bare(Method::GET, "/v1/acme/issues").header("Authorization", header);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 401, "{header}");
        let body = answer.text().await.unwrap();
        assert!(!body.contains("secret") && !body.contains(WRITE), "{body}");
    }
}

#[tokio::test]
async fn a_key_opens_its_own_domain_only_and_reveals_no_other() {
    let server = Server::start().await;
    let mut bodies = Vec::new();
    for path in [
        "/v1/other/issues",
        "/v1/nowhere/issues",
        "/v1/No_Domain!/issues",
        "/v1/%ff/issues",
        "/v2/other/identity/bulk_actions/x",
        "/v2/other/nothing",
    ] {
        let request = server.request(Method::GET, path).header("X-Request-Id", "same");
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 403, "{path}");
        bodies.push(answer.text().await.unwrap());
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    insta::assert_snapshot!(bodies[0]);
    let request = server.bare(Method::GET, "/v1/other/issues").bearer_auth(OTHER);
    assert_eq!(request.send().await.unwrap().status(), 200);
    assert_eq!(server.get("/v1/%61cme/issues").await.status(), 200);
}

#[tokio::test]
async fn with_a_key_unknown_paths_are_not_found() {
    let server = Server::start().await;
    for path in ["/v1/acme/nothing", "/v1/acme", "/v2", "/v1/acme/issues/1/2"] {
        assert_eq!(server.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn look_ups_are_cached_and_uses_are_written_once_a_minute() {
    let server = Server::start().await;
    for _ in 0..5 {
        assert_eq!(server.get("/v1/acme/issues").await.status(), 200);
        server.now.fetch_add(1000, Ordering::SeqCst);
    }
    assert_eq!(server.store.key_reads.load(Ordering::SeqCst), 1);
    let minute = |n: i64| (format!("key-{WRITE}"), UnixMillis((NOW.0 / 60_000 + n) * 60_000));
    assert_eq!(*server.store.touched.lock().unwrap(), [minute(0)]);
    server.now.fetch_add(60_000, Ordering::SeqCst);
    server.get("/v1/acme/issues").await;
    server.get("/v1/acme/issues").await;
    assert_eq!(*server.store.touched.lock().unwrap(), [minute(0), minute(1)]);
}

#[tokio::test]
async fn a_key_stops_at_its_expiry_even_while_it_is_cached() {
    let server = Server::start().await;
    server.store.change_key(READ, |key| key.expires_at = Some(UnixMillis(NOW.0 + 10)));
    let status = async || {
        let request = server.bare(Method::GET, "/v1/acme/issues").bearer_auth(READ);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status().await, 200);
    server.now.store(NOW.0 + 9, Ordering::SeqCst);
    assert_eq!(status().await, 200);
    server.now.store(NOW.0 + 10, Ordering::SeqCst);
    assert_eq!(status().await, 401);
}

#[tokio::test]
async fn a_new_key_works_at_once_and_a_revoked_one_stops_within_five_seconds() {
    let server = Server::start().await;
    let status = async || {
        let request = server.bare(Method::GET, "/v1/acme/issues").bearer_auth("fresh");
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status().await, 401);
    server.store.add_key("fresh", 1, "acme", Access::Read);
    assert_eq!(status().await, 200);
    server.store.change_key("fresh", |key| key.revoked_at = Some(NOW));
    let mut clock = StillClock::new();
    clock.pass(Duration::from_secs(5)).await;
    assert_eq!(clock.at_once(status()).await, 401);
}
