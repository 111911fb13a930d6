//! What the writing commands ask of whatever keeps issues, all in one transaction of one domain.
//! Where commands run beside each other, an issue that was read to be changed stays as it is until
//! the transaction ends, and so does the clock once it was asked.

use caseload_model::issue::write::{AgentSummary, AppProfileSummary, Attachment, IssueRecord};
use caseload_model::issue::{App, AppProfileRow, IssueQueue};
use caseload_model::time::UnixMillis;

use crate::StoreError;
use crate::idempotency::CommandStore;
use crate::issues::IndexChanges;

/// What a new issue gets from the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssueAllocation {
    pub id: u64,
    pub created_at: UnixMillis,
    pub changed_at: UnixMillis,
    /// Its row, where rows are not numbered by the table itself.
    pub row: Option<u32>,
}

/// An issue as it is from now on.
#[derive(Debug)]
pub struct Replacement {
    pub row: u32,
    pub issue: IssueRecord,
}

/// A domain that is written to.
pub trait IssueStore: CommandStore {
    /// The app of an id, or the default one, and whether it is that.
    fn app(&self, id: Option<&str>) -> Result<Option<(App, bool)>, StoreError>;
    fn agent(&self, id: &str) -> Result<Option<AgentSummary>, StoreError>;
    /// Oldest first.
    fn agents(&self) -> Result<Vec<AgentSummary>, StoreError>;
    fn queue(&self, id: &str) -> Result<Option<IssueQueue>, StoreError>;
    fn app_profile(&self, pid: &str) -> Result<Option<AppProfileSummary>, StoreError>;

    /// The rows of these issues, each at its place.
    fn rows_of(&self, ids: &[u64]) -> Result<Vec<Option<u32>>, StoreError>;
    /// An issue that is about to be changed, with its row.
    fn issue(&self, id: u64) -> Result<Option<(u32, IssueRecord)>, StoreError>;
    /// Says that these issues are about to be changed.
    fn lock(&self, rows: &[u32]) -> Result<(), StoreError>;
    /// Issues that were locked, each at its place.
    fn records(&self, rows: &[u32]) -> Result<Vec<IssueRecord>, StoreError>;

    /// The time of a change that commits now; later than every change before it in the domain.
    fn change_time(&self, now: UnixMillis) -> Result<UnixMillis, StoreError>;
    /// The next id of the domain, and instants that no issue has: by the clock, and after every
    /// issue there is. Both instants are one, unless an import brought an issue of the future.
    fn allocate(&self, now: UnixMillis) -> Result<IssueAllocation, StoreError>;
    /// Adds an issue; its row.
    fn insert(&self, allocation: &IssueAllocation, issue: &IssueRecord) -> Result<i64, StoreError>;
    /// Only what an edit may change is written.
    fn replace(&self, replaced: &[Replacement]) -> Result<(), StoreError>;
    /// Keeps what issues are found by.
    fn update_index(&self, changes: IndexChanges) -> Result<(), StoreError>;
    /// Adds the author's app profile where the pid is free.
    fn add_app_profile(&self, profile: &AppProfileRow, at: UnixMillis) -> Result<(), StoreError>;
    /// Makes staged files those of an issue.
    fn claim(&self, issue_id: u64, files: &[Attachment]) -> Result<(), StoreError>;
}
