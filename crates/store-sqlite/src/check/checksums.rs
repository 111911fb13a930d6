//! Compares each row with its checksum. The rules are in
//! [`caseload_store::check::checksums`], the columns in [`caseload_store::checksum`].

use caseload_store::check::checksums::Compared;
use caseload_store::checksum::{CLOCK_COLUMNS, ROW_SUMS, RowSum};
use rusqlite::Connection;

use super::Findings;
use crate::Fault;
use crate::tx::ReadRow;

static CLOCKS: RowSum =
    RowSum { table: "domain_clocks", columns: &CLOCK_COLUMNS, hashed: 0, checksum: "checksum" };

pub(super) fn rows(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut compared = Compared::default();
    for sum in ROW_SUMS.into_iter().chain([&CLOCKS]) {
        let mut statement = conn.prepare(&format!("SELECT {} FROM {}", sum.select(), sum.table))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            compared.row(findings, sum, &ReadRow(row))?;
        }
    }
    compared.end(findings);
    Ok(())
}
