//! Stores for tests, on every backend. A test is an `async fn`, named in [`on_each_store!`], which
//! makes one test of it for each backend. The test opens its store with [`Backend::current`]. On
//! PostgreSQL each store is a database of its own, copied from a template and dropped after the
//! test; on a cluster it is a distributed one. Invariant: if no PostgreSQL is configured
//! (`TEST_DATABASE_URL`, see `scripts/with-postgres`), such a test fails.

mod cluster;
mod database;
pub mod nodes;
pub mod rows;
mod server;
mod template;

use std::future::Future;
use std::time::Duration;

use caseload_location::StoreLocation;
use tempfile::TempDir;

pub use cluster::{Cluster, Stop};
pub use database::Database;
pub use server::query;

tokio::task_local! {
    static CURRENT: Backend;
}

/// The backend of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

impl Backend {
    /// All backends.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// The backend of the test that runs.
    pub fn current() -> Self {
        Self::chosen().expect("the test is named in `on_each_store!`")
    }

    /// The backend of the test that runs, if the test runs on each.
    pub fn chosen() -> Option<Self> {
        CURRENT.try_with(|backend| *backend).ok()
    }

    /// Runs a blocking test on this backend.
    pub fn under_blocking<T>(self, test: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self, test)
    }

    /// Runs a test on this backend.
    pub async fn under<F: Future>(self, test: F) -> F::Output {
        CURRENT.scope(self, test).await
    }

    /// An empty place for one store. Blocks for some milliseconds.
    pub fn place(self) -> StorePlace {
        match self {
            Self::Sqlite => {
                let folder = tempfile::tempdir().expect("a folder for the store");
                let url = format!("sqlite:{}", folder.path().join("caseload.db").display());
                StorePlace { url, _data: Data::Folder(folder) }
            }
            Self::Postgres => {
                let database = Database::from_template();
                StorePlace { url: database.url().to_owned(), _data: Data::Database(database) }
            }
        }
    }
}

/// The place of one store. Dropping it removes the store.
#[derive(Debug)]
pub struct StorePlace {
    url: String,
    _data: Data,
}

/// The folder or database of a place.
#[derive(Debug)]
enum Data {
    Folder(#[expect(dead_code, reason = "removed when it is dropped")] TempDir),
    Database(#[expect(dead_code, reason = "as above")] Database),
}

impl StorePlace {
    /// The text of `--store`, with the password of the test's database.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn location(&self) -> StoreLocation {
        self.url.parse().expect("the name of a store")
    }

    /// Runs statements that the store does not know of: they damage it. Blocks.
    pub fn execute(&self, statements: &str) {
        let Some(file) = self.url.strip_prefix("sqlite:") else {
            query(&self.url, statements);
            return;
        };
        let raw = rusqlite::Connection::open(file).expect("the file of the store");
        raw.busy_timeout(Duration::from_secs(30)).expect("a time limit");
        raw.execute_batch(statements).expect("the statements run");
    }
}

/// Makes a test on each backend of every function named: `name::sqlite`, `name::postgres`. Each
/// function is an `async fn` without arguments in the same module. `threads` sets the number of
/// threads of their runtime; `blocking` is for functions that are not `async`.
#[macro_export]
macro_rules! on_each_store {
    (blocking: $($test:ident),+ $(,)?) => {
        $(mod $test {
            #[test]
            fn sqlite() {
                $crate::Backend::Sqlite.under_blocking(super::$test);
            }

            #[test]
            fn postgres() {
                $crate::Backend::Postgres.under_blocking(super::$test);
            }
        })+
    };
    (threads $threads:literal: $($test:ident),+ $(,)?) => {
        $(mod $test {
            #[tokio::test(flavor = "multi_thread", worker_threads = $threads)]
            async fn sqlite() {
                $crate::Backend::Sqlite.under(super::$test()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = $threads)]
            async fn postgres() {
                $crate::Backend::Postgres.under(super::$test()).await;
            }
        })+
    };
    ($($test:ident),+ $(,)?) => {
        $(mod $test {
            #[tokio::test]
            async fn sqlite() {
                $crate::Backend::Sqlite.under(super::$test()).await;
            }

            #[tokio::test]
            async fn postgres() {
                $crate::Backend::Postgres.under(super::$test()).await;
            }
        })+
    };
}
