//! The SQLite backend under the conformance suite, and what only it has: files, locks, groups of
//! commits, damage.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod suite;

mod embedded;

use std::sync::Arc;

use caseload_store::{OpenMode, Store};
use caseload_store_sqlite::SqliteStore;

/// A fresh store in a folder that is removed with it.
fn fresh() -> (Arc<dyn Store>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/caseload.db");
    (Arc::new(SqliteStore::open(&file, OpenMode::Server).unwrap()), folder)
}

store_suite!(crate::fresh);
