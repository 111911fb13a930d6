//! Tasks that are leased in the commit by which they become runnable: without a commit more, in the
//! order of turns, never more than there are hands, and not lost where the hands close.

use std::sync::Arc;
use std::time::Duration;

use caseload_bulk::Slots;
use caseload_model::task::TaskStatus;
use caseload_store::{ClaimedTask, OpenMode, Store, Submit as _, Work as _, WorkerSlots as _};
use caseload_store_sqlite::SqliteStore;
use tokio::time::timeout;

use super::{CREATE, file};
use crate::suite::support::{NOW, apply_all, assert_sound, claim_at, domain, later, task_of, uid};

async fn next(hands: &Slots) -> Option<ClaimedTask> {
    timeout(Duration::from_millis(20), hands.next()).await.ok()
}

/// A store with so many hands lent.
fn lent(folder: &tempfile::TempDir, free: usize) -> (Arc<SqliteStore>, Arc<Slots>) {
    let store = Arc::new(SqliteStore::open(&file(folder.path()), OpenMode::Server).unwrap());
    let hands = Arc::new(Slots::new("server-1", 30_000, free));
    store.register(hands.clone());
    (store, hands)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_leased_in_the_commit_that_makes_it_runnable() {
    let folder = tempfile::tempdir().unwrap();
    let (store, hands) = lent(&folder, 2);
    let plain: Arc<dyn Store> = store.clone();
    let acme = domain(&plain, "acme").await;
    let (bell, ends) = (store.wake_ups(), store.task_ends());
    let before = store.commits();
    for (id, name) in [("first", "a"), ("second", "b")] {
        store.create_task(task_of(&acme, id, CREATE, &[uid(name)], 1)).await.unwrap();
    }
    assert_eq!(store.commits() - before, 2, "no commit more than those that accept");
    let first = next(&hands).await.unwrap();
    assert_eq!((&*first.task.id, first.task.status), ("first", TaskStatus::Processing));
    assert!(next(&hands).await.is_none(), "a domain has one writing task at a time");
    assert!(!bell.has_changed().unwrap(), "whatever is runnable is leased");
    assert!(!ends.has_changed().unwrap());
    apply_all(&plain, &first, later(5)).await;
    assert!(ends.has_changed().unwrap(), "whoever waits for the first hears of its end");
    let second = next(&hands).await.unwrap();
    assert_eq!((&*second.task.id, second.task.started_at), ("second", Some(later(5))));
    apply_all(&plain, &second, later(9)).await;
    assert_sound(&plain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_more_leases_than_hands_and_the_bell_rings_for_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (store, hands) = lent(&folder, 1);
    let plain: Arc<dyn Store> = store.clone();
    let (one, two) = (domain(&plain, "one").await, domain(&plain, "two").await);
    let mut bell = store.wake_ups();
    store.create_task(task_of(&one, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    assert!(bell.has_changed().unwrap(), "there may be more than hands");
    bell.borrow_and_update();
    store.create_task(task_of(&two, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    assert!(bell.has_changed().unwrap());
    let first = next(&hands).await.unwrap();
    assert_eq!(first.domain, one.id);
    assert!(next(&hands).await.is_none());
    hands.free(1);
    apply_all(&plain, &first, NOW).await;
    assert_eq!(next(&hands).await.unwrap().domain, two.id);
    assert_sound(&plain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_hands_take_nothing_and_what_they_held_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let (store, hands) = lent(&folder, 3);
    let plain: Arc<dyn Store> = store.clone();
    let (one, two) = (domain(&plain, "one").await, domain(&plain, "two").await);
    store.create_task(task_of(&one, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    hands.close();
    store.create_task(task_of(&two, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    hands.free(1);
    assert!(next(&hands).await.is_none());
    let free = claim_at(&plain, "server-2", NOW, 9).await;
    assert_eq!(free.iter().map(|task| task.domain).collect::<Vec<_>>(), [two.id]);
    store.release_leases("server-1").await.unwrap();
    let given_back = claim_at(&plain, "server-2", NOW, 9).await;
    assert_eq!(given_back.iter().map(|task| task.domain).collect::<Vec<_>>(), [one.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_refused_leases_nothing_and_takes_no_hand() {
    let folder = tempfile::tempdir().unwrap();
    let (store, hands) = lent(&folder, 1);
    let plain: Arc<dyn Store> = store.clone();
    let acme = domain(&plain, "acme").await;
    let mut refused = task_of(&acme, "t", CREATE, &[uid("a")], 1);
    refused.unfinished_max = 0;
    store.create_task(refused).await.unwrap_err();
    assert!(next(&hands).await.is_none());
    assert!(hands.is_any_free());
}
