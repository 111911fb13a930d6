//! The cluster of the tests: a coordinator, at `TEST_DATABASE_URL`, and the workers whose ports
//! `TEST_WORKERS` has. `scripts/with-postgres --distributed` starts it. A distributed database is
//! on all nodes, has the tables of a store, and belongs to an ordinary role.

use caseload_location::{StoreLocation, distribute};
use caseload_store::OpenMode;
use tokio_postgres::Client;

use crate::server::{self, connect};

/// The variable with the ports of the workers.
const VARIABLE: &str = "TEST_WORKERS";
/// The owner of a distributed database.
const ROLE: &str = "caseload";
const EXTENSION: &str = "CREATE EXTENSION citus";

/// The ports of the workers; none if the tests run on one database server.
pub fn ports() -> Vec<u16> {
    let ports = std::env::var(VARIABLE).unwrap_or_default();
    ports.split_whitespace().map(|port| port.parse().expect("a port")).collect()
}

/// Whether the databases of tests are distributed.
pub fn is_distributed() -> bool {
    !ports().is_empty()
}

/// The address of a distributed database for a store.
pub fn url_of(database: &str) -> String {
    let url = server::url_of(database);
    if !is_distributed() {
        return url;
    }
    let (scheme, rest) = url.split_once("://").expect("an address");
    let (_, rest) = rest.split_once(':').expect("an address with a user and a password");
    format!("{scheme}://{ROLE}:{rest}")
}

/// The addresses of the databases of this name on the workers, for an administrator.
fn on_workers(database: &str) -> Vec<(u16, String)> {
    let url = server::url_of(database);
    let (before, path) = url.rsplit_once('/').expect("an address with a path");
    let (host, _) = before.rsplit_once(':').expect("an address with a port");
    ports().into_iter().map(|port| (port, format!("{host}:{port}/{path}"))).collect()
}

/// Makes a distributed store of an empty database, if the tests run on a cluster.
pub async fn distribute_store(database: &str) {
    if is_distributed() {
        join_nodes(database).await;
        let location: StoreLocation = url_of(database).parse().expect("an address");
        let store = caseload_location::open(&location, OpenMode::Create).await;
        store.expect("a store is made").close().await.expect("it is closed");
        distribute(&location, false).await.expect("it is distributed");
    }
}

/// Makes a cluster of an empty database, without tables.
pub async fn join_nodes(database: &str) {
    // Nodes that join at the same time would disturb each other.
    let turn = connect(&server::url()).await;
    run(&turn, "SELECT pg_advisory_lock(1)").await;
    let coordinator = server::url_of(database);
    for (_, maintenance) in on_workers("postgres") {
        let maintenance = connect(&maintenance).await;
        run(&maintenance, &format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)")).await;
        run(&maintenance, &format!("CREATE DATABASE {database}")).await;
    }
    let owner = format!("ALTER DATABASE {database} OWNER TO {ROLE}");
    let workers = on_workers(database);
    for url in workers.iter().map(|(_, url)| url).chain([&coordinator]) {
        let node = connect(url).await;
        run(&node, &owner).await;
        run(&node, EXTENSION).await;
    }
    let client = connect(&coordinator).await;
    let port = coordinator.rsplit(':').next().and_then(|rest| rest.split('/').next());
    let port = port.expect("an address with a port");
    run(&client, &format!("SELECT citus_set_coordinator_host('127.0.0.1', {port})")).await;
    for (port, _) in &workers {
        run(&client, &format!("SELECT citus_add_node('127.0.0.1', {port})")).await;
    }
}

/// Has the coordinator look for a worker at another port, in one database: at an unused port the
/// worker is away.
pub async fn move_worker(database: &str, from: u16, to: u16) {
    let coordinator = connect(&server::url_of(database)).await;
    let update = format!("UPDATE pg_dist_node SET nodeport = {to} WHERE nodeport = {from}");
    run(&coordinator, &update).await;
}

/// Drops the databases of this name on the workers. That on the coordinator goes first: it has
/// sessions on the workers.
pub async fn drop_on_workers(database: &str, limit: &str) -> Result<(), String> {
    for (_, maintenance) in on_workers("postgres") {
        let client = server::connected(&maintenance).await?;
        for statement in [limit, &format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)")] {
            client.batch_execute(statement).await.map_err(|error| format!("{error:?}"))?;
        }
    }
    Ok(())
}

async fn run(client: &Client, statement: &str) {
    let done = client.batch_execute(statement).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
}
