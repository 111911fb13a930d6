//! The measured database, accessed without a server: a connection, the processor time of its
//! processes, and rows as the bytes of a binary copy. Nothing here depends on the meaning of the
//! tables.

use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use axum::body::Bytes;
use caseload_teststore::Database;
use futures_util::{SinkExt as _, TryStreamExt as _};
use tokio_postgres::{Client, NoTls};

use crate::figures::real;

/// Bytes that are sent to the database at a time.
const PIECE: usize = 64 << 10;
/// Clock ticks of a process per second, on any Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Connects; the connection ends with the client.
pub(crate) async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// An empty database and a connection to it. No checkpoint runs during the short measurements,
/// because it would slow one side or the other at random.
pub(super) async fn fresh() -> Result<(Database, Client)> {
    let database = Database::empty();
    let client = connect(database.url()).await?;
    client.batch_execute("ALTER SYSTEM SET max_wal_size = '8GB'").await?;
    client.batch_execute("ALTER SYSTEM SET checkpoint_timeout = '30min'").await?;
    client.batch_execute("SELECT pg_reload_conf()").await?;
    Ok((database, client))
}

/// The id of a domain.
pub(crate) async fn domain_id(client: &Client, name: &str) -> Result<i64> {
    Ok(client.query_one("SELECT id FROM domains WHERE name = $1", &[&name]).await?.get(0))
}

/// Rows of a table in the form of a binary copy, and the statement that inserts them.
pub(super) struct Rows {
    into: String,
    bytes: Bytes,
}

impl Rows {
    /// Reads the rows of a domain that satisfy a condition, with the id of another domain. Columns
    /// whose numbers the database assigns are left out.
    pub(super) async fn read(
        client: &Client,
        table: &str,
        (domain, other): (i64, i64),
        condition: &str,
    ) -> Result<Self> {
        let columns = client
            .query_one(
                "SELECT string_agg(column_name, ', ' ORDER BY ordinal_position)
                 FROM information_schema.columns WHERE table_name = $1
                 AND table_schema = 'public' AND column_name <> 'domain_id' AND is_identity = 'NO'",
                &[&table],
            )
            .await?;
        let columns: String = columns.get(0);
        let read = format!(
            "COPY (SELECT {other}::bigint, {columns} FROM {table}
             WHERE domain_id = {domain} AND {condition}) TO STDOUT (FORMAT binary)"
        );
        let pieces: Vec<_> = client.copy_out(&read).await?.try_collect().await?;
        Ok(Self {
            into: format!("COPY {table} (domain_id, {columns}) FROM STDIN (FORMAT binary)"),
            bytes: pieces.concat().into(),
        })
    }

    /// The length of all rows in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Inserts the rows.
    pub(super) async fn write(&self, client: &Client) -> Result<u64> {
        let mut sink = pin!(client.copy_in(&self.into).await?);
        let mut rest = self.bytes.clone();
        while !rest.is_empty() {
            sink.send(rest.split_to(PIECE.min(rest.len()))).await?;
        }
        Ok(sink.finish().await?)
    }
}

/// Processor seconds of a process and of the children that it has waited for.
pub(crate) fn seconds_of(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The fields after the name, which may contain anything: state and parent, then numbers.
    let (_, rest) = stat.rsplit_once(')').context("no process name")?;
    let ticks: Vec<usize> =
        rest.split_whitespace().skip(11).take(4).map(str::parse).collect::<Result<_, _>>()?;
    Ok(real(ticks.iter().sum()) / TICKS_PER_SECOND)
}

/// Processor seconds of all current processes of the database, which must run on this machine.
pub(crate) async fn seconds(client: &Client) -> Result<f64> {
    let backend = client.query_one("SELECT pg_backend_pid()", &[]).await?.get::<_, i32>(0);
    let parent = parent(backend.unsigned_abs())?;
    let mut seconds = seconds_of(parent)?;
    for entry in std::fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that has just ended counts among those that its parent waited for.
        if self::parent(pid).is_ok_and(|of| of == parent) {
            seconds += seconds_of(pid).unwrap_or_default();
        }
    }
    Ok(seconds)
}

fn parent(pid: u32) -> Result<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').context("no process name")?;
    Ok(rest.split_whitespace().nth(1).context("no parent")?.parse()?)
}

/// Durable commits per second over so many connections, each updating a row of its own: an upper
/// limit for everything that commits each time.
pub(super) async fn commits(url: &str, connections: usize, time: Duration) -> Result<f64> {
    let client = connect(url).await?;
    client
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS bench_commits (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
        )
        .await?;
    let mut running = Vec::new();
    for id in 0..connections as i64 {
        let client = connect(url).await?;
        client
            .execute("INSERT INTO bench_commits VALUES ($1, 0) ON CONFLICT DO NOTHING", &[&id])
            .await?;
        let update = client.prepare("UPDATE bench_commits SET n = n + 1 WHERE id = $1").await?;
        running.push(tokio::spawn(async move {
            let (begun, mut commits) = (Instant::now(), 0);
            while begun.elapsed() < time {
                client.execute(&update, &[&id]).await?;
                commits += 1;
            }
            anyhow::Ok(commits)
        }));
    }
    let mut commits = 0;
    for running in running {
        commits += running.await??;
    }
    ensure!(commits > 0, "nothing was committed");
    client.batch_execute("DROP TABLE bench_commits").await?;
    Ok(real(commits) / time.as_secs_f64())
}
