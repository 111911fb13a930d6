//! The PostgreSQL under attack: a database of its own in a cluster that keeps what it acknowledged
//! (fsync on), seen past all wires. It restarts the cluster, ends sessions, and reads leases and
//! counts directly. Nothing here is asked of the servers.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio_postgres::{Client, NoTls};
use url::Url;

/// The name of the database that the servers share.
const NAME: &str = "attacked";
/// What sessions of servers are called, with the server's number.
const SERVER: &str = "server-";
/// Who is in the middle of a chunk: it holds the lock of the task's lease for as long as that
/// takes.
const AT_WORK: &str = "FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
     WHERE l.relation = 'task_queue'::regclass AND l.mode = 'RowShareLock'
     AND a.xact_start < clock_timestamp() - interval '20 ms' LIMIT 1";
/// Time for a cluster to take connections again.
const START_MAX: Duration = Duration::from_mins(2);

pub(super) struct Database {
    /// The address of the shared database.
    url: Url,
    bin: PathBuf,
    folder: PathBuf,
}

/// A task's lease: its epoch, and the next entry.
pub(super) type Leases = HashMap<Vec<u8>, (i64, i32)>;

impl Database {
    /// A new database in the cluster at `admin`, whose programs are in `bin`.
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
        Ok(Self { url, bin, folder: folder.into() })
    }

    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Where it listens.
    pub(super) fn port(&self) -> u16 {
        self.url.port().unwrap_or(5432)
    }

    /// The address of the same database by way of a wire, for a server that sessions are known by.
    pub(super) fn by_way_of(&self, port: u16, server: usize) -> Result<String> {
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair("application_name", &format!("{SERVER}{server}"));
        url.set_host(Some("127.0.0.1"))?;
        url.set_port(Some(port)).ok().context("an address without a port")?;
        Ok(url.into())
    }

    /// Stops the cluster in a mode of `pg_ctl` and starts it again.
    pub(super) async fn restart(&self, mode: &str) -> Result<()> {
        let mut command = self.program("pg_ctl")?;
        let data = format!("--pgdata={}", self.folder.display());
        let log = format!("--log={}", self.folder.with_file_name("server.log").display());
        command.args(["restart", "--wait", "--silent", "--mode", mode, &data, &log]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = tokio::task::spawn_blocking(move || command.status()).await??;
        ensure!(status.success(), "pg_ctl restart --mode {mode} failed");
        let begun = Instant::now();
        while self.client().await.is_err() {
            ensure!(begun.elapsed() < START_MAX, "the database does not come back");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// The program as the user whom the cluster belongs to.
    fn program(&self, name: &str) -> Result<Command> {
        let program = self.bin.join(name);
        let owner = std::fs::metadata(&self.folder)?.uid();
        if owner == std::fs::metadata("/proc/self")?.uid() {
            return Ok(Command::new(program));
        }
        let mut command = Command::new("setpriv");
        let owner = owner.to_string();
        command.args(["--reuid", &owner, "--clear-groups", "--"]).arg(program);
        Ok(command)
    }

    /// Ends the session that is in the middle of a chunk; `false` where none was found in time.
    pub(super) async fn end_a_chunk(&self, patience: Duration) -> Result<bool> {
        let end = format!("SELECT pg_terminate_backend(a.pid), a.application_name {AT_WORK}");
        Ok(self.at_work(&end, patience).await?.is_some())
    }

    /// The server that is in the middle of a chunk; none where none was found in time.
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

    /// The leases that hold now.
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

    /// The core profiles of a domain.
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

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
