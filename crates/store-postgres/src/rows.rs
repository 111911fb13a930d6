//! Reads columns of rows. Text from callers is stored as bytes, because PostgreSQL's `text` cannot
//! contain U+0000; this module alone converts it back. A column that cannot be read is damage.

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

/// A time in milliseconds.
pub(super) fn instant(row: &Row, column: usize) -> UnixMillis {
    UnixMillis(row.get(column))
}

/// A number that is never negative.
pub(super) fn count(row: &Row, column: usize) -> u32 {
    row.get::<_, i32>(column).unsigned_abs()
}
