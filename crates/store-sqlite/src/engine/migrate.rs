//! Runs the migrations, which are compiled in. A released migration is never edited. Processes that
//! open a new file at the same time take turns through a lock file, because the migration tool
//! looks up the missing migrations in a separate transaction. Invariant: all migrations are
//! applied, or none.

use std::path::Path;

use refinery::error::Kind;
use rusqlite::Connection;

use super::connection;
use super::lock::lock_for_migration;
use crate::Fault;
use caseload_store::StoreError;

mod embedded {
    refinery::embed_migrations!("migrations");
}

/// An empty database in memory with the current tables.
pub(crate) fn open_in_memory() -> Result<Connection, StoreError> {
    let mut conn = connection::open_in_memory()?;
    let made = embedded::migrations::runner().set_grouped(true).run(&mut conn);
    made.map_err(|e| StoreError::Unavailable(format!("the tables cannot be made: {e}")))?;
    Ok(conn)
}

/// Opens the file and migrates its tables.
pub(super) fn open_current(path: &Path) -> Result<Connection, Fault> {
    let turn = lock_for_migration(path)?;
    let mut conn = connection::open(path)?;
    // One transaction for all: tables without a recorded version could never be opened again.
    let done = embedded::migrations::runner().set_grouped(true).run(&mut conn);
    drop(turn);
    match done {
        Ok(_) => Ok(conn),
        Err(e) => Err(match e.kind() {
            Kind::MissingVersion(_) => StoreError::NewerVersion { path: path.to_owned() }.into(),
            Kind::DivergentVersion(..) => StoreError::Corrupt(format!(
                "{} was made by a program with other tables: {e}",
                path.display()
            ))
            .into(),
            _ => StoreError::Unavailable(format!("the tables cannot be brought up to date: {e}"))
                .into(),
        }),
    }
}
