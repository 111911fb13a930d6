//! The payload of a request while it arrives. Bytes go to the model's reader; full blocks are
//! compressed on blocking threads, a few at once, while the next ones arrive, and then held or
//! staged ([`Staging`]) in their order, so that an upload is never in memory whole. No entry counts
//! before the end was seen: of a payload that is refused nothing stays.

use std::collections::VecDeque;

use caseload_model::payload::{Block, PayloadFault, PayloadReader};
use caseload_store::{PackedBlock, StoreError, pack_block};
use sha2::{Digest, Sha256};
use tokio::task::{JoinHandle, spawn_blocking};

use super::staging::{Staging, panicked};
use crate::problem::Problem;

/// Packings that are under way while further bytes are read: enough that the store can be given the
/// blocks of one meanwhile.
const PACKINGS_MAX: usize = 2;

type Packing = JoinHandle<Result<Vec<PackedBlock>, StoreError>>;

/// A payload on its way in.
#[derive(Debug)]
pub(super) struct Upload {
    reader: PayloadReader,
    hash: Option<Sha256>,
    /// Why the payload is refused; what still arrives of it is dropped.
    fault: Option<PayloadFault>,
    full: Vec<Block>,
    packing: VecDeque<Packing>,
    staging: Staging,
}

/// A whole payload, ready for the store.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) entries: u32,
    /// SHA-256 of the payload as it was sent, where it was asked for.
    pub(crate) hash: Option<[u8; 32]>,
    pub(crate) staging: Staging,
}

impl Upload {
    pub(super) fn new(reader: PayloadReader, staging: Staging, hashed: bool) -> Self {
        let hash = hashed.then(Sha256::new);
        Self { reader, hash, fault: None, full: Vec::new(), packing: VecDeque::new(), staging }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.fault.is_some() {
            return;
        }
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        if let Err(fault) = self.reader.push(bytes, &mut self.full) {
            self.full.clear();
            self.fault = Some(fault);
        }
    }

    /// Has the blocks compressed that have filled. Waits for those before, but the last few, so
    /// that a fast client cannot outrun the compression or the store.
    pub(super) async fn settle(&mut self) -> Result<(), Problem> {
        if self.full.is_empty() {
            return Ok(());
        }
        let blocks = std::mem::take(&mut self.full);
        self.packing.push_back(spawn_blocking(move || pack(&blocks)));
        self.packed_but(PACKINGS_MAX).await
    }

    /// The whole payload, or why it is refused.
    pub(super) async fn finish(mut self) -> Result<Result<Payload, PayloadFault>, Problem> {
        self.packed_but(0).await?;
        if let Some(fault) = self.fault {
            return Ok(Err(fault));
        }
        let (reader, mut rest, mut staging) = (self.reader, self.full, self.staging);
        let ended = spawn_blocking(move || match reader.finish(&mut rest) {
            Ok(entries) => pack(&rest).map(|packed| Ok((entries, packed))),
            Err(fault) => Ok(Err(fault)),
        });
        match ended.await.map_err(panicked)?? {
            Ok((entries, packed)) => {
                staging.add(packed).await?;
                let hash = self.hash.map(|hash| hash.finalize().into());
                Ok(Ok(Payload { entries, hash, staging }))
            }
            Err(fault) => Ok(Err(fault)),
        }
    }

    /// Waits until no more than the last few packings are under way.
    async fn packed_but(&mut self, last: usize) -> Result<(), Problem> {
        while self.packing.len() > last
            && let Some(oldest) = self.packing.pop_front()
        {
            self.staging.add(oldest.await.map_err(panicked)??).await?;
        }
        Ok(())
    }
}

fn pack(blocks: &[Block]) -> Result<Vec<PackedBlock>, StoreError> {
    blocks.iter().map(pack_block).collect()
}
