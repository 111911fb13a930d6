//! `GET /v1/{domain}/queues`: an import makes the queues that it names.

use caseload_model::task::Action;
use caseload_teststore::on_each_store;
use serde_json::json;

use crate::issues::support::desk;

on_each_store!(the_queues_of_an_import_are_listed,);

async fn the_queues_of_an_import_are_listed() {
    let mut real = desk().await;
    real.run_tasks();
    let entry = json!({"created_at": 5, "queue": {"id": "123", "name": "Queue A"}});
    real.run("issues", Action::ImportIssues.as_str(), &entry.to_string()).await;
    let queues = real.json("/v1/acme/queues").await;
    assert_eq!(queues, json!({"queues": [{"id": "123", "name": "Queue A", "title": "Queue A"}]}));
    real.stop().await;
}
