//! Creations of profiles through kills: ids are given once, and faulty entries fail once.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::time::Duration;

use caseload_client::{BulkActions, Client, Payload, RecordList, Task};
use caseload_model::task::{Action, Family};
use caseload_teststore::on_each_store;
use serde_json::Value;

use crate::common::{Server, Workdir};
use crate::life::{Moment, check_law, finish, index_of, kill_at, records};

on_each_store!(threads 2:
    a_task_goes_on_after_kill_9_and_applies_each_entry_once,
);

const ENTRIES: u64 = 10_000;
/// One entry in so many repeats the identity of the entry before it, and fails.
const REPEAT_EVERY: u64 = 100;

fn entries(round: usize) -> Vec<u8> {
    let mut lines = Vec::new();
    for index in 0..ENTRIES {
        let repeats = index % REPEAT_EVERY == REPEAT_EVERY - 1;
        let identity = if repeats { index - 1 } else { index };
        let entry = serde_json::json!({
            "identities": [{"uid": format!("r{round}-{identity}")}],
            "names": {"first_name": format!("№ {index}")},
            "custom_fields": {"filler": "x".repeat(200), "index": index},
        });
        lines.extend_from_slice(entry.to_string().as_bytes());
        lines.push(b'\n');
    }
    lines
}

/// Each entry must have exactly one record, and each successful one exactly one profile.
async fn check_records(bulk: BulkActions<'_>, round: usize, task: &Task) {
    let results = records(bulk, &task.task_id, RecordList::Results).await;
    let errors = records(bulk, &task.task_id, RecordList::Errors).await;
    assert_eq!(results.len() as u64, task.counts.succeeded);
    assert_eq!(errors.len() as u64, task.counts.failed);
    assert_eq!(errors.len() as u64, ENTRIES / REPEAT_EVERY);
    assert!(results.is_sorted_by_key(index_of) && errors.is_sorted_by_key(index_of));
    let covered: BTreeSet<u64> = results.iter().chain(&errors).map(index_of).collect();
    assert_eq!(covered.len() as u64, ENTRIES, "an entry has two records or none");
    assert_eq!(covered.last(), Some(&(ENTRIES - 1)));

    let id = |record: &Value| record["core-profile-id"].as_str().unwrap().to_owned();
    let ids: HashSet<String> = results.iter().map(id).collect();
    assert_eq!(ids.len(), results.len(), "an id was given twice");
    let mut lookups = String::new();
    for result in &results {
        let _ = writeln!(lookups, "{{\"core-profile-id\":\"{}\"}}", id(result));
    }
    let export = bulk.submit(Action::GetCoreProfiles, Payload::bytes(lookups)).await.unwrap();
    let export = bulk.wait(&export.task_id, |_| {}).await.unwrap();
    assert!(export.is_clean(), "{}", export.record);
    let profiles = records(bulk, &export.task_id, RecordList::Results).await;
    assert_eq!(profiles.len(), results.len());
    for (profile, result) in profiles.iter().zip(&results) {
        let index = index_of(result);
        assert_eq!(profile["core-profile-id"], result["core-profile-id"]);
        assert_eq!(profile["identities"][0]["uid"], format!("r{round}-{index}"));
        assert_eq!(profile["custom_fields"]["index"], index);
    }
}

async fn a_task_goes_on_after_kill_9_and_applies_each_entry_once() {
    let workdir = Workdir::new();
    let mut server = workdir.serve();
    let moments = [
        Moment::Accepted,
        Moment::After(Duration::from_millis(20)),
        Moment::After(Duration::from_millis(60)),
        Moment::After(Duration::from_millis(150)),
        Moment::After(Duration::from_millis(400)),
        Moment::SomeDone,
    ];
    let mut profiles = 0;
    for (round, moment) in moments.into_iter().enumerate() {
        let key = server.key.clone();
        let client = Client::new(&server.url, "acme", &key).unwrap();
        let payload = Payload::bytes(entries(round));
        let bulk = client.bulk(Family::Identity);
        let task = bulk.submit(Action::CreateCoreProfiles, payload).await.unwrap();
        check_law(&task);
        let seen = kill_at(moment, server, bulk, task).await;
        server = Server::start(&workdir, key.clone());
        let client = Client::new(&server.url, "acme", &key).unwrap();
        let bulk = client.bulk(Family::Identity);
        let task = finish(bulk, seen).await;
        check_records(bulk, round, &task).await;
        profiles += task.counts.succeeded;
        let report = workdir.good(&["check"]);
        let line = format!("{}\tcore profiles", grouped(profiles));
        assert!(report.contains(&line), "{moment:?}: {report}");
    }
}

fn grouped(number: u64) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}
