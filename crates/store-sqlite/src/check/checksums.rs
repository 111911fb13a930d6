//! Compares the rows that have a checksum with it. The rules are in
//! [`caseload_store::check::checksums`], the columns in [`caseload_store::checksum`].

use caseload_store::check::checksums::Compared;
use caseload_store::checksum::ROW_SUMS;
use rusqlite::Connection;

use super::Findings;
use crate::Fault;
use crate::tx::ReadRow;

pub(super) fn rows(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut compared = Compared::default();
    for sum in ROW_SUMS {
        let mut statement = conn.prepare(&format!("SELECT {} FROM {}", sum.select(), sum.table))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            compared.row(findings, sum, &ReadRow(row))?;
        }
    }
    compared.end(findings);
    Ok(())
}
