//! An entry with which every server dies: child processes run the task and end themselves at a
//! failpoint, as the entry would end them. The one after them parks the entry and finishes the
//! task.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_bulk::{Runner, RunnerConfig};
use caseload_model::ids::DomainName;
use caseload_model::task::{Action, Counts, Family, Task};
use caseload_model::time::Clock;
use caseload_store::Store;
use caseload_store::failpoint::Failpoint;
use serde_json::Value;

use super::failpoints::{came_to_its_end, planned};
use crate::suite::support::{NOW, assert_sound, domain, errors, task_of, uid};

/// Deaths of a server until the entry is found: two with a chunk, two with the entry alone.
const DEATHS: u32 = 4;
const PATIENCE: Duration = Duration::from_mins(2);

async fn the_task(store: &Arc<dyn Store>) -> Task {
    let acme = store.domain(&DomainName::parse("acme").unwrap()).await.unwrap().unwrap();
    store.task(acme.id, Family::Identity, "t").await.unwrap().unwrap()
}

/// Not a test by itself: another test starts it as a child process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process_runs_the_task() {
    let Some(folder) = planned([Failpoint::ChunkAfterEffects]) else { return };
    let store = super::server(&folder).unwrap();
    let config = RunnerConfig::new("child");
    let runner = Runner::start(store.clone(), store.clone(), Clock::new(|| NOW), config);
    let begun = Instant::now();
    while the_task(&store).await.outcome.is_none() {
        assert!(begun.elapsed() < PATIENCE, "the task does not end");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    runner.stop().await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_entry_with_which_servers_die_is_parked_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = super::server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let entries: Vec<_> = (0..5).map(|n| uid(&n.to_string())).collect();
    let task = task_of(&acme, "t", Action::CreateCoreProfiles, &entries, 5);
    store.create_task(task).await.unwrap();
    store.close().await.unwrap();
    let child = "embedded::poison::child_process_runs_the_task";
    for death in 1..=DEATHS {
        let kill = Some((Failpoint::ChunkAfterEffects, 1));
        assert!(!came_to_its_end(child, folder.path(), kill), "death {death}");
    }
    assert!(came_to_its_end(child, folder.path(), None));
    let store = super::server(folder.path()).unwrap();
    let counts = Counts { total: 5, succeeded: 4, failed: 1, unprocessed: 0 };
    assert_eq!(the_task(&store).await.counts, counts);
    let errors = errors(&store, acme.id, "t").await;
    let error: Value = serde_json::from_str(&errors[0]).unwrap();
    assert_eq!(
        (&error["index"], &error["entry"]["identities"][0]["uid"]),
        (&0.into(), &"0".into())
    );
    assert_eq!(error["errors"][0]["code"], "not_processed");
    assert_sound(&store).await;
}
