//! Backups of a store in use: each is a consistent snapshot, and its file appears only when the
//! backup is complete.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use caseload_model::task::Action;
use caseload_store::{CreateBackup, OpenMode, StoreError};
use serde_json::json;

use super::{file, open, server};
use crate::suite::support::{assert_sound, domain, run, uid};

const CREATE: Action = Action::CreateCoreProfiles;

fn to(file: &Path, overwrite: bool) -> CreateBackup {
    CreateBackup { file: file.to_owned(), overwrite }
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_during_writes_is_a_consistent_snapshot() {
    let (folder, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let entry = |n: i64| json!({"created_at": n, "title": "x".repeat(2000)}).to_string();
    run(&store, &acme, "first", Action::ImportIssues, &(0..1500).map(entry).collect::<Vec<_>>())
        .await;
    let stop = Arc::new(AtomicBool::new(false));
    let writing = {
        let (store, acme, stop) = (store.clone(), acme.clone(), stop.clone());
        tokio::spawn(async move {
            let mut tasks = 0_u32;
            while !stop.load(Ordering::SeqCst) {
                let entries: Vec<_> = (0..20).map(|n| uid(&format!("{tasks}-{n}"))).collect();
                run(&store, &acme, &format!("t{tasks}"), CREATE, &entries).await;
                tasks += 1;
            }
            tasks
        })
    };
    for n in 0..3 {
        let file = target.path().join(format!("{n}.db"));
        let report = store.backup(to(&file, false)).await.unwrap();
        assert_eq!(report.check.faults, Vec::<String>::new());
        assert_eq!(report.bytes, std::fs::metadata(&file).unwrap().len());
        let verified = |what: &str| {
            let found = report.check.verified.iter().find(|(name, _)| name == what);
            found.unwrap_or_else(|| panic!("{:?}", report.check.verified)).1
        };
        assert_eq!(verified("issues"), 1500);
        // Each chunk of 20 profiles is in the snapshot as a whole or not at all.
        assert_eq!(verified("core profiles") % 20, 0);
    }
    stop.store(true, Ordering::SeqCst);
    assert!(writing.await.unwrap() > 0);
    assert_eq!(names(target.path()), ["0.db", "1.db", "2.db"], "no temporary file is left");
    assert_sound(&store).await;
    // A backup is a store: it can be served and written to.
    let restored = open(&target.path().join("2.db"), OpenMode::Server).unwrap();
    let found = restored.domains().await.unwrap();
    assert_eq!(found, std::slice::from_ref(&acme));
    run(&restored, &acme, "later", CREATE, &[uid("later")]).await;
    assert_sound(&restored).await;
    restored.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_replaces_a_file_only_on_request_and_only_as_a_whole() {
    let (folder, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = server(folder.path()).unwrap();
    domain(&store, "acme").await;
    let file = target.path().join("backup.db");
    std::fs::write(&file, "mine").unwrap();
    let refused = store.backup(to(&file, false)).await;
    assert!(matches!(refused, Err(StoreError::AlreadyExists { .. })), "{refused:?}");
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    // SQLite would replay the log of the older file into the new one.
    std::fs::write(target.path().join("backup.db-wal"), "old log").unwrap();
    store.backup(to(&file, true)).await.unwrap();
    assert_eq!(names(target.path()), ["backup.db"]);
    std::fs::rename(&file, target.path().join("other.db")).unwrap();
    std::fs::write(target.path().join("backup.db-wal"), "old log").unwrap();
    let refused = store.backup(to(&file, false)).await;
    assert!(matches!(refused, Err(StoreError::AlreadyExists { .. })), "{refused:?}");
    // A backup never replaces its own store or a store that a server uses.
    let own = folder.path().join("caseload.db");
    for file in [&own, &target.path().join("no/such/folder.db"), target.path()] {
        for overwrite in [false, true] {
            let refused = store.backup(to(file, overwrite)).await;
            assert!(matches!(refused, Err(StoreError::BackupTarget { .. })), "{refused:?}");
        }
    }
    let other = open(&target.path().join("other.db"), OpenMode::Server).unwrap();
    let refused = store.backup(to(&target.path().join("other.db"), true)).await;
    assert!(matches!(refused, Err(StoreError::ServerRunning { .. })), "{refused:?}");
    assert_sound(&other).await;
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_damaged_store_is_refused() {
    let (folder, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let entry = json!({"created_at": 5}).to_string();
    run(&store, &acme, "t", Action::ImportIssues, &[entry]).await;
    let path = file(folder.path());
    rusqlite::Connection::open(path).unwrap().execute_batch("DELETE FROM issue_bodies").unwrap();
    let file = target.path().join("backup.db");
    std::fs::write(&file, "an older backup").unwrap();
    let refused = store.backup(to(&file, true)).await;
    let Err(StoreError::Corrupt(said)) = refused else { panic!("{refused:?}") };
    assert!(said.contains("the backup was discarded") && said.contains("fragments"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), b"an older backup");
    assert_eq!(names(target.path()), ["backup.db"]);
}
