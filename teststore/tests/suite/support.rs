//! Helpers of the suite: they create domains, payloads and tasks, run tasks, and read their
//! records.

use std::ops::Range;
use std::sync::Arc;

use caseload_model::ids::{DomainId, DomainName};

use caseload_model::payload::Block;
use caseload_model::payload::Entry;
use caseload_model::task::{Action, Task, TaskOrigin};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{
    ApplyChunk, ChunkEntries, ChunkWork, ClaimTasks, ClaimedTask, CreateDomain, CreateTask, Domain,
    QueueTurn, RecordKind, Store, StoreError, pack_block,
};

use super::changes::assert_logged;

/// The current time of most tests.
pub(crate) const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

tokio::task_local! {
    /// Set if a test is run for the statements that it sends, and not for its result.
    pub(crate) static FEW_ROUNDS: ();
}

/// The rounds of a test with random data: all of them, or a quarter if a few will do.
pub(crate) fn rounds(all: usize) -> usize {
    if FEW_ROUNDS.try_with(|()| ()).is_ok() { all.div_ceil(4) } else { all }
}

pub(crate) fn later(millis: i64) -> UnixMillis {
    UnixMillis(NOW.0 + millis)
}

pub(crate) async fn domain(store: &Arc<dyn Store>, name: &str) -> Domain {
    let name = DomainName::parse(name).unwrap();
    store.create_domain(CreateDomain { name, origin: NOW.into(), random: 7 }).await.unwrap()
}

/// One block with the given lines as entries.
pub(crate) fn block(lines: &[String], first_index: u32) -> Block {
    let mut block = Block::default();
    for (n, line) in lines.iter().enumerate() {
        let start = block.bytes.len();
        block.bytes.extend_from_slice(line.as_bytes());
        let index = first_index + n as u32;
        let range = start..block.bytes.len();
        block.entries.push(Entry { index, line: index + 1, range, oversize: None, of_row: false });
    }
    block
}

/// The command that accepts `lines` in blocks of at most `per_block`.
pub(crate) fn task_of(
    domain: &Domain,
    id: &str,
    action: Action,
    lines: &[String],
    per_block: usize,
) -> CreateTask {
    let blocks = lines
        .chunks(per_block)
        .enumerate()
        .map(|(n, lines)| pack_block(&block(lines, (n * per_block) as u32)).unwrap())
        .collect();
    CreateTask {
        key: None,
        request_id: None,
        domain: domain.id,
        id: id.to_owned(),
        action,
        dry_run: false,
        upsert: false,
        total: lines.len() as u32,
        staged: 0,
        blocks,
        now: NOW,
        expires_at: later(1_000_000),
        unfinished_max: 1000,
        parent_id: None,
        runs_parent: false,
        origin: TaskOrigin::default(),
        import_id: None,
        idempotency: None,
    }
}

pub(crate) async fn claim(store: &Arc<dyn Store>, tasks_max: usize) -> Vec<ClaimedTask> {
    claim_at(store, "server-1", NOW, tasks_max).await
}

pub(crate) async fn claim_at(
    store: &Arc<dyn Store>,
    server: &str,
    now: UnixMillis,
    tasks_max: usize,
) -> Vec<ClaimedTask> {
    let lease_until = UnixMillis(now.0 + 30_000);
    let command = ClaimTasks {
        server: server.to_owned(),
        now,
        lease_until,
        tasks_max,
        reachable_since: UnixMillis(i64::MIN),
        turn: QueueTurn::default(),
    };
    store.claim_tasks(command).await.unwrap()
}

/// Claims a task whose server died: it waits for a second from the first claim on.
pub(crate) async fn take_over(
    store: &Arc<dyn Store>,
    server: &str,
    now: UnixMillis,
) -> ClaimedTask {
    assert!(claim_at(store, server, now, 1).await.is_empty(), "the task waits");
    claim_at(store, server, UnixMillis(now.0 + 1_000), 1).await.remove(0)
}

/// The chunk with all entries of `block`.
pub(crate) fn chunk(claimed: &ClaimedTask, block: Block, now: UnixMillis) -> ApplyChunk {
    let work = ChunkWork::prepare(claimed.task.action, &claimed.entry_context(), &block);
    ApplyChunk {
        domain: claimed.domain,
        domain_name: claimed.domain_name.clone(),
        task_id: claimed.task.id.clone(),
        action: claimed.task.action,
        dry_run: claimed.task.dry_run,
        upsert: claimed.task.upsert,
        import_id: claimed.task.import_id.clone(),
        lease_epoch: claimed.lease_epoch,
        entries: ChunkEntries { block: Arc::new(block), work: Arc::new(work), from: 0 },
        following: None,
        clock: Clock::stopped(now),
    }
}

/// The next block of a claimed task.
pub(crate) async fn next_block(store: &Arc<dyn Store>, claimed: &ClaimedTask, from: u32) -> Block {
    let bytes = store.payload_block(claimed.domain, &claimed.task.id, from).await.unwrap().unwrap();
    Block::decode(bytes).unwrap()
}

/// Applies a claimed task chunk by chunk until it ends. Checks the counts after each chunk.
pub(crate) async fn apply_all(
    store: &Arc<dyn Store>,
    claimed: &ClaimedTask,
    now: UnixMillis,
) -> Task {
    let mut next = claimed.next_index;
    let mut task = claimed.task.clone();
    while task.outcome.is_none() {
        let mut command = chunk(claimed, next_block(store, claimed, next).await, now);
        let entries = command.entries.block.entries.iter();
        command.entries.from = entries.take_while(|entry| entry.index < next).count();
        while command.entries.from < command.entries.work.len() {
            let before = task.counts;
            let applied = match store.apply_chunk(command.clone()).await {
                // Nothing of it is stored: on a slow machine, a chunk may take too long.
                Err(StoreError::ChunkInterrupted { .. }) => continue,
                applied => applied.unwrap(),
            };
            task = applied.task;
            assert!(task.counts.is_conserved(), "{:?}", task.counts);
            let has_steps = task.action == Action::ErasePerson;
            assert!(applied.done > 0 || has_steps, "a chunk makes progress");
            assert_eq!(before.unprocessed - task.counts.unprocessed, applied.done as u32);
            command.entries.from += applied.done;
        }
        next = command.entries.block.entries.last().unwrap().index + 1;
    }
    task
}

/// Accepts a task and runs it to its end.
pub(crate) async fn run(
    store: &Arc<dyn Store>,
    domain: &Domain,
    id: &str,
    action: Action,
    lines: &[String],
) -> Task {
    run_command(store, task_of(domain, id, action, lines, 700), NOW).await
}

pub(crate) async fn run_command(
    store: &Arc<dyn Store>,
    command: CreateTask,
    now: UnixMillis,
) -> Task {
    store.create_task(command).await.unwrap();
    let claimed = claim_at(store, "server-1", now, 1).await;
    assert_eq!(claimed.len(), 1, "the task is runnable");
    apply_all(store, &claimed[0], now).await
}

/// Imports issues with these creation times as one chunk. Each has an author of its own; the author
/// of the first is `ada`.
pub(crate) async fn import_of_authors(
    store: &Arc<dyn Store>,
    domain: &Domain,
    instants: Range<usize>,
) {
    let (id, count) = (format!("authors {}", instants.start), instants.len() as u32);
    let authors = std::iter::once("ada".to_owned()).chain((1..).map(|n| format!("user-{n}")));
    let lines: Vec<_> = instants
        .zip(authors)
        .map(|(at, author)| {
            format!(r#"{{"created_at": {at}, "author_email": "{author}@example.org"}}"#)
        })
        .collect();
    let command = task_of(domain, &id, Action::ImportIssues, &lines, lines.len());
    assert_eq!(run_command(store, command, NOW).await.counts.succeeded, count);
}

/// All records of one kind, as lines.
pub(crate) async fn records(
    store: &Arc<dyn Store>,
    domain: DomainId,
    id: &str,
    kind: RecordKind,
) -> Vec<String> {
    let (mut lines, mut from) = (Vec::new(), 0);
    let mut sizes = store.record_sizes(domain, id, kind).await.unwrap().into_iter();
    while let Some(block) = store.record_block(domain, id, kind, from).await.unwrap() {
        assert!(block.next_index > from, "blocks are in order");
        let size = sizes.next().expect("each block has a size");
        assert!(
            (from..block.next_index).contains(&size.first_index),
            "a size belongs to its block"
        );
        assert_eq!(size.bytes, block.lines.len() as u64, "a size is the length of the lines");
        assert_eq!(block.lines.last(), Some(&b'\n'), "every record ends with a newline");
        lines.extend(String::from_utf8(block.lines).unwrap().lines().map(str::to_owned));
        from = block.next_index;
    }
    assert_eq!(sizes.next(), None, "each size has a block");
    lines
}

pub(crate) async fn results(store: &Arc<dyn Store>, domain: DomainId, id: &str) -> Vec<String> {
    records(store, domain, id, RecordKind::Results).await
}

pub(crate) async fn errors(store: &Arc<dyn Store>, domain: DomainId, id: &str) -> Vec<String> {
    records(store, domain, id, RecordKind::Errors).await
}

/// The `core-profile-id` of a record.
pub(crate) fn profile_id(line: &str) -> String {
    let (_, rest) = line.split_once("\"core-profile-id\":\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

/// An entry with one `uid`.
pub(crate) fn uid(value: &str) -> String {
    format!(r#"{{"identities":[{{"uid":"{value}"}}]}}"#)
}

pub(crate) fn lines(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Runs the store's check and fails with the faults that it finds, or if the log of changes does
/// not lead to the records of the store.
pub(crate) async fn assert_sound(store: &Arc<dyn Store>) {
    let report = store.check().await.unwrap();
    assert_eq!(report.faults, Vec::<String>::new());
    assert_logged(store).await;
}

pub(crate) fn assert_not_found<T: std::fmt::Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::NotFound { .. })), "{answer:?}");
}

pub(crate) fn assert_taken<T: std::fmt::Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::AlreadyExists { .. })), "{answer:?}");
}

pub(crate) fn assert_lease_lost<T: std::fmt::Debug>(answer: &Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::LeaseLost)), "{answer:?}");
}
