//! One server a file, under any name; files that do not become a store; and who may read the
//! files of a store.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use caseload_store::{OpenMode, StoreError};
use rusqlite::Connection;

use super::{admin, domain, file, open, server};
use crate::suite::support::assert_sound;

/// The reason why a store does not open.
fn refused(path: &Path, mode: OpenMode) -> String {
    match open(path, mode).map(drop) {
        Err(StoreError::NotOpened { reason, hint, .. }) => {
            assert!(hint.is_some(), "{reason}");
            reason
        }
        other => panic!("{} in {mode:?}: {other:?}", path.display()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_hard_link_of_a_store_refuses_to_open() {
    let folder = tempfile::tempdir().unwrap();
    let first = server(folder.path()).unwrap();
    domain(&first, "acme").await;
    let second = folder.path().join("second.db");
    fs::hard_link(file(folder.path()), &second).unwrap();
    for mode in [OpenMode::Server, OpenMode::Admin, OpenMode::Create] {
        assert!(refused(&second, mode).contains("2 names"), "{mode:?}");
    }
    // Its own name goes on to work, during the server and after it.
    domain(&admin(folder.path()), "beta").await;
    assert_sound(&first).await;
    first.close().await.unwrap();
    let again = server(folder.path()).unwrap();
    assert_eq!(again.domains().await.unwrap().len(), 2);
    again.close().await.unwrap();
    // Without the other name, the file is that of one store again.
    fs::remove_file(file(folder.path())).unwrap();
    let moved = open(&second, OpenMode::Server).unwrap();
    assert_eq!(moved.domains().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_refused_while_another_one_has_the_file_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let second = folder.path().join("second.db");
    for first in [OpenMode::Server, OpenMode::Admin] {
        server(folder.path()).unwrap().close().await.unwrap();
        let first = open(&file(folder.path()), first).unwrap();
        if !second.exists() {
            fs::hard_link(file(folder.path()), &second).unwrap();
            // As if a server had once used this name.
            fs::write(folder.path().join("second.db.lock"), b"").unwrap();
        }
        for mode in [OpenMode::Server, OpenMode::Admin, OpenMode::Create] {
            assert!(refused(&second, mode).contains("under another path"), "{mode:?}");
        }
        admin(folder.path()).close().await.unwrap();
        assert!(refused(&second, OpenMode::Admin).contains("under another path"));
        first.close().await.unwrap();
        let alone = open(&second, OpenMode::Server).unwrap();
        alone.ready().await.unwrap();
        alone.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_symbolic_link_leads_to_the_store_and_its_lock() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let (link, target) = (folder.path().join("link.db"), folder.path().join("data/store.db"));
    symlink("data/store.db", &link).unwrap();
    let first = open(&link, OpenMode::Server).unwrap();
    domain(&first, "acme").await;
    assert!(target.is_file(), "the file is made at the end of the link");
    assert!(!folder.path().join("link.db.lock").exists(), "files are next to the store itself");
    for path in [&link, &target] {
        let outcome = open(path, OpenMode::Server).map(drop);
        assert!(matches!(outcome, Err(StoreError::ServerRunning { .. })), "{outcome:?}");
    }
    first.close().await.unwrap();
    let names = open(&target, OpenMode::Admin).unwrap().domains().await.unwrap();
    assert_eq!(names.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_or_foreign_file_does_not_become_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path());
    for (contents, reason) in
        [(&b""[..], "empty"), (b"a letter", "not a SQLite database"), (b"x", "not a SQLite")]
    {
        fs::write(&path, contents).unwrap();
        for mode in [OpenMode::Server, OpenMode::Create] {
            assert!(refused(&path, mode).contains(reason), "{mode:?}");
        }
        assert_eq!(fs::read(&path).unwrap(), contents, "the file is as it was");
    }
    fs::remove_file(&path).unwrap();
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    drop(foreign);
    assert!(refused(&path, OpenMode::Server).contains("not those of a store"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refused(&path, OpenMode::Server).contains("not a file"));
    // The beginning of a store that a crash left.
    let begun = folder.path().join("begun.db");
    fs::write(&begun, b"").unwrap();
    fs::write(folder.path().join("begun.db.migration-lock"), b"").unwrap();
    open(&begun, OpenMode::Server).unwrap().ready().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_folders_of_a_store_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/deeper/caseload.db");
    let store = open(&path, OpenMode::Server).unwrap();
    domain(&store, "acme").await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in ["data", "data/deeper"] {
        assert_eq!(mode(&folder.path().join(name)), 0o700, "{name}");
    }
    let files: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    let backup = folder.path().join("backup.db");
    let command = caseload_store::CreateBackup { file: backup.clone(), overwrite: false };
    store.backup(command).await.unwrap();
    assert_eq!(mode(&backup), 0o600, "a backup");
}
