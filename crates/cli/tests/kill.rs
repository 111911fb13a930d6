//! Black-box test that a kill neither loses nor repeats an entry. The test kills the built binary
//! with signal 9 during a task of 10,000 entries, at several moments from before the claim to after
//! the last chunk, and starts it again. Each entry must be applied once, the counts must add up at
//! every read, and the store must be consistent.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stderr, reason = "a failed test's output includes the server's log")]
#![expect(dead_code, reason = "the other tests use the rest of the shared code")]

mod common;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use caseload_client::{Client, Payload, RecordList, Task};
use caseload_model::task::{Action, Family};
use caseload_teststore::on_each_store;
use common::{PATIENCE, Server, Workdir};
use serde_json::Value;

on_each_store!(threads 2:
    a_task_goes_on_after_kill_9_and_applies_each_entry_once,
);

const ENTRIES: u64 = 10_000;
/// One entry in so many repeats the identity of the entry before it, and fails.
const REPEAT_EVERY: u64 = 100;

/// When the server is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// As soon as the task is accepted: before its claim or just after it.
    Accepted,
    /// A while after the task is accepted: during the first chunks.
    After(Duration),
    /// At the first read that shows some entries processed, or the task completed.
    SomeDone,
}

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

fn check_law(task: &Task) {
    let counts = task.counts;
    assert_eq!(counts.succeeded + counts.failed + counts.unprocessed, ENTRIES, "{}", task.record);
    assert_eq!(counts.total, ENTRIES);
}

async fn records(client: &Client, task: &str, list: RecordList) -> Vec<Value> {
    let mut lines = client.bulk(Family::Identity).records(task, list).await.unwrap().lines();
    let mut records = Vec::new();
    while let Some(line) = lines.next().await.unwrap() {
        records.push(serde_json::from_slice(&line).unwrap());
    }
    records
}

fn index_of(record: &Value) -> u64 {
    record["index"].as_u64().unwrap()
}

/// Kills the server of a task at a moment; returns the task as last read.
async fn kill_at(moment: Moment, server: Server<'_>, client: &Client, task: Task) -> Task {
    let mut last = task;
    match moment {
        Moment::Accepted => {}
        Moment::After(pause) => tokio::time::sleep(pause).await,
        Moment::SomeDone => {
            while last.counts.unprocessed == ENTRIES {
                last = client.bulk(Family::Identity).status(&last.task_id).await.unwrap();
                check_law(&last);
            }
        }
    }
    server.kill();
    last
}

/// Reads the task until it is completed; its progress must never go back.
async fn finish(client: &Client, seen: Task) -> Task {
    let begun = Instant::now();
    let mut last = seen;
    while !last.is_completed() {
        let task = client.bulk(Family::Identity).status(&last.task_id).await.unwrap();
        check_law(&task);
        assert!(task.progress >= last.progress, "progress fell: {} {}", last.record, task.record);
        assert!(task.counts.unprocessed <= last.counts.unprocessed, "work was taken back");
        assert!(begun.elapsed() < PATIENCE, "the task does not go on: {}", task.record);
        last = task;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    last
}

/// Each entry must have exactly one record, and each successful one exactly one profile.
async fn check_records(client: &Client, round: usize, task: &Task) {
    let results = records(client, &task.task_id, RecordList::Results).await;
    let errors = records(client, &task.task_id, RecordList::Errors).await;
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
    let bulk = client.bulk(Family::Identity);
    let export = bulk.submit(Action::GetCoreProfiles, Payload::bytes(lookups)).await.unwrap();
    let export = bulk.wait(&export.task_id, |_| {}).await.unwrap();
    assert!(export.is_clean(), "{}", export.record);
    let profiles = records(client, &export.task_id, RecordList::Results).await;
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
        let seen = kill_at(moment, server, &client, task).await;
        server = Server::start(&workdir, key.clone());
        let client = Client::new(&server.url, "acme", &key).unwrap();
        let task = finish(&client, seen).await;
        check_records(&client, round, &task).await;
        profiles += task.counts.succeeded;
        let report = workdir.good(&["check"]);
        let line = format!("{}\tcore profiles", grouped(profiles));
        assert!(report.contains(&line), "{moment:?}: {report}");
    }
}

fn grouped(number: u64) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}
