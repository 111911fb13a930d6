//! The knowledge of a dry run between two of its chunks. A dry run writes nothing, so a later chunk
//! cannot read the changes of an earlier one. Usually a dry run is one chunk. If it is applied
//! entry by entry, its runner passes this value from each chunk to the next one. If the server died
//! or a chunk was undone, the runner lacks the value and sends the earlier entries once more.

use std::collections::HashSet;
use std::sync::Arc;

use caseload_model::issue::ImportContext;
use parking_lot::Mutex;

use crate::profiles::DryRun;

/// The changes that the entries of a dry run planned so far. A runner looks at nothing in it.
#[derive(Debug, Clone, Default)]
pub struct DryRunSoFar(Arc<Mutex<Option<Planned>>>);

/// The state that the entries before `next_index` would have left.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) next_index: u32,
    pub(crate) profiles: DryRun,
    /// `None` if no issue was planned.
    pub(crate) issues: Option<ImportContext>,
    pub(crate) deleted_issues: HashSet<u64>,
}

impl DryRunSoFar {
    /// Whether it has the changes of exactly the entries before this index.
    pub fn precedes(&self, index: u32) -> bool {
        self.0.lock().as_ref().is_some_and(|planned| planned.next_index == index)
    }

    /// Takes the state out: after a plan that fails there is none.
    pub(crate) fn take(&self) -> Option<Planned> {
        self.0.lock().take()
    }

    pub(crate) fn put(&self, planned: Planned) {
        *self.0.lock() = Some(planned);
    }
}
