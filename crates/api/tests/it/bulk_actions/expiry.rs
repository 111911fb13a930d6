//! Results that expire: refused from `expires_at` on, removed an hour later.

use std::sync::atomic::Ordering;

use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::Value;

use super::support::{DAY, PATH, this};
use crate::real_server::RealServer;
use crate::server::until;

on_each_store!(expired_results_are_refused_then_removed_and_the_task_remains,);

async fn expired_results_are_refused_then_removed_and_the_task_remains() {
    let real = RealServer::start().await;
    let task = real
        .run("identity", "create_core_profiles", "{\"identities\":[{\"uid\":\"a\"}]}\nx\n")
        .await;
    let id = task["task_id"].as_str().unwrap().to_owned();
    let results = task["links"]["results"].as_str().unwrap();
    let expires = task["expires_at"].as_i64().unwrap();
    let kept = async || {
        let kind = caseload_store::RecordKind::Results;
        real.store.record_block(real.domain, &id, kind, 0).await.unwrap().is_some()
    };
    real.turned.store(expires - real.clock.now().0 - 10_000, Ordering::SeqCst);
    assert_eq!(real.json(results).await.as_array().unwrap().len(), 1);
    real.turned.fetch_add(11_000, Ordering::SeqCst);
    let answer = real.request(Method::GET, results).send().await.unwrap();
    assert_eq!(answer.status(), 404);
    assert_eq!(answer.json::<Value>().await.unwrap()["code"], "expired");
    assert!(kept().await, "a download that began before may go on");
    real.turned.fetch_add(DAY, Ordering::SeqCst);
    until("the results are removed", async || !kept().await).await;
    assert_eq!(real.store.payload_block(real.domain, &id, 0).await.unwrap(), None);
    assert_eq!(real.json(&this(&task)).await["counts"], task["counts"]);
    assert_eq!(real.json(PATH).await["total-hits"], 1);
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
    real.stop().await;
}
