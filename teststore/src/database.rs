//! A database for one test. Its name has the id of the process that made it. Dropping the value
//! ends the connections and drops the database. The PostgreSQL server then waits for each of its
//! backend processes, including one whose client stopped in the middle of the handshake. Invariant:
//! every wait has a limit.

use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::nodes;
use crate::server::{self, aside, connect};
use crate::template;

/// How long to retry the creation of a database on a busy server.
const MAKING_MAX: Duration = Duration::from_mins(1);
/// How long dropping a database may take. The server gives up an unfinished handshake only after a
/// minute.
const DROPPING_MAX: Duration = Duration::from_secs(5);

/// A database. Dropping the value drops the database.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
}

impl Database {
    /// A database with the empty tables of a store.
    pub fn from_template() -> Self {
        if nodes::is_distributed() {
            let mut database = Self::create("");
            aside(|runtime| runtime.block_on(nodes::distribute_store(&database.name)));
            database.url = nodes::url_of(&database.name);
            return database;
        }
        let template = template::name();
        Self::create(&format!("TEMPLATE {template}"))
    }

    /// A database without tables.
    pub fn empty() -> Self {
        Self::create("")
    }

    /// A database without tables on all nodes of the cluster.
    pub fn on_nodes() -> Self {
        let mut database = Self::create("");
        aside(|runtime| runtime.block_on(nodes::join_nodes(&database.name)));
        database.url = nodes::url_of(&database.name);
        database
    }

    fn create(how: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("caseload_test_{}_{number}", std::process::id());
        aside(|runtime| {
            runtime.block_on(async {
                let client = connect(&server::url()).await;
                // An earlier process with the same id may have left one.
                let left = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                client.batch_execute(&left).await.expect("a database is dropped");
                let millis = MAKING_MAX.as_millis();
                let limit = format!("SET statement_timeout = {millis}");
                client.batch_execute(&limit).await.expect("a limit is set");
                let make = format!("CREATE DATABASE {name} {how}");
                let begun = Instant::now();
                loop {
                    // Another process may be copying or vacuuming the template.
                    match client.batch_execute(&make).await {
                        Err(e)
                            if e.code().is_some_and(|code| code.code() == "55006")
                                && begun.elapsed() < MAKING_MAX => {}
                        made => return made.expect("a database is made"),
                    }
                }
            });
        });
        let url = server::url_of(&name);
        Self { name, url }
    }

    /// Runs work while the first worker of the cluster is away for this database: the coordinator
    /// looks for it at an unused port, which the work gets.
    pub fn without_a_worker(&self, work: impl FnOnce(u16)) {
        let port = nodes::ports()[0];
        let unused = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let unused = unused.expect("a port").port();
        let place = |from, to| {
            aside(|runtime| runtime.block_on(nodes::move_worker(&self.name, from, to)));
        };
        place(port, unused);
        work(unused);
        place(unused, port);
    }

    /// Its address, with the password.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A test that stopped the server cannot drop anything there.
        if let Err(fault) = dropped(&server::url(), &self.name) {
            let left = format!("the database {} is not dropped: {fault}\n", self.name);
            // A hint in the output of the test; nothing depends on it.
            drop(std::io::stderr().write_all(left.as_bytes()));
        }
    }
}

/// Drops a database, within [`DROPPING_MAX`].
fn dropped(maintenance: &str, name: &str) -> Result<(), String> {
    aside(|runtime| {
        runtime.block_on(async {
            let client = server::connected(maintenance).await?;
            let millis = DROPPING_MAX.as_millis();
            let statements = [
                format!("SET statement_timeout = {millis}"),
                format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
            ];
            for statement in statements {
                client.batch_execute(&statement).await.map_err(|error| {
                    let waits = "the server waits for a connection in the middle of its handshake";
                    format!("{error:?} ({waits})")
                })?;
            }
            nodes::drop_on_workers(name, &format!("SET statement_timeout = {millis}")).await
        })
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use super::*;
    use crate::Cluster;

    #[test]
    fn an_unfinished_handshake_does_not_block_a_test() {
        let cluster = Cluster::start();
        let maintenance = cluster.address("postgres");
        let mut wire = TcpStream::connect(cluster.host()).expect("the server answers");
        let said = b"user\0postgres\0database\0caseload\0\0";
        let length = 8 + u32::try_from(said.len()).expect("it is short");
        let version: u32 = 3 << 16;
        wire.write_all(&[&length.to_be_bytes()[..], &version.to_be_bytes(), said].concat())
            .expect("a startup message is sent");
        wire.read_exact(&mut [0]).expect("the server asks for a proof");
        let begun = Instant::now();
        let fault =
            dropped(&maintenance, "caseload").expect_err("the server waits for the handshake");
        assert!(fault.contains("handshake"), "{fault}");
        assert!(begun.elapsed() < 3 * DROPPING_MAX, "{:?}", begun.elapsed());
        drop(wire);
        dropped(&maintenance, "caseload").expect("no handshake is unfinished");
        assert!(
            server::query(&maintenance, "SELECT 1 FROM pg_database WHERE datname = 'caseload'")
                .is_empty()
        );
    }
}
