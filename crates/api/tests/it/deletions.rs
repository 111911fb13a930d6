//! Deleting one issue or profile by a call: the answers, the rights, repeats, and the lists after
//! it.

use caseload_model::key::Access;
use caseload_teststore::on_each_store;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::issues::support::create;
use crate::real_server::RealServer;
use crate::server::READ;

on_each_store!(threads 2:
    a_deleted_record_is_unknown_to_each_call_that_follows,
    a_deletion_needs_a_key_of_the_domain_that_may_write,
    a_repeated_deletion_gets_the_first_answer,
    a_faulty_deletion_names_all_faults_and_deletes_nothing,
    a_cursor_and_a_tag_from_before_a_deletion_see_the_list_after_it,
);

const CORE: &str = "/v2/acme/identity/core_profiles";
const APP: &str = "/v2/acme/identity/app_profiles";
const ISSUES: &str = "/v1/acme/issues";

/// A server with an issue, its author and a core profile of the same person; their paths.
async fn with_records() -> (RealServer, [String; 3]) {
    let real = RealServer::start().await;
    let issue = create(&real, &[("message-body", "x"), ("email", "ada@example.org")]).await;
    let shown = real.json(&issue).await;
    let pid = shown["issues"][0]["hs_user_id"].as_str().unwrap().to_owned();
    let person = r#"{"identities":[{"email":"ada@example.org"}]}"#;
    let task = real.run("identity", "create_core_profiles", person).await;
    let made: Value = serde_json::from_str(&real.lines(&task, "results").await).unwrap();
    let core = format!("{CORE}/{}", made["core-profile-id"].as_str().unwrap());
    (real, [issue, format!("{APP}/{pid}"), core])
}

async fn send(real: &RealServer, method: Method, path: &str) -> Response {
    real.request(method, path).send().await.unwrap()
}

async fn status(real: &RealServer, method: Method, path: &str) -> u16 {
    send(real, method, path).await.status().as_u16()
}

/// The problem of an answer, without what differs between two requests.
async fn problem(answer: Response) -> Value {
    let mut problem: Value = answer.json().await.unwrap();
    problem.as_object_mut().unwrap().shift_remove("request_id");
    problem
}

async fn a_deleted_record_is_unknown_to_each_call_that_follows() {
    let (real, [issue, app, core]) = with_records().await;
    for (deleted, left) in [(&core, vec![&issue, &app]), (&app, vec![&issue]), (&issue, vec![])] {
        let answer = send(&real, Method::DELETE, deleted).await;
        assert_eq!(answer.status(), 204, "{deleted}");
        assert!(!answer.headers().contains_key("content-type"));
        assert_eq!(answer.text().await.unwrap(), "");
        let gone = send(&real, Method::GET, deleted).await;
        assert_eq!(gone.status(), 404, "{deleted}");
        let again = send(&real, Method::DELETE, deleted).await;
        assert_eq!(again.status(), 404, "{deleted}");
        assert_eq!(problem(again).await, problem(gone).await);
        for path in left {
            assert_eq!(status(&real, Method::GET, path).await, 200, "{path} after {deleted}");
        }
    }
    let edited = real.request(Method::PUT, &issue).form(&[("title", "t")]).send().await.unwrap();
    assert_eq!(edited.status(), 404);
    for list in [ISSUES, CORE, APP] {
        assert_eq!(real.json(list).await["total-hits"], 0, "{list}");
    }
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
    real.stop().await;
}

async fn a_deletion_needs_a_key_of_the_domain_that_may_write() {
    let (real, records) = with_records().await;
    real.add_other_domain(Access::Write).await;
    for path in &records {
        let theirs = path.replace("/acme/", "/other/");
        for (path, key, wanted) in
            [(path, READ, 403), (path, "other", 403), (path, "none", 401), (&theirs, "other", 404)]
        {
            let request = real.client.delete(real.url(path)).bearer_auth(key);
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), wanted, "{path} {key}: {}", answer.text().await.unwrap());
        }
        assert_eq!(status(&real, Method::GET, path).await, 200, "{path}");
    }
    real.stop().await;
}

async fn a_repeated_deletion_gets_the_first_answer() {
    let (real, records) = with_records().await;
    let keyed = async |path: &str, key: &str| {
        let request = real.request(Method::DELETE, path).header("Idempotency-Key", key);
        let answer = request.send().await.unwrap();
        let replayed = answer.headers().contains_key("idempotent-replayed");
        (answer.status().as_u16(), replayed, answer.text().await.unwrap())
    };
    for path in &records {
        // A deletion that found nothing leaves its key free.
        let (unknown, ..) =
            keyed(&format!("{}/12345", path.rsplit_once('/').unwrap().0), path).await;
        assert_eq!(unknown, 404);
        assert_eq!(keyed(path, path).await, (204, false, String::new()));
        assert_eq!(keyed(path, path).await, (204, true, String::new()));
        let (reused, _, text) =
            keyed(&format!("{}/12345", path.rsplit_once('/').unwrap().0), path).await;
        assert_eq!(reused, 422, "{text}");
        let (unknown, ..) = keyed(path, "another").await;
        assert_eq!(unknown, 404);
    }
    real.stop().await;
}

async fn a_faulty_deletion_names_all_faults_and_deletes_nothing() {
    let (real, [issue, ..]) = with_records().await;
    let key = ("Idempotency-Key", "k".repeat(256));
    let request = real.request(Method::DELETE, &format!("{ISSUES}/x?force=true"));
    let answer = request.header(key.0, key.1).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    let named = problem(answer).await["errors"].as_array().unwrap().clone();
    let named: Vec<_> = named.iter().map(|fault| fault["parameter"].clone()).collect();
    assert_eq!(json!(named), json!(["force", "issue-id", "Idempotency-Key"]));
    for path in [format!("{issue}?x=1"), format!("{CORE}/x"), format!("{CORE}/-1")] {
        assert_eq!(status(&real, Method::DELETE, &path).await, 400, "{path}");
    }
    let beyond = "99999999999999999999999";
    for path in [format!("{ISSUES}/{beyond}"), format!("{CORE}/{beyond}"), format!("{APP}/x%00")] {
        assert_eq!(status(&real, Method::DELETE, &path).await, 404, "{path}");
    }
    for path in [ISSUES, CORE, APP] {
        assert_eq!(status(&real, Method::DELETE, path).await, 405, "{path}");
        assert_eq!(real.json(path).await["total-hits"], 1, "{path}");
    }
    real.stop().await;
}

async fn a_cursor_and_a_tag_from_before_a_deletion_see_the_list_after_it() {
    let real = RealServer::start().await;
    let mut paths = Vec::new();
    for n in 0..4 {
        paths.push(create(&real, &[("message-body", &format!("x{n}"))]).await);
    }
    let page = send(&real, Method::GET, ISSUES).await;
    let tag = page.headers()["etag"].clone();
    let first = real.json(&format!("{ISSUES}?cursor=&page-size=2&sort-order=asc")).await;
    assert_eq!(status(&real, Method::DELETE, &paths[1]).await, 204);
    assert_eq!(status(&real, Method::DELETE, &paths[2]).await, 204);
    let again = real.request(Method::GET, ISSUES).header("If-None-Match", &tag).send().await;
    let again: Value = again.unwrap().error_for_status().unwrap().json().await.unwrap();
    assert_eq!(again["total-hits"], 2);
    let cursor = first["next-cursor"].as_str().unwrap();
    let rest = real.json(&format!("{ISSUES}?cursor={cursor}&page-size=2&sort-order=asc")).await;
    let rest: Vec<_> = rest["issues"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(json!(rest), json!([4]));
    real.stop().await;
}
