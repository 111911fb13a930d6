//! Runs the migrations, which are compiled in. A released migration is never edited. Processes that
//! open a new file at the same time take turns through a lock file. Invariant: all migrations are
//! applied, or none.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::connection;
use crate::Fault;
use caseload_store::migrations::{RECORDED, Versions, missing};
use caseload_store::{OpenMode, StoreError};

/// The migrations, in the order in which they run. The first has the number 1.
const MIGRATIONS: &[&str] = &[include_str!("../../migrations/V1__schema.sql")];

/// An empty database in memory with the current tables.
pub(crate) fn open_in_memory() -> Result<Connection, StoreError> {
    let conn = connection::open_in_memory()?;
    bring_up_to_date(&conn, "the store in memory")?;
    Ok(conn)
}

/// Opens the file and migrates its tables. The caller has the lock for that.
pub(super) fn open_current(path: &Path, mode: OpenMode) -> Result<Connection, Fault> {
    let conn = connection::open_in(mode, path)?;
    bring_up_to_date(&conn, &format!("sqlite:{}", path.display()))?;
    Ok(conn)
}

fn bring_up_to_date(conn: &Connection, store: &str) -> Result<(), Fault> {
    let missing = missing(MIGRATIONS, recorded(conn)?.as_deref(), store)?;
    if missing.is_empty() {
        return Ok(());
    }
    // One transaction for all: tables without a recorded version could never be opened again.
    let tx = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    for statement in missing {
        tx.execute_batch(&statement)?;
    }
    Ok(tx.commit()?)
}

/// The version of the store in a file, next to that of this program.
pub(super) fn versions(conn: &Connection) -> Result<Versions, Fault> {
    Ok(Versions::of(MIGRATIONS, recorded(conn)?.as_deref()))
}

/// The digests of the migrations that the store contains. An empty file contains none, and a store
/// of a build before 0.1.0 has no record of them.
fn recorded(conn: &Connection) -> Result<Option<Vec<i64>>, Fault> {
    if !has_table(conn, "caseload_migrations")? {
        return Ok((!is_a_store(conn)?).then(Vec::new));
    }
    let mut recorded = conn.prepare(RECORDED)?;
    let recorded = recorded.query_map([], |row| row.get(0))?;
    Ok(Some(recorded.collect::<Result<_, _>>()?))
}

/// Whether the file has the tables of a store, of whatever version.
pub(super) fn is_a_store(conn: &Connection) -> Result<bool, Fault> {
    has_table(conn, "domain_clocks")
}

fn has_table(conn: &Connection, name: &str) -> Result<bool, Fault> {
    Ok(conn.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?.exists([name])?)
}
