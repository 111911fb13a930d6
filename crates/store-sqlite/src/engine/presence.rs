//! Whether there is a store at a path. Commands that work on an existing store ask before they open
//! it, so that a mistyped path makes no file. Invariant: asking creates nothing.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::connection::{self, BUSY_TIMEOUT};
use crate::Fault;
use caseload_store::StoreError;

/// Fails with [`StoreError::NoStore`] unless the file has the tables of a store.
pub(super) fn require(path: &Path) -> Result<(), Fault> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return missing(path, Some("it is a folder")),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return missing(path, None);
        }
        // A file that cannot be looked at is opened for its error.
        Ok(_) | Err(_) => {}
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)
        .map_err(|e| connection::unavailable(&path.display().to_string(), &e))?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    // The first command of a new store may have ended between the table of migrations and the
    // migrations.
    let history = "SELECT 1 FROM sqlite_schema WHERE name = 'refinery_schema_history'";
    let migration = "SELECT 1 FROM refinery_schema_history";
    if conn.prepare(history)?.exists([])? && conn.prepare(migration)?.exists([])? {
        return Ok(());
    }
    missing(path, Some("the file has no tables of a store"))
}

fn missing(path: &Path, reason: Option<&str>) -> Result<(), Fault> {
    let place = path.display().to_string();
    Err(StoreError::NoStore { place, reason: reason.map(str::to_owned) }.into())
}
