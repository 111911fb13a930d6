//! Tasks that write people by their identities, and deletions of issues, killed at each failpoint
//! of a chunk: the rows must equal those of a run without kills.

use std::path::Path;
use std::sync::Arc;

use caseload_model::ids::DomainName;
use caseload_model::task::{Action, TaskStatus};
use caseload_store::failpoint::Failpoint;
use caseload_store::{CreateDomain, CreateTask, Domain, Store};
use caseload_testdata::{People, SplitMix};

use super::failpoints::{accept, came_to_its_end, difference, dump, planned, run_all};
use crate::suite::support::{NOW, assert_sound, task_of};

const PLACES: [Failpoint; 3] =
    [Failpoint::ChunkAfterEffects, Failpoint::ChunkBeforeCommit, Failpoint::ChunkAfterCommit];
/// The processes are killed at every so many visits of a failpoint, so that each task is met.
const VISITS: usize = 4;
/// The import that replaces issues.
const UPSERT: &str = "upsert";

async fn the_domain(store: &Arc<dyn Store>) -> Domain {
    let name = DomainName::parse("acme").unwrap();
    match store.domain(&name).await.unwrap() {
        Some(domain) => domain,
        None => {
            store.create_domain(CreateDomain { name, origin: NOW.into(), random: 7 }).await.unwrap()
        }
    }
}

/// Entries that need no ids of profiles, so that they are known before any task runs.
fn tasks() -> Vec<(String, Action, Vec<String>)> {
    let (mut random, people) = (SplitMix::new(11), People::default());
    let mut entries = |action| {
        let entry =
            if action == Action::DeleteCoreProfiles { People::deletion } else { People::entry };
        (0..12).map(|_| entry(&people, &mut random).to_string()).collect()
    };
    let actions = [
        Action::UpsertCoreProfiles,
        Action::UpdateCoreProfiles,
        Action::DeleteCoreProfiles,
        Action::UpsertCoreProfiles,
    ];
    let named = actions.into_iter().enumerate();
    let of_people = named.map(|(n, action)| (format!("t{n}"), action, entries(action)));
    let imports = (1..12).map(|n| {
        format!(r#"{{"id":{n},"created_at":{n},"tags":["{}"],"author_email":"{n}@x.y"}}"#, n % 3)
    });
    // Half of them replace an issue, some twice; the others bring the same content, or a new issue.
    let replacements = (1..14)
        .map(|n| format!(r#"{{"id":{},"created_at":{},"title":"{n}"}}"#, n % 9 + 1, 3 + n % 7));
    let deletions = (3..15).map(|n| format!(r#"{{"id":{}}}"#, n % 13));
    let of_issues = [
        ("import".to_owned(), Action::ImportIssues, imports.collect()),
        (UPSERT.to_owned(), Action::ImportIssues, replacements.collect()),
        ("issues".to_owned(), Action::DeleteIssues, deletions.collect()),
    ];
    of_people.chain(of_issues).collect()
}

/// Every step may run again after a kill. A step that is done already changes nothing.
async fn scenario(store: &Arc<dyn Store>) {
    let acme = the_domain(store).await;
    for (id, action, entries) in tasks() {
        let dry = task_of(&acme, &format!("dry {id}"), action, &entries, 12);
        let upsert = id == UPSERT;
        accept(store, CreateTask { dry_run: true, upsert, ..dry }).await;
        let real = task_of(&acme, &id, action, &entries, 4);
        accept(store, CreateTask { upsert, ..real }).await;
    }
    run_all(store).await;
    for (id, action, _) in tasks() {
        let task = store.task(acme.id, action.family(), &id).await.unwrap().unwrap();
        assert_eq!(task.status, TaskStatus::Completed, "{id}");
    }
    assert_sound(store).await;
}

/// Not a test by itself: other tests start it as a child process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process_writes_people() {
    let Some(folder) = planned(PLACES) else { return };
    let store = super::server(&folder).unwrap();
    scenario(&store).await;
    store.close().await.unwrap();
}

/// Starts a child process. Returns whether it finished.
fn child(folder: &Path, kill: Option<(Failpoint, u32)>) -> bool {
    came_to_its_end("embedded::people::child_process_writes_people", folder, kill)
}

#[test]
fn people_are_written_exactly_once_wherever_the_process_is_killed() {
    let untouched = tempfile::tempdir().unwrap();
    assert!(child(untouched.path(), None));
    let expected = dump(untouched.path());
    assert!(expected.contains("core_profiles:"), "{expected}");
    let mut kills = 0;
    for place in PLACES {
        for nth in (1..).step_by(VISITS) {
            let folder = tempfile::tempdir().unwrap();
            if child(folder.path(), Some((place, nth))) {
                assert!(nth > 1, "{place:?} is never reached");
                break;
            }
            kills += 1;
            assert!(child(folder.path(), None));
            let found = dump(folder.path());
            assert!(found == expected, "{place:?} {nth}:\n{}", difference(&expected, &found));
        }
    }
    assert!(kills > 10, "{kills}");
}
