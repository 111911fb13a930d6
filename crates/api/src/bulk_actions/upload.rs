//! The payload of a request while it arrives. The bytes go to the model's reader. Other threads
//! compress full blocks, a few at a time, while the next ones arrive; then [`Staging`] buffers or
//! stages them in order. So an upload is never in memory as a whole. No entry counts before the end
//! of the payload: a refused payload leaves nothing behind.

use std::collections::VecDeque;

use caseload_model::payload::{Block, PayloadFault, PayloadReader};
use caseload_store::{PackedBlock, StoreError, pack_block};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use super::staging::{Staging, panicked};
use crate::http::base_url::OwnUrls;
use crate::http::problem::Problem;

/// How many compressions may run while further bytes are read: enough that the store can take the
/// blocks of one of them at the same time.
const COMPRESSIONS_MAX: usize = 2;

type Compression = JoinHandle<Result<Result<Vec<PackedBlock>, StoreError>, Problem>>;

/// A payload that is arriving.
#[derive(Debug)]
pub(super) struct Upload {
    reader: PayloadReader,
    hash: Option<Sha256>,
    content_length: u64,
    /// The reason to refuse the payload; its remaining bytes are dropped.
    fault: Option<PayloadFault>,
    full: Vec<Block>,
    compressions: VecDeque<Compression>,
    staging: Staging,
}

/// A whole payload, ready for the store.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) entries: u32,
    /// Bytes as the caller sent it, decoded.
    pub(crate) content_length: u64,
    /// SHA-256 of the payload as the caller sent it, if it was to be hashed.
    pub(crate) hash: Option<[u8; 32]>,
    pub(crate) staging: Staging,
}

impl Upload {
    pub(super) fn new(reader: PayloadReader, staging: Staging, hashed: bool) -> Self {
        let hash = hashed.then(Sha256::new);
        Self {
            reader,
            hash,
            content_length: 0,
            fault: None,
            full: Vec::new(),
            compressions: VecDeque::new(),
            staging,
        }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.fault.is_some() {
            return;
        }
        self.content_length += bytes.len() as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        if let Err(fault) = self.reader.push(bytes, &mut self.full) {
            self.full.clear();
            self.fault = Some(fault);
        }
    }

    /// Begins to compress the full blocks. Waits for all but the last few compressions, so that a
    /// fast client cannot outrun the compression or the store.
    pub(super) async fn settle(&mut self) -> Result<(), Problem> {
        if self.full.is_empty() {
            return Ok(());
        }
        let (blocks, urls) = (std::mem::take(&mut self.full), self.staging.own_urls());
        let cpu = self.staging.cpu();
        let work = async move { cpu.run(move || compress(blocks, &urls)).await };
        self.compressions.push_back(tokio::spawn(work));
        self.wait_for_all_but(COMPRESSIONS_MAX).await
    }

    /// The whole payload, or the reason to refuse it.
    pub(super) async fn finish(mut self) -> Result<Result<Payload, PayloadFault>, Problem> {
        self.wait_for_all_but(0).await?;
        if let Some(fault) = self.fault {
            return Ok(Err(fault));
        }
        let (reader, mut rest, mut staging) = (self.reader, self.full, self.staging);
        let urls = staging.own_urls();
        let cpu = staging.cpu();
        let ended = cpu.run(move || match reader.finish(&mut rest) {
            Ok(entries) => compress(rest, &urls).map(|packed| Ok((entries, packed))),
            Err(fault) => Ok(Err(fault)),
        });
        match ended.await?? {
            Ok((entries, packed)) => {
                staging.add(packed).await?;
                let hash = self.hash.map(|hash| hash.finalize().into());
                Ok(Ok(Payload { entries, content_length: self.content_length, hash, staging }))
            }
            Err(fault) => Ok(Err(fault)),
        }
    }

    /// Waits until at most `last` compressions are running.
    async fn wait_for_all_but(&mut self, last: usize) -> Result<(), Problem> {
        while self.compressions.len() > last
            && let Some(oldest) = self.compressions.pop_front()
        {
            self.staging.add(oldest.await.map_err(panicked)???).await?;
        }
        Ok(())
    }
}

fn compress(mut blocks: Vec<Block>, urls: &OwnUrls) -> Result<Vec<PackedBlock>, StoreError> {
    for block in &mut blocks {
        block.base_urls = urls.occurring_in(&block.bytes);
    }
    blocks.iter().map(pack_block).collect()
}
