//! Reading columns. Text that callers give is stored as bytes, because a text of PostgreSQL cannot
//! hold U+0000; this is the one place that turns it back. A column that cannot be read is damage.

use caseload_model::ids::DomainName;
use caseload_model::time::UnixMillis;
use tokio_postgres::Row;

use caseload_store::StoreError;

/// A `bytea` that holds text.
pub(super) fn text(row: &Row, column: usize) -> Result<String, StoreError> {
    match std::str::from_utf8(row.get(column)) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(StoreError::Corrupt("a text is no UTF-8".to_owned())),
    }
}

/// An instant in milliseconds.
pub(super) fn instant(row: &Row, column: usize) -> UnixMillis {
    UnixMillis(row.get(column))
}

/// An instant that may be missing.
pub(super) fn optional_instant(row: &Row, column: usize) -> Option<UnixMillis> {
    row.get::<_, Option<i64>>(column).map(UnixMillis)
}

/// A number that is never below zero.
pub(super) fn count(row: &Row, column: usize) -> u32 {
    row.get::<_, i32>(column).unsigned_abs()
}

/// A domain's name.
pub(super) fn domain_name(row: &Row, column: usize) -> Result<DomainName, StoreError> {
    DomainName::parse(row.get(column)).map_err(|e| StoreError::Corrupt(e.to_string()))
}
