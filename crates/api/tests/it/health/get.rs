//! `GET /healthz` and `GET /readyz`: the health of the process and of the store. Neither call needs
//! a key, and neither shows an internal error.

use caseload_store::StoreError;

use crate::server::{Server, snapshot};
use reqwest::Method;

#[tokio::test]
async fn health_needs_no_key() {
    let server = Server::start().await;
    for path in ["/healthz", "/readyz", "/readyz/"] {
        let answer = server.bare(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.text().await.unwrap(), "{\"status\":\"ok\"}");
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_not_ready_but_the_process_is_healthy() {
    let server = Server::start().await;
    server.store.fail(|| StoreError::Unavailable("the disk /dev/x is full".to_owned()));
    assert_eq!(server.get("/healthz").await.status(), 200);
    let answer = server.bare(Method::GET, "/readyz").send().await.unwrap();
    insta::assert_snapshot!(snapshot(answer).await);
}

#[tokio::test]
async fn readiness_reports_damage_that_was_met() {
    let server = Server::start().await;
    server.store.fail(|| StoreError::Corrupt("a row of keys (id 7)".to_owned()));
    assert_eq!(server.get("/healthz").await.status(), 200);
    let answer = server.bare(Method::GET, "/readyz").send().await.unwrap();
    insta::assert_snapshot!(snapshot(answer).await);
}
