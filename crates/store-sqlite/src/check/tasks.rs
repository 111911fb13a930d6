//! Reads tasks and their records for the check, and looks for payloads and records without a task.

use rusqlite::Connection;

use super::Findings;
use crate::Fault;
use crate::tx::ReadRow;
use caseload_store::check::tables as rules;
use caseload_store::check::tasks::{self as task_rules, RecordCounts, StoredRecords, TaskPayload};
use caseload_store::tasks::{COLUMNS, COLUMNS_COUNT, task};

/// Each task by itself.
pub(super) fn tasks(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let sql = format!(
        "SELECT {COLUMNS}, (SELECT name FROM domains d WHERE d.id = domain_id), next_index,
         (SELECT max(last_index) FROM payload_blocks p
          WHERE p.domain_id = tasks.domain_id AND p.task_id = tasks.id), purge,
         (retried_by IS NULL OR EXISTS (SELECT 1 FROM tasks r
          WHERE r.domain_id = tasks.domain_id AND r.id = tasks.retried_by
          AND r.parent_id = tasks.id)) AND (run_by IS NULL OR EXISTS (SELECT 1 FROM tasks r
          WHERE r.domain_id = tasks.domain_id AND r.id = tasks.run_by
          AND r.parent_id = tasks.id AND NOT r.dry_run)) FROM tasks"
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let Some(domain) = row.get::<_, Option<String>>(COLUMNS_COUNT)? else { continue };
        let payload = TaskPayload {
            next_index: row.get(COLUMNS_COUNT + 1)?,
            last_index: row.get(COLUMNS_COUNT + 2)?,
            purge: row.get(COLUMNS_COUNT + 3)?,
            retry_agrees: row.get(COLUMNS_COUNT + 4)?,
        };
        task_rules::check_task(findings, &domain, &task(&ReadRow(row))?, payload);
    }
    findings.verified("tasks", count);
    Ok(())
}

/// There are as many result and error lines as the counts say, in blocks that do not overlap.
pub(super) fn records(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut records = RecordCounts::default();
    let mut statement = conn.prepare(
        "SELECT domain_id, task_id, kind, first_index, next_index, lines, bytes
         FROM record_blocks ORDER BY domain_id, task_id, kind, first_index",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let block = StoredRecords {
            first_index: row.get(3)?,
            next_index: row.get(4)?,
            lines: row.get(5)?,
            bytes: row.get_ref(6)?.as_blob().map_err(rusqlite::Error::from)?,
        };
        records.add(findings, (row.get(0)?, row.get(1)?, row.get(2)?), block)?;
    }
    let sql = format!(
        "SELECT {COLUMNS}, domain_id, (SELECT name FROM domains d WHERE d.id = domain_id), purge
         FROM tasks"
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name: Option<String> = row.get(COLUMNS_COUNT + 1)?;
        let (Some(name), task) = (name, task(&ReadRow(row))?) else { continue };
        let domain = (row.get(COLUMNS_COUNT)?, name.as_str());
        let purge = row.get(COLUMNS_COUNT + 2)?;
        records.compare(findings, domain, &task.id, &task.counts, purge);
    }
    findings.verified("records of tasks", records.total());
    orphans(conn, findings)
}

/// Records belong to a task. Payloads belong to a task or to an upload, and no upload is also a
/// task.
fn orphans(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
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
        let orphans = conn.query_row(
            &format!(
                "SELECT count(*) FROM {table} b WHERE {free}
                 AND b.domain_id IN (SELECT id FROM domains)"
            ),
            [],
            |row| row.get(0),
        )?;
        rules::without_task(findings, table, orphans);
    }
    let accepted = conn.query_row(
        "SELECT count(*) FROM uploads u JOIN tasks t ON t.domain_id = u.domain_id AND t.id = u.id",
        [],
        |row| row.get(0),
    )?;
    rules::accepted_uploads(findings, accepted);
    Ok(())
}
