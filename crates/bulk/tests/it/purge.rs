//! Expired records are removed, but not by a clock that has just jumped forward, because a removal
//! cannot be undone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_bulk::{Runner, RunnerConfig};
use caseload_model::time::{DAY_MS, UnixMillis};
use caseload_store::{
    BackupReport, CheckReport, CreateBackup, CreateTask, Domain, IdempotencyKey, Idempotent,
    IndexTexts, RecordKind, StagePayload, Store, StoreFuture, StoreMetrics, StoredAnswer, Upkeep,
};
use caseload_teststore::on_each_store;
use parking_lot::Mutex;

use crate::support::{BEGIN_MS, Fixture, PATIENCE};

on_each_store!(threads 2: a_clock_that_jumps_forward_removes_nothing_until_it_is_believed,);

/// How long records of these tests are stored.
const STORED_MS: i64 = 30 * DAY_MS;
/// How long they keep changes.
const KEPT: Duration = Duration::from_hours(24);
/// A jump of the clock beyond that.
const JUMP: Duration = Duration::from_hours(60 * 24);
/// Rounds of the purge that are waited for.
const ROUNDS: usize = 5;

/// A store that notes the times by which records expired.
struct Noting {
    store: Arc<dyn Store>,
    times: Mutex<Vec<UnixMillis>>,
    /// The times from which on changes were retained.
    kept_since: Mutex<Vec<UnixMillis>>,
}

impl Upkeep for Noting {
    fn ready(&self) -> StoreFuture<'_, ()> {
        self.store.ready()
    }

    fn metrics(&self) -> StoreFuture<'_, StoreMetrics> {
        self.store.metrics()
    }

    fn check(&self) -> StoreFuture<'_, CheckReport> {
        self.store.check()
    }

    fn backup(&self, command: CreateBackup) -> StoreFuture<'_, BackupReport> {
        self.store.backup(command)
    }

    fn purge_expired(&self, now: UnixMillis) -> StoreFuture<'_, bool> {
        self.times.lock().push(now);
        self.store.purge_expired(now)
    }

    fn purge_changes(&self, before: UnixMillis) -> StoreFuture<'_, bool> {
        self.kept_since.lock().push(before);
        self.store.purge_changes(before)
    }

    fn index_texts(&self, how: IndexTexts) -> StoreFuture<'_, bool> {
        self.store.index_texts(how)
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        self.store.close()
    }
}

/// A server that purges all the time and believes a jump of the clock after `after_jump`.
fn server(fixture: &Fixture, after_jump: Duration) -> (Runner, Arc<Noting>) {
    let (times, kept_since) = (Mutex::default(), Mutex::default());
    let upkeep = Arc::new(Noting { store: fixture.store.clone(), times, kept_since });
    let config = RunnerConfig {
        purge_every: Duration::from_millis(2),
        keep_changes: Some(KEPT),
        purge_after_start: Duration::ZERO,
        purge_after_jump: after_jump,
        ..RunnerConfig::new(format!("server-{after_jump:?}"))
    };
    let work = fixture.store.clone();
    (Runner::start(work, upkeep.clone(), fixture.clock.clone(), config), upkeep)
}

/// The command that creates a task of one entry under an idempotency key.
fn keyed(fixture: &Fixture, domain: &Domain, id: &str, key: &str) -> CreateTask {
    let command = fixture.command(domain, id, std::iter::once("u".to_owned()));
    let expires_at = UnixMillis(command.now.0 + STORED_MS);
    let answer = StoredAnswer { location: format!("/{id}"), body: Vec::new() };
    let key = IdempotencyKey { text: key.to_owned(), content: [1; 32], expires_at };
    CreateTask { expires_at, idempotency: Some((key, answer.into())), ..command }
}

/// Whether a task is new, and not the repeat of one before.
async fn is_new(fixture: &Fixture, command: CreateTask) -> bool {
    matches!(fixture.store.create_task(command).await.unwrap(), Idempotent::Done(_))
}

async fn until(failure: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "{failure}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn a_clock_that_jumps_forward_removes_nothing_until_it_is_believed() {
    let fixture = Fixture::new().await;
    let domain = fixture.domain("acme").await;
    assert!(is_new(&fixture, keyed(&fixture, &domain, "t", "key")).await);
    let staged = keyed(&fixture, &domain, "upload", "other");
    let upload = StagePayload {
        domain: domain.id,
        key: None,
        task_id: "upload".to_owned(),
        blocks: staged.blocks,
        now: staged.now,
    };
    fixture.store.stage_payload(upload).await.unwrap();
    let has_results = async || {
        let results = fixture.store.record_block(domain.id, "t", RecordKind::Results, 0);
        results.await.unwrap().is_some()
    };

    let (runner, purges) = server(&fixture, Duration::from_hours(24));
    fixture.succeeded(&domain, "t").await;
    until("there is no purge", async || purges.times.lock().len() > ROUNDS).await;
    fixture.turn_clock(JUMP);
    let before = purges.times.lock().len();
    until("the purge stops", async || purges.times.lock().len() > before + ROUNDS).await;
    let latest = purges.times.lock().iter().copied().max().unwrap();
    assert!(latest.0 < BEGIN_MS + DAY_MS, "records expired by a wrong clock");
    let kept_since = purges.kept_since.lock().iter().copied().max().unwrap();
    assert!(kept_since.0 < BEGIN_MS, "changes were dropped by a wrong clock");
    assert!(has_results().await);
    let again = keyed(&fixture, &domain, "again", "key");
    assert!(!is_new(&fixture, again).await, "a repeat has no effect, even if the clock is ahead");
    let whole = keyed(&fixture, &domain, "upload", "other");
    let staged = CreateTask { staged: 1, blocks: Vec::new(), ..whole };
    assert!(is_new(&fixture, staged).await, "an upload in progress is not given up");
    runner.stop().await;

    // A server that believes it: there, all of it has expired.
    let (runner, _) = server(&fixture, Duration::ZERO);
    until("results do not expire", async || !has_results().await).await;
    until("the key does not expire", async || {
        fixture.store.stored_answer(domain.id, "key").await.unwrap().is_none()
    })
    .await;
    runner.stop().await;
    assert_eq!(fixture.store.check().await.unwrap().faults, Vec::<String>::new());
}
