//! Bulk actions from POST to records, over the real store and runner: the whole way that a client
//! goes. What single answers look like is tested beside this file.

use caseload_api::ApiConfig;
use reqwest::Method;
use serde_json::Value;

use crate::real::Real;
use crate::server::{READ, WRITE};

const PATH: &str = "/v2/acme/identity/bulk_actions";

fn records(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn profiles_go_in_come_out_and_go_in_again_unchanged() {
    let real = Real::start().await;
    let entries = "{\"identities\":[{\"uid\":\"u1\"}],\"lifetime_value\":1023.990,\"age\":30}\n\
                   {\"identities\":[{\"uid\":\"u2\"}],\"last_country\":\"Atlantis\",\"aeg\":1}\n\
                   no json\n\
                   {\"identities\":[{\"email\":\"A@x\"}],\
                   \"custom_fields\":{\"n\":1e400,\"s\":\"ä\\u0000\"}}\n";
    let task = real.run("identity", "create_core_profiles", entries).await;
    assert_eq!(task["outcome"], "completed_with_errors");
    let counts = serde_json::json!({"total":4,"succeeded":2,"failed":2,"unprocessed":0});
    assert_eq!(task["counts"], counts);

    let created = records(&real.lines(&task, "results").await);
    let places: Vec<_> =
        created.iter().map(|r| (r["index"].as_u64(), r["line"].as_u64())).collect();
    assert_eq!(places, [(Some(0), Some(1)), (Some(3), Some(4))]);
    let errors = real.json(task["links"]["errors"].as_str().unwrap()).await;
    let codes = |record: &Value| -> Vec<String> {
        let codes = record["errors"].as_array().unwrap().iter().map(|e| e["code"].to_string());
        codes.collect()
    };
    assert_eq!(codes(&errors[0]).len(), 2, "{errors}");
    assert_eq!(codes(&errors[1]), ["\"invalid_json\""]);

    let ids: String = created
        .iter()
        .map(|record| serde_json::json!({"core-profile-id": record["core-profile-id"]}))
        .fold(String::new(), |lines, id| lines + &id.to_string() + "\n");
    let read = real.run("identity", "get_core_profiles", &ids).await;
    let profiles = real.lines(&read, "results").await;
    assert!(profiles.contains("\"lifetime_value\":1023.990"), "{profiles}");
    assert!(profiles.contains("\"n\":1e400"), "{profiles}");

    let again = real.run("identity", "update_core_profiles", &profiles).await;
    assert_eq!(again["outcome"], "succeeded", "{}", real.lines(&again, "errors").await);
    let outcomes = records(&real.lines(&again, "results").await);
    assert!(outcomes.iter().all(|record| record["outcome"] == "unchanged"), "{outcomes:?}");
    real.stop().await;
}

#[tokio::test]
async fn thousands_of_records_stream_in_payload_order() {
    let real = Real::start().await;
    let entry = |n: u32| format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}]}}\n");
    let entries: String = (0..3000).map(entry).fold(String::new(), |all, one| all + &one);
    let task = real.run("identity", "create_core_profiles", &entries).await;
    let array = real.json(task["links"]["results"].as_str().unwrap()).await;
    let indexes: Vec<_> = array.as_array().unwrap().iter().map(|r| r["index"].as_u64()).collect();
    assert!(indexes.into_iter().eq((0..3000).map(Some)));
    assert_eq!(real.text(task["links"]["errors"].as_str().unwrap()).await, "[]");
    real.stop().await;
}

#[tokio::test]
async fn a_full_queue_refuses_and_an_unfinished_task_has_no_records() {
    let config = ApiConfig { unfinished_tasks_max: 2, ..ApiConfig::default() };
    let real = Real::without_runner(config).await;
    let mut paths = Vec::new();
    for status in [201, 201, 429] {
        let form = [("action", "create_core_profiles"), ("payload", "[{}]")];
        let answer = real.request(Method::POST, PATH).form(&form).send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers().contains_key("retry-after"), status == 429);
        let task: Value = answer.json().await.unwrap();
        paths.extend(task["links"]["results"].as_str().map(str::to_owned));
    }
    for path in &paths {
        let answer = real.request(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), 409, "{path}");
    }
    assert_eq!(paths.len(), 2);
    real.stop().await;
}

#[tokio::test]
async fn using_a_key_is_noted_in_the_store_and_readiness_is_told() {
    let real = Real::without_runner(ApiConfig::default()).await;
    assert_eq!(real.text("/readyz").await, "{\"status\":\"ok\"}");
    let answer = real.request(Method::GET, &format!("{PATH}/x")).send().await.unwrap();
    assert_eq!(answer.status(), 404);
    let used = async || {
        let keys = real.store.keys(real.domain).await.unwrap();
        let used = |id: &str| keys.iter().find(|key| key.id == id).unwrap().last_used_at;
        (used(&format!("key-{WRITE}")), used(&format!("key-{READ}")))
    };
    while used().await.0.is_none() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let (write, read) = used().await;
    assert_eq!(write.unwrap().0 % 60_000, 0, "noted to the minute");
    assert_eq!(read, None);
    real.stop().await;
}
