//! The orders in which the parts of a commit may become visible on a cluster, made by hand: a place
//! in the queue without its task, a place of a completed task, and a task that has left the queue
//! and still runs on its node. `docs/cluster.md` lists them.

use std::time::Duration;

use caseload_model::task::{Action, Family, Outcome, TaskStatus};
use caseload_store::{CancelTask, StoreError};
use caseload_teststore::nodes;

use super::Database;
use crate::suite::support::{
    NOW, apply_all, assert_sound, chunk, claim_at, domain, next_block, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
/// How long a chunk is watched that must not end.
const WATCHED: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_without_its_task_is_not_leased_until_the_task_is_visible() {
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let direct = database.client().await;
    let place = format!("domain_id = {} AND task_id = 't'", acme.id.0);
    let hide = format!("UPDATE tasks SET id = 'hidden' WHERE domain_id = {}", acme.id.0);
    direct.batch_execute(&hide).await.unwrap();
    assert!(claim_at(&store, "one", NOW, 1).await.is_empty());
    let untouched = format!(
        "SELECT count(*) FROM task_queue WHERE {place} AND NOT queued AND lease_server IS NULL"
    );
    assert_eq!(direct.query_one(&untouched, &[]).await.unwrap().get::<_, i64>(0), 1);
    if nodes::is_distributed() {
        // One server has no second moment.
        let seen = store.task(acme.id, Family::Identity, "t").await;
        assert!(matches!(seen, Err(StoreError::Unreachable(_))), "{seen:?}");
        let cancel = CancelTask {
            domain: acme.id,
            key: None,
            family: Family::Identity,
            task_id: "t".to_owned(),
            now: NOW,
        };
        let cancelled = store.cancel_task(cancel).await;
        assert!(matches!(cancelled, Err(StoreError::Unreachable(_))), "{cancelled:?}");
    }
    let other = store.task(acme.id, Family::Identity, "other").await;
    assert!(matches!(other, Ok(None)), "{other:?}");
    direct.batch_execute(&hide.replace("'hidden'", "'t'")).await.unwrap();
    let of_other_family = store.task(acme.id, Family::Issues, "t").await;
    assert!(matches!(of_other_family, Ok(None)), "{of_other_family:?}");
    let claimed = claim_at(&store, "one", NOW, 1).await.remove(0);
    assert_eq!(apply_all(&store, &claimed, NOW).await.outcome, Some(Outcome::Succeeded));
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_of_a_completed_task_is_not_leased() {
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let claimed = claim_at(&store, "one", NOW, 1).await.remove(0);
    assert_eq!(apply_all(&store, &claimed, NOW).await.status, TaskStatus::Completed);
    let direct = database.client().await;
    let again = format!(
        "INSERT INTO task_queue (domain_id, task_id, seq, writes) VALUES ({}, 't', 1, true)",
        acme.id.0
    );
    direct.batch_execute(&again).await.unwrap();
    assert!(claim_at(&store, "one", NOW, 1).await.is_empty());
    let leased = "SELECT count(*) FROM task_queue WHERE lease_server IS NOT NULL";
    assert_eq!(direct.query_one(leased, &[]).await.unwrap().get::<_, i64>(0), 0);
    direct.batch_execute("DELETE FROM task_queue").await.unwrap();
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_waits_for_the_task_before_it_to_end_on_its_node() {
    if !nodes::is_distributed() {
        // One server has no second moment.
        return;
    }
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    for id in ["first", "second"] {
        store.create_task(task_of(&acme, id, CREATE, &[uid(id)], 1)).await.unwrap();
    }
    claim_at(&store, "one", NOW, 1).await.remove(0);
    // The first task has left the queue; the other half of the commit is prepared on the node.
    let node = database.client_of_node("tasks", acme.id.0).await;
    let prepare = format!(
        "BEGIN; UPDATE {} SET status = status WHERE id = 'first'; PREPARE TRANSACTION 'half'",
        node.shard
    );
    node.client.batch_execute(&prepare).await.unwrap();
    let direct = database.client().await;
    let leave =
        format!("DELETE FROM task_queue WHERE domain_id = {} AND task_id = 'first'", acme.id.0);
    direct.batch_execute(&leave).await.unwrap();
    let claimed = claim_at(&store, "one", NOW, 1).await.remove(0);
    assert_eq!(claimed.task.id, "second");
    let command = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
    let applying = tokio::spawn({
        let store = store.clone();
        async move { store.apply_chunk(command).await }
    });
    tokio::time::sleep(WATCHED).await;
    assert!(!applying.is_finished(), "the chunk did not wait");
    node.client.batch_execute("COMMIT PREPARED 'half'").await.unwrap();
    assert_eq!(applying.await.unwrap().unwrap().task.outcome, Some(Outcome::Succeeded));
}
