//! Rules of tasks: counts add up, status and outcome agree, unprocessed entries have their payload,
//! and each processed entry has exactly one record.

use std::collections::HashMap;

use caseload_model::task::{Counts, Outcome, Task, TaskStatus};

use super::Findings;
use crate::tasks::kind_code;
use crate::{RecordKind, StoreError, unpack_block};

/// Values of a task's column `purge`: payload and records are stored, or they are removed.
const STORED: i64 = 0;
const REMOVED: i64 = 2;

/// Facts about a task that the backends store outside of it.
#[derive(Debug, Clone, Copy)]
pub struct TaskPayload {
    pub next_index: u32,
    /// The last index of the last payload block, if there is one.
    pub last_index: Option<u32>,
    /// The progress of removing expired data.
    pub purge: i64,
    /// Whether the tasks that retry and run it, if there are any, name it as their parent.
    pub retry_agrees: bool,
}

/// Checks the rules of one task, and that the payload of its unprocessed entries exists.
pub fn check_task(findings: &mut Findings, domain: &str, task: &Task, payload: TaskPayload) {
    let mut broken = |rule: &str| {
        findings.fault(format!("domain {domain}, task {}: {rule}", task.id));
    };
    if !task.counts.is_conserved() {
        broken("succeeded, failed and unprocessed do not add up to the total");
    }
    if !outcome_agrees(task) {
        broken("status, outcome and counts contradict each other");
    }
    if !payload.retry_agrees {
        broken("the task that retries or runs it is not its child");
    }
    let left = task.counts.unprocessed > 0;
    let waits = task.status == TaskStatus::Processing && task.deaths > 0;
    if task.next_try_at.is_some() && !waits {
        broken("it waits after the death of a server, and none died");
    }
    match payload.purge {
        STORED if left && payload.last_index.is_none_or(|last| last < payload.next_index) => {
            broken("the payload of its unprocessed entries is missing");
        }
        REMOVED if payload.last_index.is_some() => {
            broken("its expired payload is still there");
        }
        _ => {}
    }
}

fn outcome_agrees(task: &Task) -> bool {
    let completed = task.status == TaskStatus::Completed;
    let left = task.counts.unprocessed > 0;
    completed == task.completed_at.is_some()
        && match task.outcome {
            None => !completed && left,
            Some(Outcome::Succeeded) => completed && !left && task.counts.failed == 0,
            Some(Outcome::CompletedWithErrors) => completed && !left && task.counts.failed > 0,
            Some(Outcome::Cancelled | Outcome::Failed) => completed && left,
        }
}

/// The ids of a domain and a task, and the kind of the records.
type Key = (i64, String, i64);

/// The number of stored records of each task.
#[derive(Debug, Default)]
pub struct RecordCounts {
    found: HashMap<Key, u64>,
    /// The key and the next index of the block before.
    previous: Option<(Key, u32)>,
    total: u64,
}

/// A stored block of records.
#[derive(Debug, Clone, Copy)]
pub struct StoredRecords<'b> {
    pub first_index: u32,
    pub next_index: u32,
    pub lines: u32,
    pub bytes: &'b [u8],
}

impl RecordCounts {
    /// Adds a block. Blocks must be ordered by key and first index.
    pub fn add(
        &mut self,
        findings: &mut Findings,
        key: Key,
        block: StoredRecords<'_>,
    ) -> Result<(), StoreError> {
        let StoredRecords { first_index: first, next_index: next, lines, bytes } = block;
        let text = unpack_block(bytes)?;
        let counted = text.split(|byte| *byte == b'\n').count() as u64 - 1;
        if counted != u64::from(lines) || lines > next.saturating_sub(first) {
            findings.fault(format!("task {}: a block of records has {counted} lines", key.1));
        }
        if self
            .previous
            .replace((key.clone(), next))
            .is_some_and(|(k, end)| k == key && first < end)
        {
            findings.fault(format!("task {}: two blocks of records overlap", key.1));
        }
        self.total += counted;
        *self.found.entry(key).or_default() += counted;
        Ok(())
    }

    /// Compares the numbers of result and error lines with the counts of their task.
    pub fn compare(
        &self,
        findings: &mut Findings,
        (domain, name): (i64, &str),
        id: &str,
        counts: &Counts,
        purge: i64,
    ) {
        for (kind, word, counted) in [
            (RecordKind::Results, "results", u64::from(counts.succeeded)),
            (RecordKind::Errors, "errors", u64::from(counts.failed)),
        ] {
            let key = (domain, id.to_owned(), kind_code(kind));
            let lines = self.found.get(&key).copied().unwrap_or(0);
            let (expected, right) = match purge {
                STORED => (counted, lines == counted),
                REMOVED => (0, lines == 0),
                // Some of the records are removed already.
                _ => (counted, lines <= counted),
            };
            if !right {
                findings.fault(format!(
                    "domain {name}, task {id}: {lines} {word} are stored, the counts say {expected}"
                ));
            }
        }
    }

    pub const fn total(&self) -> u64 {
        self.total
    }
}
