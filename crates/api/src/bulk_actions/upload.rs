//! The payload or file of a request while it arrives. The bytes go to its reader. Other threads
//! compress full blocks, a few at a time, while the next ones arrive; then [`Staging`] buffers or
//! stages them in order. So an upload is never in memory as a whole. No entry counts before the end
//! of the payload: a refused payload leaves nothing behind.

use std::collections::VecDeque;

use caseload_model::payload::{BLOCK_BYTES, Block, PayloadFault, PayloadReader};
use caseload_store::{PackedBlock, StoreError, pack_block};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;

use super::staging::{Staging, panicked};
use crate::http::base_url::OwnUrls;
use crate::http::current_request::carried;
use crate::http::problem::Problem;

/// How many compressions may run while further bytes are read: enough that the store can take the
/// blocks of one of them at the same time.
const COMPRESSIONS_MAX: usize = 2;

type Compression = JoinHandle<Result<Result<Vec<PackedBlock>, StoreError>, Problem>>;

/// How many bytes of a packed file go to its reader at a time: each may unpack to a thousand.
const PUSHED_BYTES: usize = 4 << 10;
/// No more bytes go to a reader while its full blocks have so many.
const FULL_BYTES_MAX: usize = 4 * BLOCK_BYTES;

/// Makes blocks of bytes that arrive in pieces.
pub(crate) trait BlockReader: Send + 'static {
    /// The facts that the end of the bytes gives.
    type Read: Send;
    /// Why nothing of it is accepted.
    type Fault: Clone + Send;

    /// Takes the next bytes, and adds the blocks that are full.
    fn push(&mut self, bytes: &[u8], full: &mut Vec<Block>) -> Result<(), Self::Fault>;
    /// Ends the bytes; the reader may need more memory after this.
    fn end(&mut self, _full: &mut Vec<Block>) -> Result<(), Self::Fault> {
        Ok(())
    }
    /// Ends, and adds the remaining blocks.
    fn finish(self, rest: &mut Vec<Block>) -> Result<Self::Read, Self::Fault>;
}

impl BlockReader for PayloadReader {
    /// The number of entries.
    type Read = u32;
    type Fault = PayloadFault;

    fn push(&mut self, bytes: &[u8], full: &mut Vec<Block>) -> Result<(), PayloadFault> {
        Self::push(self, bytes, full)
    }

    fn finish(self, rest: &mut Vec<Block>) -> Result<u32, PayloadFault> {
        Self::finish(self, rest)
    }
}

/// A payload or file that is arriving.
#[derive(Debug)]
pub(crate) struct Upload<R: BlockReader = PayloadReader> {
    reader: R,
    hash: Option<Sha256>,
    content_length: u64,
    /// The reason to refuse the payload; its remaining bytes are dropped.
    fault: Option<R::Fault>,
    full: Vec<Block>,
    compressions: VecDeque<Compression>,
    staging: Staging,
}

/// A whole payload or file, ready for the store.
#[derive(Debug)]
pub(crate) struct Payload<T = u32> {
    /// The number of entries, or all that is known of a file.
    pub(crate) read: T,
    /// Bytes as the caller sent it, decoded.
    pub(crate) content_length: u64,
    /// SHA-256 of the payload as the caller sent it, if it was to be hashed.
    pub(crate) hash: Option<[u8; 32]>,
    pub(crate) staging: Staging,
}

impl<R: BlockReader> Upload<R> {
    pub(crate) fn new(reader: R, staging: Staging, hashed: bool) -> Self {
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
    pub(crate) fn push(&mut self, bytes: &[u8]) {
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

    /// Ends the bytes, before [`Self::finish`].
    pub(crate) fn end(&mut self) {
        if self.fault.is_none() {
            self.fault = self.reader.end(&mut self.full).err();
        }
    }

    /// Takes bytes until enough blocks are full; the number of bytes. A packed file may become a
    /// thousand times as long.
    pub(crate) fn push_some(&mut self, bytes: &[u8]) -> usize {
        let mut pushed = 0;
        let is_full = |full: &[Block]| {
            full.iter().map(|block| block.bytes.len()).sum::<usize>() >= FULL_BYTES_MAX
        };
        while pushed < bytes.len() && !is_full(&self.full) {
            let end = bytes.len().min(pushed + PUSHED_BYTES);
            self.push(&bytes[pushed..end]);
            pushed = end;
        }
        pushed
    }

    /// Why the payload is refused, if it is.
    pub(crate) const fn fault(&self) -> Option<&R::Fault> {
        self.fault.as_ref()
    }

    pub(crate) const fn reader(&self) -> &R {
        &self.reader
    }

    /// Begins to compress the full blocks. Waits for all but the last few compressions, so that a
    /// fast client cannot outrun the compression or the store.
    pub(crate) async fn settle(&mut self) -> Result<(), Problem> {
        self.staging.extend().await?;
        if self.full.is_empty() {
            return Ok(());
        }
        let (blocks, urls) = (std::mem::take(&mut self.full), self.staging.own_urls());
        let cpu = self.staging.cpu();
        let work = async move { cpu.run(move || compress(blocks, &urls)).await };
        self.compressions.push_back(tokio::spawn(carried(work)));
        self.wait_for_all_but(COMPRESSIONS_MAX).await
    }

    /// The whole payload, or the reason to refuse it.
    pub(crate) async fn finish(mut self) -> Result<Result<Payload<R::Read>, R::Fault>, Problem> {
        self.wait_for_all_but(0).await?;
        if let Some(fault) = self.fault {
            return Ok(Err(fault));
        }
        let (reader, mut rest, mut staging) = (self.reader, self.full, self.staging);
        let urls = staging.own_urls();
        let cpu = staging.cpu();
        let ended = cpu.run(move || match reader.finish(&mut rest) {
            Ok(read) => compress(rest, &urls).map(|packed| Ok((read, packed))),
            Err(fault) => Ok(Err(fault)),
        });
        match ended.await?? {
            Ok((read, packed)) => {
                staging.add(packed).await?;
                let hash = self.hash.map(|hash| hash.finalize().into());
                Ok(Ok(Payload { read, content_length: self.content_length, hash, staging }))
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
