//! Inserting many rows with few statements: the fixed cost of a statement is about that of
//! inserting one short row. Without `OR IGNORE`, SQLite would copy every page that such a statement
//! changes, in case a later row fails. So a row that breaks a constraint is left out, and the
//! caller counts.

use rusqlite::{CachedStatement, Connection, ToSql};

use crate::Fault;

/// Rows that one statement inserts.
const ROWS_AT_ONCE: usize = 32;

/// Inserts `rows` into `table`, which is its name and columns as SQL has them. Returns how many
/// were inserted: rows that were there before are left out.
pub(super) fn insert_rows<const COLUMNS: usize>(
    conn: &Connection,
    table: &str,
    rows: &[[&dyn ToSql; COLUMNS]],
) -> Result<usize, Fault> {
    let mut inserted = 0;
    let (many, few) = rows.as_chunks::<ROWS_AT_ONCE>();
    if !many.is_empty() {
        let mut statement = prepared::<COLUMNS>(conn, table, ROWS_AT_ONCE)?;
        for rows in many {
            inserted += run(&mut statement, rows)?;
        }
    }
    if !few.is_empty() {
        let mut statement = prepared::<COLUMNS>(conn, table, 1)?;
        for row in few {
            inserted += run(&mut statement, std::slice::from_ref(row))?;
        }
    }
    Ok(inserted)
}

fn prepared<'c, const COLUMNS: usize>(
    conn: &'c Connection,
    table: &str,
    rows: usize,
) -> Result<CachedStatement<'c>, Fault> {
    let row = format!("({})", ["?"; COLUMNS].join(","));
    let sql = format!("INSERT OR IGNORE INTO {table} VALUES {}", vec![row; rows].join(","));
    Ok(conn.prepare_cached(&sql)?)
}

fn run<const COLUMNS: usize>(
    statement: &mut CachedStatement<'_>,
    rows: &[[&dyn ToSql; COLUMNS]],
) -> Result<usize, Fault> {
    for (at, value) in rows.iter().flatten().enumerate() {
        statement.raw_bind_parameter(at + 1, value)?;
    }
    Ok(statement.raw_execute()?)
}
