//! The PostgreSQL under attack: a database in a cluster with fsync on, accessed directly and not
//! through the wires. This module restarts the cluster, has a standby take its place, ends
//! sessions, and reads leases and counts without asking a server.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use tokio_postgres::Client;
use url::Url;

use super::nodes::{self, Worker};
use super::postgres::{NAME, connect, pg_ctl, set_port, start_standby};

/// Prefix of the application name of a server's sessions; the number of the server follows.
const SERVER: &str = "server-";
/// Selects a session in the middle of a chunk: it holds the lock of the task's lease during the
/// chunk.
const AT_WORK: &str = "FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
     WHERE l.relation = 'task_queue'::regclass AND l.mode = 'RowShareLock'
     AND a.xact_start < clock_timestamp() - interval '20 ms' LIMIT 1";
/// Time limit for the cluster to accept connections after a restart.
const START_MAX: Duration = Duration::from_mins(2);

pub(super) struct Database {
    /// The address of the shared database.
    url: Url,
    pub(super) bin: PathBuf,
    /// The folder of its files; another one once a standby has taken over.
    folder: Mutex<PathBuf>,
    /// The workers, if it is a cluster.
    pub(super) workers: Vec<Worker>,
}

/// The epoch of each task's lease, and the next entry.
pub(super) type Leases = HashMap<Vec<u8>, (i64, i32)>;

impl Database {
    /// Creates a database in the cluster at `admin`, whose programs are in `bin`.
    pub(super) async fn new(admin: &str, bin: PathBuf) -> Result<Self> {
        let client = connect(admin).await?;
        let folder: String = client.query_one("SHOW data_directory", &[]).await?.get(0);
        for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
            let value: String = client.query_one(&format!("SHOW {setting}"), &[]).await?.get(0);
            ensure!(
                value == "on",
                "{setting} of the database is {value}: restarts would lose data"
            );
        }
        client.batch_execute(&format!("CREATE DATABASE {NAME}")).await?;
        let mut url = Url::parse(admin)?;
        url.set_path(NAME);
        let workers = nodes::join(&url, &client).await?;
        Ok(Self { url, bin, folder: Mutex::new(folder.into()), workers })
    }

    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The port of the database.
    pub(super) fn port(&self) -> u16 {
        self.url.port().unwrap_or(5432)
    }

    /// The address of the database through a wire, with an application name for the sessions of the
    /// server.
    pub(super) fn by_way_of(&self, port: u16, server: usize) -> Result<String> {
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair("application_name", &format!("{SERVER}{server}"));
        url.set_host(Some("127.0.0.1"))?;
        url.set_port(Some(port)).ok().context("an address without a port")?;
        Ok(url.into())
    }

    /// Stops the cluster in a mode of `pg_ctl` and starts it again.
    pub(super) async fn restart(&self, mode: &str) -> Result<()> {
        let folder = self.folder.lock().clone();
        pg_ctl(&self.bin, &folder, &["restart", "--mode", mode]).await?;
        self.accept_connections().await
    }

    /// Makes a standby that has every commit, crashes the cluster and has the standby take its
    /// place after a while, under the same address.
    pub(super) async fn fail_over(&self, away: Duration) -> Result<()> {
        let old = self.folder.lock().clone();
        let (folder, _) = start_standby(&self.bin, self.url(), &old).await?;
        pg_ctl(&self.bin, &old, &["stop", "--mode", "immediate"]).await?;
        tokio::time::sleep(away).await;
        set_port(&folder, self.port())?;
        pg_ctl(&self.bin, &folder, &["restart"]).await?;
        pg_ctl(&self.bin, &folder, &["promote"]).await?;
        *self.folder.lock() = folder;
        self.accept_connections().await
    }

    async fn accept_connections(&self) -> Result<()> {
        let begun = Instant::now();
        while self.client().await.is_err() {
            ensure!(begun.elapsed() < START_MAX, "the database does not accept connections again");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Ends a session in the middle of a chunk; returns `false` if there was none in time.
    pub(super) async fn end_a_chunk(&self, patience: Duration) -> Result<bool> {
        let end = format!("SELECT pg_terminate_backend(a.pid), a.application_name {AT_WORK}");
        Ok(self.at_work(&end, patience).await?.is_some())
    }

    /// The server that is in the middle of a chunk, if there is one in time.
    pub(super) async fn worker(&self, patience: Duration) -> Result<Option<usize>> {
        let look = format!("SELECT true, a.application_name {AT_WORK}");
        let name = self.at_work(&look, patience).await?;
        Ok(name.and_then(|name| name.strip_prefix(SERVER)?.parse().ok()))
    }

    async fn at_work(&self, query: &str, patience: Duration) -> Result<Option<String>> {
        let client = self.client().await?;
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if let Some(row) = client.query_opt(query, &[]).await? {
                return Ok(Some(row.get(1)));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(None)
    }

    /// The current leases.
    pub(super) async fn leases(&self, client: &Client) -> Result<Leases> {
        let rows = client
            .query(
                "SELECT q.task_id, q.lease_epoch, t.next_index, q.lease_server IS NOT NULL
                 FROM task_queue q JOIN tasks t ON t.domain_id = q.domain_id AND t.id = q.task_id",
                &[],
            )
            .await?;
        let leased = rows.iter().filter(|row| row.get(3));
        Ok(leased.map(|row| (row.get(0), (row.get(1), row.get(2)))).collect())
    }

    /// The number of core profiles of a domain.
    pub(super) async fn profiles(&self, domain: &str) -> Result<usize> {
        let row = self
            .client()
            .await?
            .query_one(
                "SELECT count(*) FROM core_profiles p JOIN domains d ON d.id = p.domain_id
                 WHERE d.name = $1",
                &[&domain],
            )
            .await?;
        Ok(row.get::<_, i64>(0) as usize)
    }

    pub(super) async fn client(&self) -> Result<Client> {
        connect(self.url()).await
    }
}
