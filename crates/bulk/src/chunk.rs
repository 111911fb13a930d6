//! Gathering entries into chunks and validating them. Reading and validation need no lock and no
//! transaction; only what they yield goes to the store's writer.

use std::sync::Arc;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::payload::Block;
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
        let mut gathered = Block::default();
        let mut next_index = from_index;
        let bytes_max = if self.dry_run { usize::MAX } else { CHUNK_BYTES_MAX };
        while gathered.entries.len() < PAYLOAD_ENTRIES_MAX && gathered.bytes.len() < bytes_max {
            let Some(bytes) = store.payload_block(self.domain, &self.task_id, next_index).await?
            else {
                break;
            };
            let block = Block::decode(bytes).map_err(|e| StoreError::Corrupt(e.to_string()))?;
            append(&mut gathered, block, next_index);
            let Some(last) = gathered.entries.last() else {
                return Err(StoreError::Corrupt("a payload block without entries".to_owned()));
            };
            next_index = last.index + 1;
        }
        if gathered.entries.is_empty() {
            return Ok(None);
        }
        let (action, domain_name) = (self.action, self.domain_name.clone());
        let prepared = tokio::task::spawn_blocking(move || {
            let work = prepare(action, &domain_name, &gathered);
            Chunk { block: Arc::new(gathered), work: Arc::new(work), next_index }
        });
        match prepared.await {
            Ok(chunk) => Ok(Some(chunk)),
            Err(stopped) => std::panic::resume_unwind(stopped.into_panic()),
        }
    }
}

/// Adds the entries of `block` from `from_index` on.
fn append(gathered: &mut Block, mut block: Block, from_index: u32) {
    block.entries.retain(|entry| entry.index >= from_index);
    if gathered.entries.is_empty() {
        *gathered = block;
        return;
    }
    let offset = gathered.bytes.len();
    gathered.bytes.extend_from_slice(&block.bytes);
    gathered.entries.extend(block.entries.into_iter().map(|mut entry| {
        entry.range = entry.range.start + offset..entry.range.end + offset;
        entry
    }));
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
