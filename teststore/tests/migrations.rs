//! A store opens only if its migrations are the first ones of this program. Migrations that a
//! release contains never change, not even in a comment. A new version is a new file.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use caseload_location::{StoreLocation, open};
use caseload_store::OpenMode;
use caseload_teststore::{Database, query};
use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use tokio::task::block_in_place;

/// Each migration with the SHA-256 of its file.
const MIGRATIONS: [(&str, &str); 2] = [
    (
        "store-sqlite/migrations/V1__schema.sql",
        "a2289d9f30c8a2193e6fba858a28334f82cb07ddb3e27d5023edcb3d3b551b4c",
    ),
    (
        "store-postgres/migrations/V1__schema.sql",
        "d6798670e8033d1f93e9fcbe7175f68a09e354780f128c028fb9456906a25498",
    ),
];

/// Statements that give a store another history, and the reason of its refusal.
const HISTORIES: [(&str, &str); 3] = [
    (
        "CREATE TABLE refinery_schema_history (version INTEGER PRIMARY KEY, name TEXT);
         INSERT INTO refinery_schema_history VALUES (1, 'core'), (2, 'issues');
         DROP TABLE caseload_migrations",
        "a build before 0.1.0",
    ),
    ("UPDATE caseload_migrations SET digest = digest + 1", "a build before 0.1.0"),
    ("INSERT INTO caseload_migrations VALUES (2, 7)", "a newer caseload has upgraded it"),
];

#[test]
fn a_migration_that_stores_may_contain_does_not_change() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    for (file, expected) in MIGRATIONS {
        let sql = fs::read(crates.join(file)).expect(file);
        let mut found = String::new();
        for byte in Sha256::digest(&sql) {
            write!(found, "{byte:02x}").expect("a string can be written to");
        }
        assert_eq!(found, expected, "{file}: stores that contain this migration no longer open");
    }
    for backend in ["store-sqlite", "store-postgres"] {
        let folder = crates.join(backend).join("migrations");
        for file in fs::read_dir(folder).expect("the folder of the migrations") {
            let name = file.expect("an entry of the folder").file_name();
            let path = format!("{backend}/migrations/{}", name.display());
            let is_listed = MIGRATIONS.iter().any(|(listed, _)| *listed == path);
            assert!(is_listed, "{path} is not in this list: add it with its digest");
        }
    }
}

/// The refusal of every way to open the store.
async fn assert_refused(location: &StoreLocation, reason: &str) {
    for mode in [OpenMode::Server, OpenMode::Admin, OpenMode::Create] {
        let refused = open(location, mode).await.err().unwrap().to_string();
        assert!(refused.contains(reason), "{mode:?}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_another_history_is_refused_untouched() {
    for (history, reason) in HISTORIES {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("caseload.db");
        let location = StoreLocation::Sqlite(file.clone());
        open(&location, OpenMode::Create).await.unwrap().close().await.unwrap();
        Connection::open(&file).unwrap().execute_batch(history).unwrap();
        let before = fs::read(&file).unwrap();
        assert_refused(&location, reason).await;
        assert!(before == fs::read(&file).unwrap(), "{history}");
    }
}

/// Tables, columns and indexes.
const SCHEMA: &str = "SELECT c.relname || ' ' || coalesce(a.attname, '') FROM pg_class c
     LEFT JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1";

#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_another_history_is_refused_untouched() {
    for (history, reason) in HISTORIES {
        let database = block_in_place(Database::from_template);
        let url = database.url();
        let ask = |sql: &str| block_in_place(|| query(url, sql));
        ask(history);
        let before = ask(SCHEMA);
        assert_refused(&url.parse().unwrap(), reason).await;
        assert_eq!(ask(SCHEMA), before);
        block_in_place(|| drop(database));
    }
}
