//! The text index on SQLite: a kill in the middle of settling, and damage that the check names.

use std::path::Path;

use caseload_model::task::Action;
use caseload_store::SettleTexts;
use caseload_store::failpoint::Failpoint;
use rusqlite::Connection;
use serde_json::json;

use super::failpoints::{came_to_its_end, planned};
use super::{admin, file, server};
use crate::suite::support::{assert_sound, domain, run};

const ISSUES: u64 = 300;

async fn fill(folder: &Path) {
    let store = server(folder).unwrap();
    let acme = domain(&store, "acme").await;
    let entry = |n: u64| json!({"id": n, "created_at": n, "title": format!("number {n}.")});
    let entries: Vec<_> = (1..=ISSUES).map(|n| entry(n).to_string()).collect();
    run(&store, &acme, "t", Action::ImportIssues, &entries).await;
    store.close().await.unwrap();
}

fn count(folder: &Path, table: &str) -> i64 {
    let conn = Connection::open(file(folder)).unwrap();
    conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

/// Not a test by itself: other tests start it as a child process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process_settles() {
    let Some(folder) = planned(Failpoint::OF_SETTLING) else { return };
    let store = server(&folder).unwrap();
    while store.settle_texts(SettleTexts::Everything).await.unwrap() {}
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settling_that_is_killed_goes_on_after_a_restart() {
    for (place, left) in [(Failpoint::SettleBeforeCommit, 1), (Failpoint::SettleAfterCommit, 0)] {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path()).await;
        let child =
            |kill| came_to_its_end("embedded::texts::child_process_settles", folder.path(), kill);
        assert!(!child(Some((place, 1))), "{place:?} was not reached");
        assert_eq!(count(folder.path(), "issue_text_marks"), left, "{place:?}");
        assert_sound(&admin(folder.path())).await;
        assert!(child(None));
        assert_eq!(count(folder.path(), "issue_text_marks"), 0, "{place:?}");
        assert_eq!(count(folder.path(), "issue_text_segments"), 1, "{place:?}");
        assert_sound(&admin(folder.path())).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_names_damage_to_the_text_index() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let store = server(folder.path()).unwrap();
    while store.settle_texts(SettleTexts::Everything).await.unwrap() {}
    assert_sound(&store).await;
    store.close().await.unwrap();
    let one = "(SELECT bucket FROM issue_text_grams ORDER BY length(rows) DESC LIMIT 1)";
    for (damage, fault) in [
        (format!("DELETE FROM issue_text_grams WHERE bucket = {one}"), "other grams for"),
        (
            format!("UPDATE issue_text_grams SET rows = x'0000' WHERE bucket = {one}"),
            "other grams for",
        ),
        ("UPDATE issue_text_grams SET rows = x'ff'".to_owned(), "cannot be read"),
        ("UPDATE issue_text_grams SET bucket = 99999 WHERE bucket = ".to_owned() + one, "bucket"),
        ("DELETE FROM issue_text_segments".to_owned(), "300 issues are not in the text index"),
        ("UPDATE issue_text_segments SET rows = x'00'".to_owned(), "cannot be read"),
    ] {
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(file(folder.path()), file(copy.path())).unwrap();
        Connection::open(file(copy.path())).unwrap().execute_batch(&damage).unwrap();
        let faults = admin(copy.path()).check().await.unwrap().faults;
        assert!(faults.iter().any(|found| found.contains(fault)), "{damage}: {faults:?}");
    }
}
