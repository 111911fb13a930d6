//! Get actions, which an idle writer thread reads by itself and several readers otherwise read in
//! parallel. Every entry has its record, in order, wherever a run, a block or a chunk ends.

use std::sync::Arc;

use caseload_bulk::{EntryQueue, QueueLimits};
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::task::{Action, Counts};
use caseload_store::{CreateDomain, Store};
use tokio::task::JoinSet;

use super::{CREATE, server};
use crate::suite::support::{
    NOW, apply_all, assert_sound, chunk, claim, domain, errors, next_block, profile_id, results,
    run, task_of, uid,
};

const GET: Action = Action::GetCoreProfiles;
const ENTRIES: usize = 2_100;

/// The id in the nth entry. Long profiles follow many short ones, from which the store has
/// estimated the length of a run; some ids do not exist.
fn id_of(ids: &[String], n: usize) -> &str {
    match n {
        _ if n % 100 == 7 => "9",
        700..1_500 => &ids[1],
        _ => &ids[0],
    }
}

async fn assert_in_order(store: &Arc<dyn Store>, domain: DomainId, task: &str, ids: &[String]) {
    let shown = results(store, domain, task).await;
    let expected = (0..ENTRIES).map(|n| id_of(ids, n)).filter(|id| *id != "9");
    assert!(shown.iter().map(|line| profile_id(line)).eq(expected), "records out of order");
    let missing = errors(store, domain, task).await;
    assert_eq!(missing.len(), ENTRIES / 100);
    let begins = (0..).map(|n| format!("{{\"index\":{},", n * 100 + 7));
    assert!(missing.iter().zip(begins).all(|(line, begin)| line.starts_with(&begin)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_long_and_short_profiles_stay_in_order_across_chunks() {
    let folder = tempfile::tempdir().unwrap();
    get_long_and_short(server(folder.path()).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_long_and_short_profiles_stay_in_order_during_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let mut writing = JoinSet::new();
    for _ in 0..4 {
        let store = store.clone();
        writing.spawn(async move {
            let name = DomainName::parse("other").unwrap();
            loop {
                // All but the first fail, but each occupies the writer.
                drop(
                    store
                        .create_domain(CreateDomain {
                            name: name.clone(),
                            origin: NOW.into(),
                            random: 1,
                        })
                        .await,
                );
            }
        });
    }
    get_long_and_short(store).await;
}

async fn get_long_and_short(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let text = "x ".repeat(20_000);
    let long =
        format!(r#"{{"identities":[{{"uid":"long"}}],"custom_fields":{{"text":"{text}"}}}}"#);
    run(&store, &acme, "made", CREATE, &[uid("short"), long]).await;
    let made = results(&store, acme.id, "made").await;
    let ids: Vec<_> = made.iter().map(|line| profile_id(line)).collect();
    let entry = |n| format!("{{\"core-profile-id\":\"{}\"}}", id_of(&ids, n));
    let lines: Vec<_> = (0..ENTRIES).map(entry).collect();
    let counts = Counts { total: 2_100, succeeded: 2_079, failed: 21, unprocessed: 0 };

    store.create_task(task_of(&acme, "by block", GET, &lines, 700)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    assert_eq!(apply_all(&store, &claimed, NOW).await.counts, counts);
    assert_in_order(&store, acme.id, "by block", &ids).await;

    store.create_task(task_of(&acme, "by feed", GET, &lines, 90)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let feed = Arc::new(EntryQueue::new(QueueLimits::new(1, 1, 1)));
    let mut from = 0;
    while from < ENTRIES as u32 {
        let block = next_block(&store, &claimed, from).await;
        from = block.entries.last().unwrap().index + 1;
        feed.push(chunk(&claimed, block, NOW).entries);
    }
    feed.end();
    let (mut rest, mut done, mut chunks) = (None, 0, 0);
    loop {
        let part = match rest.take() {
            Some(part) => part,
            None => feed.next().await.unwrap(),
        };
        let mut command = chunk(&claimed, caseload_model::payload::Block::default(), NOW);
        command.entries = part;
        command.following = Some(feed.clone());
        let applied = store.apply_chunk(command).await.unwrap();
        (done, chunks) = (done + applied.done, chunks + 1);
        assert_eq!(applied.task.counts.unprocessed as usize, ENTRIES - done);
        rest = applied.rest;
        if applied.task.outcome.is_some() {
            assert_eq!(applied.task.counts, counts);
            break;
        }
    }
    assert!(chunks > 1, "800 long records exceed one chunk");
    assert_in_order(&store, acme.id, "by feed", &ids).await;
    assert_sound(&store).await;
}
