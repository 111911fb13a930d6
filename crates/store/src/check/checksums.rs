//! The rule of checksums: a row that is served has the checksum that was written with it.

use super::domains::Domains;
use super::{CheckedStore, Findings};
use crate::StoreError;
use crate::checksum::ROW_SUMS;

/// Compares the rows that have a checksum with it.
pub fn rows<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let mut count = 0;
    for scope in Domains::read(store)?.scopes(store) {
        for sum in ROW_SUMS {
            let (columns, table, d) = (sum.select(), sum.table, scope.domain_of("t"));
            scope.each(
                &format!("SELECT {columns} FROM {table} t WHERE t.domain_id = {d}"),
                |row| {
                    count += 1;
                    if !sum.holds(row)? {
                        findings.fault(sum.fault(row));
                    }
                    Ok(())
                },
            )?;
        }
    }
    findings.verified("checksums of rows", count);
    Ok(())
}
