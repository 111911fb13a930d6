//! The watch of a server over the nodes of a cluster: a background task that logs their outages.
//! Once a command has met a node that does not answer, the watch asks all nodes every few seconds.
//! It logs a line with the domains of the node if that fails, one a minute while it does, and one
//! when all nodes answer. A node that answers at once was away for a moment, and nothing is logged.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_store::{OutageLine, OutageLog, StoreError};
use tokio::sync::watch;

use crate::background::Background;
use crate::domains::ids_and_names;
use crate::engine::{Client, Engine, LostNode, Nodes};

/// Time between two questions to all nodes.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// Time limit of a question.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How many domains of a node a line names.
const NAMED_MAX: usize = 5;

/// Watches until it is dropped. Nothing is to be watched on one database server.
pub(crate) fn start(engine: &Arc<Engine>) -> Option<Background> {
    let watch = Watch { engine: engine.clone(), lost: engine.lost_nodes() };
    (engine.nodes() == Nodes::Many).then(|| Background::start(watch.run()))
}

struct Watch {
    engine: Arc<Engine>,
    lost: watch::Receiver<LostNode>,
}

impl Watch {
    async fn run(mut self) {
        while self.lost.changed().await.is_ok() {
            self.follow().await;
        }
    }

    /// Asks all nodes until they answer.
    async fn follow(&mut self) {
        let mut log = OutageLog::default();
        let mut away = BTreeSet::new();
        loop {
            match self.ask().await {
                Ok(()) => break,
                Err(StoreError::NodeAway { .. } | StoreError::DeadlinePassed) => {
                    let lost = self.lost.borrow_and_update().clone();
                    let line = log.fails(Instant::now());
                    if away.insert(lost.node.clone()) {
                        self.log_beginning(&lost).await;
                    } else if let Some(OutageLine::Lasts(time)) = line {
                        let (LostNode { node, fault }, seconds) = (lost, time.as_secs());
                        tracing::error!(
                            node,
                            fault,
                            seconds,
                            "a node of the cluster is still away"
                        );
                    }
                }
                // The loss of the coordinator is logged as that of the whole store.
                Err(_) => {}
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
        self.lost.mark_unchanged();
        if let Some(lasted) = log.ends(Instant::now()) {
            let (nodes, seconds) = (Vec::from_iter(away).join(", "), lasted.as_secs());
            // At the level of an outage of the whole store, so that a reader sees both.
            tracing::warn!(nodes, seconds, "all nodes of the cluster answer again");
        }
    }

    /// Asks all nodes: each has rows of the table.
    async fn ask(&self) -> Result<(), StoreError> {
        let asked = self.engine.read(Some(ANSWER_MAX.into()), (), |client, ()| {
            Box::pin(async {
                client.row("SELECT count(*) FROM domain_clocks", &[]).await.map(drop)
            })
        });
        asked.await
    }

    async fn log_beginning(&self, lost: &LostNode) {
        let LostNode { node, fault } = lost;
        let command = node.clone();
        let names =
            self.engine.read(None, command, |client, node| Box::pin(domains_of(client, node)));
        let domains = names.await.map_or_else(|_| "unknown".to_owned(), |names| few(&names));
        tracing::error!(
            node,
            domains,
            fault,
            "a node of the cluster is away: requests and tasks of its domains wait"
        );
    }
}

/// The first names, and how many others there are.
fn few(names: &[String]) -> String {
    let first = names.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The names of the domains that are on the node at this address.
async fn domains_of(client: &Client, node: &str) -> Result<Vec<String>, StoreError> {
    let all = ids_and_names(client).await?;
    let ids: Vec<i64> = all.iter().map(|(id, _)| *id).collect();
    let select = "SELECT d.id FROM unnest($2::bigint[]) d (id) JOIN pg_dist_placement p
         ON p.shardid = get_shard_id_for_distribution_column('domain_clocks', d.id)
         JOIN pg_dist_node n ON n.groupid = p.groupid
         WHERE n.nodename || ':' || n.nodeport = $1";
    let there: BTreeSet<i64> =
        client.rows(select, &[&node, &ids]).await?.iter().map(|row| row.get(0)).collect();
    Ok(all.into_iter().filter(|(id, _)| there.contains(id)).map(|(_, name)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_few_domains() {
        let names = |count| -> Vec<String> { (0..count).map(|n| format!("d{n}")).collect() };
        for (count, shown) in
            [(0, ""), (1, "d0"), (5, "d0, d1, d2, d3, d4"), (7, "d0, d1, d2, d3, d4 and 2 more")]
        {
            assert_eq!(few(&names(count)), shown);
        }
    }
}
