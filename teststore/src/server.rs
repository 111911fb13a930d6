//! The PostgreSQL server of the tests, as its administrator. Its statements run on a thread with a
//! runtime of its own, so that they can run from anywhere, including the unwinding of a test.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// The variable with the URL of a database on the server where tests make their databases.
const VARIABLE: &str = "TEST_DATABASE_URL";
/// How long a connection may take on a loaded machine.
const CONNECTING_MAX: Duration = Duration::from_secs(30);

/// The address of the maintenance database.
pub(crate) fn url() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{VARIABLE} is not set: this test needs a PostgreSQL. Run it under \
             scripts/with-postgres, which starts one, or name one that may create databases"
        )
    })
}

/// The address of another database of the same server.
pub(crate) fn url_of(database: &str) -> String {
    let url = url();
    let (place, parameters) = match url.split_once('?') {
        Some((place, parameters)) => (place, format!("?{parameters}")),
        None => (url.as_str(), String::new()),
    };
    let host_end = place.find("://").map_or(0, |at| at + 3);
    let host = place[host_end..].split('/').next().unwrap_or_default();
    format!("{}{host}/{database}{parameters}", &place[..host_end])
}

/// Runs blocking work on a thread with a runtime of its own.
pub(crate) fn aside<T: Send>(work: impl FnOnce(&Runtime) -> T + Send) -> T {
    std::thread::scope(|threads| {
        let done = threads.spawn(|| {
            let runtime = Builder::new_current_thread().enable_all().build();
            work(&runtime.expect("a runtime"))
        });
        done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A connection; it ends with the client.
pub(crate) async fn connect(url: &str) -> Client {
    connected(url).await.expect("the PostgreSQL of the tests answers")
}

/// A connection, if the server answers.
pub(crate) async fn connected(url: &str) -> Result<Client, String> {
    let connecting = tokio_postgres::connect(url, NoTls);
    let (client, connection) = tokio::time::timeout(CONNECTING_MAX, connecting)
        .await
        .map_err(|_| format!("no connection after {CONNECTING_MAX:?}"))?
        .map_err(|error| format!("{error:?}"))?;
    tokio::spawn(connection);
    Ok(client)
}

/// Runs statements on a connection of their own and returns the first column. Blocks.
pub fn query(url: &str, statements: &str) -> Vec<String> {
    aside(|runtime| {
        runtime.block_on(async {
            let client = connect(url).await;
            let messages = client.simple_query(statements).await.expect("the statements run");
            let first = |message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            };
            messages.into_iter().filter_map(first).collect()
        })
    })
}
