//! Reads the payload of a task and validates its entries block by block, ahead of the store that
//! applies them. Neither needs a lock or a transaction. A few blocks are validated in parallel and
//! enter the queue in their order. Invariant: the number of blocks in memory is bounded for
//! every size of payload; only a dry run is held whole.

use std::collections::VecDeque;
use std::sync::Arc;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::DeskAddresses;
use caseload_model::payload::{Block, Entry};
use caseload_model::record::PreparedEntry;
use caseload_model::task::Action;
use caseload_model::{issue, profile};
use caseload_store::{ChunkEntries, ChunkWork, ClaimedTask, StoreError, Work};
use tokio::task::JoinHandle;

use crate::entry_queue::{EntryQueue, QueueLimits};
use crate::progress::Progress;

/// Bytes of validated entries in all queues from which on no queue may hold more than its share.
/// A single task may have all of them.
const QUEUES_BYTES_MAX: usize = 16 << 20;
const QUEUE_SHARE_BYTES: usize = 1 << 20;
/// Blocks that are validated in parallel.
const BLOCKS_AT_ONCE: usize = 2;

/// The limits that all queues of one server share.
pub(crate) fn queue_limits() -> QueueLimits {
    QueueLimits::new(QUEUE_SHARE_BYTES, QUEUES_BYTES_MAX, QUEUES_BYTES_MAX)
}

/// Reads and validates the entries of one task.
#[derive(Clone)]
pub(crate) struct EntryReader {
    domain: DomainId,
    domain_name: DomainName,
    task_id: String,
    action: Action,
    /// A dry run is one chunk, because it stores nothing that a second chunk could read.
    dry_run: bool,
    /// The addresses that an import fills in.
    addresses: Arc<DeskAddresses>,
    /// Index of the next entry to read, and the number of entries from there on.
    next_index: u32,
    left: u32,
    one_thread: bool,
}

/// Ends the queue when the reader returns or panics, so that the worker does not wait forever.
struct EndsQueue(Arc<EntryQueue>);

impl Drop for EndsQueue {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl EntryReader {
    /// Begins at the first unprocessed entry of a claimed task.
    pub(crate) fn new(claim: &ClaimedTask, progress: Progress, one_thread: bool) -> Self {
        Self {
            domain: claim.domain,
            domain_name: claim.domain_name.clone(),
            task_id: claim.task.id.clone(),
            action: claim.task.action,
            dry_run: claim.task.dry_run,
            addresses: Arc::default(),
            next_index: progress.next_index,
            left: progress.left,
            one_thread,
        }
    }

    /// Fills the queue with all entries that are left.
    pub(crate) async fn fill(
        mut self,
        store: Arc<dyn Work>,
        queue: Arc<EntryQueue>,
    ) -> Result<(), StoreError> {
        let queue = EndsQueue(queue);
        if self.action == Action::ImportIssues {
            self.addresses = Arc::new(store.desk_addresses(self.domain).await?);
        }
        let mut validating: VecDeque<JoinHandle<ValidatedBlock>> = VecDeque::new();
        let mut whole: Option<ValidatedBlock> = None;
        loop {
            if self.left > 0 && validating.len() < BLOCKS_AT_ONCE {
                queue.0.room().await;
                let block = self.stored_block(&*store).await?;
                validating.push_back(self.validate(block)?);
                continue;
            }
            let Some(validated) = validating.pop_front() else { break };
            let validated = validated
                .await
                .unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()));
            match &mut whole {
                Some(whole) => whole.append(validated),
                None if self.dry_run => whole = Some(validated),
                None => queue.0.push(validated.into_entries()),
            }
        }
        if let Some(whole) = whole {
            queue.0.push(whole.into_entries());
        }
        Ok(())
    }

    /// Starts to validate the unread entries of a block.
    fn validate(&mut self, mut block: Block) -> Result<JoinHandle<ValidatedBlock>, StoreError> {
        block.entries.retain(|entry| entry.index >= self.next_index);
        let last = block.entries.last().ok_or_else(|| corrupt("a block is empty"))?;
        self.next_index = last.index + 1;
        self.left = self.left.saturating_sub(block.entries.len() as u32);
        let (action, domain_name) = (self.action, self.domain_name.clone());
        let addresses = self.addresses.clone();
        let validate = move || {
            let work = prepare(action, (&domain_name, &addresses), &block);
            ValidatedBlock { block, work }
        };
        if self.one_thread {
            return Ok(tokio::spawn(async move { validate() }));
        }
        Ok(tokio::task::spawn_blocking(validate))
    }

    /// The stored block of the payload with the next entry.
    async fn stored_block(&self, store: &dyn Work) -> Result<Block, StoreError> {
        stored_block(store, (self.domain, &self.task_id), self.next_index).await
    }
}

/// The stored block of a task's payload that has the first entry from `next_index` on.
pub(crate) async fn stored_block(
    store: &dyn Work,
    (domain, task_id): (DomainId, &str),
    next_index: u32,
) -> Result<Block, StoreError> {
    let stored = store.payload_block(domain, task_id, next_index).await?;
    let bytes = stored.ok_or_else(|| corrupt("a payload ends before its task"))?;
    Block::decode(bytes).map_err(|e| StoreError::Corrupt(e.to_string()))
}

fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(what.to_owned())
}

/// A payload block with its validated entries; in a dry run all blocks in one.
struct ValidatedBlock {
    block: Block,
    work: ChunkWork,
}

impl ValidatedBlock {
    fn into_entries(self) -> ChunkEntries {
        ChunkEntries { block: Arc::new(self.block), work: Arc::new(self.work), from: 0 }
    }

    /// Adds the block that follows.
    fn append(&mut self, other: Self) {
        let offset = self.block.bytes.len();
        self.block.bytes.extend_from_slice(&other.block.bytes);
        let entries = other.block.entries.into_iter();
        self.block.entries.extend(entries.map(|entry| moved(entry, offset)));
        match (&mut self.work, other.work) {
            (ChunkWork::CreateCoreProfiles(a), ChunkWork::CreateCoreProfiles(b)) => {
                append(a, b, offset);
            }
            (ChunkWork::UpdateCoreProfiles(a), ChunkWork::UpdateCoreProfiles(b)) => {
                append(a, b, offset);
            }
            (ChunkWork::UpdateAppProfiles(a), ChunkWork::UpdateAppProfiles(b)) => {
                append(a, b, offset);
            }
            (ChunkWork::GetCoreProfiles(a), ChunkWork::GetCoreProfiles(b)) => append(a, b, offset),
            (ChunkWork::GetAppProfiles(a), ChunkWork::GetAppProfiles(b)) => append(a, b, offset),
            (ChunkWork::ImportIssues(a), ChunkWork::ImportIssues(b)) => append(a, b, offset),
            _ => unreachable!("the blocks of a task have one action"),
        }
    }
}

fn append<T>(entries: &mut Vec<PreparedEntry<T>>, other: Vec<PreparedEntry<T>>, offset: usize) {
    entries.extend(
        other.into_iter().map(|PreparedEntry { entry, item }| PreparedEntry {
            entry: moved(entry, offset),
            item,
        }),
    );
}

/// The entry, with its range moved by `offset`.
fn moved(mut entry: Entry, offset: usize) -> Entry {
    entry.range = entry.range.start + offset..entry.range.end + offset;
    entry
}

/// Validates every entry by the rules of its action.
pub(crate) fn prepare(
    action: Action,
    (domain, addresses): (&DomainName, &DeskAddresses),
    block: &Block,
) -> ChunkWork {
    match action {
        Action::CreateCoreProfiles => {
            ChunkWork::CreateCoreProfiles(profile::prepare_creates(block))
        }
        Action::UpdateCoreProfiles => {
            ChunkWork::UpdateCoreProfiles(profile::prepare_core_updates(block))
        }
        Action::UpdateAppProfiles => {
            ChunkWork::UpdateAppProfiles(profile::prepare_app_updates(block))
        }
        Action::GetCoreProfiles => ChunkWork::GetCoreProfiles(profile::prepare_core_gets(block)),
        Action::GetAppProfiles => ChunkWork::GetAppProfiles(profile::prepare_app_gets(block)),
        Action::ImportIssues => {
            ChunkWork::ImportIssues(issue::prepare_imports_of(domain, addresses, block))
        }
    }
}
