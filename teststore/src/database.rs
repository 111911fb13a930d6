//! A database for one test. Its name says which process made it; dropping it ends what is still
//! connected and drops the database. To drop one, the server waits for every process of its own,
//! also for one whose client was cut short in its greeting and cannot go on, because its thread is
//! the one that waits here. Invariant: nothing is waited for without an end.

use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::server::{self, aside, connect};
use crate::template;

/// How long a database is tried to be made that the server has no time for.
const MAKING_MAX: Duration = Duration::from_mins(1);
/// How long a database may take to go. A greeting that nobody goes on with is given up by the
/// server after a minute only.
const DROPPING_MAX: Duration = Duration::from_secs(5);

/// A database that goes with this.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
}

impl Database {
    /// With the tables of a store, and nothing in them.
    pub fn from_template() -> Self {
        let template = template::name();
        Self::made(&format!("TEMPLATE {template}"))
    }

    /// Without any table.
    pub fn empty() -> Self {
        Self::made("")
    }

    fn made(how: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("caseload_test_{}_{number}", std::process::id());
        aside(|runtime| {
            runtime.block_on(async {
                let client = connect(&server::url()).await;
                // What another run left behind under the number of this process.
                let left = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                client.batch_execute(&left).await.expect("a database is dropped");
                let millis = MAKING_MAX.as_millis();
                let limit = format!("SET statement_timeout = {millis}");
                client.batch_execute(&limit).await.expect("a limit is set");
                let make = format!("CREATE DATABASE {name} {how}");
                let begun = Instant::now();
                loop {
                    // A template that somebody else copies or vacuums right now.
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
            let left = format!("the database {} is left behind: {fault}\n", self.name);
            // For whoever reads what a test said; nothing depends on it.
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
                    let waits = "a connection that stands still in its greeting is waited for";
                    format!("{error:?} ({waits})")
                })?;
            }
            Ok(())
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
    fn a_greeting_that_stands_still_does_not_hold_up_a_test() {
        let cluster = Cluster::start();
        let maintenance = cluster.address("postgres");
        let mut wire = TcpStream::connect(cluster.host()).expect("the server answers");
        let said = b"user\0postgres\0database\0caseload\0\0";
        let length = 8 + u32::try_from(said.len()).expect("it is short");
        let version: u32 = 3 << 16;
        wire.write_all(&[&length.to_be_bytes()[..], &version.to_be_bytes(), said].concat())
            .expect("a greeting is sent");
        wire.read_exact(&mut [0]).expect("the server asks for a proof");
        let begun = Instant::now();
        let fault = dropped(&maintenance, "caseload").expect_err("the server waits for it");
        assert!(fault.contains("greeting"), "{fault}");
        assert!(begun.elapsed() < 3 * DROPPING_MAX, "{:?}", begun.elapsed());
        drop(wire);
        dropped(&maintenance, "caseload").expect("nobody is waited for");
        assert!(
            server::query(&maintenance, "SELECT 1 FROM pg_database WHERE datname = 'caseload'")
                .is_empty()
        );
    }
}
