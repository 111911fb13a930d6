//! Checks of tasks: counts add up, state and outcome agree, and each processed entry has exactly
//! one record, counted in the records themselves.

use std::collections::HashMap;

use caseload_model::task::{Outcome, Task, TaskStatus};
use rusqlite::Connection;

use super::super::tasks::{self as rooms, kind_code};
use super::Findings;
use crate::{RecordKind, StoreError, unpack_block};

/// Where the removal of an expired task's payload and records stands: not begun, or done.
const KEPT: i64 = 0;
const REMOVED: i64 = 2;

/// The laws that one task keeps by itself, and that the payload of what is left is there.
pub(super) fn laws(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let sql = format!(
        "SELECT {}, (SELECT name FROM domains d WHERE d.id = domain_id), next_index,
         (SELECT max(last_index) FROM payload_blocks p
          WHERE p.domain_id = tasks.domain_id AND p.task_id = tasks.id), purge FROM tasks",
        rooms::COLUMNS
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let task = rooms::task(row)?;
        let domain: Option<String> = row.get(rooms::COLUMNS_COUNT)?;
        let next_index: u32 = row.get(rooms::COLUMNS_COUNT + 1)?;
        let last_index: Option<u32> = row.get(rooms::COLUMNS_COUNT + 2)?;
        let Some(domain) = domain else { continue };
        let mut broken = |law: &str| {
            findings.fault(format!("domain {domain}, task {}: {law}", task.id));
        };
        if !task.counts.is_conserved() {
            broken("succeeded, failed and unprocessed do not add up to the total");
        }
        if !outcome_agrees(&task) {
            broken("status, outcome and counts contradict each other");
        }
        let left = task.counts.unprocessed > 0;
        match row.get(rooms::COLUMNS_COUNT + 3)? {
            KEPT if left && last_index.is_none_or(|last| last < next_index) => {
                broken("the payload of its unprocessed entries is missing");
            }
            REMOVED if last_index.is_some() => broken("its payload has expired and is still there"),
            _ => {}
        }
    }
    findings.verified("tasks", count);
    Ok(())
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

/// As many result and error lines as the counts say, in blocks that follow each other.
pub(super) fn records(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let mut found: HashMap<(i64, String, i64), u64> = HashMap::new();
    let mut statement = conn.prepare(
        "SELECT domain_id, task_id, kind, first_index, next_index, lines, bytes
         FROM record_blocks ORDER BY domain_id, task_id, kind, first_index",
    )?;
    let mut rows = statement.query([])?;
    let (mut total, mut behind) = (0, None);
    while let Some(row) = rows.next()? {
        let key: (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (first, next, lines): (u32, u32, u64) =
            (row.get(3)?, row.get(4)?, row.get::<_, i64>(5)?.unsigned_abs());
        let text = unpack_block(row.get_ref(6)?.as_blob().map_err(rusqlite::Error::from)?)?;
        let counted = text.split(|byte| *byte == b'\n').count() as u64 - 1;
        if counted != lines || lines > u64::from(next.saturating_sub(first)) {
            findings.fault(format!("task {}: a block of records has {counted} lines", key.1));
        }
        if behind.replace((key.clone(), next)).is_some_and(|(k, end)| k == key && first < end) {
            findings.fault(format!("task {}: two blocks of records overlap", key.1));
        }
        total += counted;
        *found.entry(key).or_default() += counted;
    }
    let mut statement = conn.prepare(
        "SELECT t.domain_id, t.id, t.succeeded, t.failed, d.name, t.purge
         FROM tasks t JOIN domains d ON d.id = t.domain_id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (domain, id, name): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(4)?);
        for (kind, word, column) in
            [(RecordKind::Results, "results", 2), (RecordKind::Errors, "errors", 3)]
        {
            let counted = row.get::<_, i64>(column)?.unsigned_abs();
            let lines = found.get(&(domain, id.clone(), kind_code(kind))).copied().unwrap_or(0);
            let (expected, right) = match row.get(5)? {
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
    findings.verified("records of tasks", total);
    orphans(conn, findings)
}

/// Records belong to a task that is there, payload to a task or to an upload, which is not both.
fn orphans(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let of_no = |owner: &str| {
        format!(
            "NOT EXISTS (SELECT 1 FROM {owner} o
             WHERE o.domain_id = b.domain_id AND o.id = b.task_id)"
        )
    };
    for (table, free) in [
        ("payload_blocks", format!("{} AND {}", of_no("tasks"), of_no("uploads"))),
        ("record_blocks", of_no("tasks")),
    ] {
        let orphans: i64 = conn.query_row(
            &format!(
                "SELECT count(*) FROM {table} b WHERE {free}
                 AND b.domain_id IN (SELECT id FROM domains)"
            ),
            [],
            |row| row.get(0),
        )?;
        if orphans > 0 {
            findings.fault(format!("{orphans} blocks of {table} belong to no task"));
        }
    }
    let accepted: i64 = conn.query_row(
        "SELECT count(*) FROM uploads u JOIN tasks t ON t.domain_id = u.domain_id AND t.id = u.id",
        [],
        |row| row.get(0),
    )?;
    if accepted > 0 {
        findings.fault(format!("{accepted} uploads are accepted tasks at the same time"));
    }
    Ok(())
}
