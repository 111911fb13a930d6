//! `GET /v1/{domain}/agents`: the pages of the list, and the filter by address.

use caseload_teststore::on_each_store;
use serde_json::json;

use crate::issues::support::desk;

on_each_store!(agents_are_listed_in_pages_and_found_by_address,);

async fn agents_are_listed_in_pages_and_found_by_address() {
    let real = desk().await;
    let agents = real.json("/v1/acme/agents?page_size=1&page=2&includes=%5B%22groups%22%5D").await;
    assert_eq!(agents["profiles"][0]["id"], "tom");
    assert_eq!((&agents["page"], &agents["page-size"]), (&json!(2), &json!(1)));
    assert_eq!((&agents["total-profiles"], &agents["total-pages"]), (&json!(2), &json!(2)));
    let eva = real.json("/v1/acme/agents?emails=%5B%22EVA@desk.example%22%5D").await;
    assert_eq!((&eva["profiles"][0]["name"], &eva["total-profiles"]), (&json!("Eva"), &json!(1)));
    real.stop().await;
}
