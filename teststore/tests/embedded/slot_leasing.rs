//! Tasks that are leased to worker slots in the commit that makes them runnable: without a further
//! commit, in the order of the fair queue, never more than there are slots, and not lost if the
//! slots close.

use std::sync::Arc;
use std::time::Duration;

use caseload_bulk::Slots;
use caseload_model::task::TaskStatus;
use caseload_store::{
    Changes as _, ClaimedTask, OpenMode, Store, Submit as _, Work as _, WorkerSlots as _,
};
use caseload_store_sqlite::SqliteStore;
use tokio::time::timeout;

use super::{CREATE, file};
use crate::suite::support::{NOW, apply_all, assert_sound, claim_at, domain, later, task_of, uid};

async fn next(slots: &Slots) -> Option<ClaimedTask> {
    timeout(Duration::from_millis(20), slots.next()).await.ok()
}

/// A store with so many registered slots.
fn registered(folder: &tempfile::TempDir, free: usize) -> (Arc<SqliteStore>, Arc<Slots>) {
    let store = Arc::new(SqliteStore::open(&file(folder.path()), OpenMode::Server).unwrap());
    let slots = Arc::new(Slots::new("server-1", 30_000, free));
    store.register(slots.clone());
    (store, slots)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_leased_in_the_commit_that_makes_it_runnable() {
    let folder = tempfile::tempdir().unwrap();
    let (store, slots) = registered(&folder, 2);
    let plain: Arc<dyn Store> = store.clone();
    let acme = domain(&plain, "acme").await;
    let (wake_ups, mut ends) = (store.wake_ups(), store.appended());
    let before = store.commits();
    for (id, name) in [("first", "a"), ("second", "b")] {
        store.create_task(task_of(&acme, id, CREATE, &[uid(name)], 1)).await.unwrap();
    }
    assert_eq!(store.commits() - before, 2, "only the commits that create the tasks");
    let first = next(&slots).await.unwrap();
    assert_eq!((&*first.task.id, first.task.status), ("first", TaskStatus::Processing));
    assert!(next(&slots).await.is_none(), "a domain has one writing task at a time");
    assert!(!wake_ups.has_changed().unwrap(), "all runnable tasks are leased");
    ends.mark_unchanged();
    apply_all(&plain, &first, later(5)).await;
    assert!(ends.has_changed().unwrap(), "a caller that waits for the first is notified");
    let second = next(&slots).await.unwrap();
    assert_eq!((&*second.task.id, second.task.started_at), ("second", Some(later(5))));
    apply_all(&plain, &second, later(9)).await;
    assert_sound(&plain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_never_exceed_the_slots_and_further_work_gets_a_wake_up() {
    let folder = tempfile::tempdir().unwrap();
    let (store, slots) = registered(&folder, 1);
    let plain: Arc<dyn Store> = store.clone();
    let (one, two) = (domain(&plain, "one").await, domain(&plain, "two").await);
    let mut wake_ups = store.wake_ups();
    store.create_task(task_of(&one, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    assert!(wake_ups.has_changed().unwrap(), "more tasks may be runnable than slots are free");
    wake_ups.borrow_and_update();
    store.create_task(task_of(&two, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    assert!(wake_ups.has_changed().unwrap());
    let first = next(&slots).await.unwrap();
    assert_eq!(first.domain, one.id);
    assert!(next(&slots).await.is_none());
    slots.free(1);
    apply_all(&plain, &first, NOW).await;
    assert_eq!(next(&slots).await.unwrap().domain, two.id);
    assert_sound(&plain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_slots_take_no_tasks_and_their_leases_are_released() {
    let folder = tempfile::tempdir().unwrap();
    let (store, slots) = registered(&folder, 3);
    let plain: Arc<dyn Store> = store.clone();
    let (one, two) = (domain(&plain, "one").await, domain(&plain, "two").await);
    store.create_task(task_of(&one, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    slots.close();
    store.create_task(task_of(&two, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    slots.free(1);
    assert!(next(&slots).await.is_none());
    let free = claim_at(&plain, "server-2", NOW, 9).await;
    assert_eq!(free.iter().map(|task| task.domain).collect::<Vec<_>>(), [two.id]);
    store.release_leases("server-1").await.unwrap();
    let released = claim_at(&plain, "server-2", NOW, 9).await;
    assert_eq!(released.iter().map(|task| task.domain).collect::<Vec<_>>(), [one.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_command_leases_no_task_and_takes_no_slot() {
    let folder = tempfile::tempdir().unwrap();
    let (store, slots) = registered(&folder, 1);
    let plain: Arc<dyn Store> = store.clone();
    let acme = domain(&plain, "acme").await;
    let mut refused = task_of(&acme, "t", CREATE, &[uid("a")], 1);
    refused.unfinished_max = 0;
    store.create_task(refused).await.unwrap_err();
    assert!(next(&slots).await.is_none());
    assert!(slots.is_any_free());
}
