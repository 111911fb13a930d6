//! Applies a task chunk by chunk while a reader validates the next entries. A chunk that has
//! the store for itself for too long is undone by the store and tried again with fewer entries.
//! Invariant: a chunk that was undone begins again at the first entry that has no record.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::task::TaskStatus;
use caseload_store::{ApplyChunk, ChunkEntries, ClaimedTask, EntrySource, StoreError, log_end};
use tokio::task::JoinSet;

use crate::context::Context;
use crate::entry_queue::EntryQueue;
use crate::entry_reader::EntryReader;
use crate::progress::{Progress, Stop};

/// After an interruption, a chunk has at most this many entries, and a quarter of them after each
/// further one. Each commit doubles the number again.
const ENTRIES_AFTER_INTERRUPTION: usize = 256;
const FEWER: usize = 4;
/// Above this number the store decides alone how many entries a chunk has.
const ENTRIES_LIMITED_MAX: usize = 4096;

/// Applies the entries that are left. Ends with [`Stop::TooLong`] after work of the configured time
/// without a commit.
pub(crate) async fn apply(
    context: &Context,
    claim: &ClaimedTask,
    progress: &mut Progress,
) -> Result<Stop, StoreError> {
    let mut limit = None;
    let mut worked = Duration::ZERO;
    loop {
        let before = *progress;
        let Some(more) = until_interrupted(context, claim, progress, &mut limit).await? else {
            return Ok(Stop::Ended);
        };
        if *progress != before {
            worked = Duration::ZERO;
        }
        worked += more;
        let (task_id, next_index) = (&claim.task.id, progress.next_index);
        tracing::warn!(task_id, next_index, ?worked, "a chunk took too long and was undone");
        if worked >= context.work_max {
            return Ok(Stop::TooLong);
        }
        let fewer = |entries: usize| (entries / FEWER).max(1);
        limit = Some(limit.map_or(ENTRIES_AFTER_INTERRUPTION, fewer));
    }
}

/// Applies entries until the task ends or a chunk is interrupted; then the time that it took.
async fn until_interrupted(
    context: &Context,
    claim: &ClaimedTask,
    progress: &mut Progress,
    limit: &mut Option<usize>,
) -> Result<Option<Duration>, StoreError> {
    let queue = Arc::new(EntryQueue::new(context.queue_limits.clone()));
    let mut reading = JoinSet::new();
    let reader = EntryReader::new(claim, *progress, context.one_thread);
    reading.spawn(reader.fill(context.store.clone(), queue.clone()));
    let mut rest = None;
    while !*context.stopping.borrow() {
        let entries = match rest.take() {
            Some(entries) => entries,
            None => match queue.next().await {
                Some(entries) => entries,
                None => return Err(ended_early(reading).await),
            },
        };
        let following = limit.is_none().then(|| queue.clone() as Arc<dyn EntrySource>);
        let first = limit.map_or_else(|| entries.clone(), |limit| first_of(&entries, limit));
        let applied = context.store.apply_chunk(chunk(context, claim, first, following));
        let applied = match applied.await {
            Err(StoreError::ChunkInterrupted { worked }) => return Ok(Some(worked)),
            applied => applied?,
        };
        progress.note(&applied);
        if applied.task.status == TaskStatus::Completed {
            log_end(&claim.domain_name, &applied.task);
            break;
        }
        assert!(applied.done > 0, "the store applied nothing of a chunk");
        rest = if limit.is_none() {
            applied.rest
        } else {
            let from = entries.from + applied.done;
            (from < entries.work.len()).then_some(ChunkEntries { from, ..entries })
        };
        *limit = limit.map(|entries| entries * 2).filter(|entries| *entries < ENTRIES_LIMITED_MAX);
    }
    Ok(None)
}

/// The command that applies entries of a claimed task.
pub(crate) fn chunk(
    context: &Context,
    claim: &ClaimedTask,
    entries: ChunkEntries,
    following: Option<Arc<dyn EntrySource>>,
) -> ApplyChunk {
    ApplyChunk {
        domain: claim.domain,
        domain_name: claim.domain_name.clone(),
        task_id: claim.task.id.clone(),
        action: claim.task.action,
        dry_run: claim.task.dry_run,
        upsert: claim.task.upsert,
        lease_epoch: claim.lease_epoch,
        entries,
        following,
        so_far: None,
        clock: context.clock.clone(),
    }
}

/// The next entries, at most `limit`. A dry run needs those before them, too.
fn first_of(entries: &ChunkEntries, limit: usize) -> ChunkEntries {
    let part = entries.work.part(0..entries.work.len().min(entries.from + limit));
    ChunkEntries { work: Arc::new(part), ..entries.clone() }
}

/// The reason why the queue ended before its task.
async fn ended_early(mut reading: JoinSet<Result<(), StoreError>>) -> StoreError {
    match reading.join_next().await {
        Some(Ok(Err(error))) => error,
        Some(Err(stopped)) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
        _ => StoreError::Corrupt("a payload ends before its task".to_owned()),
    }
}
