//! The rule of checksums: a row has the checksum that was written with it. Rows of earlier versions
//! have none; the report counts them.

use super::Findings;
use crate::StoreError;
use crate::checksum::RowSum;
use crate::sql::Row;

/// Rows with and without a checksum.
#[derive(Debug, Default)]
pub struct Compared {
    with: u64,
    without: u64,
}

impl Compared {
    /// Compares a row, which begins with [`RowSum::select`].
    pub fn row(
        &mut self,
        findings: &mut Findings,
        sum: &RowSum,
        row: &dyn Row,
    ) -> Result<(), StoreError> {
        match sum.holds(row)? {
            None => self.without += 1,
            Some(holds) => {
                self.with += 1;
                if !holds {
                    findings.fault(sum.fault(row));
                }
            }
        }
        Ok(())
    }

    /// Reports how many rows there were.
    pub fn end(self, findings: &mut Findings) {
        findings.verified("checksums of rows", self.with);
        if self.without > 0 {
            findings.verified("rows of earlier versions without a checksum", self.without);
        }
    }
}
