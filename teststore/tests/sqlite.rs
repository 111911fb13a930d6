//! The SQLite backend: the conformance suite, and tests of the features that only this backend has,
//! such as file locks, group commit and the check of a damaged file.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod suite;

mod embedded;

use std::sync::Arc;

use caseload_store::{OpenMode, Store};
use caseload_store_sqlite::SqliteStore;

/// A new store in a temporary folder. The folder is removed when its guard is dropped.
fn fresh() -> (Arc<dyn Store>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/caseload.db");
    (Arc::new(SqliteStore::open(&file, OpenMode::Server).unwrap()), folder)
}

store_suite!(crate::fresh);
