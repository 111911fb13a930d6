//! Writing the log: packs the effects of a transaction as one row. The store adds the row with its
//! positions, at the end of the transaction.

use caseload_model::change::{Batch, ChangeAction, Effect, RecordId, Resource, issue_effect};
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

/// Adds the effects of a transaction to the log; nothing if it has none. Each transaction calls
/// this once, at its end, because the clock is locked last.
pub fn log(store: &impl CommandStore, batch: &Batch) -> Result<(), StoreError> {
    if batch.effects.is_empty() {
        return Ok(());
    }
    let mut bytes = batch.pack();
    if bytes.len() >= COMPRESSED_FROM_BYTES {
        let compressed = pack(&bytes)?;
        if compressed.len() < bytes.len() {
            bytes = compressed;
        }
    }
    let (count, index) = (batch.effects.len() as i64, index_rows(&batch.effects));
    store.add_batch(LoggedBatch { count, at: batch.at, bytes, index })
}
