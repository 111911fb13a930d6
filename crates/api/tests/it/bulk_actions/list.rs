//! `GET …/bulk_actions`: the tasks of one path, newest first, in pages.

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{ISSUES, PATH, create, submit, this, uid};
use crate::real_server::RealServer;
use crate::server::OTHER;

on_each_store!(tasks_are_listed_newest_first_in_pages,);

async fn tasks_are_listed_newest_first_in_pages() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    assert_eq!(
        real.text(PATH).await,
        "{\"page\":1,\"page-size\":100,\"tasks\":[],\"total-hits\":0,\"total-pages\":1}"
    );
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.insert(0, create(&real, &[uid(&n.to_string())]).await["task_id"].clone());
    }
    let get = [("action", "get_core_profiles"), ("payload", "[{}]")];
    submit(&real, PATH, &get).await;
    submit(&real, ISSUES, &[("action", "import_issues"), ("payload", "[{}]")]).await;
    let list = async |query: &str| real.json(&format!("{PATH}{query}")).await;
    let creates = list("?action=create_core_profiles&page-size=2&page=2").await;
    let found: Vec<_> =
        creates["tasks"].as_array().unwrap().iter().map(|t| t["task_id"].clone()).collect();
    assert_eq!(found, ids[2..4]);
    assert_eq!((&creates["total-hits"], &creates["total-pages"]), (&json!(5), &json!(3)));
    assert_eq!(creates["tasks"][0]["links"]["self"], this(&creates["tasks"][0]));
    assert_eq!(list("").await["total-hits"], 6);
    assert_eq!(list("?status=completed").await["total-hits"], 0);
    assert_eq!(real.json(ISSUES).await["total-hits"], 1);
    for query in [
        "status=created,%20completed",
        "status=created&status=completed",
        "status[]=created&status[]=completed",
        "action=create_core_profiles&action=get_core_profiles",
    ] {
        assert_eq!(list(&format!("?{query}")).await["total-hits"], 6, "{query}");
    }
    let page = list("?page-size=4").await;
    let lines = real.text(&format!("{PATH}?page-size=4&format=jsonl")).await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::Array(lines), page["tasks"]);
    let refused =
        real.request(Method::GET, &format!("{PATH}?format=odd&limit=1")).send().await.unwrap();
    assert_eq!(refused.status(), 400);
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["errors"].as_array().unwrap().len(), 2, "{problem}");
    let path = format!("{PATH}?status=created&page_size=2&page=2");
    let answer = real.request(Method::GET, &path).send().await.unwrap();
    let url = real.url(PATH);
    let page = |n| format!("<{url}?status=created&page_size=2&page={n}>");
    let links = format!(
        "{}; rel=\"first\", {}; rel=\"prev\", {}; rel=\"next\", {}; rel=\"last\"",
        page(1),
        page(1),
        page(3),
        page(3)
    );
    assert_eq!(answer.headers()["link"], links.as_str());
    let wrong = format!("{PATH}?status=done&action=import_issues&page=501&order=asc");
    let answer = real.request(Method::GET, &wrong).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["errors"].as_array().unwrap().len(), 4, "{problem}");
    let url = format!("http://{}{PATH}", real.address);
    let other = real.client.get(url).bearer_auth(OTHER).send().await.unwrap();
    assert_eq!(other.status(), 401, "a key that this store does not know");
    real.stop().await;
}
