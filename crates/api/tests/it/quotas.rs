//! The limits of a domain, as callers meet them: 429 `quota_exceeded`, nothing changed, and other
//! domains go on.

use caseload_store::DomainLimits;
use caseload_teststore::on_each_store;
use http::StatusCode;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::real_server::RealServer;

on_each_store!(
    a_domain_stores_no_more_than_its_quota,
    an_upsert_beyond_the_quota_is_refused_and_changes_nothing,
    a_domain_has_no_more_unfinished_tasks_than_its_quota,
    all_keys_of_a_domain_share_its_rate_limit,
);

const ISSUES: &str = "/v1/acme/issues";
const TASKS: &str = "/v2/acme/identity/bulk_actions";

async fn limit(real: &RealServer, limits: DomainLimits) {
    real.store.set_limits(real.domain, limits, real.clock.now().into()).await.unwrap();
}

async fn refused(answer: Response) -> Value {
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(answer.headers().contains_key("retry-after"));
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["code"], "quota_exceeded", "{problem}");
    problem
}

async fn create(real: &RealServer, body: &str, file: Option<usize>) -> Response {
    let mut form = Form::new().text("message-body", body.to_owned());
    if let Some(bytes) = file {
        form = form.part("attachment", Part::bytes(vec![b'x'; bytes]).file_name("f.txt"));
    }
    real.request(Method::POST, ISSUES).multipart(form).send().await.unwrap()
}

async fn a_domain_stores_no_more_than_its_quota() {
    let real = RealServer::start().await;
    limit(&real, DomainLimits { quota_bytes: Some(300_000), ..DomainLimits::default() }).await;
    assert_eq!(create(&real, "short", None).await.status(), StatusCode::CREATED);
    let problem = refused(create(&real, &"long ".repeat(100_000), None).await).await;
    assert!(problem["detail"].as_str().unwrap().contains("300000"), "{problem}");
    refused(create(&real, "with a file", Some(2_500_000)).await).await;
    assert_eq!(real.json(ISSUES).await["total-hits"], 1, "a refused request leaves no trace");
    let used = real.store.usage(real.domain).await.unwrap().bytes;
    assert!(used < 10_000, "{used}");
    let long = format!("issue-ids=[1]&message-body={}", "x".repeat(400_000));
    let edit = real.request(Method::PUT, ISSUES).body(long);
    let edit = edit.header("content-type", "application/x-www-form-urlencoded");
    refused(edit.send().await.unwrap()).await;
    limit(&real, DomainLimits::default()).await;
    let answer = create(&real, "with a file", Some(2_500_000)).await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    real.stop().await;
}

async fn an_upsert_beyond_the_quota_is_refused_and_changes_nothing() {
    let real = RealServer::start().await;
    let person = |about: &str| {
        format!(r#"{{"identities":[{{"uid":"a"}}],"custom_fields":{{"about":"{about}"}}}}"#)
    };
    let issue = |title: &str| format!(r#"{{"id":7,"title":"{title}","created_at":1}}"#);
    // The quota counts stored bytes, which are compressed; these texts do not compress well.
    let words = (0..20_000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string());
    let long = words.collect::<Vec<_>>().concat();
    real.run("identity", "upsert_core_profiles", &person("short")).await;
    real.run("issues", "import_issues", &issue("short")).await;
    limit(&real, DomainLimits { quota_bytes: Some(50_000), ..DomainLimits::default() }).await;
    let cases = [
        ("v2", "identity", "upsert_core_profiles", person(&long)),
        ("v2", "issues", "import_issues", issue(&long)),
    ];
    for (version, family, action, entry) in &cases {
        let path = format!("/{version}/acme/{family}/bulk_actions");
        let before = real.store.usage(real.domain).await.unwrap().bytes;
        let mut form = Form::new().text("action", *action).text("payload", format!("[{entry}]"));
        if *family == "issues" {
            form = form.text("upsert", "true");
        }
        let answer = real.request(Method::POST, &path).multipart(form).send().await.unwrap();
        let problem = refused(answer).await;
        assert!(problem["detail"].as_str().unwrap().contains("50000"), "{problem}");
        assert_eq!(real.json(&path).await["total-hits"], 1, "{action} makes no task");
        assert_eq!(real.store.usage(real.domain).await.unwrap().bytes, before, "{action}");
    }
    let people = real.json("/v2/acme/identity/core_profiles").await;
    assert_eq!(people["core_profiles"][0]["custom_fields"]["about"], "short", "{people}");
    assert_eq!(real.json(ISSUES).await["issues"][0]["title"], "short");
    real.stop().await;
}

async fn a_domain_has_no_more_unfinished_tasks_than_its_quota() {
    let mut real = RealServer::without_runner(caseload_api::ApiConfig::default()).await;
    limit(&real, DomainLimits { quota_tasks: Some(2), ..DomainLimits::default() }).await;
    let submit = async |real: &RealServer| {
        let form =
            [("action", "create_core_profiles"), ("payload", r#"[{"identities":[{"uid":"a"}]}]"#)];
        real.request(Method::POST, TASKS).form(&form).send().await.unwrap()
    };
    let mut last = Value::Null;
    for _ in 0..2 {
        let accepted = submit(&real).await;
        assert_eq!(accepted.status(), StatusCode::CREATED);
        last = accepted.json().await.unwrap();
    }
    refused(submit(&real).await).await;
    real.run_tasks();
    real.completed(last["links"]["self"].as_str().unwrap()).await;
    assert_eq!(submit(&real).await.status(), StatusCode::CREATED);
    real.stop().await;
}

async fn all_keys_of_a_domain_share_its_rate_limit() {
    let real = RealServer::start().await;
    limit(&real, DomainLimits { rate_limit: Some(3), ..DomainLimits::default() }).await;
    for (n, key) in
        [crate::server::WRITE, crate::server::READ, crate::server::WRITE].into_iter().enumerate()
    {
        let answer = real.client.get(real.url(ISSUES)).bearer_auth(key).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let headers = answer.headers();
        assert_eq!(headers["x-rate-limit-limit"], "3");
        assert_eq!(headers["x-rate-limit-remaining"], (2 - n).to_string().as_str());
    }
    let read = real.client.get(real.url(ISSUES)).bearer_auth(crate::server::READ);
    let problem = refused(read.send().await.unwrap()).await;
    assert!(problem["detail"].as_str().unwrap().contains("retry after "), "{problem}");
    real.stop().await;
}
