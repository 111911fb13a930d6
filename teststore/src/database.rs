//! A database for one test. Its name says which process made it; dropping it ends what is still
//! connected and drops the database.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::server::{self, aside, connect};
use crate::template;

/// How often a database is made that the server has no time for.
const TRIES_MAX: u32 = 50;

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
                let make = format!("CREATE DATABASE {name} {how}");
                for _ in 1..TRIES_MAX {
                    // A template that somebody else copies or vacuums right now.
                    match client.batch_execute(&make).await {
                        Err(e) if e.code().is_some_and(|code| code.code() == "55006") => {}
                        made => return made.expect("a database is made"),
                    }
                }
                client.batch_execute(&make).await.expect("a database is made");
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
        let name = self.name.clone();
        aside(move |runtime| {
            runtime.block_on(async {
                // A test that stopped the server cannot drop anything there.
                let Ok((client, connection)) =
                    tokio_postgres::connect(&server::url(), tokio_postgres::NoTls).await
                else {
                    return;
                };
                tokio::spawn(connection);
                let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                let _ = client.batch_execute(&drop).await;
            });
        });
    }
}
