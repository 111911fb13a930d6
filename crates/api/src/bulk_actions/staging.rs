//! The blocks of a payload or a file between their arrival and the new tasks. A few compressed
//! blocks are buffered in memory. Beyond that they go to the store under the ids of the future
//! tasks, in small commits, one at a time, while the server reads on. The index of an entry decides
//! which task has it. Invariant: dropping this value discards the staged blocks of all its tasks;
//! once the store has accepted them, it finds none to discard.

use std::collections::VecDeque;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::task::PAYLOAD_ENTRIES_MAX;
use caseload_model::time::UnixMillis;
use caseload_store::{PackedBlock, StagePayload, StoreError, unpacked_size};
use tokio::task::{JoinError, JoinHandle};

use super::accept::new_task_id;
use crate::http::auth::Caller;
use crate::http::base_url::OwnUrls;
use crate::http::cpu::CpuPool;
use crate::http::current_request::carried;
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::state::AppState;

/// An upload is staged once it has buffered this many bytes of compressed blocks.
const STAGED_FROM_BYTES: usize = 2 << 20;
/// The bytes of compressed blocks of one commit. It may exceed this by one block.
const COMMIT_BYTES: usize = 1 << 20;
/// How often the store notes that an upload continues. Without that, it gives up an upload after
/// an hour.
const NOTE_EVERY_MS: i64 = 15 * 60 * 1000;

/// The blocks of one payload, or of one file.
#[derive(Debug)]
pub(crate) struct Staging {
    state: AppState,
    domain: DomainId,
    /// The id of the caller's key.
    key: String,
    /// Of the server, as the request reached it.
    own_urls: Arc<OwnUrls>,
    /// The tasks so far, in the order of their entries.
    parts: Vec<StagedPart>,
    /// Each block with the position of its part.
    buffered: VecDeque<(usize, PackedBlock)>,
    buffered_bytes: usize,
    /// The memory of the buffered blocks and of those of the running commit.
    memory: Memory,
    /// When the store last noted that the upload continues; `None` if it has no blocks of it.
    noted_at: Option<UnixMillis>,
    commit: Option<Commit>,
}

/// The entries of one future task.
#[derive(Debug, Clone)]
pub(crate) struct StagedPart {
    pub(crate) task_id: String,
    /// Of the task in its file, from 0.
    pub(crate) number: u32,
    /// The indexes of its entries, if none is left out.
    pub(crate) entries: u32,
    /// Bytes of its blocks without compression.
    pub(crate) content_length: u64,
    /// How many blocks the store has, including those of the running commit.
    pub(crate) staged: u32,
    /// The blocks that follow those, once they are taken.
    pub(crate) blocks: Vec<PackedBlock>,
}

/// A running commit of blocks.
#[derive(Debug)]
struct Commit {
    bytes: usize,
    done: JoinHandle<Result<(), StoreError>>,
}

impl Staging {
    pub(crate) fn new(state: &AppState, caller: &Caller) -> Self {
        Self {
            state: state.clone(),
            domain: caller.domain_id,
            key: caller.key_id.clone(),
            own_urls: Arc::default(),
            parts: Vec::new(),
            buffered: VecDeque::new(),
            buffered_bytes: 0,
            memory: state.memory.overdraw(Some(caller.domain_id), 0),
            noted_at: None,
            commit: None,
        }
    }

    /// Adds the base URLs of the server to the blocks that may contain them. Only issues have URLs.
    pub(crate) fn with_own_urls(mut self, urls: OwnUrls) -> Self {
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

    /// The future tasks with the buffered blocks.
    pub(crate) async fn take(&mut self) -> Result<Vec<StagedPart>, Problem> {
        self.wait_for_commit().await?;
        let mut parts = self.parts.clone();
        for (at, block) in self.buffered.drain(..) {
            parts[at].blocks.push(block);
        }
        Ok(parts)
    }

    /// Notes that the store has accepted the tasks, so that nothing is to be discarded.
    pub(crate) fn set_accepted(&mut self) {
        self.noted_at = None;
    }

    /// Takes the next blocks, none of which has entries of two tasks. Waits for the store if there
    /// are too many to buffer.
    pub(crate) async fn add(&mut self, blocks: Vec<PackedBlock>) -> Result<(), Problem> {
        let bytes = blocks.iter().map(|block| block.bytes.len()).sum();
        for block in blocks {
            let at = self.part_of(&block)?;
            self.parts[at].content_length += unpacked_size(&block.bytes)?;
            self.buffered.push_back((at, block));
        }
        self.buffered_bytes += bytes;
        self.count();
        let total = self.state.upload_memory.add(bytes);
        let config = self.state.config.clone();
        let is_full = total > config.uploads_bytes_held;
        let is_long = self.buffered_bytes > STAGED_FROM_BYTES.min(config.upload_bytes_held);
        if self.noted_at.is_none() && !is_long && !is_full {
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

    /// The position of the part that has the entries of a block. A new task gets its id here.
    fn part_of(&mut self, block: &PackedBlock) -> Result<usize, Problem> {
        let number = block.first_index / PAYLOAD_ENTRIES_MAX as u32;
        if self.parts.last().is_none_or(|part| part.number != number) {
            let task_id = new_task_id(self.state.clock.now())?;
            let (entries, staged, blocks) = (0, 0, Vec::new());
            let content_length = 0;
            self.parts.push(StagedPart {
                task_id,
                number,
                entries,
                content_length,
                staged,
                blocks,
            });
        }
        if let Some(part) = self.parts.last_mut() {
            part.entries += block.last_index - block.first_index + 1;
        }
        Ok(self.parts.len() - 1)
    }

    /// Counts the blocks. They are there already, and the uploads together have a limit of their
    /// own, so they do not wait for memory.
    fn count(&mut self) {
        let running = self.commit.as_ref().map_or(0, |commit| commit.bytes);
        self.memory.set(self.buffered_bytes + running);
    }

    /// Begins to stage the blocks of one commit, which belong to one task.
    fn commit(&mut self) {
        let Some(at) = self.buffered.front().map(|(at, _)| *at) else { return };
        let (mut bytes, mut blocks) = (0, Vec::new());
        while bytes < COMMIT_BYTES
            && let Some((_, block)) = self.buffered.pop_front_if(|(of, _)| *of == at)
        {
            bytes += block.bytes.len();
            blocks.push(block);
        }
        let (task_id, now) = (self.parts[at].task_id.clone(), self.state.clock.now());
        self.noted_at.get_or_insert(now);
        self.parts[at].staged += blocks.len() as u32;
        self.buffered_bytes -= bytes;
        let (domain, key) = (self.domain, Some(self.key.clone()));
        let command = StagePayload { domain, key, task_id, blocks, now };
        let store = self.state.store.clone();
        let done = tokio::spawn(carried(async move { store.stage_payload(command).await }));
        self.commit = Some(Commit { bytes, done });
    }

    /// Has the store note now and then that the upload continues. Without this, it would give up
    /// the tasks that get no more blocks.
    pub(super) async fn extend(&mut self) -> Result<(), Problem> {
        let now = self.state.clock.now();
        if self.noted_at.is_none_or(|noted_at| now.0 < noted_at.0.saturating_add(NOTE_EVERY_MS)) {
            return Ok(());
        }
        // Its blocks are of the upload, too.
        self.wait_for_commit().await?;
        self.state.store.extend_staged(self.domain, self.staged_ids(), now).await?;
        self.noted_at = Some(now);
        Ok(())
    }

    /// The tasks of which the store has blocks.
    fn staged_ids(&self) -> Vec<String> {
        let staged = self.parts.iter().filter(|part| part.staged > 0);
        staged.map(|part| part.task_id.clone()).collect()
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
        let Some(runtime) = runtime.ok().filter(|_| self.noted_at.is_some()) else { return };
        let (store, domain, ids) = (self.state.store.clone(), self.domain, self.staged_ids());
        runtime.spawn(carried(async move {
            // Discarding must follow the commit, or its blocks would remain.
            if let Some(running) = running {
                drop(running.await);
            }
            for id in ids {
                match store.discard_staged(domain, &id).await {
                    Ok(()) => {}
                    // The next server that starts removes the blocks.
                    Err(StoreError::Closed) => return,
                    Err(error) => {
                        tracing::warn!(%error, "an upload was not discarded and waits for a purge");
                    }
                }
            }
        }));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
pub(super) fn panicked(error: JoinError) -> Problem {
    tracing::error!(%error, "reading or packing a payload failed");
    Problem::internal()
}
