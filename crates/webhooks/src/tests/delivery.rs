//! The requests that a receiver gets without faults: every change that matches, once, in order and
//! signed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use caseload_model::change::{ChangeAction, Resource};
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{AttemptEnd, AttemptKind, Secret, WebhookRequest, WebhookSettings};
use caseload_store::{EditWebhook, OfWebhook, Webhooks as _};
use serde_json::json;

use super::receiver::{Receiver, Reply};
use super::store::DOMAIN;
use super::{World, positions, secrets};
use crate::WebhookConfig;

pub(super) fn of(id: &str) -> OfWebhook {
    OfWebhook { domain: DOMAIN, id: id.to_owned(), origin: UnixMillis(0).into() }
}

#[tokio::test]
async fn a_delivery_follows_its_commit_without_a_poll() {
    let world = World::new();
    let receiver = Receiver::start([]).await;
    world.store.add("hook", &receiver.url(), WebhookSettings::default());
    let poll_every = Duration::from_mins(10);
    let runner = world.run(WebhookConfig { poll_every, ..World::config("a") });
    for round in 1..=3 {
        world.store.log(Resource::Issue, 1);
        world.attempts("hook", round).await;
    }
    assert_eq!(positions(&receiver), [1, 2, 3]);
    runner.stop().await;
}

#[tokio::test]
async fn every_change_arrives_once_in_order_in_batches_of_a_hundred_that_are_signed() {
    let (world, receiver) = (World::new(), Receiver::start([]).await);
    world.store.add("hook", &receiver.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 2_345);
    let runner = world.run(World::config("a"));
    world.at_the_end("hook").await;
    world.store.log(Resource::Task, 1);
    world.at_the_end("hook").await;
    assert_eq!(positions(&receiver), (1..=2_346).collect::<Vec<_>>());
    let requests = receiver.requests();
    assert_eq!(requests.len(), 25);
    assert_eq!(receiver.in_flight_max(), 1);
    for request in &requests {
        assert_eq!(request.header("content-type"), "application/json");
        let at = request.header("webhook-timestamp").parse::<i64>().unwrap() * 1000;
        let id = request.header("webhook-id");
        let signature = secrets().signatures(id, UnixMillis(at), &request.body);
        assert_eq!(request.header("webhook-signature"), signature);
    }
    let last = requests.last().unwrap().json();
    let change = json!({
        "position": "2346", "at": 0, "resource": "task", "id": "2346", "action": "updated",
        "fields": [],
    });
    assert_eq!(last, json!({"changes": [change]}));
    let attempts = world.attempts("hook", 25).await;
    assert_eq!(attempts[0].kind, AttemptKind::Changes { count: 100, first: 1, last: 100 });
    assert_eq!(attempts[0].message_id, requests[0].header("webhook-id"));
    let counts = runner.counts()();
    assert_eq!((counts.succeeded, counts.changes, counts.failed), (25, 2_346, 0));
    runner.stop().await;
}

#[tokio::test]
async fn only_changes_that_match_arrive_and_the_others_cost_few_writes() {
    let (world, receiver) = (World::new(), Receiver::start([]).await);
    let resources = vec![Resource::Task];
    let settings = WebhookSettings { resources, ..WebhookSettings::default() };
    world.store.add("tasks", &receiver.url(), settings.clone());
    let actions = vec![ChangeAction::Deleted];
    world.store.add("none", &receiver.url(), WebhookSettings { actions, ..settings });
    world.store.log(Resource::Issue, 1_000);
    world.store.log(Resource::Task, 2);
    world.store.log(Resource::Issue, 1_000);
    let runner = world.run(World::config("a"));
    world.at_the_end("tasks").await;
    world.at_the_end("none").await;
    assert_eq!(positions(&receiver), [1_001, 1_002]);
    assert!(world.attempts("none", 0).await.is_empty());
    let writes = world.store.skips.load(Ordering::SeqCst);
    assert!(writes <= 4, "{writes} writes for 2,000 changes that do not match");
    runner.stop().await;
}

#[tokio::test]
async fn a_webhook_that_wants_records_gets_them_as_they_are_or_null() {
    let (world, receiver) = (World::new(), Receiver::start([]).await);
    let settings = WebhookSettings { include_record: true, ..WebhookSettings::default() };
    world.store.add("hook", &receiver.url(), settings);
    world.store.log(Resource::Issue, 2);
    world.store.log(Resource::Task, 1);
    let runner = world.run(World::config("a"));
    world.at_the_end("hook").await;
    let body = receiver.requests()[0].json();
    let changes = body["changes"].as_array().unwrap();
    assert_eq!(changes[0].get("record"), Some(&json!(null)));
    assert_eq!(changes[1]["record"], json!({"the": "2"}));
    assert_eq!(changes[2].get("record"), None, "a task has none");
    runner.stop().await;
}

#[tokio::test]
async fn a_paused_webhook_gets_only_the_test_that_a_caller_asks_for() {
    let (world, receiver) = (World::new(), Receiver::start([]).await);
    let settings = WebhookSettings { paused: true, ..WebhookSettings::default() };
    world.store.add("hook", &receiver.url(), settings);
    world.store.log(Resource::Issue, 3);
    let runner = world.run(World::config("a"));
    for tests in 1..=2 {
        world.store.test_webhook(of("hook")).await.unwrap();
        let attempts = world.attempts("hook", tests).await;
        assert_eq!(attempts[tests - 1].kind, AttemptKind::Test);
    }
    let requests = receiver.requests();
    assert_eq!(requests[0].json(), json!({"changes": [], "test": true}));
    assert_ne!(requests[0].header("webhook-id"), requests[1].header("webhook-id"));
    assert_eq!((requests.len(), world.webhook("hook").await.cursor), (2, 0));
    runner.stop().await;
}

#[tokio::test]
async fn a_replay_sends_the_changes_again_and_a_rotated_secret_signs_with_the_old_one() {
    let (world, receiver) = (World::new(), Receiver::start([]).await);
    world.store.add("hook", &receiver.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 5);
    let runner = world.run(World::config("a"));
    world.at_the_end("hook").await;
    let now = UnixMillis(world.now.load(Ordering::SeqCst));
    let new = Secret::new(vec![9; 32]);
    world.store.rotate_secret(OfWebhook { origin: now.into(), ..of("hook") }, new).await.unwrap();
    world.store.replay_webhook(of("hook"), 2).await.unwrap();
    world.at_the_end("hook").await;
    assert_eq!(positions(&receiver), [1, 2, 3, 4, 5, 3, 4, 5]);
    let requests = receiver.requests();
    let signatures = requests[1].header("webhook-signature");
    let old = secrets().signatures(requests[1].header("webhook-id"), now, &requests[1].body);
    assert!(signatures.ends_with(&format!(" {old}")), "{signatures}");
    runner.stop().await;
}

#[tokio::test]
async fn an_attempt_under_old_settings_is_not_recorded_and_the_new_ones_follow_it() {
    let world = World::new();
    let slow = Receiver::start([Reply::After(Duration::from_millis(300))]).await;
    let other = Receiver::start([]).await;
    world.store.add("hook", &slow.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 5);
    let runner = world.run(World::config("a"));
    super::eventually(|| async { (!slow.requests().is_empty()).then_some(()) }).await;
    let request = WebhookRequest { url: Some(other.url()), ..WebhookRequest::default() };
    world.store.edit_webhook(EditWebhook { webhook: of("hook"), request }).await.unwrap();
    world.at_the_end("hook").await;
    assert_eq!((slow.requests().len(), positions(&other)), (1, vec![1, 2, 3, 4, 5]));
    let attempts = world.attempts("hook", 1).await;
    assert_eq!(attempts.len(), 1, "only the attempt at the new receiver");
    assert!(matches!(&attempts[0].end, AttemptEnd::Answered { status: 200, .. }));
    runner.stop().await;
}

#[tokio::test]
async fn webhooks_share_fewer_places_than_there_are_webhooks() {
    let (world, receiver) = (World::new(), Receiver::start([]).await);
    for number in 0..9 {
        world.store.add(&format!("hook-{number}"), &receiver.url(), WebhookSettings::default());
    }
    world.store.log(Resource::Issue, 1_500);
    let config = World::config("a");
    // Without a poll in the time of the test.
    let poll_every = Duration::from_mins(10);
    let runner = world.run(WebhookConfig { deliveries_at_once: 2, poll_every, ..config });
    for number in 0..9 {
        let id = format!("hook-{number}");
        super::eventually(|| async { (world.webhook(&id).await.cursor == 1_500).then_some(()) })
            .await;
    }
    assert_eq!(positions(&receiver).len(), 9 * 1_500);
    assert!(receiver.in_flight_max() <= 2);
    runner.stop().await;
}
