//! A SQLite file as the source or the target of a copy. A single connection does all the work and
//! holds the server lock. A source stays in one write transaction that writes nothing: it blocks
//! every other writer, so that all rows come from one snapshot. A target syncs only its last
//! commit. Rows and position are in the same file, so that a file that lost its latest commits can
//! resume the copy.

mod statements;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params, params_from_iter};

use super::check;
use super::engine::{Engine, Locks, on_blocking_thread};
use crate::{Fault, boxed, store_error};
use caseload_store::copy::end::{CopyEnd, Progress, Side, refused};
use caseload_store::copy::numbering::{ROW_SPANS, RowSpan};
use caseload_store::copy::rows::{CopyBatch, Row, Rows, Value, decode, encode};
use caseload_store::copy::tables::{Kind, MARK_TEXTS, TABLES, Table};
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::text_index::TABLES as TEXT_TABLES;
use caseload_store::{CheckReport, StoreError, StoreFuture};
use statements::TableStatements;

/// Pages of a target's log that trigger a checkpoint.
const LOG_PAGES: u32 = 4096;
/// Page cache of a target, in KiB. It is large because rows go to random places of the indexes.
const CACHE_KIB: u32 = 256 << 10;

/// Fails if the store is the target of an unfinished copy.
pub(super) fn refuse_unfinished(conn: &Connection, path: &Path) -> Result<(), Fault> {
    match progress(conn)? {
        None => Ok(()),
        Some(_) => {
            Err(StoreError::CopyUnfinished { store: format!("sqlite:{}", path.display()) }.into())
        }
    }
}

/// Opens a store as the source or the target of a copy.
pub async fn open_copy_end(path: &Path, side: Side) -> Result<Arc<dyn CopyEnd>, StoreError> {
    let path = path.to_owned();
    Ok(Arc::new(on_blocking_thread(move || SqliteEnd::open(path, side)).await?))
}

struct SqliteEnd {
    path: PathBuf,
    conn: Arc<Mutex<Connection>>,
    locks: Locks,
}

impl SqliteEnd {
    fn open(path: PathBuf, side: Side) -> Result<Self, Fault> {
        let shown = path.display();
        let (conn, locks) =
            Engine::open_alone(&path, side == Side::Target).map_err(|error| match error {
                Fault(StoreError::ServerRunning { .. }) => refused(format!(
                    "a server, or another copy, uses sqlite:{shown}; stop it first"
                )),
                Fault(other) => other,
            })?;
        match side {
            Side::Source => {
                conn.execute_batch("BEGIN IMMEDIATE").map_err(|error| {
                    match error.sqlite_error_code() {
                        Some(ErrorCode::DatabaseBusy) => refused(format!(
                            "another command writes to sqlite:{shown}; wait for its end"
                        )),
                        _ => store_error(error),
                    }
                })?;
            }
            // The check at the end verifies all references.
            Side::Target => conn.execute_batch(&format!(
                "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = {LOG_PAGES};
                 PRAGMA cache_size = -{CACHE_KIB}; PRAGMA foreign_keys = OFF;"
            ))?,
        }
        Ok(Self { path, conn: Arc::new(Mutex::new(conn)), locks })
    }

    /// Runs work with the connection, on a blocking thread.
    fn run<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        let conn = self.conn.clone();
        boxed(async move { on_blocking_thread(move || work(&mut conn.lock())).await })
    }
}

impl CopyEnd for SqliteEnd {
    fn read(
        &self,
        table: &'static Table,
        position: Option<Vec<u8>>,
        batch: CopyBatch,
    ) -> StoreFuture<'_, Rows> {
        self.run(move |conn| read(conn, table, position.as_deref(), batch))
    }

    fn filled(&self) -> StoreFuture<'_, Option<&'static str>> {
        self.run(|conn| {
            for table in TABLES {
                if conn.prepare(&format!("SELECT 1 FROM {}", table.name))?.exists([])? {
                    return Ok(Some(table.name));
                }
            }
            Ok(None)
        })
    }

    fn counts_over_domains(&self) -> bool {
        true
    }

    fn row_spans(&self) -> StoreFuture<'_, Vec<RowSpan>> {
        self.run(|conn| {
            let mut spans = conn.prepare_cached(ROW_SPANS)?;
            let spans = spans.query_map([], |row| {
                let (domain, least, largest) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(RowSpan { domain, least, largest, of_profiles: row.get(3)? })
            })?;
            Ok(spans.collect::<Result<_, _>>()?)
        })
    }

    fn last_domain_id(&self) -> StoreFuture<'_, i64> {
        self.run(|conn| {
            let last = conn
                .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'domains'", [], |row| {
                    row.get(0)
                })
                .optional()?;
            Ok(last.unwrap_or(0))
        })
    }

    fn progress(&self) -> StoreFuture<'_, Option<Progress>> {
        self.run(|conn| progress(conn))
    }

    fn begin(&self, progress: Progress) -> StoreFuture<'_, ()> {
        self.run(move |conn| save_progress(conn, &progress))
    }

    fn clear(&self) -> StoreFuture<'_, ()> {
        self.run(|conn| {
            let transaction = conn.transaction()?;
            for table in TABLES.iter().map(|table| table.name).rev().chain(TEXT_TABLES) {
                transaction.execute(&format!("DELETE FROM {table}"), [])?;
            }
            transaction.execute("DELETE FROM sqlite_sequence", [])?;
            transaction.execute("DELETE FROM copy_progress", [])?;
            Ok(transaction.commit()?)
        })
    }

    fn write(&self, table: &'static Table, rows: Rows, progress: Progress) -> StoreFuture<'_, ()> {
        self.run(move |conn| {
            let transaction = conn.transaction()?;
            insert(&transaction, table, &rows)?;
            save_progress(&transaction, &progress)?;
            failpoint::reached(Failpoint::CopyBeforeCommit);
            transaction.commit()?;
            failpoint::reached(Failpoint::CopyAfterCommit);
            Ok(())
        })
    }

    fn set_derived(&self, last_domain_id: i64) -> StoreFuture<'_, ()> {
        self.run(move |conn| {
            // The row does not exist before the first domain.
            conn.execute("DELETE FROM sqlite_sequence WHERE name = 'domains'", [])?;
            conn.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES ('domains', ?1)",
                [last_domain_id],
            )?;
            // The text index is built again, from the issues of the target.
            conn.execute("DELETE FROM issue_text_marks", [])?;
            conn.execute(MARK_TEXTS, [])?;
            failpoint::reached(Failpoint::CopyBeforeFinish);
            Ok(())
        })
    }

    fn check(&self) -> StoreFuture<'_, CheckReport> {
        boxed(check::run_on_file(self.path.clone()))
    }

    fn finish(&self) -> StoreFuture<'_, ()> {
        self.run(|conn| {
            // This commit also syncs all commits before it.
            conn.execute_batch("PRAGMA synchronous = FULL")?;
            conn.execute("DELETE FROM copy_progress", [])?;
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(())
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        let closed = self.run(|conn| {
            if !conn.is_autocommit() {
                conn.execute_batch("ROLLBACK")?;
            }
            let closed = std::mem::replace(conn, Connection::open_in_memory()?);
            closed.close().map_err(|(_, error)| error.into())
        });
        Box::pin(async move {
            closed.await?;
            self.locks.release();
            Ok(())
        })
    }
}

fn progress(conn: &Connection) -> Result<Option<Progress>, Fault> {
    let found = conn
        .prepare_cached(
            "SELECT source, origin, attempt, table_name, position, copied_rows FROM copy_progress",
        )?
        .query_row([], |row| {
            Ok(Progress {
                source: row.get(0)?,
                origin: row.get(1)?,
                attempt: row.get(2)?,
                table: row.get(3)?,
                position: row.get(4)?,
                rows: row.get(5)?,
            })
        })
        .optional()?;
    Ok(found)
}

fn save_progress(conn: &Connection, progress: &Progress) -> Result<(), Fault> {
    let Progress { source, origin, attempt, table, position, rows } = progress;
    conn.prepare_cached(
        "INSERT OR REPLACE INTO copy_progress
         (id, source, origin, attempt, table_name, position, copied_rows)
         VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![source, origin, attempt, table, position, rows])?;
    Ok(())
}

fn read(
    conn: &Connection,
    table: &Table,
    position: Option<&[u8]>,
    batch: CopyBatch,
) -> Result<Rows, Fault> {
    let statements = TableStatements::of(conn, table)?;
    let sql = if position.is_none() { &statements.first } else { &statements.further };
    let mut statement = conn.prepare_cached(sql)?;
    let after = match position.map(decode) {
        None => Vec::new(),
        Some(Some(key)) if key.len() == statements.key.len() => key,
        Some(_) => return Err(StoreError::Corrupt("the position of a copy".to_owned()).into()),
    };
    let after =
        after.into_iter().zip(&statements.key).map(|(value, is_text)| bound(value, *is_text));
    let mut found = statement.query(params_from_iter(after))?;
    let width = table.columns.len();
    let mut rows = Rows::new(width);
    while let Some(row) = found.next()? {
        for place in 0..width {
            rows.push(value_of(row.get_ref(place)?)?);
        }
        if rows.fills(batch) {
            let key = width..width + statements.key.len();
            let key = key.map(|place| value_of(row.get_ref(place)?));
            let key = key.collect::<Result<Vec<_>, _>>()?;
            rows.next = Some(encode(key));
            break;
        }
    }
    Ok(rows)
}

fn insert(conn: &Connection, table: &Table, rows: &Rows) -> Result<(), Fault> {
    let statements = TableStatements::of(conn, table)?;
    let mut statement = conn.prepare_cached(&statements.insert)?;
    for row in rows.iter() {
        statement
            .execute(params_from_iter(statements.written.iter().map(|at| cell(table, row, *at))))?;
    }
    Ok(())
}

fn cell<'a>(table: &Table, row: Row<'a>, at: usize) -> ToSqlOutput<'a> {
    bound(row.value(at), table.columns[at].kind == Kind::Text)
}

fn bound(value: Value<'_>, is_text: bool) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match value {
        Value::Null => ValueRef::Null,
        Value::Integer(number) => ValueRef::Integer(number),
        Value::Bytes(text) if is_text => ValueRef::Text(text),
        Value::Bytes(bytes) => ValueRef::Blob(bytes),
    })
}

fn value_of(value: ValueRef<'_>) -> Result<Value<'_>, Fault> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => Ok(Value::Integer(number)),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(Value::Bytes(bytes)),
        ValueRef::Real(_) => {
            Err(StoreError::Corrupt("a column holds a fraction".to_owned()).into())
        }
    }
}
