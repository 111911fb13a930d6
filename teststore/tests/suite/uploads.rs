//! Uploads: payload blocks that are staged before their task is accepted. They become the payload
//! of the task, or they are removed. An upload is never visible as a task.

use std::sync::Arc;

use caseload_model::task::{Action, Family};
use caseload_store::{CreateTask, Domain, PackedBlock, StagePayload, Store, StoreError};

use super::support::{
    NOW, apply_all, assert_not_found, assert_sound, assert_taken, claim, domain, later, next_block,
    task_of, uid,
};

/// Half an hour and an hour, in milliseconds.
const HALF_HOUR: i64 = 1_800_000;
const HOUR: i64 = 2 * HALF_HOUR;

/// A task of 50 entries in five blocks.
fn whole(domain: &Domain, id: &str) -> CreateTask {
    let entries: Vec<_> = (0..50).map(|n| uid(&format!("{id}-{n}"))).collect();
    task_of(domain, id, Action::CreateCoreProfiles, &entries, 10)
}

async fn stage_at(
    store: &Arc<dyn Store>,
    domain: &Domain,
    id: &str,
    blocks: &[PackedBlock],
    millis: i64,
) -> Result<(), StoreError> {
    let (task_id, blocks) = (id.to_owned(), blocks.to_vec());
    let command =
        StagePayload { key: None, domain: domain.id, task_id, blocks, now: later(millis) };
    store.stage_payload(command).await
}

/// Stages the first `count` blocks of a command, one by one.
async fn stage(store: &Arc<dyn Store>, domain: &Domain, command: &mut CreateTask, count: usize) {
    for block in command.blocks.drain(..count) {
        stage_at(store, domain, &command.id, &[block], 0).await.unwrap();
        command.staged += 1;
    }
}

async fn first_block(store: &Arc<dyn Store>, domain: &Domain, id: &str) -> Option<Vec<u8>> {
    store.payload_block(domain.id, id, 0).await.unwrap()
}

fn assert_lost<T: std::fmt::Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::UploadLost)), "{answer:?}");
}

pub(crate) async fn a_task_begins_with_its_staged_blocks(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut command = whole(&acme, "t");
    stage(&store, &acme, &mut command, 3).await;
    assert_eq!(store.task(acme.id, Family::Identity, "t").await.unwrap(), None);
    assert!(claim(&store, 9).await.is_empty(), "an upload is not a task");
    assert_sound(&store).await;
    store.create_task(command).await.unwrap();
    assert_sound(&store).await;
    let claimed = claim(&store, 9).await.remove(0);
    assert_eq!((claimed.next_index, claimed.task.counts.total), (0, 50));
    assert_eq!(next_block(&store, &claimed, 29).await.entries.last().unwrap().index, 29);
    assert_eq!(apply_all(&store, &claimed, NOW).await.counts.succeeded, 50);
    assert_sound(&store).await;
}

pub(crate) async fn the_whole_payload_can_be_staged(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut command = whole(&acme, "t");
    stage(&store, &acme, &mut command, 5).await;
    store.create_task(command).await.unwrap();
    let claimed = claim(&store, 9).await.remove(0);
    assert_eq!(apply_all(&store, &claimed, NOW).await.counts.succeeded, 50);
    assert_sound(&store).await;
}

pub(crate) async fn discarding_removes_an_upload_that_no_task_accepted(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let (mut kept, mut dropped) = (whole(&acme, "kept"), whole(&acme, "dropped"));
    stage(&store, &acme, &mut kept, 2).await;
    stage(&store, &acme, &mut dropped, 4).await;
    store.discard_staged(acme.id, "dropped").await.unwrap();
    store.discard_staged(acme.id, "never there").await.unwrap();
    assert_eq!(first_block(&store, &acme, "dropped").await, None);
    assert!(!store.purge_expired(NOW).await.unwrap(), "nothing is left to remove");
    assert_lost(&store.create_task(dropped).await);
    store.create_task(kept).await.unwrap();
    assert_sound(&store).await;
}

pub(crate) async fn an_accepted_upload_cannot_be_discarded_or_continued(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut command = whole(&acme, "t");
    stage(&store, &acme, &mut command, 2).await;
    let late = command.blocks[2].clone();
    store.create_task(command).await.unwrap();
    store.discard_staged(acme.id, "t").await.unwrap();
    assert!(first_block(&store, &acme, "t").await.is_some());
    assert_taken(&stage_at(&store, &acme, "t", &[late], 0).await);
    assert_sound(&store).await;
}

pub(crate) async fn an_upload_with_missing_blocks_is_refused(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut command = whole(&acme, "t");
    stage(&store, &acme, &mut command, 2).await;
    assert!(
        store.purge_expired(later(HOUR)).await.unwrap(),
        "the upload has expired: one block is purged"
    );
    // The client continues the upload nevertheless.
    let next = command.blocks.remove(0);
    stage_at(&store, &acme, "t", &[next], HOUR).await.unwrap();
    command.staged += 1;
    assert_lost(&store.create_task(command.clone()).await);
    assert_lost(&store.create_task(CreateTask { staged: 9, ..command }).await);
    let unknown = CreateTask { staged: 1, ..whole(&acme, "unknown") };
    assert_lost(&store.create_task(unknown).await);
    assert!(claim(&store, 9).await.is_empty());
    store.discard_staged(acme.id, "t").await.unwrap();
    assert_sound(&store).await;
}

pub(crate) async fn an_abandoned_upload_is_purged_block_by_block(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut command = whole(&acme, "t");
    stage(&store, &acme, &mut command, 2).await;
    // Each block extends the life of the upload to another hour.
    let next = command.blocks.remove(0);
    stage_at(&store, &acme, "t", &[next], HALF_HOUR).await.unwrap();
    assert!(!store.purge_expired(later(HALF_HOUR + HOUR - 1)).await.unwrap(), "not yet");
    let mut steps = 0;
    while store.purge_expired(later(HALF_HOUR + HOUR)).await.unwrap() {
        assert_sound(&store).await;
        steps += 1;
    }
    assert_eq!(steps, 4, "block by block, then the upload");
    assert_eq!(first_block(&store, &acme, "t").await, None);
}

pub(crate) async fn an_upload_of_several_tasks_lives_while_it_continues(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let (mut first, mut second) = (whole(&acme, "first"), whole(&acme, "second"));
    stage(&store, &acme, &mut first, 2).await;
    let extend = async |ids: &[&str], millis| {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        store.extend_staged(acme.id, ids, later(millis)).await
    };
    for halves in 1..5 {
        assert!(!store.purge_expired(later(halves * HALF_HOUR)).await.unwrap());
        extend(&["first"], halves * HALF_HOUR).await.unwrap();
    }
    let block = second.blocks.remove(0);
    stage_at(&store, &acme, "second", &[block], 3 * HOUR - 1).await.unwrap();
    second.staged = 1;
    extend(&["first", "second"], 3 * HOUR - 1).await.unwrap();
    assert_sound(&store).await;
    assert!(!store.purge_expired(later(4 * HOUR - 2)).await.unwrap());
    store.create_task(first).await.unwrap();
    // A task that was accepted is not an upload, and one that is being purged has ended.
    assert_lost(&extend(&["first", "second"], 4 * HOUR - 2).await);
    assert_lost(&extend(&["unknown"], 0).await);
    extend(&["second"], 3 * HOUR).await.unwrap();
    assert!(store.purge_expired(later(4 * HOUR)).await.unwrap(), "nothing came for an hour");
    assert_lost(&extend(&["second"], 4 * HOUR).await);
    while store.purge_expired(later(4 * HOUR)).await.unwrap() {}
    assert_eq!(first_block(&store, &acme, "second").await, None);
    assert_lost(&store.create_task(second).await);
    assert_sound(&store).await;
}

pub(crate) async fn deleting_a_domain_removes_its_uploads(store: Arc<dyn Store>) {
    let [acme, other] = [domain(&store, "acme").await, domain(&store, "other").await];
    let (mut gone, mut kept) = (whole(&acme, "t"), whole(&other, "t"));
    stage(&store, &acme, &mut gone, 2).await;
    stage(&store, &other, &mut kept, 2).await;
    store.delete_domain(acme.id).await.unwrap();
    assert_eq!(first_block(&store, &acme, "t").await, None);
    assert_not_found(&stage_at(&store, &acme, "t", &gone.blocks, 0).await);
    assert_not_found(&store.create_task(gone).await);
    store.create_task(kept).await.unwrap();
    assert_sound(&store).await;
}

pub(crate) async fn a_refused_task_leaves_its_upload_staged(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut command = whole(&acme, "t");
    stage(&store, &acme, &mut command, 2).await;
    let refused = store.create_task(CreateTask { unfinished_max: 0, ..command.clone() }).await;
    assert!(matches!(refused, Err(StoreError::QueueFull { .. })), "{refused:?}");
    assert_sound(&store).await;
    store.create_task(command).await.unwrap();
    assert_sound(&store).await;
}
