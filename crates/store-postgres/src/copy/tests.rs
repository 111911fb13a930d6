//! Compares the list of copied tables and columns with the tables of a new database.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use tokio_postgres::{Config, NoTls};

use super::*;
use caseload_store::copy::tables::Kind;

/// Tables that a copy leaves out: the queue is made from the tasks, deltas are compacted before,
/// and the text index is built again.
const OWN: &[&str] = &[
    "task_queue",
    "issue_count_deltas",
    "issue_set_deltas",
    "issue_text_marks",
    "issue_text_segments",
    "issue_text_grams",
    "copy_progress",
    "caseload_migrations",
];

/// Columns that are derived from the copied rows or start again in a copy, or have the same value
/// in all of them.
const DERIVED: &[(&str, &str)] = &[
    ("issue_values", "part"),
    ("domain_clocks", "last_profile_change_at"),
    ("domain_clocks", "last_task_seq"),
    ("domain_clocks", "last_issue_row"),
    // No server runs during a copy, so that no webhook has a lease.
    ("webhooks", "lease_server"),
    ("webhooks", "lease_epoch"),
    ("webhooks", "lease_until"),
    ("webhooks", "leased_at"),
];

/// Table, name, type and nullability of all columns.
async fn columns(client: &Client) -> BTreeSet<(String, String, String, bool)> {
    let sql = "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL),
         NOT a.attnotnull FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
         AND a.attnum > 0 AND NOT a.attisdropped";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect()
}

fn fits(kind: Kind, stored: &str) -> bool {
    match kind {
        Kind::Integer => ["bigint", "integer", "smallint", "boolean"].contains(&stored),
        Kind::Order | Kind::Row | Kind::Block => stored == "bigint",
        Kind::Text => ["text", "bytea"].contains(&stored),
        Kind::Bytes | Kind::RowSet => stored == "bytea",
    }
}

fn check(mut stored: BTreeSet<(String, String, String, bool)>) {
    stored.retain(|(table, column, ..)| {
        !OWN.contains(&table.as_str()) && !DERIVED.contains(&(table.as_str(), column.as_str()))
    });
    for table in TABLES {
        for column in table.columns {
            let is_stored =
                statements::read_as(table.name, column.name).is_none_or(|found| found.1);
            let found = stored.iter().find(|it| it.0 == table.name && it.1 == column.name).cloned();
            let Some(found) = found else {
                assert!(!is_stored, "{}.{} does not exist", table.name, column.name);
                continue;
            };
            assert!(fits(column.kind, &found.2), "{found:?} has another type");
            assert_eq!(found.3, column.nullable, "{found:?}");
            stored.remove(&found);
        }
    }
    assert_eq!(stored, BTreeSet::new(), "columns that a copy would miss");
}

#[tokio::test]
async fn every_table_and_column_is_copied_or_named_as_postgresqls_own() {
    let maintenance = std::env::var("TEST_DATABASE_URL")
        .expect("TEST_DATABASE_URL must name a database that others can be made from");
    let maintenance: Config = maintenance.parse().unwrap();
    let (client, connection) = maintenance.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    let name = format!("caseload_test_copy_{:x}", RandomState::new().hash_one(0));
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let mut url = url::Url::parse(&std::env::var("TEST_DATABASE_URL").unwrap()).unwrap();
    url.set_path(&name);
    let address = PostgresAddress::parse(url.as_str()).unwrap();
    let (there, _driver) = Engine::connect_alone(&address, true).await.unwrap();
    let stored = columns(&there).await;
    drop(there);
    client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
    check(stored);
}
