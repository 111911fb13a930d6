//! Distribution of a store over several database servers: the extension Citus stores the rows of
//! each domain on one of its worker nodes. This module refuses a cluster in which a store could not
//! work, and verifies the result. It never adds nodes or moves shards: that is done with the
//! extension's own functions.

use tokio_postgres::{Client, Error};

use crate::address::PostgresAddress;
use crate::engine::{
    Engine, FIRST, LAYOUT, Placement, TablePlacement, examine, extension, place_tables, placements,
    refused, store_error,
};
use crate::sessions::refuse_servers;
use caseload_store::StoreError;

/// The nodes of a store, and the placement of its tables.
#[derive(Debug)]
pub struct Distribution {
    /// The version of the extension.
    pub extension: String,
    /// The address of each worker, and how many shards of each table it has.
    pub workers: Vec<(String, u64)>,
    pub tables: Vec<TablePlacement>,
}

/// Distributes the tables of a store over the nodes of its cluster, and verifies their placement
/// afterwards. Nothing is changed with `only_show`, and nothing is done twice.
pub async fn distribute(
    address: &PostgresAddress,
    only_show: bool,
) -> Result<Distribution, StoreError> {
    let (client, driver) = Engine::connect_alone(address, false).await?;
    let distribution = place(&client, address, only_show).await;
    drop(client);
    driver.await.ok();
    distribution
}

async fn place(
    client: &Client,
    address: &PostgresAddress,
    only_show: bool,
) -> Result<Distribution, StoreError> {
    examine(client, address, false).await?;
    let extension = cluster(client).await?;
    let before = placements(client).await?;
    let tables = LAYOUT.iter().map(|&(table, wanted)| TablePlacement {
        table,
        before: before.get(table).copied().unwrap_or(Placement::Unknown),
        wanted,
    });
    let tables: Vec<_> = tables.collect();
    if !only_show {
        refuse_servers(client, address, |reason| refused(reason, None)).await?;
        place_tables(client, &tables).await?;
        verify(client).await?;
    }
    let workers = shards(client).await.map_err(store_error)?;
    Ok(Distribution { extension, workers, tables })
}

/// The version of the extension; refuses a cluster that cannot have a store.
async fn cluster(client: &Client) -> Result<String, StoreError> {
    let Some(version) = extension(client).await? else {
        return Err(refused(
            "the database does not have the extension Citus",
            "install it on each database server, and run `CREATE EXTENSION citus` in the database \
             of each as a superuser",
        ));
    };
    let questions = "SELECT EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0),
         (SELECT count(*) FROM pg_dist_node WHERE groupid <> 0 AND noderole = 'primary'
          AND isactive AND shouldhaveshards)";
    let facts = client.query_one(questions, &[]).await.map_err(store_error)?;
    if !facts.get::<_, bool>(0) {
        return Err(refused(
            "the coordinator is not a node of the cluster yet",
            "SELECT citus_set_coordinator_host('NAME OF THIS SERVER')",
        ));
    }
    if facts.get::<_, i64>(1) == 0 {
        return Err(refused(
            "the cluster has no worker",
            "SELECT citus_add_node('NAME OF A SERVER', 5432)",
        ));
    }
    let settings = "SELECT nodename || ':' || nodeport, success, result
         FROM run_command_on_workers('SHOW max_prepared_transactions')";
    for worker in client.query(settings, &[]).await.map_err(store_error)? {
        let (name, asked, result): (String, bool, String) =
            (worker.get(0), worker.get(1), worker.get(2));
        if !asked {
            return Err(refused(format!("the worker {name} does not answer: {result}"), None));
        }
        if result == "0" {
            return Err(refused(
                format!("the worker {name} allows no prepared transactions"),
                "set max_prepared_transactions, at least 16 for each server of caseload",
            ));
        }
    }
    Ok(version)
}

/// Fails unless each table is in its place, and each of its shards on a node.
async fn verify(client: &Client) -> Result<(), StoreError> {
    let now = placements(client).await?;
    for (table, wanted) in LAYOUT {
        let is = now.get(*table).copied().unwrap_or(Placement::Unknown);
        if is != *wanted {
            return Err(refused(format!("the table {table} is {is} and not {wanted}"), None));
        }
    }
    let lost = "SELECT count(*) FROM pg_dist_shard s WHERE NOT EXISTS
         (SELECT FROM pg_dist_placement p JOIN pg_dist_node n ON n.groupid = p.groupid
          AND n.noderole = 'primary' AND n.isactive WHERE p.shardid = s.shardid)";
    let lost: i64 = client.query_one(lost, &[]).await.map_err(store_error)?.get(0);
    if lost > 0 {
        return Err(refused(format!("{lost} shards are on no active node"), None));
    }
    Ok(())
}

/// The workers, and how many shards of each table they have.
async fn shards(client: &Client) -> Result<Vec<(String, u64)>, Error> {
    let select = "SELECT n.nodename || ':' || n.nodeport, count(s.shardid) FROM pg_dist_node n
         LEFT JOIN pg_dist_placement p ON p.groupid = n.groupid
         LEFT JOIN pg_dist_shard s ON s.shardid = p.shardid AND s.logicalrelid = to_regclass($1)
         WHERE n.noderole = 'primary' AND n.isactive AND n.shouldhaveshards
         GROUP BY n.nodename, n.nodeport ORDER BY n.nodename, n.nodeport";
    let rows = client.query(select, &[&FIRST]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1).unsigned_abs())).collect())
}
