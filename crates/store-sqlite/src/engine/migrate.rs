//! Bringing the tables up to date. Migrations are compiled in; one that was released is never
//! edited. Processes that open a new file at once take turns at a lock file, because what is
//! missing is looked up in a transaction of its own. Invariant: all of it is there, or nothing.

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

/// Opens the file and brings its tables up to date.
pub(super) fn open_current(path: &Path) -> Result<Connection, Fault> {
    let turn = lock_for_migration(path)?;
    let mut conn = connection::open(path)?;
    // In one transaction: tables without a note of their version could never be opened again.
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
