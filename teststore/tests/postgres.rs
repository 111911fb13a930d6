//! The PostgreSQL backend: the conformance suite, and tests of several servers over one database.
//! Each test creates a database of its own on the PostgreSQL server at `TEST_DATABASE_URL`.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod replicas;
mod suite;

use std::sync::Arc;

use caseload_store::Store;

use replicas::Database;

/// A new store in a new database. The database is dropped with its guard.
fn fresh() -> (Arc<dyn Store>, Database) {
    let database = Database::new();
    (database.server(), database)
}

store_suite!(crate::fresh);
