//! Applies the entries of a task one by one, to find the one that servers die with or that takes
//! too long. The store notes each entry before it is even validated, so that the note is there if
//! the server dies. An entry that is found is parked: it becomes an error, `not_processed`, and the
//! task goes on in chunks. A dry run carries the changes of its entries from one to the next.
//! Invariant: nothing of an entry is looked at before its note is durable.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::error_code::EntryErrorCode;
use caseload_model::issue::DeskAddresses;
use caseload_model::json::{DEPTH_MAX, skip_value};
use caseload_model::payload::{Block, Entry};
use caseload_model::record::{EntryFault, Rejection};
use caseload_model::task::{Action, TaskStatus};
use caseload_store::{
    ApplyChunk, ChunkApplied, ChunkEntries, ChunkWork, ClaimedTask, DryRunSoFar, StoreError, Trial,
    TryEntry, log_end,
};

use crate::chunks::chunk;
use crate::context::Context;
use crate::entry_reader::{after_earlier, prepare, stored_block};
use crate::progress::{Progress, Stop};

/// Applies entries until one is parked or the task ends.
pub(crate) async fn apply(
    context: &Context,
    claim: &ClaimedTask,
    progress: &mut Progress,
) -> Result<Stop, StoreError> {
    let task_id = claim.task.id.as_str();
    tracing::warn!(task_id, "the entries of a task are applied one by one");
    let addresses = match claim.task.action {
        Action::ImportIssues => context.store.desk_addresses(claim.domain).await?,
        _ => DeskAddresses::default(),
    };
    let addresses = Arc::new(addresses);
    let so_far = claim.task.dry_run.then(DryRunSoFar::default);
    let task = OneByOne { context, claim, addresses: &addresses, so_far: so_far.as_ref() };
    loop {
        let place = (claim.domain, task_id);
        let block = stored_block(&*context.store, place, progress.next_index).await?;
        let next_index = progress.next_index;
        for entry in block.entries.iter().filter(|entry| entry.index >= next_index) {
            if *context.stopping.borrow() {
                return Ok(Stop::Ended);
            }
            let alone = alone(&block, entry);
            let (applied, parked) = task.apply_one(*progress, &alone).await?;
            progress.note(&applied);
            if applied.task.status == TaskStatus::Completed {
                log_end(&claim.domain_name, &applied.task);
                return Ok(Stop::Ended);
            }
            if parked {
                return Ok(Stop::Parked);
            }
        }
    }
}

/// One task whose entries are applied one by one.
struct OneByOne<'a> {
    context: &'a Context,
    claim: &'a ClaimedTask,
    addresses: &'a Arc<DeskAddresses>,
    /// Of a dry run.
    so_far: Option<&'a DryRunSoFar>,
}

impl OneByOne<'_> {
    /// Applies or parks the next entry; whether it was parked.
    async fn apply_one(
        &self,
        progress: Progress,
        alone: &Arc<Block>,
    ) -> Result<(ChunkApplied, bool), StoreError> {
        let Self { context, claim, .. } = self;
        let entry = &alone.entries[0];
        let trial = context.store.try_entry(TryEntry {
            domain: claim.domain,
            task_id: claim.task.id.clone(),
            lease_epoch: claim.lease_epoch,
            index: entry.index,
        });
        let mut reason = match trial.await? {
            Trial::Try => None,
            Trial::Park => Some("the server stopped each time it worked on this entry".to_owned()),
        };
        let mut worked = Duration::ZERO;
        loop {
            let work = match &reason {
                None => self.validated(alone.clone()).await,
                Some(reason) => {
                    ChunkWork::rejected(claim.task.action, entry.clone(), parked(alone, reason))
                }
            };
            match context.store.apply_chunk(self.chunk(progress, alone, work).await?).await {
                Err(StoreError::ChunkInterrupted { worked: more }) if reason.is_none() => {
                    worked += more;
                    if worked >= context.work_max {
                        let seconds = worked.as_secs();
                        reason = Some(format!(
                            "this entry could not be stored within {seconds} s of work"
                        ));
                    }
                }
                applied => {
                    let applied = applied?;
                    if let Some(reason) = &reason {
                        let (task_id, index) = (&claim.task.id, entry.index);
                        tracing::warn!(task_id, index, %reason, "an entry was not processed");
                    }
                    return Ok((applied, reason.is_some()));
                }
            }
        }
    }

    /// The command that applies the entry. A dry run that does not know the changes of the entries
    /// before, because the server was restarted, sends them, too.
    async fn chunk(
        &self,
        progress: Progress,
        alone: &Arc<Block>,
        work: ChunkWork,
    ) -> Result<ApplyChunk, StoreError> {
        let Self { context, claim, so_far, .. } = *self;
        let mut entries = ChunkEntries { block: alone.clone(), work: Arc::new(work), from: 0 };
        if so_far.is_some_and(|so_far| !so_far.precedes(progress.next_index)) {
            let (store, one_thread) = (&*context.store, context.one_thread);
            entries = after_earlier(store, claim, progress, one_thread, entries).await?;
        }
        Ok(ApplyChunk { so_far: so_far.cloned(), ..chunk(context, claim, entries, None) })
    }

    async fn validated(&self, alone: Arc<Block>) -> ChunkWork {
        let (action, domain) = (self.claim.task.action, self.claim.domain_name.clone());
        let addresses = self.addresses.clone();
        let validate = move || prepare(action, (&domain, &addresses), &alone);
        if self.context.one_thread {
            return validate();
        }
        tokio::task::spawn_blocking(validate)
            .await
            .unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()))
    }
}

/// A block of this entry alone, so that its size is that of the entry.
fn alone(block: &Block, entry: &Entry) -> Arc<Block> {
    let bytes = block.bytes[entry.range.clone()].to_vec();
    let entry = Entry { range: 0..bytes.len(), ..entry.clone() };
    Arc::new(Block { bytes, entries: vec![entry], base_urls: block.base_urls.clone() })
}

/// The error of an entry that is not applied. The entry is not read for it, except to see whether a
/// record may repeat it as JSON.
fn parked(alone: &Block, reason: &str) -> Rejection {
    let (bytes, entry) = (&alone.bytes, &alone.entries[0]);
    let text = bytes.trim_ascii();
    let is_map = text.starts_with(b"{") && skip_value(text, DEPTH_MAX) == Ok(text.len());
    let detail = format!(
        "{reason}, so the task went on without it; send it alone, and report it to the operator \
         if that fails, too"
    );
    Rejection {
        id: None,
        faults: vec![EntryFault::new(EntryErrorCode::NotProcessed, "", detail)],
        readable: is_map && entry.oversize.is_none() && std::str::from_utf8(bytes).is_ok(),
        named: None,
    }
}
