//! Reading a task's payload and validating it, block by block, ahead of the store that applies it.
//! Neither needs a lock or a transaction; only what they yield goes to the store's writer. A few
//! blocks are validated side by side and leave in their order. Invariant: at every moment a bounded
//! number of blocks is held, whatever the payload's size; a dry run alone is held whole.

use std::collections::VecDeque;
use std::sync::Arc;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::payload::{Block, Entry};
use caseload_model::record::PreparedEntry;
use caseload_model::task::Action;
use caseload_model::{issue, profile};
use caseload_store::{ChunkFeed, ChunkPart, ChunkWork, FeedLimits, Store, StoreError};
use tokio::task::JoinHandle;

/// Bytes of validated entries that wait for the store before none of the tasks has more waiting
/// than its own share, and that share. One task alone may have all of it.
const FEEDS_BYTES_MAX: usize = 16 << 20;
const FEED_SHARE_BYTES: usize = 1 << 20;
/// Blocks that are validated side by side.
const BLOCKS_AT_ONCE: usize = 2;

/// The bounds that the feeds of one server share.
pub(crate) fn feed_limits() -> FeedLimits {
    FeedLimits::new(FEED_SHARE_BYTES, FEEDS_BYTES_MAX, FEEDS_BYTES_MAX)
}

/// Which task's entries to validate.
#[derive(Clone)]
pub(crate) struct ChunkSource {
    pub(crate) domain: DomainId,
    pub(crate) domain_name: DomainName,
    pub(crate) task_id: String,
    pub(crate) action: Action,
    /// A dry run is one chunk: nothing that it would do is stored for a next one to find.
    pub(crate) dry_run: bool,
}

/// Ends the feed however its filling ends: nobody waits for what does not come.
struct Ending(Arc<ChunkFeed>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl ChunkSource {
    /// Fills the feed with all `left` entries from `next_index` on.
    pub(crate) async fn fill(
        self,
        store: Arc<dyn Store>,
        feed: Arc<ChunkFeed>,
        mut next_index: u32,
        mut left: u32,
    ) -> Result<(), StoreError> {
        let ending = Ending(feed);
        let feed = &ending.0;
        let mut fresh = store.fresh().and_then(|fresh| fresh.take(&self.task_id));
        let mut running: VecDeque<JoinHandle<Part>> = VecDeque::new();
        let mut whole: Option<Part> = None;
        loop {
            if left > 0 && running.len() < BLOCKS_AT_ONCE {
                feed.room().await;
                let waiting = fresh.as_mut().and_then(|fresh| fresh.next_from(next_index));
                let block = match waiting {
                    Some(block) => Some(block),
                    None => self.stored_block(&*store, next_index).await?,
                };
                let mut block = block.ok_or_else(|| corrupt("a payload ends before its task"))?;
                block.entries.retain(|entry| entry.index >= next_index);
                let last = block.entries.last().ok_or_else(|| corrupt("a block is empty"))?;
                next_index = last.index + 1;
                left = left.saturating_sub(block.entries.len() as u32);
                running.push_back(self.validate(block));
                continue;
            }
            let Some(part) = running.pop_front() else { break };
            let part = part
                .await
                .unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()));
            match &mut whole {
                Some(whole) => whole.append(part),
                None if self.dry_run => whole = Some(part),
                None => feed.push(part.into_chunk()),
            }
        }
        if let Some(whole) = whole {
            feed.push(whole.into_chunk());
        }
        Ok(())
    }

    fn validate(&self, block: Block) -> JoinHandle<Part> {
        let (action, domain_name) = (self.action, self.domain_name.clone());
        tokio::task::spawn_blocking(move || {
            let work = prepare(action, &domain_name, &block);
            Part { block, work }
        })
    }

    /// The stored block of the payload that holds the entry at `from_index`.
    async fn stored_block(
        &self,
        store: &dyn Store,
        from_index: u32,
    ) -> Result<Option<Block>, StoreError> {
        let Some(bytes) = store.payload_block(self.domain, &self.task_id, from_index).await? else {
            return Ok(None);
        };
        Block::decode(bytes).map(Some).map_err(|e| StoreError::Corrupt(e.to_string()))
    }
}

fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt(what.to_owned())
}

/// A payload block, validated; in a dry run all blocks, put together.
struct Part {
    block: Block,
    work: ChunkWork,
}

impl Part {
    fn into_chunk(self) -> ChunkPart {
        ChunkPart { block: Arc::new(self.block), work: Arc::new(self.work), from: 0 }
    }

    /// Adds what follows.
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

/// The entry with its bytes `offset` further on.
fn moved(mut entry: Entry, offset: usize) -> Entry {
    entry.range = entry.range.start + offset..entry.range.end + offset;
    entry
}

/// Validates every entry by the rules of its action.
fn prepare(action: Action, domain: &DomainName, block: &Block) -> ChunkWork {
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
        Action::ImportIssues => ChunkWork::ImportIssues(issue::prepare_imports(domain, block)),
    }
}
