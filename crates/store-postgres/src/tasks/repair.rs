//! A start puts the queue right from the tasks. After the restore of a cluster, whose nodes were
//! dumped one after another, an unfinished task may have no place in the queue, and a place no
//! unfinished task. On a cluster a commit that is not visible on all nodes looks the same:
//! so each change locks the rows that such a commit has locked, and looks again.

use std::collections::{HashMap, HashSet};

use caseload_store::StoreError;

use crate::domains::{LOCK_DOMAIN, ids_and_names};
use crate::engine::{Client, Engine};

/// A domain and the id of a task.
type TaskKey = (i64, Vec<u8>);

/// A task without a place, with the values of its future place.
#[derive(Debug)]
struct Unplaced {
    key: TaskKey,
    seq: i64,
    writes: bool,
    not_before: i64,
}

/// Gives each unfinished task a place, and removes the places of others.
pub(crate) async fn repair_queue(engine: &Engine) -> Result<(), StoreError> {
    let compared = engine.read(None, (), |client, ()| Box::pin(compare(client))).await?;
    let (mut added, mut removed) = (0_u32, 0_u32);
    for task in compared.0 {
        let add = engine.write(task, |client, task| Box::pin(add_place(client, task)));
        added += u32::from(add.await?);
    }
    for place in compared.1 {
        let remove = engine.write(place, |client, place| Box::pin(remove_place(client, place)));
        removed += u32::from(remove.await?);
    }
    if added + removed > 0 {
        tracing::warn!(added, removed, "the queue did not agree with the tasks and was put right");
    }
    Ok(())
}

/// The unfinished tasks without a place, and the places without an unfinished task.
async fn compare(client: &Client) -> Result<(Vec<Unplaced>, Vec<TaskKey>), StoreError> {
    // A removal deletes places and tasks one after the other.
    let domains: HashSet<i64> =
        ids_and_names(client).await?.into_iter().map(|(id, _)| id).collect();
    let tasks = "SELECT domain_id, id, seq, writes, coalesce(next_try_at, 0) FROM tasks
         WHERE status < 4";
    let tasks = client.rows(tasks, &[]).await?;
    let mut unplaced: HashMap<TaskKey, Unplaced> = HashMap::with_capacity(tasks.len());
    for task in tasks.iter().filter(|task| domains.contains(&task.get(0))) {
        let key: TaskKey = (task.get(0), task.get(1));
        let (seq, writes, not_before) = (task.get(2), task.get(3), task.get(4));
        unplaced.insert(key.clone(), Unplaced { key, seq, writes, not_before });
    }
    let places = client.rows("SELECT domain_id, task_id FROM task_queue", &[]).await?;
    let mut spare = Vec::new();
    for place in places.iter().filter(|place| domains.contains(&place.get(0))) {
        let key: TaskKey = (place.get(0), place.get(1));
        if unplaced.remove(&key).is_none() {
            spare.push(key);
        }
    }
    Ok((unplaced.into_values().collect(), spare))
}

/// Gives the task its place, unless it was completed; false if it has one or needs none.
async fn add_place(client: &Client, task: &Unplaced) -> Result<bool, StoreError> {
    let Unplaced { key: (domain, id), seq, writes, not_before } = task;
    if client.row_opt(LOCK_DOMAIN, &[domain]).await?.is_none() {
        return Ok(false);
    }
    let add = "INSERT INTO task_queue (domain_id, task_id, seq, writes, not_before)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (domain_id, task_id) DO NOTHING";
    if client.execute(add, &[domain, id, seq, writes, not_before]).await? == 0 {
        return Ok(false);
    }
    // The transaction that completed the task has it locked until that is visible here.
    let is_unfinished = "SELECT status < 4 FROM tasks WHERE domain_id = $1 AND id = $2 FOR UPDATE";
    let found = client.row_opt(is_unfinished, &[domain, id]).await?;
    if found.is_some_and(|task| task.get(0)) {
        return Ok(true);
    }
    delete_place(client, domain, id).await.map(|_| false)
}

/// Removes a place without an unfinished task; false if it has one, or is locked.
async fn remove_place(client: &Client, (domain, id): &TaskKey) -> Result<bool, StoreError> {
    let place = "SELECT 1 FROM task_queue WHERE domain_id = $1 AND task_id = $2
         FOR UPDATE SKIP LOCKED";
    if client.row_opt(place, &[domain, id]).await?.is_none() {
        return Ok(false);
    }
    // The transaction that accepted the task has the clock locked until the task is visible.
    let clock = "SELECT 1 FROM domain_clocks WHERE domain_id = $1 FOR NO KEY UPDATE";
    client.row_opt(clock, &[domain]).await?;
    let unfinished = "SELECT 1 FROM tasks WHERE domain_id = $1 AND id = $2 AND status < 4";
    if client.row_opt(unfinished, &[domain, id]).await?.is_some() {
        return Ok(false);
    }
    delete_place(client, domain, id).await
}

async fn delete_place(client: &Client, domain: &i64, id: &[u8]) -> Result<bool, StoreError> {
    let delete = "DELETE FROM task_queue WHERE domain_id = $1 AND task_id = $2";
    Ok(client.execute(delete, &[domain, &id]).await? > 0)
}
