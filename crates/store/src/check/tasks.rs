//! Laws of tasks: counts add up, state and outcome agree, what is left has its payload, and each
//! processed entry has exactly one record, counted in the records themselves.

use std::collections::HashMap;

use caseload_model::task::{Counts, Outcome, Task, TaskStatus};

use super::Findings;
use crate::records::kind_code;
use crate::{RecordKind, StoreError, unpack_block};

/// Where the removal of an expired task's payload and records stands: not begun, or done.
const KEPT: i64 = 0;
const REMOVED: i64 = 2;

/// What a store keeps beside a task.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    pub next_index: u32,
    /// Of the last payload block, where there is one.
    pub last_index: Option<u32>,
    /// How far the removal of what has expired is.
    pub purge: i64,
}

/// The laws that one task keeps by itself, and that the payload of what is left is there.
pub fn laws(findings: &mut Findings, domain: &str, task: &Task, kept: Kept) {
    let mut broken = |law: &str| {
        findings.fault(format!("domain {domain}, task {}: {law}", task.id));
    };
    if !task.counts.is_conserved() {
        broken("succeeded, failed and unprocessed do not add up to the total");
    }
    if !outcome_agrees(task) {
        broken("status, outcome and counts contradict each other");
    }
    let left = task.counts.unprocessed > 0;
    match kept.purge {
        KEPT if left && kept.last_index.is_none_or(|last| last < kept.next_index) => {
            broken("the payload of its unprocessed entries is missing");
        }
        REMOVED if kept.last_index.is_some() => {
            broken("its payload has expired and is still there");
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

/// A domain's and a task's ids, and the kind of the records.
type Key = (i64, String, i64);

/// The records there are, counted block by block.
#[derive(Debug, Default)]
pub struct Tally {
    found: HashMap<Key, u64>,
    behind: Option<(Key, u32)>,
    total: u64,
}

/// What a stored block of records says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Block<'b> {
    pub first_index: u32,
    pub next_index: u32,
    pub lines: u32,
    pub bytes: &'b [u8],
}

impl Tally {
    /// Adds a block. They come by their keys, and then by their places.
    pub fn add(
        &mut self,
        findings: &mut Findings,
        key: Key,
        block: Block<'_>,
    ) -> Result<(), StoreError> {
        let Block { first_index: first, next_index: next, lines, bytes } = block;
        let text = unpack_block(bytes)?;
        let counted = text.split(|byte| *byte == b'\n').count() as u64 - 1;
        if counted != u64::from(lines) || lines > next.saturating_sub(first) {
            findings.fault(format!("task {}: a block of records has {counted} lines", key.1));
        }
        if self.behind.replace((key.clone(), next)).is_some_and(|(k, end)| k == key && first < end)
        {
            findings.fault(format!("task {}: two blocks of records overlap", key.1));
        }
        self.total += counted;
        *self.found.entry(key).or_default() += counted;
        Ok(())
    }

    /// Whether there are as many result and error lines as a task's counts say.
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
                KEPT => (counted, lines == counted),
                REMOVED => (0, lines == 0),
                // Some of them are removed already.
                _ => (counted, lines <= counted),
            };
            if !right {
                findings.fault(format!(
                    "domain {name}, task {id}: {lines} {word} are kept, the counts say {expected}"
                ));
            }
        }
    }

    pub const fn total(&self) -> u64 {
        self.total
    }
}
