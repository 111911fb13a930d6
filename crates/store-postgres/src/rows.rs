//! Reads columns of rows that the shared rules do not read. The type of the column must be the
//! expected one.

use caseload_model::time::UnixMillis;
use tokio_postgres::Row;

/// A time in milliseconds.
pub(super) fn instant(row: &Row, column: usize) -> UnixMillis {
    UnixMillis(row.get(column))
}
