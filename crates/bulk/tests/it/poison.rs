//! Entries that do not commit: the task finds the one that is the cause, parks it as an error, and
//! goes on with the others. The store of these tests counts work instead of measuring it.
use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::issue::DeskAddresses;
use caseload_model::task::{Counts, Task};
use caseload_store::{
    ApplyChunk, ChunkApplied, ChunkWork, ClaimTasks, ClaimedTask, Domain, FailAttempt, RecordKind,
    RenewLeases, Store, StoreError, StoreFuture, Trial, TryEntry, Work, WorkerSlots,
};
use caseload_teststore::on_each_store;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::support::Fixture;

on_each_store!(threads 2:
    an_entry_that_never_commits_becomes_an_error_and_the_others_go_on,
    a_chunk_that_was_interrupted_once_commits_in_smaller_ones,
);

/// The work that each interrupted chunk reports.
const WORKED: Duration = Duration::from_secs(4);

/// A store in which chunks with certain entries are interrupted, each so often.
struct Interrupting {
    store: Arc<dyn Store>,
    /// Index of an entry, and how many chunks with it are still interrupted.
    entries: Mutex<Vec<(u32, u32)>>,
    /// The numbers of entries of the chunks.
    chunks: Mutex<Vec<usize>>,
}

impl Work for Interrupting {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        self.store.claim_tasks(command)
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        self.store.renew_leases(command)
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        self.store.release_leases(server)
    }

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

    fn try_entry(&self, command: TryEntry) -> StoreFuture<'_, Trial> {
        self.store.try_entry(command)
    }

    fn apply_chunk(&self, mut command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        // A chunk is its own entries, so that it is known which ones it has.
        command.following = None;
        let entries = &command.entries.block.entries;
        let is_rejected = command.entries.work.len() == 1 && is_parked(&command);
        let first = command.entries.next_index();
        let last = command.entries.index_before(command.entries.work.len());
        self.chunks.lock().push(command.entries.work.len() - command.entries.from);
        assert!(!entries.is_empty());
        let mut interrupting = self.entries.lock();
        let found = interrupting
            .iter_mut()
            .find(|(index, left)| (first..last).contains(index) && *left > 0);
        match found {
            Some((_, left)) if !is_rejected => {
                *left -= 1;
                Box::pin(async { Err(StoreError::ChunkInterrupted { worked: WORKED }) })
            }
            _ => self.store.apply_chunk(command),
        }
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
fn is_parked(command: &ApplyChunk) -> bool {
    match &*command.entries.work {
        ChunkWork::CreateCoreProfiles(entries) => entries[0].item.is_err(),
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
        let work = Arc::new(Interrupting {
            store: fixture.store.clone(),
            entries: Mutex::new(interrupted.to_vec()),
            chunks: Mutex::default(),
        });
        Self { fixture, domain, work }
    }

    async fn run(&self) -> Task {
        let runner = self.fixture.run(self.work.clone());
        let task = self.fixture.completed(&self.domain, "t").await;
        runner.stop().await;
        assert_eq!(self.fixture.store.check().await.unwrap().faults, Vec::<String>::new());
        task
    }

    async fn errors(&self) -> Vec<Value> {
        let (store, domain) = (&self.fixture.store, self.domain.id);
        let mut errors = Vec::new();
        let mut from = 0;
        while let Some(block) =
            store.record_block(domain, "t", RecordKind::Errors, from).await.unwrap()
        {
            let lines = String::from_utf8(block.lines).unwrap();
            errors.extend(lines.lines().map(|line| serde_json::from_str(line).unwrap()));
            from = block.next_index;
        }
        errors
    }
}

async fn an_entry_that_never_commits_becomes_an_error_and_the_others_go_on() {
    let interrupted = Interrupted::new(600, &[(300, u32::MAX), (301, u32::MAX)]).await;
    let task = interrupted.run().await;
    assert_eq!(task.counts, Counts { total: 600, succeeded: 598, failed: 2, unprocessed: 0 });
    let errors = interrupted.errors().await;
    for (error, index) in errors.iter().zip([300, 301]) {
        assert_eq!(error["index"], index);
        assert_eq!(error["errors"][0]["code"], "not_processed");
        let detail = error["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("60 s of work"), "{detail}");
        assert_eq!(error["entry"]["identities"][0]["uid"], format!("t-{index}"));
    }
    assert_eq!(errors.len(), 2);
}

async fn a_chunk_that_was_interrupted_once_commits_in_smaller_ones() {
    let interrupted = Interrupted::new(2000, &[(700, 3)]).await;
    let task = interrupted.run().await;
    assert_eq!(task.counts, Counts { total: 2000, succeeded: 2000, failed: 0, unprocessed: 0 });
    let chunks = interrupted.work.chunks.lock().clone();
    assert!(chunks.contains(&128), "no chunk became small: {chunks:?}");
    assert!(!chunks.contains(&1), "the entries were not applied one by one: {chunks:?}");
}
