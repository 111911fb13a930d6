//! A database for one test, created on the server at `TEST_DATABASE_URL` and dropped with its
//! value. Dropping it has a timeout: PostgreSQL waits for each of its processes, even for one whose
//! client left while it connected. On a cluster it is a distributed database ([`nodes`]).

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_location::open;
use caseload_store::{OpenMode, Store};
use caseload_teststore::nodes;
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use tokio_postgres::{Client, Config, NoTls};

/// How long dropping a database may take.
const DROPPING_MAX: Duration = Duration::from_secs(5);

/// How long anything may take on a loaded machine.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// A node of a cluster.
pub(crate) struct Node {
    pub(crate) client: Client,
    pub(crate) shard: String,
}

/// The database of one test.
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
        let create = format!("CREATE DATABASE {}", database.name);
        wait(async {
            connect(&database.maintenance).await.batch_execute(&create).await.unwrap();
            nodes::distribute_store(&database.name).await;
        });
        database
    }

    /// A new server on this database.
    pub(crate) fn server(&self) -> Arc<dyn Store> {
        opened(&self.url())
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        nodes::url_of(&self.name)
    }

    /// A plain connection, independent of the store.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.url()).await
    }

    /// A connection to the worker that stores a domain, as an administrator, and the name of a
    /// table's shard there.
    pub(crate) async fn client_of_node(&self, table: &str, domain: i64) -> Node {
        let select = format!(
            "SELECT n.nodeport, s.shardid FROM pg_dist_node n
             JOIN pg_dist_placement p ON p.groupid = n.groupid
             JOIN pg_dist_shard s ON s.shardid = p.shardid
             WHERE s.shardid = get_shard_id_for_distribution_column('{table}', {domain}::bigint)"
        );
        let row = self.client().await.query_one(&select, &[]).await.unwrap();
        let (port, shard): (i32, i64) = (row.get(0), row.get(1));
        let mut url = url::Url::parse(&self.maintenance).unwrap();
        url.set_path(&self.name);
        url.set_port(Some(u16::try_from(port).unwrap())).unwrap();
        Node { client: connect(url.as_str()).await, shard: format!("{table}_{shard}") }
    }

    /// Terminates about half of the open connections.
    pub(crate) async fn cut_connections(&self) {
        let cut = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = '{}' AND random() < 0.5",
            self.name
        );
        connect(&self.maintenance).await.batch_execute(&cut).await.unwrap();
    }

    /// Waits for a session that matches an SQL condition on `pg_stat_activity`.
    pub(crate) async fn wait_for_session(&self, what: &str) {
        self.wait_for_sessions(1, what).await;
    }

    /// Does the same until so many sessions match.
    pub(crate) async fn wait_for_sessions(&self, count: i64, what: &str) {
        let select = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {what}"
        );
        let (client, begun) = (self.client().await, Instant::now());
        while client.query_one(&select, &[]).await.unwrap().get::<_, i64>(0) < count {
            assert!(begun.elapsed() < PATIENCE, "fewer than {count} sessions match: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// How many rows a table has.
    pub(crate) async fn count(&self, table: &str) -> i64 {
        let count = format!("SELECT count(*) FROM {table}");
        connect(&self.url()).await.query_one(&count, &[]).await.unwrap().get(0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let dropped = wait(async {
            let client = connect(&self.maintenance).await;
            let limit = format!("SET statement_timeout = {}", DROPPING_MAX.as_millis());
            client.batch_execute(&limit).await.map_err(|error| error.to_string())?;
            client.batch_execute(&statement).await.map_err(|error| error.to_string())?;
            nodes::drop_on_workers(&self.name, &limit).await
        });
        if let Err(error) = dropped {
            let left = format!("the database {} was not dropped: {error}\n", self.name);
            // A message for the reader of the test's output; the test does not depend on it.
            drop(std::io::stderr().write_all(left.as_bytes()));
        }
    }
}

/// A new server on the database at `url`.
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
