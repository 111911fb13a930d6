//! Measures how long the tasks of a missing server wait: from the moment it is gone to the first
//! commit of another server for them. The database shows that as a lease with a later epoch,
//! followed by a later next entry. Tasks whose lease stays the same belong to other servers and are
//! left out. After a fault of the database, [`progress`] measures how long the tasks that run wait
//! for their next commit by any server.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::database::{Database, Leases};

/// Time between two reads.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Watches until `patience` is over or every task of the beginning has gone on or ended; returns
/// the times of the tasks that were taken over.
pub(super) async fn watch(
    database: Arc<Database>,
    gone: Instant,
    patience: Duration,
) -> Result<Vec<Duration>> {
    let client = database.client().await?;
    let before = database.leases(&client).await?;
    let mut waiting = before.clone();
    let mut claimed: HashMap<Vec<u8>, i64> = HashMap::new();
    let mut times = Vec::new();
    while !waiting.is_empty() && gone.elapsed() < patience {
        let Ok(now) = database.leases(&client).await else { break };
        waiting.retain(|task, (epoch, next)| {
            let Some((epoch_now, next_now)) = now.get(task) else {
                // Without a lease the task is completed or between two leases; after a new claim it
                // has gone on.
                if claimed.contains_key(task) {
                    times.push(gone.elapsed());
                }
                return !claimed.contains_key(task);
            };
            if epoch_now > epoch {
                claimed.entry(task.clone()).or_insert(*epoch_now);
            }
            let went_on = epoch_now > epoch && next_now > next;
            if went_on {
                times.push(gone.elapsed());
            }
            !went_on
        });
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(times)
}

/// Waits until every task that is leased now has gone on or ended; returns how long each took. An
/// error if one waits longer than `patience`.
pub(super) async fn progress(database: &Database, patience: Duration) -> Result<Vec<Duration>> {
    let begun = Instant::now();
    let mut times = Vec::new();
    let mut waiting = None;
    while waiting.as_ref().is_none_or(|waiting: &Leases| !waiting.is_empty()) {
        ensure!(begun.elapsed() < patience, "tasks do not go on after {patience:?}: {waiting:?}");
        tokio::time::sleep(LOOK_EVERY).await;
        let Ok(client) = database.client().await else { continue };
        // A node may still be starting.
        let Ok(now) = database.leases(&client).await else { continue };
        let before = waiting.get_or_insert_with(|| now.clone());
        before.retain(|task, lease| {
            let waits = now.get(task) == Some(lease);
            if !waits {
                times.push(begun.elapsed());
            }
            waits
        });
    }
    Ok(times)
}
