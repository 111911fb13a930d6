//! `GET /v2/{domain}/identity/core_profiles/{id}` and `…/app_profiles/{pid}`.

use caseload_teststore::on_each_store;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::real_server::RealServer;

on_each_store!(threads 4:
    a_single_profile_is_the_record_of_the_get_action_with_a_tag,
    an_unknown_id_is_not_found_and_a_malformed_one_is_refused,
);

const PATH: &str = "/v2/acme/identity";

async fn a_single_profile_is_the_record_of_the_get_action_with_a_tag() {
    let real = RealServer::start().await;
    let entry = r#"{"identities":[{"email":"Ada@example.org"}],"lifetime_value":1.10}"#;
    let task = real.run("identity", "create_core_profiles", entry).await;
    let made: Value = serde_json::from_str(&real.lines(&task, "results").await).unwrap();
    let id = made["core-profile-id"].as_str().unwrap();
    let issue = json!({
        "created_at": 1, "hs_user_id": "p/ä 1",
        "author_name": "Ada", "author_email": "ada@Example.org",
    });
    real.run("issues", "import_issues", &issue.to_string()).await;
    let core = format!("{PATH}/core_profiles/{id}");
    let app = format!("{PATH}/app_profiles/p%2F%C3%A4%201");
    for (path, action, entry, added) in [
        (&core, "get_core_profiles", format!(r#"{{"core-profile-id":"{id}"}}"#), ""),
        (
            &app,
            "get_app_profiles",
            r#"{"pid":"p/ä 1"}"#.to_owned(),
            &format!(r#","core-profile-id":"{id}"}}"#),
        ),
    ] {
        let task = real.run("identity", action, &entry).await;
        let expected = real.lines(&task, "results").await;
        let expected = expected.trim_end();
        let answer = real.request(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/json; charset=utf-8");
        let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
        assert!(tag.starts_with('"'), "{tag}");
        assert_eq!(answer.text().await.unwrap(), expected);
        let again = real.request(Method::GET, path).header("if-none-match", &tag);
        assert_eq!(again.send().await.unwrap().status(), StatusCode::NOT_MODIFIED);
        if !added.is_empty() {
            let shown = real.text(&format!("{path}?includes=core_profile")).await;
            assert_eq!(shown, format!("{}{added}", &expected[..expected.len() - 1]));
        }
    }
    let patch = format!(r#"{{"core-profile-id":"{id}","age":30}}"#);
    let before = real.request(Method::GET, &core).send().await.unwrap();
    real.run("identity", "update_core_profiles", &patch).await;
    let after = real.request(Method::GET, &core).send().await.unwrap();
    assert_ne!(before.headers()["etag"], after.headers()["etag"]);
    real.stop().await;
}

async fn an_unknown_id_is_not_found_and_a_malformed_one_is_refused() {
    let real = RealServer::without_runner(caseload_api::ApiConfig::default()).await;
    for (path, status, code) in [
        ("core_profiles/17", 404, "not_found"),
        ("core_profiles/99999999999999999999999", 404, "not_found"),
        ("app_profiles/nobody", 404, "not_found"),
        ("core_profiles/1x", 400, "invalid_request"),
        ("core_profiles/17?includes=core_profile", 400, "invalid_request"),
        ("app_profiles/nobody?includes=app_profiles", 400, "invalid_request"),
    ] {
        let answer = real.request(Method::GET, &format!("{PATH}/{path}")).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["code"] == "not_found", code == "not_found", "{path}: {problem}");
    }
    real.stop().await;
}
