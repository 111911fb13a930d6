//! Gathering entries into chunks and validating them. Reading and validation need no lock and no
//! transaction; only what they yield goes to the store's writer.

use std::sync::Arc;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::payload::{Block, Entry};
use caseload_model::record::Prepared;
use caseload_model::task::{Action, PAYLOAD_ENTRIES_MAX};
use caseload_model::{issue, profile};
use caseload_store::{ChunkWork, Store, StoreError};

/// Bytes of entries after which a chunk takes no further payload block; a dry run takes all.
const CHUNK_BYTES_MAX: usize = 8 << 20;

/// Entries ready to be applied, and the bytes they point into.
pub(crate) struct Chunk {
    pub(crate) block: Arc<Block>,
    pub(crate) work: Arc<ChunkWork>,
    /// Index of the entry after this chunk's last.
    pub(crate) next_index: u32,
}

/// Which task's entries to gather.
#[derive(Clone)]
pub(crate) struct ChunkSource {
    pub(crate) domain: DomainId,
    pub(crate) domain_name: DomainName,
    pub(crate) task_id: String,
    pub(crate) action: Action,
    /// A dry run is one chunk: nothing that it would do is stored for a next one to find.
    pub(crate) dry_run: bool,
}

impl ChunkSource {
    /// The next chunk from `from_index` on; `None` when the payload has no further entry.
    pub(crate) async fn gather(
        &self,
        store: &dyn Store,
        from_index: u32,
    ) -> Result<Option<Chunk>, StoreError> {
        let bytes_max = if self.dry_run { usize::MAX } else { CHUNK_BYTES_MAX };
        let (mut next_index, mut entries, mut bytes) = (from_index, 0, 0);
        let mut parts = Vec::new();
        while entries < PAYLOAD_ENTRIES_MAX && bytes < bytes_max {
            let Some(block) = self.next_block(store, next_index).await? else { break };
            let Some(last) = block.entries.last() else {
                return Err(StoreError::Corrupt("a payload block without entries".to_owned()));
            };
            next_index = last.index + 1;
            entries += block.entries.len();
            bytes += block.bytes.len();
            let (action, domain_name) = (self.action, self.domain_name.clone());
            parts.push(tokio::task::spawn_blocking(move || {
                let work = prepare(action, &domain_name, &block);
                Part { block, work }
            }));
        }
        let mut whole: Option<Part> = None;
        for part in parts {
            let part = match part.await {
                Ok(part) => part,
                Err(stopped) => std::panic::resume_unwind(stopped.into_panic()),
            };
            match &mut whole {
                Some(whole) => whole.append(part),
                None => whole = Some(part),
            }
        }
        Ok(whole.map(|Part { block, work }| Chunk {
            block: Arc::new(block),
            work: Arc::new(work),
            next_index,
        }))
    }

    /// The entries from `from_index` on of the payload block that holds it.
    async fn next_block(
        &self,
        store: &dyn Store,
        from_index: u32,
    ) -> Result<Option<Block>, StoreError> {
        let Some(bytes) = store.payload_block(self.domain, &self.task_id, from_index).await? else {
            return Ok(None);
        };
        let mut block = Block::decode(bytes).map_err(|e| StoreError::Corrupt(e.to_string()))?;
        block.entries.retain(|entry| entry.index >= from_index);
        Ok(Some(block))
    }
}

/// A payload block, validated. Blocks are validated side by side and while the next is read, then
/// put together: one chunk is one commit.
struct Part {
    block: Block,
    work: ChunkWork,
}

impl Part {
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

fn append<T>(entries: &mut Vec<Prepared<T>>, other: Vec<Prepared<T>>, offset: usize) {
    entries.extend(
        other
            .into_iter()
            .map(|Prepared { entry, item }| Prepared { entry: moved(entry, offset), item }),
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
