//! Claims on a cluster. Each task is claimed in a transaction of its own, so that a node that is
//! away holds up only the domains that it stores. A server avoids these domains for a while,
//! because each try may last until a connection times out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use caseload_store::tasks::{Choice, Claims, begin, choose};
use caseload_store::{ClaimTasks, OutageLog, StoreError};
use parking_lot::Mutex;

use super::claim::{mark_queued, new_tasks};
use crate::domains::ids_and_names;
use crate::engine::{Client, Engine};

/// How long the domains of a node that did not answer are avoided.
const AVOIDED_FOR: Duration = Duration::from_secs(5);

/// The domains whose tasks could not be claimed.
#[derive(Debug, Default)]
pub(crate) struct DomainsOnHold {
    /// Until when they are avoided.
    until: Mutex<BTreeMap<DomainId, Instant>>,
    /// When faults are logged that are not the outage of a node, which is logged by itself.
    faults: Mutex<OutageLog>,
}

impl DomainsOnHold {
    fn now(&self) -> BTreeSet<DomainId> {
        let mut avoided = self.until.lock();
        avoided.retain(|_, until| *until > Instant::now());
        avoided.keys().copied().collect()
    }

    fn add(&self, domains: impl IntoIterator<Item = DomainId>) {
        let until = Instant::now() + AVOIDED_FOR;
        self.until.lock().extend(domains.into_iter().map(|domain| (domain, until)));
    }

    fn log(&self, domain: DomainId, fault: &StoreError) {
        let is_logged_elsewhere = matches!(fault, StoreError::NodeAway { .. });
        if !is_logged_elsewhere && self.faults.lock().fails(Instant::now()).is_some() {
            tracing::error!(%fault, domain = domain.0, "the tasks of a node cannot be claimed");
        }
    }

    /// Notes a claim that met no fault.
    fn end(&self) {
        if self.now().is_empty() && self.faults.lock().ends(Instant::now()).is_some() {
            tracing::warn!("the tasks of all nodes can be claimed again");
        }
    }
}

/// Leases runnable tasks to a server. If the coordinator stops answering in the middle of it, the
/// server has the tasks that it got until then.
pub(crate) async fn claim_apart(
    engine: &Engine,
    avoided: &DomainsOnHold,
    command: ClaimTasks,
) -> Result<Claims, StoreError> {
    let mut claims = Claims::default();
    match claim_into(&mut claims, engine, avoided, command).await {
        Err(fault) if claims.claimed.is_empty() => Err(fault),
        Err(fault) => {
            tracing::warn!(%fault, "a claim ended early");
            Ok(claims)
        }
        Ok(()) => Ok(claims),
    }
}

async fn claim_into(
    claims: &mut Claims,
    engine: &Engine,
    avoided: &DomainsOnHold,
    command: ClaimTasks,
) -> Result<(), StoreError> {
    let mut command = Arc::new(command);
    loop {
        let choosing = (command.clone(), avoided.now());
        let choice = engine.write(choosing, |client, (command, avoided)| {
            Box::pin(choose(client, command, avoided))
        });
        let Choice { places, leaves_new } = choice.await?;
        let mut failed = false;
        for place in places {
            let beginning = (place.clone(), command.clone());
            let postponed = claims.postponed;
            let begun = engine.write(beginning, move |client, (place, command)| {
                Box::pin(begin(client, place, command, postponed))
            });
            match begun.await {
                Ok(begun) => claims.add(place, begun),
                Err(fault) => {
                    avoid(engine, avoided, place.domain, &fault).await?;
                    failed = true;
                }
            }
        }
        // Tasks of other domains may take the slots of those that failed.
        let wanted = command.tasks_max.saturating_sub(claims.claimed.len());
        if !failed {
            avoided.end();
        }
        if !failed || wanted == 0 {
            if leaves_new {
                mark_new(engine, avoided, command.now).await?;
            }
            return Ok(());
        }
        Arc::make_mut(&mut command).tasks_max = wanted;
    }
}

/// Marks new tasks as queued, each in a transaction of its own.
async fn mark_new(
    engine: &Engine,
    avoided: &DomainsOnHold,
    now: UnixMillis,
) -> Result<(), StoreError> {
    let new = engine.write((), |client, ()| Box::pin(new_tasks(client))).await?;
    let hidden = avoided.now();
    for (domain, id) in new.into_iter().filter(|(domain, _)| !hidden.contains(domain)) {
        let mark = engine.write((domain, id), move |client, (domain, id)| {
            Box::pin(mark_apart(client, *domain, id, now))
        });
        if let Err(fault) = mark.await {
            avoid(engine, avoided, domain, &fault).await?;
        }
    }
    Ok(())
}

/// Marks a task, unless another transaction locks its place. The place is locked before the task,
/// as in a claim: otherwise each could wait for the other.
async fn mark_apart(
    client: &Client,
    domain: DomainId,
    id: &[u8],
    now: UnixMillis,
) -> Result<(), StoreError> {
    let place = "SELECT 1 FROM task_queue WHERE domain_id = $1 AND task_id = $2 AND NOT queued
         FOR UPDATE SKIP LOCKED";
    if client.row_opt(place, &[&domain.0, &id]).await?.is_none() {
        return Ok(());
    }
    mark_queued(client, domain, id, now).await
}

/// Avoids all domains that are on the node of this one.
async fn avoid(
    engine: &Engine,
    avoided: &DomainsOnHold,
    domain: DomainId,
    fault: &StoreError,
) -> Result<(), StoreError> {
    avoided.log(domain, fault);
    let same =
        engine.read(None, domain, |client, domain| Box::pin(on_the_same_node(client, *domain)));
    avoided.add(same.await?.into_iter().chain([domain]));
    Ok(())
}

async fn on_the_same_node(client: &Client, domain: DomainId) -> Result<Vec<DomainId>, StoreError> {
    let all: Vec<i64> = ids_and_names(client).await?.into_iter().map(|(id, _)| id).collect();
    let select = "SELECT d.id FROM unnest($2::bigint[]) d (id) JOIN pg_dist_placement p
         ON p.shardid = get_shard_id_for_distribution_column('domain_clocks', d.id)
         WHERE p.groupid = (SELECT o.groupid FROM pg_dist_placement o
             WHERE o.shardid = get_shard_id_for_distribution_column('domain_clocks', $1::bigint))";
    let rows = client.rows(select, &[&domain.0, &all]).await?;
    Ok(rows.iter().map(|row| DomainId(row.get(0))).collect())
}
