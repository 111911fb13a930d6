//! Entries that do not commit: the task finds the one that is the cause, which becomes an error,
//! and continues with the others. No entry fails because its server died. The store of these tests
//! counts work instead of measuring it.
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use caseload_model::issue::DeskAddresses;
use caseload_model::task::{Counts, Family, Task};
use caseload_store::{
    ApplyChunk, ChunkApplied, ChunkWork, ClaimTasks, ClaimedTask, Domain, FailAttempt, Payloads,
    RecordKind, RenewLeases, Store, StoreError, StoreFuture, Work, WorkerSlots,
};
use caseload_teststore::on_each_store;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::support::{Fixture, PATIENCE};

on_each_store!(threads 2:
    an_entry_that_never_commits_becomes_an_error_and_the_others_go_on,
    entries_that_the_database_refuses_fail_and_their_neighbours_do_not,
    a_dry_run_judges_entries_as_usual_however_often_its_servers_die,
    a_chunk_that_was_interrupted_once_commits_in_smaller_ones,
);

/// The work that each interrupted chunk reports.
const WORKED: Duration = Duration::from_secs(4);

/// Indexes of entries, and how many chunks with each are still to be struck.
type Strikes = Arc<Mutex<Vec<(u32, u32)>>>;

/// A store in which chunks with certain entries are interrupted, are refused or end their server so
/// often.
struct Interrupting {
    store: Arc<dyn Store>,
    interrupted: Strikes,
    refused: Strikes,
    deadly: Strikes,
    /// Whether the server has died: then it gets no more answers.
    dead: watch::Sender<bool>,
    /// The numbers of entries of the chunks.
    chunks: Mutex<Vec<usize>>,
}

impl Interrupting {
    fn new(store: &Arc<dyn Store>, interrupted: &Strikes, deadly: &Strikes) -> Arc<Self> {
        Arc::new(Self {
            store: store.clone(),
            interrupted: interrupted.clone(),
            refused: Strikes::default(),
            deadly: deadly.clone(),
            dead: watch::Sender::new(false),
            chunks: Mutex::default(),
        })
    }

    fn unless_dead<'a, T: 'a>(&self, answer: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        if *self.dead.borrow() { Box::pin(std::future::pending()) } else { answer }
    }
}

/// Whether one of the entries with these indexes is still to be struck.
fn strike(entries: &Strikes, indexes: &Range<u32>) -> bool {
    let mut entries = entries.lock();
    let found = entries.iter_mut().find(|(index, left)| indexes.contains(index) && *left > 0);
    found.map(|(_, left)| *left -= 1).is_some()
}

impl Payloads for Interrupting {
    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.store.payload_block(domain, task_id, from_index)
    }

    fn desk_addresses(&self, domain: DomainId) -> StoreFuture<'_, DeskAddresses> {
        self.store.desk_addresses(domain)
    }
}

impl Work for Interrupting {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        self.unless_dead(self.store.claim_tasks(command))
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        self.unless_dead(self.store.renew_leases(command))
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        self.store.release_leases(server)
    }

    fn apply_chunk(&self, mut command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        // A chunk is its own entries, so that it is known which ones it has.
        command.following = None;
        let entries = &command.entries;
        let indexes = entries.next_index()..entries.index_before(entries.work.len());
        self.chunks.lock().push(entries.work.len() - entries.from);
        assert!(!indexes.is_empty());
        if is_rejected(&command) {
            return self.store.apply_chunk(command);
        }
        if strike(&self.interrupted, &indexes) {
            return Box::pin(async { Err(StoreError::ChunkInterrupted { worked: WORKED }) });
        }
        if strike(&self.refused, &indexes) {
            return Box::pin(async { Err(StoreError::ValuesRefused("refused".to_owned())) });
        }
        if strike(&self.deadly, &indexes) {
            self.dead.send_replace(true);
        }
        self.unless_dead(self.store.apply_chunk(command))
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        self.store.fail_attempt(command)
    }

    fn register(&self, slots: Arc<dyn WorkerSlots>) {
        self.store.register(slots);
    }

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.store.wake_ups()
    }
}

/// Whether the chunk is one entry that is an error by now.
fn is_rejected(command: &ApplyChunk) -> bool {
    match &*command.entries.work {
        ChunkWork::CreateCoreProfiles(entries) => {
            let new = &entries[command.entries.from..];
            new.len() == 1 && new[0].item.is_err()
        }
        _ => false,
    }
}

/// A task of `total` good entries in which chunks with certain entries are interrupted.
struct Interrupted {
    fixture: Fixture,
    domain: Domain,
    work: Arc<Interrupting>,
}

impl Interrupted {
    async fn new(total: u32, interrupted: &[(u32, u32)]) -> Self {
        let fixture = Fixture::new().await;
        let domain = fixture.domain("acme").await;
        fixture.task(&domain, "t", total).await;
        let interrupted = Arc::new(Mutex::new(interrupted.to_vec()));
        let work = Interrupting::new(&fixture.store, &interrupted, &Strikes::default());
        Self { fixture, domain, work }
    }

    async fn run(&self) -> Task {
        let runner = self.fixture.run(self.work.clone());
        let task = self.fixture.completed(&self.domain, "t").await;
        runner.stop().await;
        assert_eq!(self.fixture.store.check().await.unwrap().faults, Vec::<String>::new());
        task
    }

    /// Runs a task on one server after another; each takes over once the one before has died.
    async fn run_with_deaths(&mut self, id: &str) -> Task {
        let Self { fixture, domain, work } = self;
        let begun = Instant::now();
        let mut runner = fixture.run(work.clone());
        let task = loop {
            let task = fixture.store.task(domain.id, Family::Identity, id).await.unwrap().unwrap();
            if task.outcome.is_some() {
                break task;
            }
            assert!(begun.elapsed() < PATIENCE, "{id} does not complete");
            if let Some(at) = task.next_try_at {
                let left = (at.0 - fixture.clock.now().0).max(0).unsigned_abs();
                fixture.turn_clock(Duration::from_millis(left));
            }
            if *work.dead.borrow() {
                // The lease of the dead server runs out.
                fixture.turn_clock(Duration::from_mins(1));
                *work = Interrupting::new(&fixture.store, &work.interrupted, &work.deadly);
                runner = fixture.run(work.clone());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        runner.stop().await;
        assert_eq!(fixture.store.check().await.unwrap().faults, Vec::<String>::new());
        task
    }

    async fn records(&self, id: &str, kind: RecordKind) -> Vec<Value> {
        let (store, domain) = (&self.fixture.store, self.domain.id);
        let mut records = Vec::new();
        let mut from = 0;
        while let Some(block) = store.record_block(domain, id, kind, from).await.unwrap() {
            let lines = String::from_utf8(block.lines).unwrap();
            records.extend(lines.lines().map(|line| serde_json::from_str(line).unwrap()));
            from = block.next_index;
        }
        records
    }
}

async fn an_entry_that_never_commits_becomes_an_error_and_the_others_go_on() {
    let interrupted = Interrupted::new(600, &[(300, u32::MAX), (301, u32::MAX)]).await;
    let task = interrupted.run().await;
    assert_eq!(task.counts, Counts { total: 600, succeeded: 598, failed: 2, unprocessed: 0 });
    let errors = interrupted.records("t", RecordKind::Errors).await;
    for (error, index) in errors.iter().zip([300, 301]) {
        assert_eq!(error["index"], index);
        assert_eq!(error["errors"][0]["code"], "not_processed");
        let detail = error["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("60 s of work"), "{detail}");
        assert_eq!(error["entry"]["identities"][0]["uid"], format!("t-{index}"));
    }
    assert_eq!(errors.len(), 2);
}

async fn entries_that_the_database_refuses_fail_and_their_neighbours_do_not() {
    let interrupted = Interrupted::new(600, &[]).await;
    *interrupted.work.refused.lock() = vec![(0, u32::MAX), (300, u32::MAX), (301, u32::MAX)];
    let task = interrupted.run().await;
    assert_eq!(task.counts, Counts { total: 600, succeeded: 597, failed: 3, unprocessed: 0 });
    let errors = interrupted.records("t", RecordKind::Errors).await;
    for (error, index) in errors.iter().zip([0, 300, 301]) {
        assert_eq!(error["index"], index);
        assert_eq!(error["errors"][0]["code"], "not_processed");
        let detail = error["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("the database refuses the values of this entry"), "{detail}");
    }
}

async fn a_dry_run_judges_entries_as_usual_however_often_its_servers_die() {
    let fixture = Fixture::new().await;
    let domain = fixture.domain("acme").await;
    let uids = [0, 1, 0, 2, 1, 3, 0];
    fixture.dry_run(&domain, "deadly", &uids).await;
    // Entry 3 never commits, so that the chunks become small. Servers die with two others.
    let struck = Arc::new(Mutex::new(vec![(3, u32::MAX)]));
    let deadly = Arc::new(Mutex::new(vec![(2, 1), (5, 3)]));
    let work = Interrupting::new(&fixture.store, &struck, &deadly);
    let mut interrupted = Interrupted { fixture, domain, work };
    let task = interrupted.run_with_deaths("deadly").await;
    assert_eq!(task.counts, Counts { total: 7, succeeded: 3, failed: 4, unprocessed: 0 });
    assert!(deadly.lock().iter().all(|(_, left)| *left == 0), "all have died");
    struck.lock().clear();
    interrupted.fixture.dry_run(&interrupted.domain, "usual", &uids).await;
    assert_eq!(interrupted.run_with_deaths("usual").await.counts.failed, 3);
    for kind in [RecordKind::Results, RecordKind::Errors] {
        let mut deadly = interrupted.records("deadly", kind).await;
        let mut usual = interrupted.records("usual", kind).await;
        for record in deadly.iter().filter(|record| record["index"] == 3) {
            assert_eq!(record["errors"][0]["code"], "not_processed");
        }
        for records in [&mut deadly, &mut usual] {
            records.retain(|record| record["index"] != 3);
        }
        assert_eq!(deadly, usual);
    }
}

async fn a_chunk_that_was_interrupted_once_commits_in_smaller_ones() {
    let interrupted = Interrupted::new(2000, &[(700, 3)]).await;
    let task = interrupted.run().await;
    assert_eq!(task.counts, Counts { total: 2000, succeeded: 2000, failed: 0, unprocessed: 0 });
    let chunks = interrupted.work.chunks.lock().clone();
    assert!(chunks.contains(&128), "no chunk became small: {chunks:?}");
    assert!(!chunks.contains(&1), "the chunks became too small: {chunks:?}");
}
