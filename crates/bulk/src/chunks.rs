//! Applies a task chunk by chunk while a reader validates the next entries. A chunk that has the
//! store for itself for too long, or whose values the database refuses, is undone by the store and
//! tried again with fewer entries. An entry that is such a chunk alone becomes an error, and the
//! task continues with the others. Invariant: a chunk that was undone begins again at the first
//! entry that has no record.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::error_code::EntryErrorCode;
use caseload_model::json::{DEPTH_MAX, skip_value};
use caseload_model::record::{EntryFault, Rejection};
use caseload_model::task::{Action, TaskStatus};
use caseload_store::{
    ApplyChunk, ChunkApplied, ChunkEntries, ChunkWork, ClaimedTask, EntrySource, StoreError,
    log_end,
};
use tokio::task::JoinSet;

use crate::context::Context;
use crate::entry_queue::EntryQueue;
use crate::entry_reader::EntryReader;
use crate::progress::Progress;

/// After it was undone, a chunk has at most this many entries, and a quarter of them after each
/// further time. Each commit doubles the number again.
const ENTRIES_AFTER_UNDOING: usize = 256;
const FEWER: usize = 4;
/// Above this number the store decides alone how many entries a chunk has.
const ENTRIES_LIMITED_MAX: usize = 4096;

/// A chunk of which nothing is stored.
struct Undone {
    fault: StoreError,
    entries: ChunkEntries,
}

/// Applies the entries that are left.
pub(crate) async fn apply(
    context: &Context,
    claim: &ClaimedTask,
    progress: &mut Progress,
) -> Result<(), StoreError> {
    let task_id = &claim.task.id;
    let mut limit = None;
    let mut worked = Duration::ZERO;
    loop {
        let before = *progress;
        let undone = until_undone(context, claim, progress, &mut limit).await?;
        let Some(Undone { fault, entries }) = undone else { return Ok(()) };
        if *progress != before {
            worked = Duration::ZERO;
        }
        let next_index = progress.next_index;
        tracing::warn!(task_id, next_index, %fault, "a chunk was undone");
        let reason = match fault {
            StoreError::ChunkInterrupted { worked: more } => {
                worked += more;
                let seconds = worked.as_secs();
                (worked >= context.work_max)
                    .then(|| format!("this entry could not be stored within {seconds} s of work"))
            }
            _ => Some("the database refuses the values of this entry".to_owned()),
        };
        let Some(reason) = reason.filter(|_| limit == Some(1)) else {
            limit = Some(limit.map_or(ENTRIES_AFTER_UNDOING, |entries| (entries / FEWER).max(1)));
            continue;
        };
        tracing::error!(task_id, index = next_index, %reason, "an entry was not processed");
        let rejected = rejected(claim, &entries, &reason);
        let applied = context.store.apply_chunk(chunk(context, claim, rejected, None)).await?;
        if note(claim, progress, &applied) {
            return Ok(());
        }
        worked = Duration::ZERO;
    }
}

/// Applies entries until the task ends or a chunk is undone.
async fn until_undone(
    context: &Context,
    claim: &ClaimedTask,
    progress: &mut Progress,
    limit: &mut Option<usize>,
) -> Result<Option<Undone>, StoreError> {
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
        let applied = context.store.apply_chunk(chunk(context, claim, first, following)).await;
        let applied = match applied {
            Err(fault @ (StoreError::ChunkInterrupted { .. } | StoreError::ValuesRefused(_))) => {
                return Ok(Some(Undone { fault, entries }));
            }
            applied => applied?,
        };
        if note(claim, progress, &applied) {
            break;
        }
        let has_steps = claim.task.action == Action::ErasePerson;
        assert!(applied.done > 0 || has_steps, "the store applied nothing of a chunk");
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

/// Notes a chunk; whether it ended the task.
fn note(claim: &ClaimedTask, progress: &mut Progress, applied: &ChunkApplied) -> bool {
    progress.note(applied);
    let is_completed = applied.task.status == TaskStatus::Completed;
    if is_completed {
        log_end(&claim.domain_name, &applied.task);
    }
    is_completed
}

/// The command that applies entries of a claimed task.
fn chunk(
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
        import_id: claim.task.import_id.clone(),
        lease_epoch: claim.lease_epoch,
        entries,
        following,
        clock: context.clock.clone(),
    }
}

/// The next entries, at most `limit`.
fn first_of(entries: &ChunkEntries, limit: usize) -> ChunkEntries {
    let part = entries.work.part(0..entries.work.len().min(entries.from + limit));
    ChunkEntries { work: Arc::new(part), ..entries.clone() }
}

/// The next one of these entries alone, as an error.
fn rejected(claim: &ClaimedTask, entries: &ChunkEntries, reason: &str) -> ChunkEntries {
    let entry = entries.block.entries[entries.from].clone();
    let text = entries.block.bytes[entry.range.clone()].trim_ascii();
    let is_map = text.starts_with(b"{") && skip_value(text, DEPTH_MAX) == Ok(text.len());
    let detail = format!(
        "{reason}, so the task continued without it; send it alone, and report it to the operator \
         if that fails, too"
    );
    let rejection = Rejection {
        id: None,
        faults: vec![EntryFault::new(EntryErrorCode::NotProcessed, "", detail)],
        readable: is_map && entry.oversize.is_none() && std::str::from_utf8(text).is_ok(),
        named: None,
    };
    let work = ChunkWork::rejected(claim.task.action, entry, rejection);
    ChunkEntries { block: entries.block.clone(), work: Arc::new(work), from: 0 }
}

/// The reason why the queue ended before its task.
async fn ended_early(mut reading: JoinSet<Result<(), StoreError>>) -> StoreError {
    match reading.join_next().await {
        Some(Ok(Err(error))) => error,
        Some(Err(stopped)) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
        _ => StoreError::Corrupt("a payload ends before its task".to_owned()),
    }
}
