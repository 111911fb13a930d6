//! `GET /v1/{domain}/issues/{issue_id}`: the envelope of one issue, and wrong ids.

use reqwest::Method;
use serde_json::Value;

use super::list::with_issues;
use crate::server::READ;

const PATH: &str = "/v1/acme/issues";

#[tokio::test]
async fn a_single_issue_comes_in_the_same_envelope() {
    let server = with_issues(0).await;
    insta::assert_snapshot!(server.snapshot(&format!("{PATH}/7")).await);
    let answer = server.bare(Method::GET, &format!("{PATH}/7")).bearer_auth(READ).send().await;
    assert_eq!(answer.unwrap().status(), 200);
}

#[tokio::test]
async fn unknown_issues_are_not_found_and_ids_are_numbers() {
    let server = with_issues(0).await;
    for id in ["x", "7x", "-7", "1.5", "%20", "0x7"] {
        let answer = server.get(&format!("{PATH}/{id}")).await;
        assert_eq!(answer.status(), 400, "{id}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["errors"][0]["parameter"], "issue-id");
    }
    assert_eq!(server.get(&format!("{PATH}/99999999999999999999999")).await.status(), 404);
    *server.store.issue.lock().unwrap() = None;
    insta::assert_snapshot!(server.snapshot(&format!("{PATH}/8")).await);
    insta::assert_snapshot!(server.snapshot(&format!("{PATH}/x?include=y")).await);
}
