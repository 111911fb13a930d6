//! A small store with rows in every table, for tests that copy or dump a whole store.

use std::sync::Arc;

use caseload_model::issue::write::{Attachment, Desk, read_create};
use caseload_model::key::Access;
use caseload_model::task::Action;
use caseload_store::{
    CreateAgent, CreateIssue, CreateKey, Domain, IdempotencyKey, StageAttachment, StagePayload,
    Store, StoredAnswer, WriteOrigin,
};
use serde_json::json;

use super::imports::import_of;
use super::longest::text;
use super::support::{
    NOW, assert_sound, chunk, claim, domain, later, next_block, results, run, task_of, uid,
};
use super::views::fill_views;
use super::webhooks::fill_webhooks;

/// Fills an empty store with two domains. Other domains are created and deleted in between, so that
/// ids have gaps.
pub(crate) async fn fill(store: &Arc<dyn Store>) -> Vec<Domain> {
    let first = domain(store, "acme").await;
    let gone = domain(store, "gone").await;
    let second = domain(store, "beta").await;
    fill_domain(store, &first, 1).await;
    fill_domain(store, &gone, 2).await;
    fill_domain(store, &second, 3).await;
    store.delete_domain(gone.id).await.unwrap();
    while store.purge_expired(NOW).await.unwrap() {}
    // The largest domain id belongs to a deleted domain.
    let last = domain(store, "last").await;
    store.delete_domain(last.id).await.unwrap();
    while store.purge_expired(NOW).await.unwrap() {}
    assert_sound(store).await;
    vec![first, second]
}

pub(crate) async fn a_store_with_rows_in_every_table_passes_the_check(store: Arc<dyn Store>) {
    let domains = fill(&store).await;
    let mut names: Vec<_> = domains.into_iter().map(|domain| domain.name).collect();
    names.sort_by_key(|name| name.as_str().to_owned());
    let listed = store.domains().await.unwrap().into_iter().map(|domain| domain.name);
    assert_eq!(listed.collect::<Vec<_>>(), names);
}

async fn fill_domain(store: &Arc<dyn Store>, domain: &Domain, seed: u8) {
    for (id, expires_at) in [("k1", None), ("k2", Some(later(5)))] {
        let id = format!("{id}-{seed}");
        let mut hash = [seed; 32];
        hash[1] = id.as_bytes()[1];
        let (name, access) = ("a key\u{1f511}".to_owned(), Access::Read);
        let key =
            CreateKey { domain: domain.id, id, hash, name, access, origin: NOW.into(), expires_at };
        store.create_key(key).await.unwrap();
    }
    store.revoke_key(domain.id, &format!("k1-{seed}"), later(7).into()).await.unwrap();
    fill_views(store, domain, &format!("k2-{seed}")).await;
    let (id, name) = ("ann".to_owned(), "Ann\0 \u{e9}".to_owned());
    let email = "ann@desk.example".to_owned();
    let agent = CreateAgent { domain: domain.id, id, name, email, origin: NOW.into() };
    store.create_agent(agent).await.unwrap();
    let (name, email) = ("Help\u{e9}".to_owned(), Some("help@desk.example".to_owned()));
    store.set_desk(domain.id, Desk { name, email }, NOW.into()).await.unwrap();
    fill_webhooks(store, domain).await;
    fill_profiles(store, domain).await;
    let issues = caseload_testdata::issues(u64::from(seed), 260);
    run(store, domain, "import", Action::ImportIssues, &issues).await;
    let queue = json!({"title": "q", "created_at": 5, "queue": {"id": "q", "name": "Queue\0"}});
    run(store, domain, "queue", Action::ImportIssues, &[queue.to_string()]).await;
    fill_attachments(store, domain).await;
    fill_tasks(store, domain).await;
}

async fn fill_profiles(store: &Arc<dyn Store>, domain: &Domain) {
    let mut entries: Vec<_> =
        (0..150).map(|n| uid(&format!("u{}", n - i32::from(n % 50 == 49)))).collect();
    entries[100] = uid(&text(1, 750));
    run(store, domain, "create", Action::CreateCoreProfiles, &entries).await;
    let made = results(store, domain.id, "create").await;
    let id = super::support::profile_id(&made[0]);
    let update = json!({"core-profile-id": id, "age": 5, "custom_fields": {"k\0": 1.50}});
    run(store, domain, "update", Action::UpdateCoreProfiles, &[update.to_string()]).await;
    run(
        store,
        domain,
        "get",
        Action::GetCoreProfiles,
        &[json!({"core-profile-id": id}).to_string()],
    )
    .await;
}

async fn fill_attachments(store: &Arc<dyn Store>, domain: &Domain) {
    for (id, pieces) in [("file", 2), ("staged", 1)] {
        for number in 0..pieces {
            let bytes = vec![number as u8; 1000];
            let (id, domain) = (id.to_owned(), domain.id);
            let command = StageAttachment { key: None, domain, id, number, bytes, now: NOW };
            store.stage_attachment(command).await.unwrap();
        }
    }
    let (request, faults) = read_create(&[("message-body".to_owned(), "with a file".to_owned())]);
    assert_eq!(faults, []);
    let key = IdempotencyKey { text: "key".into(), content: [9; 32], expires_at: later(9_000_000) };
    let origin = WriteOrigin {
        key: None,
        request_id: None,
        domain: domain.id,
        domain_name: domain.name.clone(),
        now: NOW,
        random: 7,
        idempotency: Some(key),
    };
    let file = Attachment {
        id: "file".to_owned(),
        file_name: "f.txt".to_owned(),
        content_type: "text/plain".to_owned(),
        size: 2000,
    };
    let attachments = vec![file];
    assert!(
        store
            .create_issue(CreateIssue { origin, request, attachments })
            .await
            .unwrap()
            .done()
            .is_some()
    );
}

/// One task that is half done, one task and one import that wait, and one upload without a task.
async fn fill_tasks(store: &Arc<dyn Store>, domain: &Domain) {
    let entries: Vec<_> = (0..20).map(|n| uid(&format!("late{n}"))).collect();
    let mut half = task_of(domain, "half", Action::CreateCoreProfiles, &entries, 10);
    let key = IdempotencyKey { text: "half".into(), content: [1; 32], expires_at: later(1) };
    let answer = StoredAnswer { location: "/half".to_owned(), body: b"{}".to_vec() };
    half.idempotency = Some((key, answer.into()));
    store.create_task(half).await.unwrap();
    let claimed = claim(store, 1).await.remove(0);
    assert_eq!((claimed.domain, claimed.task.id.as_str()), (domain.id, "half"));
    store.apply_chunk(chunk(&claimed, next_block(store, &claimed, 0).await, NOW)).await.unwrap();
    let waiting = task_of(domain, "waiting", Action::CreateCoreProfiles, &entries, 10);
    store.create_task(waiting.clone()).await.unwrap();
    let file = import_of(domain, "file", Action::CreateCoreProfiles, &[&entries, &entries[..3]]);
    store.create_import(file).await.unwrap();
    let (task_id, blocks) = ("upload".to_owned(), waiting.blocks);
    store
        .stage_payload(StagePayload { key: None, domain: domain.id, task_id, blocks, now: NOW })
        .await
        .unwrap();
}
