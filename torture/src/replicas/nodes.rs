//! The cluster under attack: two workers at the end of relays, so that the network between them and
//! the coordinator can be cut. This module makes the cluster, stops and starts a worker, has a
//! standby take its place, stops a commit between two nodes, moves shards and isolates a domain.
//! The ports of the workers are in `TEST_WORKERS`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bench::relay::Relay;
use caseload_store::OpenMode;
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_postgres::Client;
use url::Url;

use super::postgres::{NAME, connect, pg_ctl, pg_ctl_in, start_standby};
use crate::laws::DOMAINS;
use crate::shim;

/// How a shard is moved: without writes in the meantime, or by logical replication.
const MOVES: [&str; 2] = ["block_writes", "force_logical"];
/// How often a move is tried: it may wait too long for a lock, or a node may be away.
const TRIES: u32 = 5;

/// The file next to the files of a server while its disk is full.
const FULL: &str = "full";

/// Time limit for a commit over two nodes to come by.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Worker {
    place: Mutex<Place>,
}

/// Where a worker is; another place once a standby has taken over.
#[derive(Clone)]
struct Place {
    folder: PathBuf,
    port: u16,
    relay: Arc<Relay>,
}

/// Makes a cluster of the database at `url`, with a distributed store; no workers if the database
/// is a plain one.
pub(super) async fn join(url: &Url, admin: &Client) -> Result<Vec<Worker>> {
    let ports = std::env::var("TEST_WORKERS").unwrap_or_default();
    let mut workers = Vec::new();
    for port in ports.split_whitespace() {
        let port: u16 = port.parse()?;
        let mut there = url.clone();
        there.set_port(Some(port)).ok().context("an address without a port")?;
        there.set_path("postgres");
        let maintenance = connect(there.as_str()).await?;
        let folder: String = maintenance.query_one("SHOW data_directory", &[]).await?.get(0);
        maintenance.batch_execute(&format!("CREATE DATABASE {NAME}")).await?;
        there.set_path(NAME);
        connect(there.as_str()).await?.batch_execute("CREATE EXTENSION citus").await?;
        let relay = Arc::new(Relay::to(port).await?);
        workers.push(Worker { place: Mutex::new(Place { folder: folder.into(), port, relay }) });
    }
    if workers.is_empty() {
        return Ok(workers);
    }
    for (setting, value) in [("node_connection_timeout", "'2s'"), ("recover_2pc_interval", "'1s'")]
    {
        admin.batch_execute(&format!("ALTER SYSTEM SET citus.{setting} = {value}")).await?;
    }
    admin.batch_execute("SELECT pg_reload_conf()").await?;
    let client = connect(url.as_str()).await?;
    client.batch_execute("CREATE EXTENSION citus").await?;
    let port = url.port().unwrap_or(5432);
    let host = format!("SELECT citus_set_coordinator_host('127.0.0.1', {port})");
    client.batch_execute(&host).await?;
    for worker in &workers {
        let add = format!("SELECT citus_add_node('127.0.0.1', {})", worker.place().relay.port);
        client.batch_execute(&add).await?;
    }
    let location = url.as_str().parse()?;
    caseload_location::open(&location, OpenMode::Create).await?.close().await?;
    caseload_location::distribute(&location, false).await?;
    Ok(workers)
}

impl Worker {
    fn place(&self) -> Place {
        self.place.lock().clone()
    }

    /// Stops the server without a checkpoint, and starts it again after a while.
    pub(super) async fn crash(&self, bin: &Path, away: Duration) -> Result<()> {
        let folder = self.place().folder;
        pg_ctl(bin, &folder, &["stop", "--mode", "immediate"]).await?;
        sleep(away).await;
        pg_ctl(bin, &folder, &["start"]).await
    }

    /// Cuts the network to the coordinator, for a while.
    pub(super) async fn cut_off(&self, away: Duration) {
        let relay = self.place().relay;
        relay.block(true);
        sleep(away).await;
        relay.cut();
        relay.block(false);
    }

    /// The port at which the coordinator finds it.
    pub(super) fn port(&self) -> i32 {
        self.place().relay.port.into()
    }

    /// Starts the server again with a disk that can be full.
    pub(super) async fn restart_on_a_small_disk(&self, bin: &Path) -> Result<()> {
        let folder = self.place().folder;
        let shim = folder.with_extension("disk.so");
        shim::build("disk.c", &shim)?;
        let environment = [("LD_PRELOAD", shim), ("FULL_DISK", folder.with_extension(FULL))];
        pg_ctl_in(bin, &folder, &["restart", "--mode", "fast"], &environment).await
    }

    /// Fills the disk, or makes room.
    pub(super) fn fill_disk(&self, full: bool) -> Result<()> {
        let file = self.place().folder.with_extension(FULL);
        if full {
            std::fs::write(file, "")?;
        } else {
            std::fs::remove_file(file)?;
        }
        Ok(())
    }

    /// Starts the server if it has crashed.
    pub(super) async fn revive(&self, bin: &Path) -> Result<()> {
        let folder = self.place().folder;
        if pg_ctl(bin, &folder, &["status"]).await.is_err() {
            pg_ctl(bin, &folder, &["start"]).await?;
        }
        Ok(())
    }

    /// Makes a standby that has every commit, crashes the server and has the standby take its place
    /// after a while, under another address.
    pub(super) async fn fail_over(&self, url: &str, bin: &Path, away: Duration) -> Result<()> {
        let old = self.place();
        let mut there = Url::parse(url)?;
        there.set_port(Some(old.port)).ok().context("an address without a port")?;
        let (folder, port) = start_standby(bin, there.as_str(), &old.folder).await?;
        pg_ctl(bin, &old.folder, &["stop", "--mode", "immediate"]).await?;
        sleep(away).await;
        pg_ctl(bin, &folder, &["promote"]).await?;
        let relay = Arc::new(Relay::to(port).await?);
        let update = format!(
            "SELECT citus_update_node(nodeid, '127.0.0.1', {}, true, 1000) FROM pg_dist_node
             WHERE nodeport = {}",
            relay.port, old.relay.port
        );
        insist(&connect(url).await?, &update).await?;
        old.relay.cut();
        *self.place.lock() = Place { folder, port, relay };
        Ok(())
    }

    /// Restarts the coordinator after its commit and before that of this worker; returns `false` if
    /// no such commit came by.
    pub(super) async fn stop_between_commits(
        &self,
        restart: impl Future<Output = Result<()>>,
        away: Duration,
    ) -> Result<bool> {
        let relay = self.place().relay;
        relay.block_at("COMMIT PREPARED");
        let found = tokio::time::timeout(PATIENCE, relay.blocked()).await.is_ok();
        if found {
            sleep(away).await;
            restart.await?;
            relay.cut();
        }
        relay.block(false);
        Ok(found)
    }
}

/// Moves a domain to the other worker.
pub(super) async fn move_domain(client: &Client, domain: usize, how: usize) -> Result<()> {
    let (shard, from, to) = place_of(client, domain).await?;
    let how = MOVES[how % MOVES.len()];
    let step = format!(
        "SELECT citus_move_shard_placement({shard}, '127.0.0.1', {from}, '127.0.0.1', {to}, \
         '{how}')"
    );
    insist(client, &step).await
}

/// Moves one of the two domains to the other worker if they are on the same one.
pub(super) async fn set_apart(client: &Client) -> Result<()> {
    if place_of(client, 0).await?.1 == place_of(client, 1).await?.1 {
        move_domain(client, 1, 0).await?;
    }
    let apart = place_of(client, 0).await?.1 != place_of(client, 1).await?.1;
    ensure!(apart, "the domains are on one worker");
    Ok(())
}

/// Gives a domain a shard of its own, once.
pub(super) async fn isolate(client: &Client, domain: usize) -> Result<()> {
    let id = id_of(client, domain).await?;
    let step = format!(
        "SELECT isolate_tenant_to_new_shard('domain_clocks', {id}, 'CASCADE', \
         shard_transfer_mode => 'block_writes')"
    );
    let alone = "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'domain_clocks'::regclass
         AND shardid = get_shard_id_for_distribution_column('domain_clocks', $1::bigint)
         AND shardminvalue = shardmaxvalue";
    if client.query_one(alone, &[&id]).await?.get::<_, i64>(0) == 1 {
        return move_domain(client, domain, 0).await;
    }
    insist(client, &step).await
}

async fn insist(client: &Client, step: &str) -> Result<()> {
    let mut done = client.batch_execute(step).await;
    for _ in 1..TRIES {
        if done.is_ok() {
            break;
        }
        sleep(Duration::from_secs(1)).await;
        done = client.batch_execute(step).await;
    }
    done.with_context(|| step.to_owned())
}

pub(super) async fn id_of(client: &Client, domain: usize) -> Result<i64> {
    let select = "SELECT id FROM domains WHERE name = $1";
    Ok(client.query_one(select, &[&DOMAINS[domain]]).await?.get(0))
}

/// The port at which the coordinator finds the worker of a domain.
pub(super) async fn port_of(client: &Client, domain: usize) -> Result<i32> {
    Ok(place_of(client, domain).await?.1)
}

/// The shard of a domain, the port of its worker and that of the other one.
async fn place_of(client: &Client, domain: usize) -> Result<(i64, i32, i32)> {
    let id = id_of(client, domain).await?;
    let select = "SELECT p.shardid, n.nodeport,
         (SELECT o.nodeport FROM pg_dist_node o WHERE o.groupid NOT IN (0, n.groupid))
         FROM pg_dist_placement p JOIN pg_dist_node n ON n.groupid = p.groupid
         WHERE p.shardid = get_shard_id_for_distribution_column('domain_clocks', $1::bigint)";
    let row = client.query_one(select, &[&id]).await?;
    Ok((row.get(0), row.get(1), row.get(2)))
}
