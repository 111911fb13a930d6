//! Idempotency keys: a repeated request gets the first answer and changes nothing. A key that comes
//! again with other content is refused. A refused request does not use up its key.

use std::sync::Arc;

use caseload_model::task::{Action, Family};
use caseload_model::time::UnixMillis;
use caseload_store::{
    CreateTask, Domain, IdempotencyKey, Idempotent, ListTasks, Store, StoreError, StoredAnswer,
};
use futures_util::future::join_all;

use super::support::{
    NOW, apply_all, assert_sound, claim, domain, later, run_command, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
const HOUR: i64 = 3_600_000;

/// A task with an idempotency key. Its answer contains its id, so that tests recognize the
/// task of an answer.
pub(crate) fn keyed(domain: &Domain, id: &str, key: &str, content: u8) -> CreateTask {
    let key =
        IdempotencyKey { text: key.to_owned(), content: [content; 32], expires_at: later(HOUR) };
    CreateTask {
        idempotency: Some((key, answer(id).into())),
        ..task_of(domain, id, CREATE, &[uid(id)], 1)
    }
}

pub(crate) fn answer(id: &str) -> StoredAnswer {
    StoredAnswer { location: format!("/{id}"), body: format!("\u{0}{id}").into_bytes() }
}

pub(crate) async fn tasks(store: &Arc<dyn Store>, domain: &Domain) -> Vec<String> {
    let request = ListTasks {
        domain: domain.id,
        family: Family::Identity,
        filter: caseload_model::task_query::TaskFilter::default(),
        paging: caseload_model::issue_query::Paging::default(),
    };
    let page = store.list_tasks(request).await.unwrap();
    page.tasks.into_iter().map(|task| task.id).collect()
}

pub(crate) async fn a_repeat_gets_the_first_answer_until_its_key_has_expired_and_is_purged(
    store: Arc<dyn Store>,
) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let first = store.create_task(keyed(&acme, "t1", "k", 1)).await.unwrap();
    assert_eq!(first.done().unwrap().id, "t1");
    let repeat = async |id: &str, now: UnixMillis| {
        let command = CreateTask { now, unfinished_max: 1, ..keyed(&acme, id, "k", 1) };
        store.create_task(command).await
    };
    assert_eq!(
        repeat("t2", NOW).await.unwrap(),
        Idempotent::Replayed(answer("t1")),
        "a repeat is answered even if the queue is full"
    );
    for claimed in claim(&store, 9).await {
        apply_all(&store, &claimed, NOW).await;
    }
    assert_eq!(repeat("t3", later(HOUR - 1)).await.unwrap(), Idempotent::Replayed(answer("t1")));
    let kept = store.stored_answer(acme.id, "k").await.unwrap();
    assert_eq!(kept, Some(([1; 32], answer("t1"))));
    assert_eq!(store.stored_answer(other.id, "k").await.unwrap(), None);
    let elsewhere = store.create_task(keyed(&other, "t1", "k", 2)).await.unwrap();
    assert!(elsewhere.done().is_some(), "a key belongs to its domain");
    assert_eq!(tasks(&store, &acme).await, ["t1"]);
    // A clock that is ahead for a moment lets no repeat through.
    assert_eq!(repeat("t4", later(90 * HOUR)).await.unwrap(), Idempotent::Replayed(answer("t1")));
    while store.purge_expired(later(HOUR - 1)).await.unwrap() {}
    assert_eq!(repeat("t5", later(HOUR)).await.unwrap(), Idempotent::Replayed(answer("t1")));
    while store.purge_expired(later(HOUR)).await.unwrap() {}
    assert_eq!(store.stored_answer(acme.id, "k").await.unwrap(), None);
    assert!(repeat("t6", later(HOUR)).await.unwrap().done().is_some(), "the key is free");
    assert_sound(&store).await;
}

pub(crate) async fn a_key_reused_with_other_content_is_refused(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_task(keyed(&acme, "t1", "k", 1)).await.unwrap();
    let refused = store.create_task(keyed(&acme, "t2", "k", 2)).await;
    assert!(matches!(refused, Err(StoreError::IdempotencyKeyReused)), "{refused:?}");
    assert_eq!(tasks(&store, &acme).await, ["t1"]);
}

pub(crate) async fn a_refused_request_leaves_its_key_free(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let full = CreateTask { unfinished_max: 0, ..keyed(&acme, "t1", "k", 1) };
    let refused = store.create_task(full).await;
    assert!(matches!(refused, Err(StoreError::QueueFull { .. })), "{refused:?}");
    assert_eq!(store.stored_answer(acme.id, "k").await.unwrap(), None);
    let accepted = store.create_task(keyed(&acme, "t2", "k", 2)).await.unwrap();
    assert_eq!(accepted.done().unwrap().id, "t2");
}

pub(crate) async fn one_of_a_hundred_concurrent_repeats_takes_effect(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let commands = (0..100).map(|n| store.create_task(keyed(&acme, &format!("t{n}"), "k", 1)));
    let answers = join_all(commands).await;
    let mut done = Vec::new();
    let mut repeated = Vec::new();
    for answer in answers {
        match answer.unwrap() {
            Idempotent::Done(task) => done.push(task.id),
            Idempotent::Replayed(first) => repeated.push(first),
        }
    }
    assert_eq!((done.len(), repeated.len()), (1, 99));
    assert!(repeated.iter().all(|first| *first == answer(&done[0])));
    assert_eq!(tasks(&store, &acme).await, done);
    assert_sound(&store).await;
}

pub(crate) async fn keys_are_removed_when_they_expire_or_their_domain_is_deleted(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    for n in 0..450 {
        let mut command = keyed(&acme, &format!("t{n}"), &format!("k{n}"), 1);
        command.idempotency.as_mut().unwrap().0.expires_at = later(i64::from(n >= 400) + 1);
        command.expires_at = later(HOUR);
        store.create_task(command).await.unwrap();
    }
    let mut steps = 0;
    while store.purge_expired(later(1)).await.unwrap() {
        steps += 1;
    }
    assert!(steps > 1, "keys are removed in several steps");
    let kept = async |key: &str| store.stored_answer(acme.id, key).await.unwrap().is_some();
    assert!(!kept("k0").await && !kept("k399").await && kept("k400").await && kept("k449").await);
    store.delete_domain(acme.id).await.unwrap();
    assert_sound(&store).await;
    let again = domain(&store, "acme").await;
    run_command(&store, keyed(&again, "t", "k449", 9), NOW).await;
    assert_sound(&store).await;
}
