//! Checks of tasks and their records: reads them and asks what is wrong with each; and whether
//! payload and records belong to a task.

use rusqlite::Connection;

use super::super::tasks as rooms;
use super::Findings;
use crate::Fault;
use caseload_store::check::tasks::{self as laws_of, Block, Kept, Tally};

/// Each task by itself.
pub(super) fn laws(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
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
        let Some(domain) = row.get::<_, Option<String>>(rooms::COLUMNS_COUNT)? else { continue };
        let kept = Kept {
            next_index: row.get(rooms::COLUMNS_COUNT + 1)?,
            last_index: row.get(rooms::COLUMNS_COUNT + 2)?,
            purge: row.get(rooms::COLUMNS_COUNT + 3)?,
        };
        laws_of::laws(findings, &domain, &rooms::task(row)?, kept);
    }
    findings.verified("tasks", count);
    Ok(())
}

/// As many result and error lines as the counts say, in blocks that follow each other.
pub(super) fn records(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut tally = Tally::default();
    let mut statement = conn.prepare(
        "SELECT domain_id, task_id, kind, first_index, next_index, lines, bytes
         FROM record_blocks ORDER BY domain_id, task_id, kind, first_index",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let block = Block {
            first_index: row.get(3)?,
            next_index: row.get(4)?,
            lines: row.get(5)?,
            bytes: row.get_ref(6)?.as_blob().map_err(rusqlite::Error::from)?,
        };
        tally.add(findings, (row.get(0)?, row.get(1)?, row.get(2)?), block)?;
    }
    let sql = format!(
        "SELECT {}, domain_id, (SELECT name FROM domains d WHERE d.id = domain_id), purge
         FROM tasks",
        rooms::COLUMNS
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let name: Option<String> = row.get(rooms::COLUMNS_COUNT + 1)?;
        let (Some(name), task) = (name, rooms::task(row)?) else { continue };
        let domain = (row.get(rooms::COLUMNS_COUNT)?, name.as_str());
        let purge = row.get(rooms::COLUMNS_COUNT + 2)?;
        tally.compare(findings, domain, &task.id, &task.counts, purge);
    }
    findings.verified("records of tasks", tally.total());
    orphans(conn, findings)
}

/// Records belong to a task that is there, payload to a task or to an upload, which is not both.
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
