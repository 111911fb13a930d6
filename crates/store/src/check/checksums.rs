//! The rule of checksums: a row that is served has the checksum that was written with it.

use super::Findings;
use crate::StoreError;
use crate::checksum::RowSum;
use crate::sql::Row;

/// Compares rows with their checksums, and counts them.
#[derive(Debug, Default)]
pub struct Compared(u64);

impl Compared {
    /// Compares a row, which begins with [`RowSum::select`].
    pub fn row(
        &mut self,
        findings: &mut Findings,
        sum: &RowSum,
        row: &dyn Row,
    ) -> Result<(), StoreError> {
        self.0 += 1;
        if !sum.holds(row)? {
            findings.fault(sum.fault(row));
        }
        Ok(())
    }

    /// Reports how many rows there were.
    pub fn end(self, findings: &mut Findings) {
        findings.verified("checksums of rows", self.0);
    }
}
