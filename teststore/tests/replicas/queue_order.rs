//! The queue and its tasks: the order in which their rows are locked, and a queue that does not
//! agree with the tasks, as after the restore of nodes that were dumped one after another.

use std::time::{Duration, Instant};

use caseload_location::open;
use caseload_model::task::{Action, Outcome};
use caseload_store::OpenMode;
use caseload_teststore::nodes;

use super::Database;
use crate::suite::support::{NOW, apply_all, assert_sound, claim_at, domain, task_of, uid};

const CREATE: Action = Action::CreateCoreProfiles;
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a start is watched that must not end.
const WATCHED: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_marked_as_queued_after_its_place_is_locked() {
    if !nodes::is_distributed() {
        // One server marks in the transaction that locks all the places first.
        return;
    }
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    for id in ["first", "second"] {
        store.create_task(task_of(&acme, id, CREATE, &[uid(id)], 1)).await.unwrap();
    }
    // The mark of the first task waits, and another transaction locks the second one's place.
    let node = database.client_of_node("tasks", acme.id.0).await;
    let first = format!("BEGIN; SELECT 1 FROM {} WHERE id = 'first' FOR UPDATE", node.shard);
    node.client.batch_execute(&first).await.unwrap();
    let marking = tokio::spawn({
        let store = store.clone();
        async move { claim_at(&store, "one", NOW, 0).await }
    });
    let watcher = database.client_of_node("tasks", acme.id.0).await;
    let waits = "SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let begun = Instant::now();
    while watcher.client.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(begun.elapsed() < PATIENCE, "no mark waits for the task");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let place = database.client().await;
    let second = "BEGIN; SELECT 1 FROM task_queue WHERE task_id = 'second' FOR UPDATE";
    place.batch_execute(second).await.unwrap();
    node.client.batch_execute("COMMIT").await.unwrap();
    // The mark of the second one ends without its lock, so that the task is free.
    tokio::time::timeout(PATIENCE / 6, marking).await.expect("the mark waits").unwrap();
    let task = format!("SELECT 1 FROM {} WHERE id = 'second' FOR UPDATE NOWAIT", watcher.shard);
    watcher.client.batch_execute(&task).await.unwrap();
    place.batch_execute("COMMIT").await.unwrap();
    let queued = "SELECT string_agg(convert_from(task_id, 'UTF8'), ' ') FROM task_queue
                  WHERE queued";
    let queued: Option<String> = place.query_one(queued, &[]).await.unwrap().get(0);
    assert_eq!(queued.as_deref(), Some("first"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_puts_the_queue_right_from_the_tasks() {
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    for id in ["done", "lost", "found"] {
        store.create_task(task_of(&acme, id, CREATE, &[uid(id)], 1)).await.unwrap();
    }
    let done = claim_at(&store, "one", NOW, 1).await.remove(0);
    assert_eq!(apply_all(&store, &done, NOW).await.outcome, Some(Outcome::Succeeded));
    let direct = database.client().await;
    direct.batch_execute("DELETE FROM task_queue WHERE task_id = 'lost'").await.unwrap();
    for (n, id) in ["done", "never"].into_iter().enumerate() {
        let add = format!(
            "INSERT INTO task_queue (domain_id, task_id, seq, writes)
             VALUES ({}, '{id}', {n} + 1000, true)",
            acme.id.0
        );
        direct.batch_execute(&add).await.unwrap();
    }
    assert_eq!(store.check().await.unwrap().faults.len(), 3);
    let started = database.server();
    assert_sound(&started).await;
    let places = "SELECT string_agg(convert_from(task_id, 'UTF8'), ' ' ORDER BY seq)
                  FROM task_queue";
    let places: String = direct.query_one(places, &[]).await.unwrap().get(0);
    assert_eq!(places, "lost found");
    for id in ["lost", "found"] {
        let claimed = claim_at(&started, "two", NOW, 9).await.remove(0);
        assert_eq!(claimed.task.id, id);
        assert_eq!(apply_all(&started, &claimed, NOW).await.outcome, Some(Outcome::Succeeded));
    }
    assert_sound(&started).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_waits_for_a_task_whose_commit_is_not_visible_on_its_node() {
    if !nodes::is_distributed() {
        // One server has no second moment.
        return;
    }
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let node = database.client_of_node("tasks", acme.id.0).await;
    let hide = format!(
        "UPDATE {} SET id = 'hidden', status = 4, outcome = 1, completed_at = 1",
        node.shard
    );
    node.client.batch_execute(&hide).await.unwrap();
    let clock = database.client_of_node("domain_clocks", acme.id.0).await;
    // The other half of the commit that accepted the task is prepared on the node.
    let prepare = format!(
        "BEGIN; UPDATE {} SET last_task_seq = last_task_seq WHERE domain_id = {};
         UPDATE {} SET id = 't', status = 1, outcome = NULL, completed_at = NULL;
         PREPARE TRANSACTION 'accept'",
        clock.shard, acme.id.0, node.shard
    );
    clock.client.batch_execute(&prepare).await.unwrap();
    let location = database.url().parse().unwrap();
    let starting = tokio::spawn(async move { open(&location, OpenMode::Server).await });
    tokio::time::sleep(WATCHED).await;
    assert!(!starting.is_finished(), "the start did not wait");
    clock.client.batch_execute("COMMIT PREPARED 'accept'").await.unwrap();
    let started = starting.await.unwrap().unwrap();
    let claimed = claim_at(&started, "two", NOW, 1).await.remove(0);
    assert_eq!(apply_all(&started, &claimed, NOW).await.outcome, Some(Outcome::Succeeded));
    assert_sound(&started).await;
}
