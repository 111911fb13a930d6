//! Webhooks and their leases: the commands of callers, claims by several servers, attempts under an
//! epoch, the last deliveries, replay and the rotation of secrets. Nothing is sent here.

use std::sync::Arc;

use caseload_model::change::{ChangeAction, Resource};
use caseload_model::issue::write::Desk;
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{
    Attempt, AttemptEnd, AttemptKind, DELIVERIES_KEPT, DOMAIN_WEBHOOKS_MAX, Secret, WebhookRequest,
    WebhookSettings,
};
use caseload_store::{
    AfterAttempt, ClaimWebhooks, ClaimedWebhook, CreateWebhook, Domain, EditWebhook, OfWebhook,
    RecordAttempt, SkipChanges, Store, StoreError, Webhook,
};
use serde_json::Value;

use super::changes::shown;
use super::support::{NOW, assert_sound, domain, later};

/// How long a lease lasts here, in milliseconds.
const LEASE: i64 = 60_000;

pub(crate) fn new_webhook(domain: &Domain, id: &str) -> CreateWebhook {
    CreateWebhook {
        domain: domain.id,
        id: id.to_owned(),
        settings: WebhookSettings {
            url: "https://example.com/hook".to_owned(),
            resources: vec![Resource::Issue, Resource::Webhook],
            actions: vec![ChangeAction::Created, ChangeAction::Erased],
            ..WebhookSettings::default()
        },
        secret: Secret::new(vec![7; 32]),
        origin: NOW.into(),
    }
}

async fn create(store: &Arc<dyn Store>, domain: &Domain, id: &str) -> Webhook {
    store.create_webhook(new_webhook(domain, id)).await.unwrap()
}

fn of(domain: &Domain, id: &str, now: UnixMillis) -> OfWebhook {
    OfWebhook { domain: domain.id, id: id.to_owned(), origin: now.into() }
}

async fn claim(store: &Arc<dyn Store>, server: &str, now: UnixMillis) -> Vec<ClaimedWebhook> {
    claim_some(store, server, now, 100).await
}

async fn claim_some(
    store: &Arc<dyn Store>,
    server: &str,
    now: UnixMillis,
    webhooks_max: usize,
) -> Vec<ClaimedWebhook> {
    let (server, lease_until) = (server.to_owned(), UnixMillis(now.0 + LEASE));
    let command = ClaimWebhooks { server, now, lease_until, webhooks_max };
    store.claim_webhooks(command).await.unwrap()
}

fn record(claimed: &ClaimedWebhook, now: UnixMillis, then: AfterAttempt) -> RecordAttempt {
    let changes = AttemptKind::Changes { count: 2, first: 3, last: 5 };
    let kind = if then == AfterAttempt::Tested { AttemptKind::Test } else { changes };
    let end = match then {
        AfterAttempt::Advance { .. } => {
            AttemptEnd::Answered { status: 204, answer: "ü\0".to_owned() }
        }
        _ => AttemptEnd::NoAnswer { reason: "refused".to_owned() },
    };
    let message_id = format!("msg_{}", now.0);
    RecordAttempt {
        domain: claimed.domain,
        id: claimed.webhook.id.clone(),
        lease_epoch: claimed.lease_epoch,
        now,
        attempt: Some(Attempt { at: now, duration_ms: 12, message_id, kind, end }),
        then,
        lease_until: None,
    }
}

/// Rows of webhooks with everything that they may have, for a store with rows in every table.
pub(crate) async fn fill_webhooks(store: &Arc<dyn Store>, domain: &Domain) {
    create(store, domain, "hook").await;
    create(store, domain, "other").await;
    for claimed in claim(store, "server", NOW).await {
        let then = AfterAttempt::Retry { at: later(5000), until: 1 };
        store.record_attempt(record(&claimed, NOW, then)).await.unwrap();
    }
    store.rotate_secret(of(domain, "hook", NOW), Secret::new(vec![8; 24])).await.unwrap();
    for claimed in claim(store, "server", later(5000)).await {
        let reason = "a reason".to_owned();
        let then = AfterAttempt::Pause { reason };
        store.record_attempt(record(&claimed, later(5000), then)).await.unwrap();
    }
}

/// The domain gets one more change.
async fn change(store: &Arc<dyn Store>, domain: &Domain, name: &str) {
    let desk = Desk { name: name.to_owned(), email: None };
    store.set_desk(domain.id, desk, NOW.into()).await.unwrap();
}

async fn the(store: &Arc<dyn Store>, domain: &Domain, id: &str) -> Webhook {
    store.webhook(domain.id, id).await.unwrap().unwrap()
}

/// The changes of webhooks in the log: action and fields.
async fn logged(store: &Arc<dyn Store>, domain: &Domain) -> Vec<String> {
    let of_webhooks = |change: &Value| {
        let is_webhook = change["resource"] == "webhook";
        is_webhook.then(|| format!("{} {} {}", change["id"], change["action"], change["fields"]))
    };
    let all = shown(store, domain, 0).await;
    all.iter().filter_map(of_webhooks).map(|text| text.replace('"', "")).collect()
}

pub(crate) async fn a_webhook_is_created_edited_and_deleted(store: Arc<dyn Store>) {
    let (acme, beta) = (domain(&store, "acme").await, domain(&store, "beta").await);
    let made = create(&store, &acme, "h1").await;
    assert_eq!(made.cursor, 2, "the end of the log before it");
    let second = new_webhook(&acme, "h0");
    let second = CreateWebhook { origin: later(1).into(), ..second };
    store.create_webhook(second.clone()).await.unwrap();
    let again = store.create_webhook(second).await;
    assert!(matches!(again, Err(StoreError::AlreadyExists { .. })), "{again:?}");
    let ids = |webhooks: Vec<Webhook>| webhooks.into_iter().map(|w| w.id).collect::<Vec<_>>();
    assert_eq!(ids(store.webhooks(acme.id).await.unwrap()), ["h1", "h0"]);
    assert_eq!(ids(store.webhooks(beta.id).await.unwrap()), [""; 0]);
    assert_eq!(the(&store, &acme, "h1").await, made);
    assert_eq!(store.webhook(beta.id, "h1").await.unwrap(), None);

    let edit = |request: WebhookRequest, id: &str| {
        store.edit_webhook(EditWebhook { webhook: of(&acme, id, later(2)), request })
    };
    let request = WebhookRequest {
        url: Some("https://example.com/2".to_owned()),
        actions: Some(Vec::new()),
        include_record: Some(true),
        resources: Some(made.settings.resources.clone()),
        paused: None,
    };
    let edited = edit(request.clone(), "h1").await.unwrap();
    assert_eq!(edited.settings, request.clone().apply(made.settings.clone()));
    assert_eq!(edit(request, "h1").await.unwrap(), edited);
    assert_eq!(the(&store, &acme, "h1").await, edited);
    store.delete_webhook(of(&acme, "h1", later(3))).await.unwrap();
    assert_eq!(ids(store.webhooks(acme.id).await.unwrap()), ["h0"]);
    let told = [
        "h1 created []",
        "h0 created []",
        "h1 updated [url,actions,include_record]",
        "h1 deleted []",
    ];
    assert_eq!(logged(&store, &acme).await, told);
    let gone = [
        store.delete_webhook(of(&acme, "h1", NOW)).await.err(),
        store.test_webhook(of(&acme, "h1", NOW)).await.err(),
        store.replay_webhook(of(&acme, "h1", NOW), 1).await.err(),
        store.rotate_secret(of(&acme, "h1", NOW), Secret::new(vec![1; 32])).await.err(),
        store.deliveries(acme.id, "h1").await.err(),
        edit(WebhookRequest::default(), "h1").await.err(),
        store.delete_webhook(of(&beta, "h0", NOW)).await.err(),
    ];
    for error in gone {
        assert!(matches!(error, Some(StoreError::NotFound { .. })), "{error:?}");
    }
    assert_sound(&store).await;
}

pub(crate) async fn of_many_webhooks_at_once_a_domain_takes_only_its_quota(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let creations = (0..DOMAIN_WEBHOOKS_MAX + 4).map(|n| {
        let (store, command) = (store.clone(), new_webhook(&acme, &format!("h{n}")));
        tokio::spawn(async move { store.create_webhook(command).await })
    });
    let mut refused = 0;
    for creation in creations.collect::<Vec<_>>() {
        match creation.await.unwrap() {
            Ok(_) => {}
            Err(StoreError::QuotaExceeded(_)) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(refused, 4);
    assert_eq!(store.webhooks(acme.id).await.unwrap().len(), DOMAIN_WEBHOOKS_MAX);
    store
        .delete_webhook(of(&acme, &store.webhooks(acme.id).await.unwrap()[0].id, NOW))
        .await
        .unwrap();
    create(&store, &acme, "room").await;
}

pub(crate) async fn of_two_servers_one_has_a_webhook_at_a_time(store: Arc<dyn Store>) {
    let (acme, beta) = (domain(&store, "acme").await, domain(&store, "beta").await);
    for (of, id) in [(&acme, "a"), (&beta, "b"), (&acme, "c")] {
        create(&store, of, id).await;
    }
    let (one, two) = tokio::join!(claim(&store, "one", NOW), claim(&store, "two", NOW));
    let mut ids: Vec<_> = one.iter().chain(&two).map(|claimed| &*claimed.webhook.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["a", "b", "c"]);
    let held = one.into_iter().chain(two).find(|claimed| claimed.webhook.id == "a").unwrap();
    assert_eq!((&held.domain_name, &held.secrets.current), (&acme.name, &Secret::new(vec![7; 32])));
    assert!(claim(&store, "three", later(LEASE - 1)).await.is_empty());
    // The lease has ended: another server takes over, and the first one records nothing.
    let taken = claim(&store, "three", later(LEASE)).await;
    assert_eq!(taken.len(), 3);
    let over = taken.iter().find(|claimed| claimed.webhook.id == "a").unwrap();
    assert!(over.lease_epoch > held.lease_epoch);
    let advance = AfterAttempt::Advance { cursor: 3 };
    let lost = store.record_attempt(record(&held, later(LEASE), advance.clone())).await;
    assert!(matches!(lost, Err(StoreError::LeaseLost)), "{lost:?}");
    assert!(store.deliveries(acme.id, "a").await.unwrap().is_empty());
    store.release_webhook(acme.id, "a", "one").await.unwrap();
    assert!(claim(&store, "four", later(LEASE)).await.is_empty(), "one has no lease to end");
    let mut keeps = record(over, later(LEASE), advance);
    keeps.lease_until = Some(later(3 * LEASE));
    store.record_attempt(keeps).await.unwrap();
    assert_eq!(the(&store, &acme, "a").await.cursor, 3);
    assert!(claim(&store, "four", later(LEASE)).await.is_empty());
    for claimed in &taken {
        store.release_webhook(claimed.domain, &claimed.webhook.id, "three").await.unwrap();
    }
    // Those come first whose last lease is longest ago; each is due that has changes left.
    let turns = claim_some(&store, "five", later(LEASE + 1), 2).await;
    let rest = claim(&store, "five", later(LEASE + 2)).await;
    let ids: Vec<_> = turns.iter().chain(&rest).map(|claimed| &*claimed.webhook.id).collect();
    assert_eq!(ids, ["a", "c", "b"]);
    // The one that was leased first is due again first.
    for claimed in turns.iter().chain(&rest) {
        store.release_webhook(claimed.domain, &claimed.webhook.id, "five").await.unwrap();
    }
    let first = claim_some(&store, "six", later(LEASE + 3), 1).await;
    assert_eq!(first[0].webhook.id, "a");
    store.release_webhook(acme.id, "a", "six").await.unwrap();
    let next = claim_some(&store, "six", later(LEASE + 4), 2).await;
    let next: Vec<_> = next.iter().map(|claimed| &*claimed.webhook.id).collect();
    assert_eq!(next, ["c", "b"], "a has had its turn");
    assert_sound(&store).await;
}

pub(crate) async fn an_attempt_moves_the_cursor_or_is_repeated_or_pauses(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    create(&store, &acme, "h").await;
    change(&store, &acme, "Desk 1").await;
    let last = store.last_position(acme.id).await.unwrap();
    let claimed = claim(&store, "one", NOW).await.remove(0);
    assert_eq!((claimed.retry_until, claimed.test, claimed.webhook.failures), (None, false, 0));
    let retry = AfterAttempt::Retry { at: later(5000), until: last };
    store.record_attempt(record(&claimed, NOW, retry)).await.unwrap();
    let failed = the(&store, &acme, "h").await;
    assert_eq!((failed.failures, failed.next_try_at), (1, Some(later(5000))));
    assert!(claim(&store, "one", later(4999)).await.is_empty());
    let claimed = claim(&store, "one", later(5000)).await.remove(0);
    assert_eq!((claimed.retry_until, claimed.webhook.failures), (Some(last), 1));
    let advance = AfterAttempt::Advance { cursor: last };
    store.record_attempt(record(&claimed, later(5001), advance)).await.unwrap();
    let done = the(&store, &acme, "h").await;
    assert_eq!((done.cursor, done.failures, done.next_try_at), (last, 0, None));
    assert!(claim(&store, "one", later(9000)).await.is_empty(), "the log has ended");
    change(&store, &acme, "Desk 2").await;
    let claimed = claim(&store, "one", later(9000)).await.remove(0);
    let pause = AfterAttempt::Pause { reason: "gone".to_owned() };
    store.record_attempt(record(&claimed, later(9000), pause)).await.unwrap();
    let paused = the(&store, &acme, "h").await;
    assert!(paused.settings.paused);
    assert_eq!((paused.pause_reason.as_deref(), paused.failures), (Some("gone"), 1));
    assert!(claim(&store, "one", later(90_000_000)).await.is_empty());
    let found = shown(&store, &acme, 0).await;
    let pause = found.last().unwrap();
    assert_eq!((&pause["fields"][0], pause.get("by")), (&"paused".into(), None));
    assert_eq!(logged(&store, &acme).await, ["h created []", "h updated [paused]"]);
    // An edit begins afresh.
    let request = WebhookRequest { paused: Some(false), ..WebhookRequest::default() };
    let edit = EditWebhook { webhook: of(&acme, "h", later(9001)), request };
    let edited = store.edit_webhook(edit).await.unwrap();
    assert_eq!((edited.pause_reason, edited.failures), (None, 0));
    assert_eq!(claim(&store, "one", later(9001)).await.len(), 1);
    let ends = store.deliveries(acme.id, "h").await.unwrap();
    let ends: Vec<_> = ends.into_iter().map(|attempt| (attempt.at, attempt.end)).collect();
    let refused = || AttemptEnd::NoAnswer { reason: "refused".to_owned() };
    let taken = AttemptEnd::Answered { status: 204, answer: "ü\0".to_owned() };
    assert_eq!(ends, [(later(9000), refused()), (later(5001), taken), (NOW, refused())]);
    assert_sound(&store).await;
}

pub(crate) async fn a_change_by_a_caller_voids_the_attempt_under_way(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    create(&store, &acme, "h").await;
    for n in 0..3 {
        let now = later(n * 10 * LEASE);
        let claimed = claim(&store, "one", now).await.remove(0);
        match n {
            0 => {
                let secret = Secret::new(vec![8; 32]);
                store.rotate_secret(of(&acme, "h", now), secret).await.unwrap();
            }
            1 => drop(store.replay_webhook(of(&acme, "h", now), 0).await.unwrap()),
            _ => {
                let request =
                    WebhookRequest { include_record: Some(true), ..WebhookRequest::default() };
                let edit = EditWebhook { webhook: of(&acme, "h", now), request };
                store.edit_webhook(edit).await.unwrap();
            }
        }
        let then = AfterAttempt::Advance { cursor: 1 };
        let lost = store.record_attempt(record(&claimed, now, then)).await;
        assert!(matches!(lost, Err(StoreError::LeaseLost)), "{n}: {lost:?}");
        // The attempt may still be under way.
        assert!(claim(&store, "two", now).await.is_empty());
        let cursor = the(&store, &acme, "h").await.cursor;
        let (id, server) = ("h".to_owned(), "one".to_owned());
        let (domain, lease_epoch) = (acme.id, claimed.lease_epoch);
        let skip = SkipChanges { domain, id, server, lease_epoch, cursor: 4 };
        let stranger = SkipChanges { server: "two".to_owned(), ..skip.clone() };
        store.skip_changes(vec![stranger]).await.unwrap();
        assert!(claim(&store, "two", now).await.is_empty());
        store.skip_changes(vec![skip]).await.unwrap();
        assert_eq!(the(&store, &acme, "h").await.cursor, cursor);
        assert_eq!(claim(&store, "two", now).await.len(), 1);
        store.release_webhook(acme.id, "h", "two").await.unwrap();
    }
    let claimed = claim(&store, "one", later(100 * LEASE)).await.remove(0);
    let old = (Secret::new(vec![7; 32]), later(24 * 3_600_000));
    assert_eq!(claimed.secrets.previous, Some(old));
    assert_eq!(claimed.secrets.current, Secret::new(vec![8; 32]));
    store.delete_webhook(of(&acme, "h", NOW)).await.unwrap();
    let then = AfterAttempt::Advance { cursor: 1 };
    let lost = store.record_attempt(record(&claimed, NOW, then)).await;
    assert!(matches!(lost, Err(StoreError::LeaseLost)), "{lost:?}");
    assert_sound(&store).await;
}

pub(crate) async fn a_replay_moves_the_cursor_within_the_stored_log(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    create(&store, &acme, "h").await;
    change(&store, &acme, "Desk 1").await;
    let replay = |cursor| store.replay_webhook(of(&acme, "h", later(1)), cursor);
    assert_eq!(replay(0).await.unwrap().cursor, 0);
    let last = store.last_position(acme.id).await.unwrap();
    assert_eq!(replay(u64::MAX).await.unwrap().cursor, last);
    // A pause by the server ends, one by a caller lasts.
    let claimed = claim(&store, "one", NOW).await.remove(0);
    let mut pause = record(&claimed, NOW, AfterAttempt::Pause { reason: "r".to_owned() });
    pause.attempt = None;
    store.record_attempt(pause).await.unwrap();
    assert!(store.deliveries(acme.id, "h").await.unwrap().is_empty());
    let replayed = replay(1).await.unwrap();
    assert_eq!((replayed.settings.paused, replayed.pause_reason), (false, None));
    let request = WebhookRequest { paused: Some(true), ..WebhookRequest::default() };
    let edit = EditWebhook { webhook: of(&acme, "h", later(2)), request };
    store.edit_webhook(edit).await.unwrap();
    assert!(replay(2).await.unwrap().settings.paused);
    let told = [
        "h created []",
        "h updated [cursor]",
        "h updated [cursor]",
        "h updated [paused]",
        "h updated [cursor,paused]",
        "h updated [paused]",
        "h updated [cursor]",
    ];
    assert_eq!(logged(&store, &acme).await, told);
    while store.purge_changes(later(10)).await.unwrap() {}
    let dropped = store.last_position(acme.id).await.unwrap();
    match replay(dropped - 1).await {
        Err(StoreError::ChangesDropped { dropped: told }) => assert_eq!(told, dropped),
        other => panic!("{other:?}"),
    }
    assert_eq!(replay(dropped).await.unwrap().cursor, dropped);
    assert_sound(&store).await;
}

pub(crate) async fn a_test_is_due_at_once_even_if_paused(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut command = new_webhook(&acme, "h");
    command.settings.paused = true;
    store.create_webhook(command).await.unwrap();
    assert!(claim(&store, "one", NOW).await.is_empty());
    store.test_webhook(of(&acme, "h", NOW)).await.unwrap();
    let before = the(&store, &acme, "h").await;
    let claimed = claim(&store, "one", NOW).await.remove(0);
    assert!(claimed.test);
    store.record_attempt(record(&claimed, NOW, AfterAttempt::Tested)).await.unwrap();
    assert!(claim(&store, "one", NOW).await.is_empty());
    assert_eq!(the(&store, &acme, "h").await, before);
    assert_eq!(store.deliveries(acme.id, "h").await.unwrap()[0].kind, AttemptKind::Test);
    assert_eq!(logged(&store, &acme).await, ["h created []"]);
}

pub(crate) async fn the_last_deliveries_remain_and_go_with_their_webhook(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    create(&store, &acme, "h").await;
    let claimed = claim(&store, "one", NOW).await.remove(0);
    for n in 0..DELIVERIES_KEPT as i64 + 3 {
        let mut command =
            record(&claimed, later(n), AfterAttempt::Retry { at: later(n), until: 3 });
        command.lease_until = Some(later(LEASE));
        store.record_attempt(command).await.unwrap();
    }
    let found = store.deliveries(acme.id, "h").await.unwrap();
    assert_eq!(found.len(), DELIVERIES_KEPT);
    assert_eq!((found[0].at, found[DELIVERIES_KEPT - 1].at), (later(102), later(3)));
    assert_eq!(found[0].kind, AttemptKind::Changes { count: 2, first: 3, last: 5 });
    assert_sound(&store).await;
    store.delete_webhook(of(&acme, "h", NOW)).await.unwrap();
    assert_sound(&store).await;
    create(&store, &acme, "h").await;
    assert!(store.deliveries(acme.id, "h").await.unwrap().is_empty());
    store.delete_domain(acme.id).await.unwrap();
    assert!(claim(&store, "one", later(10 * LEASE)).await.is_empty());
    let gone = store.create_webhook(new_webhook(&acme, "x")).await;
    assert!(matches!(gone, Err(StoreError::NotFound { .. })), "{gone:?}");
}

pub(crate) async fn changes_that_do_not_match_are_skipped(store: Arc<dyn Store>) {
    let (acme, beta) = (domain(&store, "acme").await, domain(&store, "beta").await);
    create(&store, &acme, "a").await;
    create(&store, &beta, "b").await;
    // A lease that ends too late, because a clock was ahead, does not count.
    let ahead = later(1_000_000_000_000);
    assert_eq!(claim(&store, "ahead", ahead).await.len(), 2);
    let claimed = claim(&store, "one", NOW).await;
    assert_eq!(claimed.len(), 2);
    let skip = |claimed: &ClaimedWebhook| SkipChanges {
        domain: claimed.domain,
        id: claimed.webhook.id.clone(),
        server: "one".to_owned(),
        lease_epoch: claimed.lease_epoch,
        cursor: 3,
    };
    store.skip_changes(claimed.iter().map(skip).collect()).await.unwrap();
    assert_eq!(the(&store, &acme, "a").await.cursor, 3);
    assert_eq!(the(&store, &beta, "b").await.cursor, 3);
    assert!(claim(&store, "one", NOW).await.is_empty());
    change(&store, &beta, "Desk 1").await;
    assert_eq!(claim(&store, "one", NOW).await.remove(0).webhook.id, "b");
    let figures = store.metrics().await.unwrap();
    assert_eq!((figures.webhooks_waiting, figures.webhooks_paused), (1, 0));
    assert_sound(&store).await;
}
