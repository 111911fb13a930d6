//! Servers that stall in the middle of a chunk while their connections stay open. When the lease
//! has ended, another server takes the task, even if the stalled server has an open `COPY`. It does
//! not take a task from a session that is still busy.

use std::time::{Duration, Instant};

use caseload_model::task::{Action, Counts};
use caseload_store::{ClaimedTask, StoreError};
use caseload_teststore::nodes;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use super::Database;
use super::cutter::Cutter;
use super::database::opened;
use crate::suite::support::{
    NOW, apply_all, assert_sound, chunk, claim_at, domain, later, next_block, results, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
const LEASE_MS: i64 = 30_000;
/// How long taking a task may last on a loaded machine; far less than the timeouts of the database.
const PATIENCE: Duration = Duration::from_secs(30);

/// Claims until there is a task to claim.
async fn claim_repeatedly(
    store: &std::sync::Arc<dyn caseload_store::Store>,
    server: &str,
) -> ClaimedTask {
    let begun = Instant::now();
    // From the end of the lease on; the task waits for a second after it is found.
    for seconds in 0.. {
        let now = later(LEASE_MS + 1_000 * seconds);
        if let Some(claimed) = claim_at(store, server, now, 1).await.pop() {
            return claimed;
        }
        assert!(begun.elapsed() < PATIENCE, "no server gets the task");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    unreachable!("the loop has no end")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stalls_in_an_open_copy_loses_its_task_with_its_lease() {
    let database = Database::new();
    let cutter = Cutter::new(&database.url()).await;
    let (one, two) = (opened(cutter.url()), database.server());
    let acme = domain(&two, "acme").await;
    let entries: Vec<_> = (0..4).map(|n| uid(&n.to_string())).collect();
    two.create_task(task_of(&acme, "t", CREATE, &entries, 4)).await.unwrap();
    let lost = claim_at(&one, "one", NOW, 1).await.remove(0);
    let command = chunk(&lost, next_block(&one, &lost, 0).await, NOW);
    cutter.fall_silent_in_a_copy();
    let applying = tokio::spawn({
        let one = one.clone();
        async move { one.apply_chunk(command).await }
    });
    let in_copy = "state = 'active' AND wait_event = 'ClientRead' AND query LIKE 'COPY%'";
    database.wait_for_session(in_copy).await;
    assert!(claim_at(&two, "two", NOW, 1).await.is_empty(), "it is leased");
    let held = claim_repeatedly(&two, "two").await;
    assert!(held.lease_epoch > lost.lease_epoch);
    let task = apply_all(&two, &held, later(LEASE_MS)).await;
    assert_eq!(task.counts, Counts { total: 4, succeeded: 4, failed: 0, unprocessed: 0 });
    assert_eq!(results(&two, acme.id, "t").await.len(), 4);
    assert_sound(&two).await;
    applying.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_taken_from_an_idle_session_but_not_from_a_busy_one() {
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    claim_at(&store, "one", NOW, 1).await.remove(0);
    let lock = "BEGIN; SELECT 1 FROM task_queue FOR UPDATE";
    let (working, still) = (database.client().await, database.client().await);
    working.batch_execute(lock).await.unwrap();
    let cancel = working.cancel_token();
    let work = tokio::spawn(async move {
        let ended = working.batch_execute("SELECT pg_sleep(3600)").await;
        (working, ended.unwrap_err())
    });
    // An idle session would have been ended by now.
    let busy = "query LIKE '%pg_sleep%' AND wait_event = 'PgSleep'
         AND state_change < clock_timestamp() - interval '2 s'";
    database.wait_for_session(busy).await;
    assert!(claim_at(&store, "two", later(LEASE_MS), 1).await.is_empty());
    cancel.cancel_query(NoTls).await.unwrap();
    let (working, ended) = work.await.unwrap();
    assert_eq!(ended.code(), Some(&SqlState::QUERY_CANCELED), "{ended:?}");
    working.batch_execute("ROLLBACK").await.unwrap();
    still.batch_execute(lock).await.unwrap();
    claim_repeatedly(&store, "two").await;
    still.batch_execute("COMMIT").await.unwrap_err();
}

/// The insertion of one profile takes far longer than a chunk may, and less than a transaction.
const SLOW: &str = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN PERFORM pg_sleep(20); RETURN NEW; END $$;
     CREATE TRIGGER slow BEFORE INSERT ON core_profiles FOR EACH ROW EXECUTE FUNCTION slow()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_that_works_too_long_is_undone_and_releases_its_locks() {
    let database = Database::new();
    if nodes::is_distributed() {
        // A cluster has no triggers on distributed tables.
        return;
    }
    let store = database.server();
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let held = claim_at(&store, "one", NOW, 1).await.remove(0);
    let direct = database.client().await;
    direct.batch_execute(SLOW).await.unwrap();
    let command = chunk(&held, next_block(&store, &held, 0).await, NOW);
    let fault = store.apply_chunk(command).await.unwrap_err();
    assert!(matches!(fault, StoreError::ChunkInterrupted { .. }), "{fault}");
    // This needs every lock that the chunk had.
    direct.batch_execute("DROP TRIGGER slow ON core_profiles").await.unwrap();
    let task = apply_all(&store, &held, NOW).await;
    assert_eq!(task.counts, Counts { total: 1, succeeded: 1, failed: 0, unprocessed: 0 });
    assert_sound(&store).await;
}
