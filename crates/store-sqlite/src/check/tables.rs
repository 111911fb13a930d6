//! Checks of the file itself: pages, indexes and references. SQLite does the work; these functions
//! report the lines that it answers.

use rusqlite::Connection;

use super::Findings;
use crate::Fault;

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
