//! The text index on SQLite: a kill in the middle of indexing, an old store that gets the index
//! while it serves, and damage that the check names.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::task::Action;
use caseload_store::failpoint::Failpoint;
use caseload_store::{CreateTask, Domain, IndexTexts, ListIssues, Store, StoreError};
use caseload_testdata::SplitMix;
use rusqlite::Connection;
use serde_json::json;

use super::failpoints::{came_to_its_end, planned};
use super::{admin, file, server};
use crate::suite::issue_writes::create;
use crate::suite::support::{NOW, assert_sound, domain, run, run_command, task_of};
use crate::suite::texts::{indexed, listed};

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
    let Some(folder) = planned(Failpoint::OF_TEXT_INDEXING) else { return };
    let store = server(&folder).unwrap();
    while store.index_texts(IndexTexts::Everything).await.unwrap() {}
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn indexing_that_is_killed_goes_on_after_a_restart() {
    for (place, left) in
        [(Failpoint::IndexTextsBeforeCommit, 1), (Failpoint::IndexTextsAfterCommit, 0)]
    {
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

/// An old store has one mark for all its issues, and no segment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_store_is_settled_step_by_step_while_it_serves() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let entry = |n: u64| json!({"id": n, "created_at": n, "title": format!("number {n}.")});
    let entries: Vec<_> = (1..=9500).map(|n| entry(n).to_string()).collect();
    run(&store, &acme, "t", Action::ImportIssues, &entries).await;
    while store.index_texts(IndexTexts::Everything).await.unwrap() {}
    store.close().await.unwrap();
    drop(store);
    let conn = Connection::open(file(folder.path())).unwrap();
    conn.execute_batch(
        "DELETE FROM issue_text_marks;
         DELETE FROM issue_text_segments;
         DELETE FROM issue_text_grams;
         INSERT INTO issue_text_marks (domain_id, first_row, last_row, erased)
             SELECT domain_id, min(row), max(row), 0 FROM issues GROUP BY domain_id;",
    )
    .unwrap();
    drop(conn);
    let store = server(folder.path()).unwrap();
    let hits = async |text: &str| listed(&store, &acme, Some(("text", text.to_owned()))).await.1;
    let mut steps = 0;
    loop {
        assert_eq!((hits("number 7.").await, hits("er 199").await), (1, 11), "{steps}");
        let body = format!("written after {steps} steps");
        create(&store, &acme, &[("message-body", &body)]).await;
        assert_eq!(hits(&body.to_uppercase()).await, 1);
        if !store.index_texts(IndexTexts::Due).await.unwrap() {
            break;
        }
        steps += 1;
    }
    assert_eq!(steps, 2, "of 8,192 issues, and of the rest");
    assert!(indexed(&store).await >= 9500);
}

/// Two readers share a search of so many issues. Each write moves a word from the first issue to
/// the last one, or back, so two readers that see different states find one too many or too few.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_search_by_two_readers_sees_one_state() {
    const MANY: u64 = 4000;
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let entry = |n: u64, word: &str| {
        let title = format!("{word} {n}.");
        json!({"id": n, "created_at": n, "updated_at": 5000, "title": title}).to_string()
    };
    let entries: Vec<_> =
        (1..=MANY).map(|n| entry(n, if n == MANY { "other" } else { "number" })).collect();
    run(&store, &acme, "t", Action::ImportIssues, &entries).await;
    let searching = {
        let (store, acme) = (Arc::clone(&store), acme.clone());
        tokio::spawn(async move {
            for _ in 0..100 {
                assert_eq!(try_listed(&store, &acme, "number").await.unwrap(), MANY - 1);
            }
        })
    };
    for n in 0.. {
        let words = if n % 2 == 0 { ["other", "number"] } else { ["number", "other"] };
        let swapped = [entry(1, words[0]), entry(MANY, words[1])];
        let task = task_of(&acme, &format!("swap-{n}"), Action::ImportIssues, &swapped, 2);
        run_command(&store, CreateTask { upsert: true, ..task }, NOW).await;
        if searching.is_finished() {
            break;
        }
    }
    searching.await.unwrap();
}

/// A flipped bit in the index is named by the check, or it changes no answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_bit_of_the_text_index_is_named_or_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let store = server(folder.path()).unwrap();
    while store.index_texts(IndexTexts::Everything).await.unwrap() {}
    let acme = store.domains().await.unwrap().remove(0);
    store.close().await.unwrap();
    drop(store);
    let mut random = SplitMix::new(22);
    let mut named = 0;
    for flip in 0..60 {
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(file(folder.path()), file(copy.path())).unwrap();
        let conn = Connection::open(file(copy.path())).unwrap();
        let (table, key) = if flip % 4 == 0 {
            ("issue_text_segments", "segment")
        } else {
            ("issue_text_grams", "bucket")
        };
        let count = count(copy.path(), table) as usize;
        let select = format!("SELECT {key}, rows FROM {table} LIMIT 1 OFFSET ?1");
        let (of, mut blob): (i64, Vec<u8>) = conn
            .query_row(&select, [random.below(count) as i64], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        let bit = random.below(blob.len() * 8);
        blob[bit / 8] ^= 1 << (bit % 8);
        let update = format!("UPDATE {table} SET rows = ?1 WHERE {key} = ?2");
        conn.execute(&update, rusqlite::params![blob, of]).unwrap();
        drop(conn);
        let damaged = server(copy.path()).unwrap();
        let faults = damaged.check().await.unwrap().faults;
        named += usize::from(!faults.is_empty());
        for (text, hits) in [("number 7.", 1), ("number 29", 11), ("umber", ISSUES), ("nobody", 0)]
        {
            let found = try_listed(&damaged, &acme, text).await;
            assert!(
                !faults.is_empty() || found.as_ref().is_ok_and(|found| *found == hits),
                "bit {bit} of {table} {of}: {text} {found:?}"
            );
        }
    }
    assert!(named > 50, "only {named} flips were named");
}

/// The number of issues with this text.
async fn try_listed(
    store: &Arc<dyn Store>,
    domain: &Domain,
    text: &str,
) -> Result<u64, StoreError> {
    let query = parse_list(&[("text".to_owned(), text.to_owned())]).unwrap().query;
    let request = ListIssues {
        domain: domain.id,
        query,
        view: IssueView::FULL,
        paging: Paging { page: 1, page_size: 10 },
        bytes_max: usize::MAX,
        budget: Duration::from_secs(30).into(),
    };
    Ok(store.list_issues(request).await?.total_hits)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_names_damage_to_the_text_index() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let store = server(folder.path()).unwrap();
    while store.index_texts(IndexTexts::Everything).await.unwrap() {}
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
