//! Opens connections with the settings that all of them share. Invariant: every connection is
//! opened here, because durability (`synchronous`), the limit of the log (`wal_autocheckpoint`) and
//! foreign keys depend on these settings.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Fault;
use caseload_store::{OpenMode, StoreError};

/// Bytes of a database page; set once, when the file is created.
pub(super) const PAGE_BYTES: u32 = 8192;
/// How long to wait for another process that writes, and the pause between two attempts. A
/// checkpoint blocks the writer for a few milliseconds only, and the pauses of SQLite's own busy
/// handler are much longer.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
pub(super) const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// Page cache of the writer and of one reader, in KiB.
const WRITER_CACHE_KIB: u32 = 64 << 10;
const READER_CACHE_KIB: u32 = 8 << 10;
/// Bytes of the file that readers map into memory, read-only, instead of copying page by page.
/// SQLite caps this at its compile-time limit (2 GiB by default, raised in `.cargo/config.toml`)
/// and reads the rest of the file.
const READER_MAPPED_BYTES: u64 = 1 << 40;
/// Prepared statements in the cache of a connection.
const STATEMENTS_CACHED: usize = 256;
/// The log file is not truncated below this size after a checkpoint. It is more than the log grows
/// to, so that no commit waits for a truncation, which takes some tenths of a second. The
/// checkpoint thread truncates an idle log.
const LOG_BYTES_RETAINED: u32 = 256 << 20;

/// Opens a connection that may write.
pub(super) fn open(path: &Path) -> Result<Connection, Fault> {
    open_in(OpenMode::Server, path)
}

/// Opens a connection that writes. The store of an ephemeral server waits for no disk.
pub(super) fn open_in(mode: OpenMode, path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)
        .map_err(|e| unavailable(&path.display().to_string(), &e))?;
    let synchronous = if mode == OpenMode::Ephemeral { "OFF" } else { "FULL" };
    prepared(conn, synchronous)
}

/// Opens a database in memory, which ends with the connection.
pub(super) fn open_in_memory() -> Result<Connection, Fault> {
    prepared(Connection::open_in_memory()?, "FULL")
}

/// The connection with the settings that all of them share, and this wait for the disk. It comes
/// first, because a change of the journal syncs.
fn prepared(conn: Connection, synchronous: &str) -> Result<Connection, Fault> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    // Plans do not depend on bound values. If they may, SQLite plans a statement again each time
    // its values change: a get of 10,000 profiles did so 50 times.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    rusqlite::vtab::array::load_module(&conn)?;
    conn.execute_batch(&format!(
        "PRAGMA synchronous = {synchronous};
         PRAGMA page_size = {PAGE_BYTES};
         PRAGMA journal_mode = WAL;
         PRAGMA wal_autocheckpoint = 0;
         PRAGMA journal_size_limit = {LOG_BYTES_RETAINED};
         PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -{WRITER_CACHE_KIB};"
    ))?;
    Ok(conn)
}

/// The writer's busy handler.
pub(super) fn wait_for_others(looks: i32) -> bool {
    std::thread::sleep(BUSY_PAUSE);
    BUSY_PAUSE * looks.unsigned_abs() < BUSY_TIMEOUT
}

/// Opens a connection that cannot write.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, Fault> {
    let conn = open(path)?;
    conn.execute_batch(&format!(
        "PRAGMA cache_size = -{READER_CACHE_KIB}; PRAGMA query_only = ON;
         PRAGMA mmap_size = {READER_MAPPED_BYTES};"
    ))?;
    Ok(conn)
}

pub(super) fn unavailable(what: &str, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("{what} cannot be opened: {error}"))
}
