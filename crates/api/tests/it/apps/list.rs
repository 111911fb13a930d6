//! `GET /v1/{domain}/apps` and `GET /v1/{domain}/apps/{publish_id}`.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::json;

use crate::issues::support::desk;

on_each_store!(apps_are_listed_and_found_by_publish_id,);

async fn apps_are_listed_and_found_by_publish_id() {
    let real = desk().await;
    let apps = real.json("/v1/acme/apps/?page=1&page-size=1000&odd=1").await;
    let apps = apps["apps"].as_array().unwrap();
    assert_eq!((&apps[0]["title"], &apps[0]["publish_id"]), (&json!("Web"), &json!("1")));
    assert_eq!(apps[1]["id"], "mobile");
    assert_eq!(real.json("/v1/acme/apps/2").await, apps[1]);
    let unknown = real.request(Method::GET, "/v1/acme/apps/9").send().await.unwrap();
    assert_eq!(unknown.status(), 404);
    real.stop().await;
}
