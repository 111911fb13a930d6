//! Entries that are tried alone, because servers died or took too long with several.

use std::sync::Arc;

use caseload_model::task::Action;
use caseload_store::{ClaimedTask, Store, StoreError, Trial, TryEntry};

use super::support::{
    NOW, apply_all, assert_lease_lost, assert_sound, chunk, claim_at, domain, next_block, task_of,
    uid,
};

const CREATE: Action = Action::CreateCoreProfiles;

pub(crate) async fn try_entry(
    store: &Arc<dyn Store>,
    claimed: &ClaimedTask,
    index: u32,
) -> Result<Trial, StoreError> {
    let command = TryEntry {
        domain: claimed.domain,
        task_id: claimed.task.id.clone(),
        lease_epoch: claimed.lease_epoch,
        index,
    };
    store.try_entry(command).await
}

pub(crate) async fn an_entry_tried_twice_alone_without_a_commit_is_parked(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries: Vec<_> = (0..4).map(|n| uid(&n.to_string())).collect();
    store.create_task(task_of(&acme, "t", CREATE, &entries, 1)).await.unwrap();
    let claimed = claim_at(&store, "one", NOW, 1).await.remove(0);
    assert!(!claimed.one_by_one);
    for trial in [Trial::Try, Trial::Try, Trial::Park, Trial::Park] {
        assert_eq!(try_entry(&store, &claimed, 0).await.unwrap(), trial);
    }
    // The next entry has trials of its own.
    let first = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
    let applied = store.apply_chunk(first).await.unwrap();
    assert_eq!((applied.done, applied.next_index), (1, 1));
    assert_eq!(try_entry(&store, &claimed, 1).await.unwrap(), Trial::Try);
    store.release_leases("one").await.unwrap();
    let again = claim_at(&store, "two", NOW, 1).await.remove(0);
    assert!(again.one_by_one, "the task stays so for the next server");
    assert_eq!(try_entry(&store, &again, 1).await.unwrap(), Trial::Try);
    assert_eq!(try_entry(&store, &again, 1).await.unwrap(), Trial::Park);
    assert_eq!(apply_all(&store, &again, NOW).await.counts.succeeded, 4);
    assert_sound(&store).await;
}

pub(crate) async fn only_the_holder_of_the_lease_tries_an_entry(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let lost = claim_at(&store, "one", NOW, 1).await.remove(0);
    store.release_leases("one").await.unwrap();
    assert_lease_lost(&try_entry(&store, &lost, 0).await);
    let held = claim_at(&store, "two", NOW, 1).await.remove(0);
    assert_lease_lost(&try_entry(&store, &lost, 0).await);
    assert_eq!(apply_all(&store, &held, NOW).await.counts.succeeded, 1);
    assert_lease_lost(&try_entry(&store, &held, 0).await);
}
