//! The database of a measurement: on one server, or on a coordinator and workers. The relays in
//! front of its servers are used only while bytes are counted.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bench::relay::{Passed, Relay};
use bench::server::Store;
use caseload_location::{StoreLocation, distribute, open};
use caseload_store::OpenMode;
use caseload_teststore::{Database, nodes};
use tokio_postgres::Client;
use url::Url;

use crate::figures::real;
use crate::postgres::database::{connect, seconds};

/// Time limit to configure the nodes.
const SETTING_MAX: Duration = Duration::from_secs(30);
/// Time limit for the work in the background, and the texts of a domain that may wait for more.
const QUIET_MAX: Duration = Duration::from_mins(1);
const MARKS_MAX: usize = 1_024;
/// Domains that are made. Of these as many on each node are used.
const DOMAINS_MADE: usize = 24;
/// Domains that are used.
pub(super) const DOMAINS: usize = 4;

pub(super) struct Layout {
    pub(super) name: String,
    pub(super) store: Store,
    /// Names and keys.
    pub(super) domains: Vec<(String, String)>,
    /// The first is the server of the database or the coordinator.
    servers: Vec<Server>,
    pub(super) url: String,
    database: Database,
}

/// A server of the database.
struct Server {
    port: u16,
    relay: Relay,
    /// A session in it, to read its times.
    session: Client,
}

impl Layout {
    /// A store on one server, or on so many workers.
    pub(super) async fn new(workers: usize) -> Result<Self> {
        let database = Database::empty();
        let mut url = database.url().to_owned();
        let mut servers = vec![Server::at(&url, None).await?];
        if workers > 0 {
            nodes::join_nodes(database.name()).await;
            let (ports, begun) = (nodes::ports(), Instant::now());
            for (n, port) in ports.iter().copied().enumerate() {
                let used = n < workers;
                let property = format!(
                    "SELECT citus_set_node_property('127.0.0.1', {port}, 'shouldhaveshards', \
                     {used})"
                );
                // The engine's own daemon may be in the way.
                while let Err(fault) = servers[0].session.batch_execute(&property).await {
                    ensure!(begun.elapsed() < SETTING_MAX, "{fault}");
                }
                if used {
                    servers.push(Server::at(&url, Some(port)).await?);
                }
            }
            url = nodes::url_of(database.name());
            let location: StoreLocation = url.parse()?;
            open(&location, OpenMode::Create).await?.close().await?;
            distribute(&location, false).await?;
        }
        let name = match workers {
            0 => "one server".to_owned(),
            1 => "1 worker".to_owned(),
            _ => format!("{workers} workers"),
        };
        let store = Store::in_database(&url);
        let mut layout = Self { name, store, domains: Vec::new(), servers, url, database };
        layout.make_domains(workers).await?;
        Ok(layout)
    }

    async fn make_domains(&mut self, workers: usize) -> Result<()> {
        let made = if workers > 1 { DOMAINS_MADE } else { DOMAINS };
        let mut each_node: Vec<Vec<String>> = vec![Vec::new(); self.servers.len()];
        let coordinator = &self.servers[0].session;
        for n in 0..made {
            let name = format!("bench-{n}");
            self.store.run(&["domain", "create", &name])?;
            let mut node = 0;
            if workers > 1 {
                let id: i64 = coordinator
                    .query_one("SELECT id FROM domains WHERE name = $1", &[&name])
                    .await?
                    .get(0);
                let port: i32 = coordinator
                    .query_one(
                        "SELECT n.nodeport FROM pg_dist_placement p
                         JOIN pg_dist_node n ON n.groupid = p.groupid WHERE p.shardid =
                         get_shard_id_for_distribution_column('domain_clocks', $1::bigint)",
                        &[&id],
                    )
                    .await?
                    .get(0);
                let found = self.servers.iter().position(|server| i32::from(server.port) == port);
                node = found.context("a domain on no node")?;
            }
            each_node[node].push(name);
        }
        for n in 0..DOMAINS {
            let node = if workers > 1 { 1 + n % workers } else { 0 };
            let name = each_node[node].pop().context("too few domains on a node")?;
            let key = self.store.run(&["key", "create", "--domain", &name])?;
            self.domains.push((name, key.trim().to_owned()));
        }
        Ok(())
    }

    /// Processor seconds of the database's server or the coordinator, and of all workers.
    pub(super) async fn seconds(&self) -> Result<[f64; 2]> {
        let first = seconds(&self.servers[0].session).await?;
        let mut workers = 0.0;
        for worker in &self.servers[1..] {
            workers += seconds(&worker.session).await?;
        }
        Ok([first, workers])
    }

    /// Waits until the server has nothing to do in the background.
    pub(super) async fn quiet(&self) -> Result<()> {
        let work = format!(
            "SELECT (SELECT count(*) FROM issue_count_deltas)
             + (SELECT count(*) FROM issue_set_deltas)
             + (SELECT count(*) FROM (SELECT domain_id FROM issue_text_marks GROUP BY domain_id
                HAVING sum(last_row - first_row + 1) >= {MARKS_MAX}) m)"
        );
        let begun = Instant::now();
        while self.servers[0].session.query_one(&work, &[]).await?.get::<_, i64>(0) > 0 {
            ensure!(begun.elapsed() < QUIET_MAX, "the work in the background does not end");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Bytes of the database on all servers, with its indexes.
    pub(super) async fn disk(&self) -> Result<f64> {
        let mut bytes = 0;
        for server in &self.servers {
            let size = "SELECT pg_database_size($1::text::name)";
            bytes +=
                server.session.query_one(size, &[&self.database.name()]).await?.get::<_, i64>(0);
        }
        Ok(real(bytes as usize))
    }

    /// The address of the database by way of its relay.
    pub(super) fn url_by_relay(&self) -> Result<String> {
        with_port(&self.url, self.servers[0].relay.port)
    }

    /// Has the coordinator reach its workers through the relays.
    pub(super) async fn use_relays(&self) -> Result<()> {
        for worker in &self.servers[1..] {
            let (from, to) = (i32::from(worker.port), worker.relay.port);
            let update = format!(
                "SELECT citus_update_node(nodeid, '127.0.0.1', {to}) FROM pg_dist_node
                 WHERE nodeport = {from}"
            );
            self.servers[0].session.batch_execute(&update).await?;
        }
        Ok(())
    }

    /// The traffic so far between servers and the database, and among the database's servers.
    pub(super) fn passed(&self) -> [Passed; 2] {
        let sum = |servers: &[Server]| {
            servers.iter().map(|server| server.relay.passed()).fold(Passed::default(), |a, b| {
                Passed { bytes: a.bytes + b.bytes, trips: a.trips + b.trips }
            })
        };
        [sum(&self.servers[..1]), sum(&self.servers[1..])]
    }
}

impl Server {
    async fn at(url: &str, port: Option<u16>) -> Result<Self> {
        let url = port.map_or_else(|| Ok(url.to_owned()), |port| with_port(url, port))?;
        let port = Url::parse(&url)?.port().context("an address without a port")?;
        Ok(Self { port, relay: Relay::to(port).await?, session: connect(&url).await? })
    }
}

fn with_port(url: &str, port: u16) -> Result<String> {
    let mut url = Url::parse(url)?;
    url.set_port(Some(port)).ok().context("an address without a port")?;
    Ok(url.into())
}
