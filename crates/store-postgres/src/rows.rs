//! Reads columns of rows. Text from callers is stored as bytes, because PostgreSQL's `text` cannot
//! contain U+0000; this module alone converts it back. A column that cannot be read is damage.

use caseload_model::ids::DomainName;
use caseload_model::time::UnixMillis;
use tokio_postgres::Row;

use caseload_store::StoreError;

/// A `bytea` column with text.
pub(super) fn text(row: &Row, column: usize) -> Result<String, StoreError> {
    match std::str::from_utf8(row.get(column)) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(StoreError::Corrupt("a text is not UTF-8".to_owned())),
    }
}

/// A `bytea` column with text that may be null.
pub(super) fn optional_text(row: &Row, column: usize) -> Result<Option<String>, StoreError> {
    match row.get::<_, Option<&[u8]>>(column) {
        None => Ok(None),
        Some(_) => text(row, column).map(Some),
    }
}

/// A time in milliseconds.
pub(super) fn instant(row: &Row, column: usize) -> UnixMillis {
    UnixMillis(row.get(column))
}

/// A time that may be null.
pub(super) fn optional_instant(row: &Row, column: usize) -> Option<UnixMillis> {
    row.get::<_, Option<i64>>(column).map(UnixMillis)
}

/// A number that is never negative.
pub(super) fn count(row: &Row, column: usize) -> u32 {
    row.get::<_, i32>(column).unsigned_abs()
}

/// A domain's name.
pub(super) fn domain_name(row: &Row, column: usize) -> Result<DomainName, StoreError> {
    DomainName::parse(row.get(column)).map_err(|e| StoreError::Corrupt(e.to_string()))
}
