//! What is kept of a payload while it arrives. Packed blocks are held in memory as long as they are
//! few; beyond that they go to the store in small commits, one at a time and beside the reading,
//! under the id that the task will have. Invariant: what was staged is discarded with this value.
//! Where the task was accepted, the store finds nothing to discard.

use caseload_model::ids::DomainId;
use caseload_store::{PackedBlock, StagePayload, StoreError};
use tokio::task::{JoinError, JoinHandle};

use super::accept::fresh_task_id;
use crate::problem::Problem;
use crate::{AppState, Caller};

/// Bytes of packed blocks of one upload that are held before the first go to the store.
const STAGED_FROM_BYTES: usize = 2 << 20;
/// Bytes of packed blocks that one commit keeps, one block more at most.
const COMMIT_BYTES: usize = 1 << 20;

/// The blocks of one payload.
#[derive(Debug)]
pub(crate) struct Staging {
    state: AppState,
    domain: DomainId,
    task_id: String,
    held: Vec<PackedBlock>,
    held_bytes: usize,
    /// Blocks given to the store, those of the commit under way included.
    staged: u32,
    commit: Option<Commit>,
}

/// A commit of blocks that is under way.
#[derive(Debug)]
struct Commit {
    bytes: usize,
    done: JoinHandle<Result<(), StoreError>>,
}

impl Staging {
    pub(super) fn new(state: &AppState, caller: &Caller) -> Result<Self, Problem> {
        Ok(Self {
            state: state.clone(),
            domain: caller.domain_id,
            task_id: fresh_task_id(state.clock.now())?,
            held: Vec::new(),
            held_bytes: 0,
            staged: 0,
            commit: None,
        })
    }

    /// The id of the task to come.
    pub(super) fn task_id(&self) -> &str {
        &self.task_id
    }

    /// The number of blocks staged, and the blocks that follow them.
    pub(crate) async fn take(&mut self) -> Result<(u32, Vec<PackedBlock>), Problem> {
        self.committed().await?;
        Ok((self.staged, std::mem::take(&mut self.held)))
    }

    /// Takes the next blocks. Waits for the store where there are too many to hold.
    pub(super) async fn add(&mut self, blocks: Vec<PackedBlock>) -> Result<(), Problem> {
        let bytes = blocks.iter().map(|block| block.bytes.len()).sum();
        self.held.extend(blocks);
        self.held_bytes += bytes;
        let total = self.state.upload_memory.add(bytes);
        let config = self.state.config.clone();
        let crowded = total > config.uploads_bytes_held;
        let begins = self.held_bytes > STAGED_FROM_BYTES.min(config.upload_bytes_held);
        if self.staged == 0 && !begins && !crowded {
            return Ok(());
        }
        loop {
            let under_way = self.commit.as_ref().filter(|commit| !commit.done.is_finished());
            let bytes = under_way.map_or(0, |commit| commit.bytes + self.held_bytes);
            if under_way.is_some() && bytes <= config.upload_bytes_held && !crowded {
                return Ok(());
            }
            self.committed().await?;
            if self.held_bytes < COMMIT_BYTES.min(config.upload_bytes_held) {
                return Ok(());
            }
            self.commit();
        }
    }

    /// Begins to have the store keep what one commit may have.
    fn commit(&mut self) {
        let mut bytes = 0;
        let count = self.held.iter().take_while(|block| {
            let room = bytes < COMMIT_BYTES;
            bytes += if room { block.bytes.len() } else { 0 };
            room
        });
        let blocks: Vec<_> = self.held.drain(..count.count()).collect();
        let count = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        self.staged = self.staged.saturating_add(count);
        self.held_bytes -= bytes;
        let (task_id, now) = (self.task_id.clone(), self.state.clock.now());
        let command = StagePayload { domain: self.domain, task_id, blocks, now };
        let store = self.state.store.clone();
        let done = tokio::spawn(async move { store.stage_payload(command).await });
        self.commit = Some(Commit { bytes, done });
    }

    /// Waits for the commit that is under way.
    async fn committed(&mut self) -> Result<(), Problem> {
        let Some(commit) = &mut self.commit else { return Ok(()) };
        let done = (&mut commit.done).await;
        self.state.upload_memory.remove(commit.bytes);
        self.commit = None;
        done.map_err(panicked)??;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let (bytes, under_way) = match self.commit.take() {
            Some(commit) => (commit.bytes, Some(commit.done)),
            None => (0, None),
        };
        self.state.upload_memory.remove(self.held_bytes + bytes);
        let runtime = tokio::runtime::Handle::try_current();
        let Some(runtime) = runtime.ok().filter(|_| self.staged > 0) else { return };
        let (store, domain) = (self.state.store.clone(), self.domain);
        let task_id = std::mem::take(&mut self.task_id);
        runtime.spawn(async move {
            // Not before it: what it keeps would stay.
            if let Some(under_way) = under_way {
                drop(under_way.await);
            }
            match store.discard_staged(domain, &task_id).await {
                // The next server to start removes it.
                Ok(()) | Err(StoreError::Closed) => {}
                Err(error) => tracing::warn!(%error, "an upload is left to be purged"),
            }
        });
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
pub(super) fn panicked(error: JoinError) -> Problem {
    tracing::error!(%error, "reading or packing a payload failed");
    Problem::internal()
}
