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
        // Two columns store the id of a core profile.
        let table = match sum.table {
            "core_profiles" => "(SELECT *, coalesce(moved_id, seq) AS id FROM core_profiles)",
            table => table,
        };
        let mut statement = conn.prepare(&format!("SELECT {} FROM {table}", sum.select()))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            compared.row(findings, sum, &ReadRow(row))?;
        }
    }
    compared.end(findings);
    Ok(())
}
