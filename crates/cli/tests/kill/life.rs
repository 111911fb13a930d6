//! The life of a task whose server is killed: the moment of the kill, the task's end at the next
//! server, and the laws that hold at each read.

use std::time::{Duration, Instant};

use caseload_client::{BulkActions, RecordList, Task};
use serde_json::Value;

use crate::common::{PATIENCE, Server};

/// When the server is killed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    /// As soon as the task is accepted: before its claim or just after it.
    Accepted,
    /// A while after the task is accepted: during the first chunks.
    After(Duration),
    /// At the first read that shows some entries processed, or the task completed.
    SomeDone,
}

pub(crate) fn check_law(task: &Task) {
    let counts = task.counts;
    let sum = counts.succeeded + counts.failed + counts.unprocessed;
    assert_eq!(sum, counts.total, "{}", task.record);
}

pub(crate) async fn records(bulk: BulkActions<'_>, task: &str, list: RecordList) -> Vec<Value> {
    let mut lines = bulk.records(task, list).await.unwrap().lines();
    let mut records = Vec::new();
    while let Some(line) = lines.next().await.unwrap() {
        records.push(serde_json::from_slice(&line).unwrap());
    }
    records
}

pub(crate) fn index_of(record: &Value) -> u64 {
    record["index"].as_u64().unwrap()
}

/// Kills the server of a task at a moment; returns the task as last read.
pub(crate) async fn kill_at(
    moment: Moment,
    server: Server<'_>,
    bulk: BulkActions<'_>,
    task: Task,
) -> Task {
    let mut last = task;
    match moment {
        Moment::Accepted => {}
        Moment::After(pause) => tokio::time::sleep(pause).await,
        Moment::SomeDone => {
            while last.counts.unprocessed == last.counts.total {
                last = bulk.status(&last.task_id).await.unwrap();
                check_law(&last);
            }
        }
    }
    server.kill();
    last
}

/// Reads the task until it is completed; its progress must never go back.
pub(crate) async fn finish(bulk: BulkActions<'_>, seen: Task) -> Task {
    let begun = Instant::now();
    let mut last = seen;
    while !last.is_completed() {
        let task = bulk.status(&last.task_id).await.unwrap();
        check_law(&task);
        assert!(task.progress >= last.progress, "progress fell: {} {}", last.record, task.record);
        assert!(task.counts.unprocessed <= last.counts.unprocessed, "work was taken back");
        assert!(begun.elapsed() < PATIENCE, "the task does not go on: {}", task.record);
        last = task;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    last
}
