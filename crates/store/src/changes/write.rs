//! Writing the log: packs the effects of a transaction as one row. The store adds the row with its
//! positions, at the end of the transaction.

use caseload_model::change::{
    BATCH_CHANGES_MAX, Batch, ChangeAction, Effect, RecordId, Resource, issue_effect,
};
use caseload_model::issue::write::IssueRecord;
use caseload_model::time::UnixMillis;

use super::records::index_rows;
use super::row::LoggedBatch;
use crate::StoreError;
use crate::idempotency::CommandStore;
use crate::pack::pack;

/// From this size on, a batch is compressed if that makes it smaller.
const COMPRESSED_FROM_BYTES: usize = 256;

/// The effects of a command, and their time.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) at: UnixMillis,
    pub(crate) effects: Vec<Effect>,
}

impl Log {
    pub(crate) fn created(&mut self, at: UnixMillis, resource: Resource, id: impl Into<RecordId>) {
        self.at = at;
        self.effects.push(Effect::new(resource, id, ChangeAction::Created));
    }

    pub(crate) fn updated(&mut self, before: &IssueRecord, after: &IssueRecord) {
        self.at = after.columns.facts.updated_at;
        self.effects.push(issue_effect(before, after));
    }

    pub(crate) fn deleted(&mut self, at: UnixMillis, resource: Resource, id: impl Into<RecordId>) {
        self.at = at;
        self.effects.push(Effect::new(resource, id, ChangeAction::Deleted));
    }
}

/// Adds the effects of a transaction to the log; nothing if it has none, and several batches if it
/// has more than one may have: the entries of a chunk may name many people. Each transaction calls
/// this once, at its end, because the clock is locked last.
pub fn log(store: &impl CommandStore, batch: &Batch) -> Result<(), StoreError> {
    let Batch { at, by, request_id, effects } = batch;
    if effects.len() <= BATCH_CHANGES_MAX {
        return if effects.is_empty() { Ok(()) } else { store.add_batch(packed(batch)?) };
    }
    for part in effects.chunks(BATCH_CHANGES_MAX) {
        let batch = Batch::new(*at, by.clone(), part.to_vec());
        store.add_batch(packed(&Batch { request_id: request_id.clone(), ..batch })?)?;
    }
    Ok(())
}

/// The row of a batch that has effects.
pub(crate) fn packed(batch: &Batch) -> Result<LoggedBatch, StoreError> {
    let mut bytes = batch.pack();
    if bytes.len() >= COMPRESSED_FROM_BYTES {
        let compressed = pack(&bytes)?;
        if compressed.len() < bytes.len() {
            bytes = compressed;
        }
    }
    let (count, index) = (batch.effects.len() as i64, index_rows(&batch.effects));
    Ok(LoggedBatch { count, at: batch.at, bytes, index })
}
