//! The PostgreSQL backend under the conformance suite, on a database of its own for each test. The
//! server is the one at `TEST_DATABASE_URL`, the address of a database that others can be made
//! from.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod replicas;
mod suite;

use std::sync::Arc;

use caseload_store::Store;

use replicas::Database;

/// A fresh store in a database that is removed with it.
fn fresh() -> (Arc<dyn Store>, Database) {
    let database = Database::new();
    (database.server(), database)
}

store_suite!(crate::fresh);
