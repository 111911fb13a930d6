//! Importing issues: reads the stored state that the model's plan needs, makes the plan, and has
//! the backend write it. The slices of a chunk share the domain's state. Most imports bring free
//! ids and rising times and read no stored issue. A dry run is planned as one slice, because it
//! stores nothing for the next slice.

use std::collections::HashMap;
use std::ops::Range;

use caseload_model::issue::{ImportPlan, NewIssue, StoredIssue, TimeWindow, named_issue_ids};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;

use super::import_plan::{ImportPlanner, ImportState};
use crate::{ChunkEntries, ChunkWork, StoreError};

/// Statements of an import into one domain, in the transaction of its chunk.
pub trait ImportStore {
    /// The state of the domain before the first plan. If the import writes, no other transaction
    /// adds an issue until this one ends.
    fn known(&mut self) -> Result<ImportState, StoreError>;
    /// The stored issues among `ids`.
    fn stored(&mut self, ids: &[u64]) -> Result<HashMap<u64, StoredIssue>, StoreError>;
    /// The instants of creation in each window.
    fn taken(&mut self, windows: &[TimeWindow]) -> Result<Vec<Vec<UnixMillis>>, StoreError>;
    /// Inserts the issues of a plan and the names that they use. The backend may take them out of
    /// the plan.
    fn insert(
        &mut self,
        part: &ChunkEntries,
        slice: Range<usize>,
        plan: &mut ImportPlan,
    ) -> Result<(), StoreError>;
}

/// The import of one chunk.
#[derive(Debug)]
pub struct Import {
    dry_run: bool,
    known: Option<ImportState>,
}

impl Import {
    pub const fn new(dry_run: bool) -> Self {
        Self { dry_run, known: None }
    }

    /// Imports some entries of a block and returns their records.
    pub fn apply(
        &mut self,
        store: &mut impl ImportStore,
        part: &ChunkEntries,
        slice: Range<usize>,
    ) -> Result<ChunkRecords, StoreError> {
        let entries = entries_of(&part.work, &slice)?;
        let known = match self.known.take() {
            Some(known) => known,
            None => store.known()?,
        };
        let named = named_issue_ids(entries);
        let ids: Vec<u64> = known.maybe_taken(&named).collect();
        let stored = if ids.is_empty() { HashMap::new() } else { store.stored(&ids)? };
        let mut planning =
            ImportPlanner::new(known, stored, &part.block.bytes, entries, self.dry_run);
        let mut plan = loop {
            match planning.plan() {
                Ok(plan) => break plan,
                Err(windows) => {
                    let taken = store.taken(&windows)?;
                    for (window, taken) in windows.into_iter().zip(taken) {
                        planning.note(window, taken);
                    }
                }
            }
        };
        let mut known = planning.end();
        if !self.dry_run {
            store.insert(part, slice, &mut plan)?;
            known.add(&mut plan);
        }
        self.known = Some(known);
        Ok(plan.records)
    }

    /// The state of the domain after the import; `None` if nothing was imported.
    pub fn known(&self) -> Option<&ImportState> {
        self.known.as_ref().filter(|_| !self.dry_run)
    }
}

/// The entries of a slice of issues.
pub fn entries_of<'w>(
    work: &'w ChunkWork,
    slice: &Range<usize>,
) -> Result<&'w [PreparedEntry<NewIssue>], StoreError> {
    match work {
        ChunkWork::ImportIssues(entries) => Ok(&entries[slice.clone()]),
        _ => Err(StoreError::Corrupt("entries of another action among issues".to_owned())),
    }
}
