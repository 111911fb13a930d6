//! Checks of the file itself: pages, indexes, references, and records without a domain.

use rusqlite::Connection;

use super::Findings;
use crate::Fault;
use crate::domains::domain_tables;
use caseload_store::check::tables as rules;

/// Every page is readable, and every index agrees with its table.
pub(super) fn file(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut statement = conn.prepare("PRAGMA integrity_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let line: String = row.get(0)?;
        if line != "ok" {
            findings.fault(format!("the database file: {line}"));
        }
    }
    let pages: i64 = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    findings.verified("pages of the database file", pages.unsigned_abs());
    Ok(())
}

/// Every foreign key leads to a record.
pub(super) fn references(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut statement = conn.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        findings.fault(format!("a record of {table} refers to nothing in {parent}"));
    }
    Ok(())
}

/// Every record belongs to a domain that exists or is being removed, and every domain has a clock,
/// a default app and the name of its desk.
pub(super) fn domains(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    for table in domain_tables(conn)? {
        let strays = conn.query_row(
            &format!(
                "SELECT count(*) FROM {table} WHERE domain_id NOT IN
                 (SELECT id FROM domains UNION ALL SELECT removed_id FROM domain_removals)"
            ),
            [],
            |row| row.get(0),
        )?;
        rules::without_domain(findings, &table, strays);
    }
    let mut statement = conn.prepare(
        "SELECT d.name, c.domain_id IS NOT NULL, a.id IS NOT NULL, d.desk_name <> ''
         FROM domains d
         LEFT JOIN domain_clocks c ON c.domain_id = d.id
         LEFT JOIN apps a ON a.domain_id = d.id AND a.id = d.default_app_id",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let name: String = row.get(0)?;
        rules::domain(findings, &name, [row.get(1)?, row.get(2)?, row.get(3)?]);
    }
    findings.verified("domains", count);
    Ok(())
}
