//! Reads the payload of a task and validates its entries block by block, ahead of the store that
//! applies them. Neither needs a lock or a transaction. A few blocks are validated in parallel and
//! enter the queue in their order. Invariant: the number of blocks in memory is bounded for every
//! size of payload.

use std::collections::VecDeque;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::payload::Block;
use caseload_model::task::Action;
use caseload_store::{ChunkEntries, ChunkWork, ClaimedTask, EntryContext, StoreError, Work};
use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinHandle;

use crate::entry_queue::{EntryQueue, QueueLimits};
use crate::progress::Progress;

/// Bytes of validated entries in all queues from which on no queue may hold more than its share.
/// A single task may have all of them.
const QUEUES_BYTES_MAX: usize = 16 << 20;
const QUEUE_SHARE_BYTES: usize = 1 << 20;
/// Blocks that are validated in parallel.
const BLOCKS_AT_ONCE: usize = 2;
/// Blocks of more bytes are validated one at a time on the whole server: the values of an entry may
/// take thirty times its bytes while it is read.
const LARGE_BLOCK_BYTES: usize = 2 << 20;
/// Held while a large block is validated.
static LARGE_BLOCK: Mutex<()> = Mutex::new(());

/// The limits that all queues of one server share.
pub(crate) fn queue_limits() -> QueueLimits {
    QueueLimits::new(QUEUE_SHARE_BYTES, QUEUES_BYTES_MAX, QUEUES_BYTES_MAX)
}

/// Reads and validates the entries of one task.
#[derive(Clone)]
pub(crate) struct EntryReader {
    domain: DomainId,
    task_id: String,
    action: Action,
    context: Arc<EntryContext>,
    /// Index of the next entry to read, and the number of entries from there on.
    next_index: u32,
    left: u32,
    /// The stored block with that entry, if the lease brought it.
    first_block: Option<Arc<[u8]>>,
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
        let Progress { next_index, left } = progress;
        let first_block = claim.first_block.clone().filter(|_| next_index == claim.next_index);
        Self {
            domain: claim.domain,
            task_id: claim.task.id.clone(),
            action: claim.task.action,
            context: Arc::new(claim.entry_context()),
            next_index,
            left,
            first_block,
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
        self.begin(&*store).await?;
        let mut validating = VecDeque::new();
        loop {
            if self.left > 0 {
                queue.0.room().await;
            }
            let Some(block) = self.next(&*store, &mut validating).await? else { return Ok(()) };
            queue.0.push(block.into_entries());
        }
    }

    /// Reads the stored values that validation needs.
    async fn begin(&mut self, store: &dyn Work) -> Result<(), StoreError> {
        if self.action == Action::ImportIssues {
            let addresses = store.desk_addresses(self.domain).await?;
            Arc::make_mut(&mut self.context).addresses = addresses;
        }
        Ok(())
    }

    /// The next block, while those after it are validated.
    async fn next(
        &mut self,
        store: &dyn Work,
        validating: &mut VecDeque<JoinHandle<ValidatedBlock>>,
    ) -> Result<Option<ValidatedBlock>, StoreError> {
        while self.left > 0 && validating.len() < BLOCKS_AT_ONCE {
            let block = self.stored_block(store).await?;
            validating.push_back(self.validate(block)?);
        }
        let Some(next) = validating.pop_front() else { return Ok(None) };
        let validated = next.await;
        Ok(Some(validated.unwrap_or_else(|stop| std::panic::resume_unwind(stop.into_panic()))))
    }

    /// Starts to validate the unread entries of a block.
    fn validate(&mut self, mut block: Block) -> Result<JoinHandle<ValidatedBlock>, StoreError> {
        block.entries.retain(|entry| entry.index >= self.next_index);
        let last = block.entries.last().ok_or_else(|| corrupt("a block is empty"))?;
        self.next_index = last.index + 1;
        self.left = self.left.saturating_sub(block.entries.len() as u32);
        let (action, context) = (self.action, self.context.clone());
        let validate = move || {
            let _turn = turn(block.bytes.len());
            let work = ChunkWork::prepare(action, &context, &block);
            ValidatedBlock { block, work }
        };
        if self.one_thread {
            return Ok(tokio::spawn(async move { validate() }));
        }
        Ok(tokio::task::spawn_blocking(validate))
    }

    /// The stored block of the payload with the next entry.
    async fn stored_block(&mut self, store: &dyn Work) -> Result<Block, StoreError> {
        let bytes = match self.first_block.take() {
            Some(bytes) => bytes.to_vec(),
            None => store
                .payload_block(self.domain, &self.task_id, self.next_index)
                .await?
                .ok_or_else(|| corrupt("a payload ends before its task"))?,
        };
        Block::decode(bytes).map_err(|e| StoreError::Corrupt(e.to_string()))
    }
}

fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(what.to_owned())
}

/// A payload block with its validated entries.
struct ValidatedBlock {
    block: Block,
    work: ChunkWork,
}

impl ValidatedBlock {
    fn into_entries(self) -> ChunkEntries {
        ChunkEntries { block: Arc::new(self.block), work: Arc::new(self.work), from: 0 }
    }
}

/// Waits until no other large block is validated, if a block of so many bytes is one.
fn turn(bytes: usize) -> Option<MutexGuard<'static, ()>> {
    (bytes > LARGE_BLOCK_BYTES).then(|| LARGE_BLOCK.lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_validated_one_at_a_time_and_others_do_not_wait() {
        let large = turn(LARGE_BLOCK_BYTES + 1);
        assert!(large.is_some());
        assert!(LARGE_BLOCK.try_lock().is_none(), "a second large block waits");
        assert!(turn(LARGE_BLOCK_BYTES).is_none(), "other blocks do not wait");
        drop(large);
        assert!(turn(LARGE_BLOCK_BYTES + 1).is_some());
    }
}
