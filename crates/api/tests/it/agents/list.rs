//! `GET /v1/{domain}/agents`: the pages of the list, and the filter by address.

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::{Value, json};

use crate::issues::support::desk;

on_each_store!(agents_are_listed_in_pages_and_found_by_address, short_lists_are_lines_on_request,);

async fn agents_are_listed_in_pages_and_found_by_address() {
    let real = desk().await;
    let agents = real.json("/v1/acme/agents?page_size=1&page=2&includes=%5B%22groups%22%5D").await;
    assert_eq!(agents["profiles"][0]["id"], "tom");
    assert_eq!((&agents["page"], &agents["page-size"]), (&json!(2), &json!(1)));
    assert_eq!((&agents["total-profiles"], &agents["total-pages"]), (&json!(2), &json!(2)));
    let eva = real.json("/v1/acme/agents?emails=%5B%22EVA@desk.example%22%5D").await;
    assert_eq!((&eva["profiles"][0]["name"], &eva["total-profiles"]), (&json!("Eva"), &json!(1)));
    for query in [
        "emails=eva@desk.example,%20tom@desk.example&roles=agent",
        "emails=eva@desk.example&emails=tom@desk.example&roles[]=agent",
        "emails[]=eva@desk.example&emails[]=tom@desk.example",
        "emails%5B0%5D=eva@desk.example&emails%5B1%5D=TOM@desk.example",
    ] {
        let both = real.json(&format!("/v1/acme/agents?{query}")).await;
        assert_eq!(both["total-profiles"], 2, "{query}");
    }
    assert_eq!(real.json("/v1/acme/agents?emails[]=").await["total-profiles"], 0);
    real.stop().await;
}

async fn short_lists_are_lines_on_request() {
    let real = desk().await;
    for (path, key) in
        [("/v1/acme/agents", "profiles"), ("/v1/acme/apps", "apps"), ("/v1/acme/queues", "queues")]
    {
        let records = real.json(path).await[key].take();
        for (query, accept) in
            [("format=jsonl", "*/*"), ("format=ndjson&%zz", "*/*"), ("", "application/x-ndjson")]
        {
            if key == "profiles" && query.contains("%zz") {
                // Agents have parameters of their own, which have to be readable.
                continue;
            }
            let request = real.request(Method::GET, &format!("{path}?{query}"));
            let answer = request.header("accept", accept).send().await.unwrap();
            assert_eq!(answer.headers()["content-type"], "application/x-ndjson; charset=utf-8");
            let text = answer.text().await.unwrap();
            let lines: Vec<Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(Value::Array(lines), records, "{path}?{query}");
        }
        let answer = real.request(Method::GET, &format!("{path}?format=xml")).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{path}");
        assert!(answer.text().await.unwrap().contains("accepted: json, jsonl, ndjson, csv"));
    }
    real.stop().await;
}
