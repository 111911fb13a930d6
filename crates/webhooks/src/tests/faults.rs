//! Receivers that are slow, dead or hostile, and servers that die.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use caseload_model::change::Resource;
use caseload_model::webhook::{ANSWER_BYTES_MAX, Attempt, AttemptEnd, WebhookSettings};
use caseload_store::Webhooks as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::delivery::of;
use super::receiver::{Receiver, Reply};
use super::{World, eventually, positions};
use crate::WebhookConfig;

fn status(attempt: &Attempt) -> Option<u16> {
    match &attempt.end {
        AttemptEnd::Answered { status, .. } => Some(*status),
        AttemptEnd::NoAnswer { .. } => None,
    }
}

fn reason(attempt: &Attempt) -> &str {
    match &attempt.end {
        AttemptEnd::NoAnswer { reason } => reason,
        AttemptEnd::Answered { .. } => panic!("there was an answer: {attempt:?}"),
    }
}

#[tokio::test]
async fn a_failed_delivery_is_sent_again_after_the_delay_before_anything_newer() {
    let world = World::new();
    let receiver = Receiver::start([500, 503, 200].map(Reply::Status)).await;
    world.store.add("hook", &receiver.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 3);
    let runner = world.run(World::config("a"));
    let first = world.attempts("hook", 1).await;
    let answer = "this is 500".to_owned();
    assert_eq!(first[0].end, AttemptEnd::Answered { status: 500, answer });
    world.store.log(Resource::Issue, 2);
    world.pass(Duration::from_millis(4_900));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(receiver.requests().len(), 1, "the delay is not over");
    world.pass(Duration::from_millis(100));
    world.attempts("hook", 2).await;
    assert_eq!(world.webhook("hook").await.failures, 2);
    world.pass(Duration::from_mins(5));
    let attempts = world.attempts("hook", 4).await;
    assert_eq!(positions(&receiver), [1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5]);
    let ids: Vec<&str> = attempts.iter().map(|attempt| &*attempt.message_id).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    let webhook = world.webhook("hook").await;
    assert_eq!((webhook.failures, webhook.next_try_at, webhook.cursor), (0, None, 5));
    assert_eq!((runner.counts()().failed, runner.counts()().succeeded), (2, 2));
    runner.stop().await;
}

#[tokio::test]
async fn a_webhook_is_paused_after_ten_failures_and_by_410_at_once() {
    let world = World::new();
    let broken = Receiver::start([Reply::Status(500)]).await;
    let gone = Receiver::start([Reply::Status(410)]).await;
    world.store.add("broken", &broken.url(), WebhookSettings::default());
    world.store.add("gone", &gone.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 1);
    let runner = world.run(World::config("a"));
    for attempts in 1..=10 {
        world.attempts("broken", attempts).await;
        world.pass(Duration::from_hours(24));
    }
    world.attempts("gone", 1).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    for (id, receiver, attempts, word) in
        [("broken", &broken, 10, "answered 500"), ("gone", &gone, 1, "410")]
    {
        let webhook = world.webhook(id).await;
        assert!(webhook.settings.paused && webhook.cursor == 0, "{webhook:?}");
        assert!(webhook.pause_reason.unwrap().contains(word));
        assert_eq!(receiver.requests().len(), attempts, "{id}");
    }
    assert_eq!(runner.counts()().paused, 2);
    runner.stop().await;
}

#[tokio::test]
async fn a_webhook_whose_changes_are_gone_is_paused_until_a_replay() {
    let world = World::new();
    let receiver = Receiver::start([]).await;
    world.store.add("hook", &receiver.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 5);
    world.store.dropped.store(3, Ordering::SeqCst);
    let runner = world.run(World::config("a"));
    let paused = eventually(|| async {
        let webhook = world.webhook("hook").await;
        webhook.settings.paused.then_some(webhook)
    });
    let reason = paused.await.pause_reason.unwrap();
    assert!(reason.contains("position 3 are no longer stored"), "{reason}");
    assert!(receiver.requests().is_empty() && world.attempts("hook", 0).await.is_empty());
    world.store.replay_webhook(of("hook"), 3).await.unwrap();
    world.at_the_end("hook").await;
    assert_eq!(positions(&receiver), [4, 5]);
    runner.stop().await;
}

#[tokio::test]
async fn slow_and_dead_receivers_delay_no_other() {
    let world = World::new();
    let dead = Receiver::start([Reply::Never]).await;
    let slow = Receiver::start([Reply::After(Duration::from_millis(1_200))]).await;
    let quick = Receiver::start([]).await;
    for number in 0..30 {
        world.store.add(&format!("dead-{number}"), &dead.url(), WebhookSettings::default());
    }
    world.store.add("slow", &slow.url(), WebhookSettings::default());
    world.store.add("quick", &quick.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 500);
    let answer_within = Duration::from_secs(5);
    let runner = world.run(WebhookConfig { answer_within, ..World::config("a") });
    world.at_the_end("quick").await;
    assert!(world.attempts("dead-0", 0).await.is_empty(), "the quick one waited for the dead");
    let dead = world.attempts("dead-0", 1).await;
    assert!(reason(&dead[0]).contains("did not answer within 5 s"), "{dead:?}");
    world.at_the_end("slow").await;
    assert_eq!(positions(&slow), (1..=500).collect::<Vec<_>>());
    assert_eq!(slow.in_flight_max(), 1);
    runner.stop().await;
}

#[tokio::test]
async fn redirects_are_not_followed_and_a_closed_port_is_the_reason() {
    let (world, target) = (World::new(), Receiver::start([]).await);
    let redirect = Receiver::start([Reply::Redirect(target.url())]).await;
    world.store.add("redirect", &redirect.url(), WebhookSettings::default());
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    world.store.add("closed", &format!("http://{closed}/"), WebhookSettings::default());
    world.store.log(Resource::Issue, 1);
    let runner = world.run(World::config("a"));
    assert_eq!(status(&world.attempts("redirect", 1).await[0]), Some(307));
    assert!(target.requests().is_empty());
    let attempts = world.attempts("closed", 1).await;
    assert!(reason(&attempts[0]).contains("cannot be reached: Connection refused"));
    runner.stop().await;
}

/// Answers with a good status and a body without an end; returns the port and the bytes written.
async fn endless() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let written = Arc::new(AtomicUsize::new(0));
    let count = written.clone();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1 << 13];
        let _ = stream.read(&mut request).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n";
        stream.write_all(head).await.unwrap();
        let piece = [b'a'; 1 << 13];
        while stream.write_all(&piece).await.is_ok() {
            count.fetch_add(piece.len(), Ordering::SeqCst);
        }
    });
    (port, written)
}

#[tokio::test]
async fn only_the_beginning_of_an_endless_answer_is_read() {
    let world = World::new();
    let (port, written) = endless().await;
    world.store.add("hook", &format!("http://127.0.0.1:{port}/"), WebhookSettings::default());
    world.store.log(Resource::Issue, 1);
    let runner = world.run(World::config("a"));
    let attempts = world.attempts("hook", 1).await;
    let AttemptEnd::Answered { status: 200, answer } = &attempts[0].end else {
        panic!("{attempts:?}")
    };
    assert_eq!(answer.len(), ANSWER_BYTES_MAX);
    world.at_the_end("hook").await;
    // Buffers of the system count, too.
    let written = written.load(Ordering::SeqCst);
    assert!(written < 16 << 20, "{written} bytes were taken");
    runner.stop().await;
}

#[tokio::test]
async fn a_server_that_dies_between_sending_and_recording_has_it_sent_again_by_another() {
    let (world, receiver) = (World::new(), Receiver::start([]).await);
    world.store.add("hook", &receiver.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 3);
    world.store.never_records.store(true, Ordering::SeqCst);
    let dying = world.run(World::config("a"));
    eventually(|| async { (!receiver.requests().is_empty()).then_some(()) }).await;
    dying.running.abort();
    world.store.never_records.store(false, Ordering::SeqCst);
    let other = world.run(World::config("b"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(receiver.requests().len(), 1, "the lease of the dead server lasts");
    world.pass(Duration::from_mins(1));
    world.at_the_end("hook").await;
    assert_eq!(positions(&receiver), [1, 2, 3, 1, 2, 3]);
    let requests = receiver.requests();
    assert_eq!(requests[0].header("webhook-id"), requests[1].header("webhook-id"));
    other.stop().await;
}

#[tokio::test]
async fn a_stop_waits_seconds_for_attempts_in_flight_and_ends_their_leases() {
    let world = World::new();
    let dead = Receiver::start([Reply::Never]).await;
    let slow = Receiver::start([Reply::After(Duration::from_millis(500))]).await;
    world.store.add("dead", &dead.url(), WebhookSettings::default());
    world.store.add("slow", &slow.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 150);
    let answer_within = Duration::from_secs(15);
    let runner = world.run(WebhookConfig { answer_within, ..World::config("a") });
    let both = || async { (dead.requests().len() + slow.requests().len() == 2).then_some(()) };
    eventually(both).await;
    let began = Instant::now();
    runner.stop().await;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(world.webhook("slow").await.cursor, 100, "recorded while the server stopped");
    assert!(world.attempts("dead", 0).await.is_empty());
    let other = world.run(World::config("b"));
    world.at_the_end("slow").await;
    world.attempts("dead", 1).await;
    assert_eq!(positions(&slow), (1..=150).collect::<Vec<_>>());
    other.stop().await;
}

#[tokio::test]
async fn deliveries_continue_after_an_outage_of_the_store() {
    let (world, receiver) = (World::new(), Receiver::start([]).await);
    world.store.add("hook", &receiver.url(), WebhookSettings::default());
    world.store.log(Resource::Issue, 3);
    world.store.is_away.store(true, Ordering::SeqCst);
    let runner = world.run(World::config("a"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(receiver.requests().is_empty());
    world.store.is_away.store(false, Ordering::SeqCst);
    world.at_the_end("hook").await;
    assert_eq!(positions(&receiver), [1, 2, 3]);
    runner.stop().await;
}
