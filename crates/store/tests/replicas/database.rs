//! A database for one test, made on the server at `TEST_DATABASE_URL` and removed with its value.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use caseload_store::{OpenMode, Store, open};
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use tokio_postgres::{Client, Config, NoTls};

/// Its own database of a test.
pub(crate) struct Database {
    maintenance: String,
    name: String,
}

impl Database {
    pub(crate) fn new() -> Self {
        let maintenance = std::env::var("TEST_DATABASE_URL").expect(
            "TEST_DATABASE_URL must name a PostgreSQL database that others can be made from",
        );
        let random = RandomState::new().build_hasher().finish();
        let name = format!("caseload_test_{random:x}");
        let database = Self { maintenance, name };
        database.maintain(&format!("CREATE DATABASE {}", database.name));
        database
    }

    /// A server's store over it.
    pub(crate) fn server(&self) -> Arc<dyn Store> {
        opened(&self.url())
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        let mut url = url::Url::parse(&self.maintenance).unwrap();
        url.set_path(&self.name);
        url.into()
    }

    /// A connection beside the store's.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.url()).await
    }

    /// Ends about half of the connections that there are.
    pub(crate) async fn cut_connections(&self) {
        let cut = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = '{}' AND random() < 0.5",
            self.name
        );
        connect(&self.maintenance).await.batch_execute(&cut).await.unwrap();
    }

    /// How many rows a table has.
    pub(crate) async fn count(&self, table: &str) -> i64 {
        let count = format!("SELECT count(*) FROM {table}");
        connect(&self.url()).await.query_one(&count, &[]).await.unwrap().get(0)
    }

    fn maintain(&self, statement: &str) {
        wait(async { connect(&self.maintenance).await.batch_execute(statement).await.unwrap() });
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.maintain(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

/// A server's store at an address.
pub(crate) fn opened(url: &str) -> Arc<dyn Store> {
    wait(open(&url.parse().unwrap(), OpenMode::Server)).unwrap()
}

async fn connect(url: &str) -> Client {
    let (client, connection) = url.parse::<Config>().unwrap().connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    block_in_place(|| Handle::current().block_on(work))
}
