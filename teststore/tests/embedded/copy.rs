//! Copies between files: every row arrives once, for any batch size and even if the process is
//! killed. A copy is refused if the source is in use or the target has data of its own.

use std::path::Path;
use std::sync::Mutex;

use caseload_location::{CopyStore, StoreLocation, copy, open};
use caseload_model::task::{Action, TaskStatus};
use caseload_store::copy::{CopyBatch, CopyReport, CopyStage, CopyStep};
use caseload_store::failpoint::Failpoint;
use caseload_store::{OpenMode, StoreError};
use rusqlite::Connection;

use super::failpoints::{came_to_its_end, difference, dump_but, planned};
use super::{admin, file, server};
use crate::suite::filled::fill;
use crate::suite::support::{
    NOW, apply_all, assert_sound, claim, domain, profile_id, results, run, uid,
};

fn location(folder: &Path) -> StoreLocation {
    StoreLocation::Sqlite(file(folder))
}

/// A filled store in a folder.
async fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    fill(&store).await;
    store.close().await.unwrap();
    folder
}

fn command(from: &Path, to: &Path, rows: usize) -> CopyStore {
    let batch = CopyBatch { rows, ..CopyBatch::default() };
    CopyStore { from: location(from), to: location(to), restart: false, batch }
}

async fn copied(command: &CopyStore) -> Result<CopyReport, StoreError> {
    copy(command, &|_| {}).await
}

/// The contents of a store that a copy has to reproduce.
fn rows(folder: &Path) -> String {
    dump_but(folder, |table, column| {
        table == "copy_progress"
            || table.starts_with("issue_text_")
            || column.starts_with("lease")
            || (column == "seq" && table != "tasks")
    })
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::CopyRefused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_has_every_row_for_any_batch_size() {
    let source = filled().await;
    let expected = rows(source.path());
    for batch in [1, 7, 50_000] {
        let target = tempfile::tempdir().unwrap();
        let steps = Mutex::new(Vec::new());
        let record_step = |step: CopyStep| steps.lock().unwrap().push(step);
        let report =
            copy(&command(source.path(), target.path(), batch), &record_step).await.unwrap();
        assert_eq!(report.attempts, 1);
        assert_eq!(report.check.faults, Vec::<String>::new());
        let count = |name| report.tables.iter().find(|(table, _)| *table == name).unwrap().1.rows;
        assert_eq!((count("domains"), count("issues"), count("attachment_pieces")), (2, 524, 6));
        let found = rows(target.path());
        assert!(found == expected, "{batch}:\n{}", difference(&expected, &found));
        let steps = steps.into_inner().unwrap();
        let all: u64 = report.tables.iter().map(|(_, table)| table.rows).sum();
        for stage in [CopyStage::Copying, CopyStage::Comparing] {
            let last = steps.iter().rfind(|step| step.stage == stage).unwrap();
            assert_eq!(last.rows, all, "{stage:?}");
        }
    }
    assert_eq!(rows(source.path()), expected, "the copy did not change its source");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_the_copy_continues_the_tasks_of_the_source() {
    let (source, target) = (filled().await, tempfile::tempdir().unwrap());
    copied(&command(source.path(), target.path(), 100)).await.unwrap();
    let store = server(target.path()).unwrap();
    assert_sound(&store).await;
    for _ in 0..4 {
        for claimed in claim(&store, 10).await {
            let task = apply_all(&store, &claimed, NOW).await;
            assert_eq!(task.status, TaskStatus::Completed);
        }
    }
    let domains = store.domains().await.unwrap();
    assert_eq!(domains.len(), 2);
    let next = domain(&store, "next").await;
    assert!(next.id.0 > 4, "a used id must not be used again: {}", next.id.0);
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_from_a_source_in_use_or_into_a_filled_target_is_refused() {
    let (source, target) = (filled().await, tempfile::tempdir().unwrap());
    let from_to = |from: &Path, to: &Path| command(from, to, 50);
    let same = refusal(copied(&from_to(source.path(), source.path())).await);
    assert_eq!(same, "source and target are the same store");
    let missing = copied(&from_to(target.path(), source.path())).await;
    assert!(matches!(missing, Err(StoreError::NoStore { .. })), "{missing:?}");
    let serving = server(source.path()).unwrap();
    let served = refusal(copied(&from_to(source.path(), target.path())).await);
    assert!(served.starts_with("a server, or another copy, uses sqlite:"), "{served}");
    serving.close().await.unwrap();
    let filled = admin(target.path());
    domain(&filled, "mine").await;
    filled.close().await.unwrap();
    let taken = refusal(copied(&from_to(source.path(), target.path())).await);
    assert!(taken.contains("is not empty: its table domains has rows"), "{taken}");
    assert_eq!(admin(target.path()).domains().await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_source_is_not_copied() {
    let (source, target) = (filled().await, tempfile::tempdir().unwrap());
    let conn = Connection::open(source.path().join("caseload.db")).unwrap();

    conn.execute("UPDATE issue_counts SET n = n + 1 WHERE domain_id = 1", []).unwrap();
    drop(conn);
    let damaged = copied(&command(source.path(), target.path(), 50)).await;
    let Err(StoreError::Corrupt(reason)) = damaged else { panic!("{damaged:?}") };
    assert!(reason.starts_with("a check of the source found "), "{reason}");
    assert_eq!(admin(target.path()).domains().await.unwrap(), []);
}

/// Not a test by itself: other tests start it as a child process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process_makes_a_copy() {
    let Some(folder) = planned(Failpoint::OF_A_COPY) else { return };
    let from = folder.join("from");
    copied(&command(&from, &folder.join("to"), 40)).await.unwrap();
}

/// Starts a child process that copies. Returns whether it finished.
fn child(folder: &Path, kill: Option<(Failpoint, u32)>) -> bool {
    came_to_its_end("embedded::copy::child_process_makes_a_copy", folder, kill)
}

/// A folder with a filled store in `from`.
async fn prepared() -> tempfile::TempDir {
    let (folder, source) = (tempfile::tempdir().unwrap(), filled().await);
    std::fs::create_dir(folder.path().join("from")).unwrap();
    std::fs::copy(source.path().join("caseload.db"), folder.path().join("from/caseload.db"))
        .unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_killed_at_any_failpoint_resumes_and_ends_the_same() {
    let folder = prepared().await;
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let expected = rows(&from);
    for (place, nth) in [
        (Failpoint::CopyBeforeCommit, 1),
        (Failpoint::CopyBeforeCommit, 14),
        (Failpoint::CopyBeforeCommit, 60),
        (Failpoint::CopyAfterCommit, 1),
        (Failpoint::CopyAfterCommit, 2),
        (Failpoint::CopyAfterCommit, 33),
        (Failpoint::CopyBeforeFinish, 1),
    ] {
        assert!(!child(folder.path(), Some((place, nth))), "{place:?} {nth} is never reached");
        for mode in [OpenMode::Server, OpenMode::Admin] {
            let opened = open(&location(&to), mode).await.map(|_| ());
            assert!(matches!(opened, Err(StoreError::CopyUnfinished { .. })), "{opened:?}");
        }
        let onward = copied(&command(&to, &folder.path().join("on"), 40)).await;
        assert!(refusal(onward).contains("is itself an unfinished copy"));
        // The process that resumes is killed too; the one after it finishes.
        child(folder.path(), Some((place, 1)));
        assert!(child(folder.path(), None));
        let found = rows(&to);
        assert!(found == expected, "{place:?} {nth}:\n{}", difference(&expected, &found));
        std::fs::remove_dir_all(&to).unwrap();
        std::fs::remove_dir_all(folder.path().join("on")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_does_not_resume_from_a_changed_source() {
    let folder = prepared().await;
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    assert!(!child(folder.path(), Some((Failpoint::CopyAfterCommit, 30))));
    let store = admin(&from);
    let acme = store.domains().await.unwrap().remove(0);
    store.discard_attachments(acme.id, vec!["staged".to_owned()]).await.unwrap();
    store.close().await.unwrap();
    let changed = refusal(copied(&command(&from, &to, 40)).await);
    assert!(changed.contains("it is another store, or it has changed since"), "{changed}");
    let restarted = CopyStore { restart: true, ..command(&from, &to, 40) };
    assert_eq!(copied(&restarted).await.unwrap().attempts, 1);
    assert_eq!(rows(&from), rows(&to));
    // A finished copy is an ordinary store, so that nothing is copied over it.
    assert!(refusal(copied(&restarted).await).contains("is not empty"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_comparison_finds_changed_and_lost_rows() {
    for change in [
        "DELETE FROM identities WHERE key = (SELECT min(key) FROM identities)",
        "UPDATE issue_bodies SET head = CAST(head || ' ' AS BLOB) WHERE row = 1",
        "UPDATE tasks SET seq = seq + 1000 WHERE id = 'create'",
    ] {
        let folder = prepared().await;
        assert!(!child(folder.path(), Some((Failpoint::CopyBeforeFinish, 1))));
        let to = folder.path().join("to");
        let conn = Connection::open(to.join("caseload.db")).unwrap();
        assert_eq!(conn.execute(change, []).unwrap().min(1), 1);
        drop(conn);
        let found = copied(&command(&folder.path().join("from"), &to, 40)).await;
        let Err(StoreError::Corrupt(reason)) = found else { panic!("{change}: {found:?}") };
        assert!(reason.starts_with("the copy differs from its source in table "), "{reason}");
    }
}

#[test]
fn two_paths_to_one_file_are_the_same_location() {
    let sqlite = |path: &str| StoreLocation::Sqlite(path.into());
    assert!(sqlite("a/b.db").is_same(&sqlite("a/b.db")));
    assert!(sqlite("src/lib.rs").is_same(&sqlite("./src/../src/lib.rs")));
    assert!(!sqlite("src/lib.rs").is_same(&sqlite("src/pack.rs")));
    assert!(!sqlite("none/a.db").is_same(&sqlite("none/b.db")));
}

/// Each domain gives out its profile ids by itself, so that two domains can have equal ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profiles_with_equal_ids_in_two_domains_stay_apart_in_a_copy() {
    const CREATE: Action = Action::CreateCoreProfiles;
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = server(source.path()).unwrap();
    let (one, two) = (domain(&store, "one").await, domain(&store, "two").await);
    run(&store, &one, "t", CREATE, &[uid("a"), uid("b")]).await;
    run(&store, &two, "t", CREATE, &[uid("a"), uid("b"), uid("c")]).await;
    store.close().await.unwrap();
    let ids = |folder: &Path| -> Vec<(i64, i64)> {
        let conn = Connection::open(file(folder)).unwrap();
        let mut ids = conn.prepare("SELECT domain_id, id FROM core_profiles ORDER BY row").unwrap();
        let ids = ids.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        ids.collect::<Result<_, _>>().unwrap()
    };
    let before = ids(source.path());
    let first = before[0].1;
    let equal = [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2)].map(|(domain, n)| (domain, first + n));
    assert_eq!(before, equal);
    copied(&command(source.path(), target.path(), 2)).await.unwrap();
    assert_eq!(ids(target.path()), before);
    let store = server(target.path()).unwrap();
    assert_sound(&store).await;
    for (n, domain) in [&one, &two].into_iter().enumerate() {
        let id = format!("{{\"core-profile-id\":\"{first}\"}}");
        let set = format!("{{\"core-profile-id\":\"{first}\",\"age\":{n}}}");
        let task = run(&store, domain, "u", Action::UpdateCoreProfiles, &[set]).await;
        assert_eq!(task.counts.succeeded, 1);
        run(&store, domain, "g", Action::GetCoreProfiles, &[id]).await;
        let shown = results(&store, domain.id, "g").await;
        assert!(shown[0].contains(&format!("\"age\":{n},")), "{shown:?}");
    }
    // A get of all profiles in the order of their ids.
    for (domain, count) in [(&one, 2), (&two, 3)] {
        let wanted: Vec<_> = (first..first + count).map(|id| id.to_string()).collect();
        let gets: Vec<_> =
            wanted.iter().map(|id| format!("{{\"core-profile-id\":\"{id}\"}}")).collect();
        run(&store, domain, "all", Action::GetCoreProfiles, &gets).await;
        let shown = results(&store, domain.id, "all").await;
        assert_eq!(shown.iter().map(|line| profile_id(line)).collect::<Vec<_>>(), wanted);
    }
    run(&store, &two, "next", CREATE, &[uid("d")]).await;
    let made = profile_id(&results(&store, two.id, "next").await[0]);
    let last = ids(target.path()).last().copied().unwrap();
    assert_eq!((last.0, last.1.to_string()), (2, made));
    store.delete_domain(two.id).await.unwrap();
    assert_sound(&store).await;
    let left = [(1, first), (1, first + 1)];
    assert_eq!(ids(target.path()), left, "deleting a domain removes only its own profiles");
}
