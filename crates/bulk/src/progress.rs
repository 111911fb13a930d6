//! How far a task has come, as its worker knows it from the answers of the store.

use caseload_store::{ChunkApplied, ClaimedTask};

/// The position of a task in its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Index of the first entry that is not processed.
    pub(crate) next_index: u32,
    /// Entries from there on.
    pub(crate) left: u32,
}

impl Progress {
    pub(crate) fn of(claim: &ClaimedTask) -> Self {
        Self { next_index: claim.next_index, left: claim.task.counts.unprocessed }
    }

    pub(crate) fn note(&mut self, applied: &ChunkApplied) {
        self.next_index = applied.next_index;
        self.left = applied.task.counts.unprocessed;
    }
}
