//! Compares the list of copied tables and columns with the tables of a new store.

use std::collections::BTreeSet;

use super::*;
use crate::SqliteStore;
use caseload_store::OpenMode;
use caseload_store::copy::tables::{Kind, TABLES};

/// Tables about the file itself, which a copy leaves out, and the text index, which is built again.
const OWN_TABLES: &[&str] = &[
    "probe",
    "copy_progress",
    "caseload_migrations",
    "issue_text_marks",
    "issue_text_segments",
    "issue_text_grams",
];

/// Columns that a copy leaves out, and why.
const OWN_COLUMNS: &[(&str, &str)] = &[
    // Row numbers of this file.
    ("app_profiles", "seq"),
    ("payload_blocks", "seq"),
    ("record_blocks", "seq"),
    ("attachment_pieces", "seq"),
    // No server runs during a copy, so that nothing has a lease.
    ("tasks", "lease_server"),
    ("tasks", "lease_epoch"),
    ("tasks", "lease_until"),
    ("webhooks", "lease_server"),
    ("webhooks", "lease_epoch"),
    ("webhooks", "lease_until"),
    ("webhooks", "leased_at"),
];

/// Name, type and nullability of the columns of a table.
fn stored(conn: &Connection, table: &str) -> BTreeSet<(String, String, bool)> {
    // A key column is never null, even if it is not declared so.
    let sql = "SELECT name, type, NOT \"notnull\" AND pk = 0 FROM pragma_table_info(?1)";
    let mut columns = conn.prepare(sql).unwrap();
    let columns = columns
        .query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<BTreeSet<(String, String, bool)>, _>>()
        .unwrap();
    columns.into_iter().filter(|(name, ..)| !OWN_COLUMNS.contains(&(table, name))).collect()
}

const fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer | Kind::Order | Kind::Row | Kind::Block => "INTEGER",
        Kind::Text => "TEXT",
        Kind::Bytes | Kind::RowSet => "BLOB",
    }
}

#[test]
fn every_table_and_column_is_copied_or_named_as_sqlites_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("caseload.db");
    drop(SqliteStore::open(&path, OpenMode::Create).unwrap());
    let conn = Connection::open(&path).unwrap();
    let mut names = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
        .unwrap();
    let names: BTreeSet<String> =
        names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let copied: BTreeSet<&str> =
        names.iter().map(String::as_str).filter(|name| !OWN_TABLES.contains(name)).collect();
    assert_eq!(copied, TABLES.iter().map(|table| table.name).collect());
    for table in TABLES {
        let columns = table.columns.iter();
        let expected = columns
            .filter(|column| statements::derived(table.name, column.name).is_none())
            .map(|column| (column.name.into(), type_of(column.kind).into(), column.nullable));
        assert_eq!(stored(&conn, table.name), expected.collect(), "{}", table.name);
    }
}
