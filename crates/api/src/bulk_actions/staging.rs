//! The blocks of a payload between their arrival and the new task. A few compressed blocks are
//! buffered in memory. Beyond that they go to the store under the id of the future task, in small
//! commits, one at a time, while the server reads on. Invariant: dropping this value discards the
//! staged blocks; once the store has accepted the task, it finds none to discard.

use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_store::{PackedBlock, StagePayload, StoreError};
use tokio::task::{JoinError, JoinHandle};

use super::accept::new_task_id;
use crate::http::auth::Caller;
use crate::http::base_url::OwnUrls;
use crate::http::cpu::CpuPool;
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::state::AppState;

/// An upload is staged once it has buffered this many bytes of compressed blocks.
const STAGED_FROM_BYTES: usize = 2 << 20;
/// The bytes of compressed blocks of one commit. It may exceed this by one block.
const COMMIT_BYTES: usize = 1 << 20;

/// The blocks of one payload.
#[derive(Debug)]
pub(crate) struct Staging {
    state: AppState,
    domain: DomainId,
    /// The id of the caller's key.
    key: String,
    task_id: String,
    /// Of the server, as the request reached it.
    own_urls: Arc<OwnUrls>,
    buffered: Vec<PackedBlock>,
    buffered_bytes: usize,
    /// The memory of the buffered blocks and of those of the running commit.
    memory: Memory,
    /// How many blocks the store has, including those of the running commit.
    staged: u32,
    commit: Option<Commit>,
}

/// A running commit of blocks.
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
            key: caller.key_id.clone(),
            task_id: new_task_id(state.clock.now())?,
            own_urls: Arc::default(),
            buffered: Vec::new(),
            buffered_bytes: 0,
            memory: state.memory.overdraw(Some(caller.domain_id), 0),
            staged: 0,
            commit: None,
        })
    }

    /// Adds the base URLs of the server to the blocks that may contain them. Only issues have URLs.
    pub(super) fn with_own_urls(mut self, urls: OwnUrls) -> Self {
        self.own_urls = Arc::new(urls);
        self
    }

    pub(super) fn own_urls(&self) -> Arc<OwnUrls> {
        self.own_urls.clone()
    }

    /// The threads that pack its blocks.
    pub(super) fn cpu(&self) -> CpuPool {
        self.state.cpu.clone()
    }

    /// The id of the future task.
    pub(super) fn task_id(&self) -> &str {
        &self.task_id
    }

    /// The number of staged blocks, and the buffered blocks that follow them.
    pub(crate) async fn take(&mut self) -> Result<(u32, Vec<PackedBlock>), Problem> {
        self.wait_for_commit().await?;
        Ok((self.staged, std::mem::take(&mut self.buffered)))
    }

    /// Takes the next blocks. Waits for the store if there are too many to buffer.
    pub(super) async fn add(&mut self, blocks: Vec<PackedBlock>) -> Result<(), Problem> {
        let bytes = blocks.iter().map(|block| block.bytes.len()).sum();
        self.buffered.extend(blocks);
        self.buffered_bytes += bytes;
        self.count();
        let total = self.state.upload_memory.add(bytes);
        let config = self.state.config.clone();
        let is_full = total > config.uploads_bytes_held;
        let is_long = self.buffered_bytes > STAGED_FROM_BYTES.min(config.upload_bytes_held);
        if self.staged == 0 && !is_long && !is_full {
            return Ok(());
        }
        loop {
            let running = self.commit.as_ref().filter(|commit| !commit.done.is_finished());
            let bytes = running.map_or(0, |commit| commit.bytes + self.buffered_bytes);
            if running.is_some() && bytes <= config.upload_bytes_held && !is_full {
                return Ok(());
            }
            self.wait_for_commit().await?;
            if self.buffered_bytes < COMMIT_BYTES.min(config.upload_bytes_held) {
                return Ok(());
            }
            self.commit();
        }
    }

    /// Counts the blocks. They are there already, and the uploads together have a limit of their
    /// own, so they do not wait for memory.
    fn count(&mut self) {
        let running = self.commit.as_ref().map_or(0, |commit| commit.bytes);
        self.memory.set(self.buffered_bytes + running);
    }

    /// Begins to stage the blocks of one commit.
    fn commit(&mut self) {
        let mut bytes = 0;
        let count = self.buffered.iter().take_while(|block| {
            let room = bytes < COMMIT_BYTES;
            bytes += if room { block.bytes.len() } else { 0 };
            room
        });
        let blocks: Vec<_> = self.buffered.drain(..count.count()).collect();
        let count = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
        self.staged = self.staged.saturating_add(count);
        self.buffered_bytes -= bytes;
        let (task_id, now) = (self.task_id.clone(), self.state.clock.now());
        let (domain, key) = (self.domain, Some(self.key.clone()));
        let command = StagePayload { domain, key, task_id, blocks, now };
        let store = self.state.store.clone();
        let done = tokio::spawn(async move { store.stage_payload(command).await });
        self.commit = Some(Commit { bytes, done });
    }

    /// Waits for the running commit.
    async fn wait_for_commit(&mut self) -> Result<(), Problem> {
        let Some(commit) = &mut self.commit else { return Ok(()) };
        let done = (&mut commit.done).await;
        self.state.upload_memory.remove(commit.bytes);
        self.commit = None;
        self.count();
        done.map_err(panicked)??;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let (bytes, running) = match self.commit.take() {
            Some(commit) => (commit.bytes, Some(commit.done)),
            None => (0, None),
        };
        self.state.upload_memory.remove(self.buffered_bytes + bytes);
        let runtime = tokio::runtime::Handle::try_current();
        let Some(runtime) = runtime.ok().filter(|_| self.staged > 0) else { return };
        let (store, domain) = (self.state.store.clone(), self.domain);
        let task_id = std::mem::take(&mut self.task_id);
        runtime.spawn(async move {
            // Discarding must follow the commit, or its blocks would remain.
            if let Some(running) = running {
                drop(running.await);
            }
            match store.discard_staged(domain, &task_id).await {
                // The next server that starts removes the blocks.
                Ok(()) | Err(StoreError::Closed) => {}
                Err(error) => {
                    tracing::warn!(%error, "an upload was not discarded and waits for a purge");
                }
            }
        });
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
pub(super) fn panicked(error: JoinError) -> Problem {
    tracing::error!(%error, "reading or packing a payload failed");
    Problem::internal()
}
