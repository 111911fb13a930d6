//! Rules of tasks: counts add up, status and outcome agree, unprocessed entries have their payload,
//! and each processed entry has exactly one record.

use std::collections::HashMap;

use caseload_model::task::{Counts, Outcome, Task, TaskStatus};

use super::domains::{Domains, Scope};
use super::{CheckedStore, Findings, tables};
use crate::tasks::{COLUMNS, COLUMNS_COUNT, kind_code, task};
use crate::{RecordKind, StoreError, unpack_block};

/// Values of a task's column `purge`: payload and records are stored, or they are removed.
const STORED: i64 = 0;
const REMOVED: i64 = 2;

/// Each task by itself.
pub fn tasks<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        let d = scope.domain_of("t");
        let select = format!(
            "SELECT {COLUMNS}, t.domain_id, t.next_index, t.purge,
             (SELECT max(p.last_index) FROM payload_blocks p
              WHERE p.domain_id = t.domain_id AND p.domain_id = {d} AND p.task_id = t.id),
             (t.retried_by IS NULL OR EXISTS (SELECT 1 FROM tasks r
              WHERE r.domain_id = {d} AND r.id = t.retried_by AND r.parent_id = t.id))
             AND (t.run_by IS NULL OR EXISTS (SELECT 1 FROM tasks r
              WHERE r.domain_id = {d} AND r.id = t.run_by AND r.parent_id = t.id
              AND NOT r.dry_run)),
             t.import_id IS NULL OR EXISTS (SELECT 1 FROM imports i
              WHERE i.domain_id = {d} AND i.id = t.import_id)
             FROM tasks t WHERE t.domain_id = {d}"
        );
        scope.each(&select, |row| {
            let Some(name) = domains.name_in(row, COLUMNS_COUNT)? else { return Ok(()) };
            count += 1;
            let payload = TaskPayload {
                next_index: row.get(COLUMNS_COUNT + 1)?,
                purge: row.get(COLUMNS_COUNT + 2)?,
                last_index: row.get(COLUMNS_COUNT + 3)?,
                retry_agrees: row.get(COLUMNS_COUNT + 4)?,
                has_import: row.get(COLUMNS_COUNT + 5)?,
            };
            check_task(findings, name, &task(row)?, payload);
            Ok(())
        })?;
    }
    findings.verified("tasks", count);
    Ok(())
}

/// Each import has a task, and the imports that retry and run it name it as their parent.
pub fn imports<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        let d = scope.domain_of("t");
        let child = |column: &str| {
            format!(
                "(t.{column} IS NULL OR EXISTS (SELECT 1 FROM imports r WHERE r.domain_id = {d}
                  AND r.id = t.{column} AND r.parent_id = t.id))"
            )
        };
        let select = format!(
            "SELECT t.domain_id, t.id, EXISTS (SELECT 1 FROM tasks k
              WHERE k.domain_id = {d} AND k.import_id = t.id), {} AND {}
             FROM imports t WHERE t.domain_id = {d}",
            child("retried_by"),
            child("run_by")
        );
        scope.each(&select, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            count += 1;
            tables::import(findings, name, &row.get::<String>(1)?, [row.get(2)?, row.get(3)?]);
            Ok(())
        })?;
    }
    findings.verified("imports", count);
    Ok(())
}

/// There are as many result and error lines as the counts say, in blocks that do not overlap.
pub fn records<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut total = 0;
    for scope in domains.scopes(store) {
        let mut records = RecordCounts::default();
        let d = scope.domain_of("t");
        let blocks = format!(
            "SELECT t.domain_id, t.task_id, t.kind, t.first_index, t.next_index, t.lines, t.bytes
             FROM record_blocks t WHERE t.domain_id = {d}
             ORDER BY t.domain_id, t.task_id, t.kind, t.first_index"
        );
        scope.each(&blocks, |row| {
            let block = StoredRecords {
                first_index: row.get(3)?,
                next_index: row.get(4)?,
                lines: row.get(5)?,
                bytes: row.get(6)?,
            };
            records.add(findings, (row.get(0)?, row.get(1)?, row.get(2)?), block)
        })?;
        let select =
            format!("SELECT {COLUMNS}, t.domain_id, t.purge FROM tasks t WHERE t.domain_id = {d}");
        scope.each(&select, |row| {
            let domain = row.get(COLUMNS_COUNT)?;
            let Some(name) = domains.name(domain) else { return Ok(()) };
            let (task, purge) = (task(row)?, row.get(COLUMNS_COUNT + 1)?);
            records.compare(findings, (domain, name), &task.id, &task.counts, purge);
            Ok(())
        })?;
        total += records.total;
        orphans(&scope, &domains, findings)?;
    }
    findings.verified("records of tasks", total);
    Ok(())
}

/// Records belong to a task. Payloads belong to a task or to an upload, and no upload is also a
/// task.
fn orphans<S: CheckedStore>(
    scope: &Scope<'_, S>,
    domains: &Domains,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let d = scope.domain_of("t");
    let of_no = |owner: &str| {
        format!("NOT EXISTS (SELECT 1 FROM {owner} o WHERE o.domain_id = {d} AND o.id = t.task_id)")
    };
    for (table, free) in [
        ("payload_blocks", format!("{} AND {}", of_no("tasks"), of_no("uploads"))),
        ("record_blocks", of_no("tasks")),
    ] {
        let orphans = format!(
            "SELECT t.domain_id, count(*) FROM {table} t WHERE t.domain_id = {d} AND {free}
             GROUP BY t.domain_id"
        );
        scope.counts(domains, &orphans, |_, count| tables::without_task(findings, table, count))?;
    }
    let accepted = format!(
        "SELECT t.domain_id, count(*) FROM uploads t
         JOIN tasks k ON k.domain_id = t.domain_id AND k.id = t.id WHERE t.domain_id = {d}
         GROUP BY t.domain_id"
    );
    scope.counts(domains, &accepted, |_, count| tables::accepted_uploads(findings, count))
}

/// Facts about a task that are stored outside of it.
#[derive(Debug, Clone, Copy)]
struct TaskPayload {
    next_index: u32,
    /// The last index of the last payload block, if there is one.
    last_index: Option<u32>,
    /// The progress of removing expired data.
    purge: i64,
    /// Whether the tasks that retry and run it, if there are any, name it as their parent.
    retry_agrees: bool,
    /// Whether its import exists, if it names one.
    has_import: bool,
}

/// Checks the rules of one task, and that the payload of its unprocessed entries exists.
fn check_task(findings: &mut Findings, domain: &str, task: &Task, payload: TaskPayload) {
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
    if !payload.has_import {
        broken("its import is missing");
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
struct RecordCounts {
    found: HashMap<Key, u64>,
    /// The key and the next index of the block before.
    previous: Option<(Key, u32)>,
    total: u64,
}

/// A stored block of records.
#[derive(Debug, Clone, Copy)]
struct StoredRecords<'b> {
    first_index: u32,
    next_index: u32,
    lines: u32,
    bytes: &'b [u8],
}

impl RecordCounts {
    /// Adds a block. Blocks must be ordered by key and first index.
    fn add(
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
    fn compare(
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
}
