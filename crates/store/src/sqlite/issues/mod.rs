//! Issues in SQLite: importing, listing and reading them. The seam: the store calls these three
//! functions inside its transactions and does not know the tables of issues.

use caseload_model::record::ChunkRecords;
use rusqlite::Connection;

use crate::{ApplyChunk, GetIssue, IssuePage, ListIssues, StoreError};

/// Imports the entries `range` of the command's work and returns their records.
pub(super) fn import(
    _conn: &Connection,
    _command: &ApplyChunk,
    _range: std::ops::Range<usize>,
) -> Result<ChunkRecords, StoreError> {
    Err(missing())
}

/// One page with the exact total, from the snapshot that `conn` is in.
pub(super) fn list(_conn: &Connection, _request: &ListIssues) -> Result<IssuePage, StoreError> {
    Err(missing())
}

/// One issue, rendered.
pub(super) fn get(_conn: &Connection, _request: &GetIssue) -> Result<Option<Vec<u8>>, StoreError> {
    Err(missing())
}

fn missing() -> StoreError {
    StoreError::Unavailable("this store keeps no issues yet".to_owned())
}
