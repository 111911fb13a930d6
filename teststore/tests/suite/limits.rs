//! Quotas of domains, and keys that have ended: a refused write leaves no trace, and the clock of
//! a server that was wrong for a while does no lasting harm.

use std::sync::Arc;

use caseload_model::issue::write::read_create;
use caseload_model::key::Access;
use caseload_model::task::{Action, Outcome};
use caseload_model::time::UnixMillis;
use caseload_store::{
    CreateIssue, CreateKey, Domain, DomainLimits, StageAttachment, StagePayload, Store, StoreError,
    WriteOrigin,
};
use serde_json::{Value, json};

use super::support::{
    NOW, apply_all, assert_sound, chunk, claim, claim_at, domain, later, next_block, profile_id,
    results, run, task_of, uid,
};

const HOUR: i64 = 3_600_000;

async fn limit(store: &Arc<dyn Store>, domain: &Domain, limits: DomainLimits) {
    store.set_limits(domain.id, limits, NOW.into()).await.unwrap();
}

fn creation(domain: &Domain, body: &str, now: UnixMillis) -> CreateIssue {
    let (request, faults) = read_create(&[("message-body".to_owned(), body.to_owned())]);
    assert_eq!(faults, []);
    let origin = WriteOrigin {
        key: None,
        request_id: None,
        domain: domain.id,
        domain_name: domain.name.clone(),
        now,
        random: now.0.unsigned_abs(),
        idempotency: None,
    };
    CreateIssue { origin, request, attachments: Vec::new() }
}

fn exceeded<T: std::fmt::Debug>(outcome: &Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::QuotaExceeded(_)))
}

pub(crate) async fn limits_are_stored_with_their_domain(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    assert_eq!(acme.limits, DomainLimits::default());
    let limits =
        DomainLimits { quota_bytes: Some(1 << 40), quota_tasks: Some(7), rate_limit: Some(60) };
    limit(&store, &acme, limits).await;
    assert_eq!(store.domain(&acme.name).await.unwrap().unwrap().limits, limits);
    assert_eq!(store.domain(&other.name).await.unwrap(), Some(other));
    assert_sound(&store).await;
    limit(&store, &acme, DomainLimits::default()).await;
    assert_eq!(store.domain(&acme.name).await.unwrap(), Some(acme));
    assert_sound(&store).await;
}

pub(crate) async fn a_write_beyond_the_quota_on_bytes_changes_nothing(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let long = "x".repeat(100_000);
    limit(&store, &acme, DomainLimits { quota_bytes: Some(250_000), ..DomainLimits::default() })
        .await;
    store.create_issue(creation(&acme, &long, NOW)).await.unwrap();
    let used = store.usage(acme.id).await.unwrap().bytes;
    assert!((200_000..250_000).contains(&used), "{used}");
    for _ in 0..2 {
        assert!(exceeded(&store.create_issue(creation(&acme, &long, NOW)).await));
    }
    let piece = |domain: &Domain| {
        let (domain, id, bytes) = (domain.id, "file".to_owned(), long.clone().into_bytes());
        StageAttachment { key: None, domain, id, number: 0, bytes, now: NOW }
    };
    assert!(exceeded(&store.stage_attachment(piece(&acme)).await));
    // Bytes that compress badly.
    let random: Vec<String> = (0_u64..3000)
        .map(|n| uid(&format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
        .collect();
    let task = task_of(&acme, "task", Action::CreateCoreProfiles, &random, 3000);
    assert!(
        exceeded(&store.create_task(task.clone()).await) || task.blocks[0].bytes.len() < 49_000
    );
    assert_eq!(store.usage(other.id).await.unwrap().bytes, 0);
    store.create_issue(creation(&other, &long, NOW)).await.unwrap();
    store.stage_attachment(piece(&other)).await.unwrap();
    store.discard_attachments(other.id, vec!["file".to_owned()]).await.unwrap();
    assert!(
        store.usage(other.id).await.unwrap().bytes < 210_000,
        "a discarded file is not counted"
    );
    assert_sound(&store).await;
}

pub(crate) async fn a_task_beyond_the_quota_on_bytes_waits_for_room(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let issue = |n: u32| json!({"title": "x".repeat(2000), "created_at": n + 1}).to_string();
    let issues: Vec<String> = (0..100).map(issue).collect();
    store.create_task(task_of(&acme, "t", Action::ImportIssues, &issues, 100)).await.unwrap();
    let used = store.usage(acme.id).await.unwrap();
    assert_eq!(used.tasks, 1);
    let quota_bytes = Some(used.bytes + 1000);
    limit(&store, &acme, DomainLimits { quota_bytes, ..DomainLimits::default() }).await;
    let claimed = claim(&store, 1).await.remove(0);
    let entries = next_block(&store, &claimed, 0).await;
    assert!(exceeded(&store.apply_chunk(chunk(&claimed, entries, NOW)).await));
    assert_eq!(store.usage(acme.id).await.unwrap(), used, "the chunk left no trace");
    assert_sound(&store).await;
    limit(&store, &acme, DomainLimits::default()).await;
    let task = apply_all(&store, &claimed, NOW).await;
    assert_eq!((task.outcome, task.counts.succeeded), (Some(Outcome::Succeeded), 100));
    assert!(store.usage(acme.id).await.unwrap().bytes > used.bytes + 100 * 2000);
}

pub(crate) async fn a_domain_may_have_as_many_unfinished_tasks_as_its_quota(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    limit(&store, &acme, DomainLimits { quota_tasks: Some(2), ..DomainLimits::default() }).await;
    let task =
        |domain: &Domain, id: &str| task_of(domain, id, Action::CreateCoreProfiles, &[uid(id)], 1);
    for id in ["a", "b"] {
        store.create_task(task(&acme, id)).await.unwrap();
    }
    assert!(exceeded(&store.create_task(task(&acme, "c")).await));
    store.create_task(task(&other, "c")).await.unwrap();
    assert_eq!(store.usage(acme.id).await.unwrap().tasks, 2);
    let claimed = claim(&store, 10).await;
    let first = claimed.iter().find(|claimed| claimed.domain == acme.id).unwrap();
    apply_all(&store, first, NOW).await;
    store.create_task(task(&acme, "c")).await.unwrap();
    assert!(exceeded(&store.create_task(task(&acme, "d")).await));
    assert_sound(&store).await;
}

pub(crate) async fn staged_blocks_count_until_they_are_discarded(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let blocks = task_of(&acme, "t", Action::CreateCoreProfiles, &[uid("a")], 1).blocks;
    let bytes: usize = blocks.iter().map(|block| block.bytes.len()).sum();
    let command =
        StagePayload { key: None, domain: acme.id, task_id: "t".to_owned(), blocks, now: NOW };
    store.stage_payload(command).await.unwrap();
    assert_eq!(store.usage(acme.id).await.unwrap().bytes, bytes as u64);
    store.discard_staged(acme.id, "t").await.unwrap();
    assert_eq!(store.usage(acme.id).await.unwrap().bytes, 0);
    assert_sound(&store).await;
}

pub(crate) async fn a_write_of_a_key_that_was_revoked_changes_nothing(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let key = CreateKey {
        domain: acme.id,
        id: "key".to_owned(),
        hash: [1; 32],
        name: "key".to_owned(),
        access: Access::Write,
        origin: NOW.into(),
        expires_at: None,
    };
    store.create_key(key).await.unwrap();
    let mut command = creation(&acme, "x", NOW);
    command.origin.key = Some("key".to_owned());
    store.create_issue(command.clone()).await.unwrap();
    let used = store.usage(acme.id).await.unwrap();
    store.revoke_key(acme.id, "key", NOW.into()).await.unwrap();
    let outcome = store.create_issue(command).await;
    assert!(matches!(outcome, Err(StoreError::KeyEnded)), "{outcome:?}");
    assert_eq!(store.usage(acme.id).await.unwrap(), used);
    assert_sound(&store).await;
}

async fn created_at(store: &Arc<dyn Store>, domain: &Domain, now: UnixMillis) -> i64 {
    let made = store.create_issue(creation(domain, "x", now)).await.unwrap().done().unwrap();
    serde_json::from_slice::<Value>(&made.body).unwrap()["created_at"].as_i64().unwrap()
}

pub(crate) async fn creation_times_return_to_the_true_time_after_a_jump_of_the_clock(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    assert_eq!(created_at(&store, &acme, NOW).await, NOW.0);
    assert_eq!(created_at(&store, &acme, later(24 * HOUR)).await, NOW.0 + 24 * HOUR);
    assert_eq!(created_at(&store, &acme, later(1000)).await, NOW.0 + 1000);
    assert_eq!(created_at(&store, &acme, later(1000)).await, NOW.0 + 1001, "the next free one");
    assert_eq!(created_at(&store, &acme, later(2000)).await, NOW.0 + 2000);
    // A clock that is back by less than a minute is evened out.
    assert_eq!(created_at(&store, &acme, later(1500)).await, NOW.0 + 2001);
    assert_sound(&store).await;

    run(&store, &acme, "early", Action::CreateCoreProfiles, &[uid("early")]).await;
    let made = results(&store, acme.id, "early").await;
    let get = json!({"core-profile-id": profile_id(&made[0])}).to_string();
    let mut task = task_of(&acme, "get", Action::GetCoreProfiles, &[get], 1);
    task.now = later(3000);
    let created = store.create_task(task).await.unwrap().done().unwrap();
    assert_eq!(created.created_at, later(3000), "tasks, too");
    let claimed = claim_at(&store, "server", later(3000), 1).await.remove(0);
    apply_all(&store, &claimed, later(3000)).await;
    let shown = results(&store, acme.id, "get").await.remove(0);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let (born, changed) = (shown["created_at"].as_i64(), shown["updated_at"].as_i64());
    assert_eq!(born, Some(NOW.0), "profiles, too");
    assert!(changed >= born, "{shown}");
    assert_sound(&store).await;
}
