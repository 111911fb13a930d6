//! A task with which every server dies, as long as there is an entry that ends it: child processes
//! run the task and end themselves at a failpoint. The task waits in between, on a clock that the
//! children turn forward. Once nothing ends them, all entries succeed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use caseload_bulk::{Runner, RunnerConfig};
use caseload_model::ids::DomainName;
use caseload_model::task::{Action, Counts, Family, Task};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::Store;
use caseload_store::failpoint::Failpoint;
use rusqlite::Connection;
use serde_json::Value;

use super::failpoints::{came_to_its_end, planned};
use crate::suite::support::{NOW, assert_sound, domain, errors, task_of, uid};

const DEATHS: u32 = 5;
const PATIENCE: Duration = Duration::from_mins(2);

async fn the_task(store: &Arc<dyn Store>) -> Task {
    let acme = store.domain(&DomainName::parse("acme").unwrap()).await.unwrap().unwrap();
    store.task(acme.id, Family::Identity, "t").await.unwrap().unwrap()
}

/// Runs the task to its end. The clock is turned forward while the task waits.
async fn run(folder: &Path) {
    let store = super::server(folder).unwrap();
    let time = Arc::new(AtomicI64::new(NOW.0));
    let clock = {
        let time = time.clone();
        Clock::new(move || UnixMillis(time.load(Ordering::Relaxed)))
    };
    let config = RunnerConfig::new(format!("server-{}", std::process::id()));
    let runner = Runner::start(store.clone(), store.clone(), clock, config);
    let begun = Instant::now();
    loop {
        let task = the_task(&store).await;
        if task.outcome.is_some() {
            break;
        }
        if let Some(at) = task.next_try_at {
            time.fetch_max(at.0, Ordering::Relaxed);
        }
        assert!(begun.elapsed() < PATIENCE, "the task does not end");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    runner.stop().await;
    store.close().await.unwrap();
}

/// Not a test by itself: another test starts it as a child process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process_runs_the_task() {
    let Some(folder) = planned([Failpoint::ChunkAfterEffects]) else { return };
    run(&folder).await;
}

/// A store with a task of these entries, which is closed again.
async fn with_task(folder: &Path, uids: &[String]) {
    let store = super::server(folder).unwrap();
    let acme = domain(&store, "acme").await;
    let entries: Vec<_> = uids.iter().map(|value| uid(value)).collect();
    let task = task_of(&acme, "t", Action::CreateCoreProfiles, &entries, 5);
    store.create_task(task).await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn no_entry_fails_because_servers_died_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let uids: Vec<_> = (0..5).map(|n| n.to_string()).collect();
    with_task(folder.path(), &uids).await;
    let child = "embedded::deaths::child_process_runs_the_task";
    for death in 1..=DEATHS {
        let kill = Some((Failpoint::ChunkAfterEffects, 1));
        assert!(!came_to_its_end(child, folder.path(), kill), "death {death}");
        let store = super::server(folder.path()).unwrap();
        assert_eq!(the_task(&store).await.deaths, death - 1, "the next server notes the death");
        store.close().await.unwrap();
    }
    assert!(came_to_its_end(child, folder.path(), None));
    let store = super::server(folder.path()).unwrap();
    let task = the_task(&store).await;
    assert_eq!(task.counts, Counts { total: 5, succeeded: 5, failed: 0, unprocessed: 0 });
    assert_eq!((task.deaths, task.next_try_at), (0, None));
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_whose_values_the_database_refuses_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let uids: Vec<_> = (0..700).map(|n| format!("uid-{n}-")).collect();
    with_task(folder.path(), &uids).await;
    let conn = Connection::open(folder.path().join("caseload.db")).unwrap();
    conn.execute_batch(
        "CREATE TRIGGER refuse BEFORE INSERT ON identities
         WHEN instr(NEW.key, CAST('uid-300-' AS BLOB)) BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    .unwrap();
    drop(conn);
    run(folder.path()).await;
    let store = super::server(folder.path()).unwrap();
    let task = the_task(&store).await;
    assert_eq!(task.counts, Counts { total: 700, succeeded: 699, failed: 1, unprocessed: 0 });
    let acme = store.domain(&DomainName::parse("acme").unwrap()).await.unwrap().unwrap();
    let errors = errors(&store, acme.id, "t").await;
    let error: Value = serde_json::from_str(&errors[0]).unwrap();
    assert_eq!(
        (&error["index"], &error["entry"]["identities"][0]["uid"]),
        (&300.into(), &"uid-300-".into())
    );
    assert_eq!(error["errors"][0]["code"], "not_processed");
    assert_sound(&store).await;
}
