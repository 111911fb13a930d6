//! The statements that an import needs, in the transaction of its chunk; a backend implements them.

use std::collections::HashMap;
use std::ops::Range;

use caseload_model::change::Effect;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{ImportPlan, StoredIssue, TimeWindow};
use caseload_model::time::UnixMillis;

use super::IssueStore;
use crate::{ChunkEntries, StoreError};

/// The rows that replaced issues had, by their ids.
pub type FreeRows = HashMap<u64, u32>;

/// Statements of an import into one domain, in the transaction of its chunk.
pub trait ImportStore {
    type Domain: IssueStore;

    fn domain(&self) -> Self::Domain;
    /// The last issue id and the last app number of the domain's clock, before the first plan. If
    /// the import writes, no other transaction adds an issue until this one ends.
    fn clock(&mut self) -> Result<(u64, u64), StoreError>;
    /// The stored issues among `ids`, read with [`stored_issue`].
    fn stored(&mut self, ids: &[i64]) -> Result<Vec<(u64, StoredIssue)>, StoreError>;
    /// The instants of creation in each window.
    fn taken(&mut self, windows: &[TimeWindow]) -> Result<Vec<Vec<UnixMillis>>, StoreError>;
    /// Notes that issues leave their counters and terms, before they are deleted. All issues that
    /// were inserted before are in the tables.
    fn unindex(&mut self, removed: Vec<(u32, IssueRecord)>) -> Result<(), StoreError>;
    /// The apps, queues, agents and app profiles that the import created, once the chunk has ended.
    fn take_created(&mut self) -> Vec<Effect>;
    /// Inserts the issues of a plan and the names that they use. Those among `rows` get that row.
    /// The backend may take the issues out of the plan.
    fn insert(
        &mut self,
        part: &ChunkEntries,
        slice: Range<usize>,
        plan: &mut ImportPlan,
        rows: FreeRows,
    ) -> Result<(), StoreError>;
}
