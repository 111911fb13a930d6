//! The statements that the writing commands need, all in one transaction of one domain. If a
//! backend runs commands concurrently, it locks an issue that is read for a change, and the
//! domain's clock once it is read, until the transaction ends.

use caseload_model::issue::write::IssueRecord;
use caseload_model::time::UnixMillis;

use crate::StoreError;
use crate::idempotency::CommandStore;
use crate::issues::IndexChanges;

/// The bytes of all fragments of an issue, from the columns of `issue_bodies`.
pub const FRAGMENT_BYTES: &str = "octet_length(head) + octet_length(messages) + octet_length(meta)
     + octet_length(custom_fields) + coalesce(octet_length(feedback), 0)
     + coalesce(octet_length(queue), 0) + coalesce(octet_length(private_notes), 0)
     + coalesce(octet_length(predict_labels), 0) + coalesce(octet_length(sentiment_analysis), 0)
     + coalesce(octet_length(smart_intents), 0)";

/// Id, times and row that the domain's clock gives to a new issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssueAllocation {
    pub id: u64,
    pub created_at: UnixMillis,
    pub changed_at: UnixMillis,
    /// The row, if the table does not number its rows itself.
    pub row: Option<u32>,
}

/// The new state of an issue.
#[derive(Debug)]
pub struct Replacement {
    pub row: u32,
    pub issue: IssueRecord,
}

/// A domain in a transaction that writes.
pub trait IssueStore: CommandStore {
    /// The condition of the fragments in the row `?2` of the domain `?1`.
    const BODY: &'static str;

    /// The rows of these issues, in the order given.
    fn rows_of(&self, ids: &[u64]) -> Result<Vec<Option<u32>>, StoreError>;
    /// Locks an issue that is about to change, and returns it with its row.
    fn issue(&self, id: u64) -> Result<Option<(u32, IssueRecord)>, StoreError>;
    /// Locks issues that are about to change. [`StoreError::Contended`] if one of them was deleted
    /// since its row was looked up.
    fn lock(&self, rows: &[u32]) -> Result<(), StoreError>;
    /// Bytes of the fragments of locked issues, in the order given. No fragment is read for that.
    fn stored_bytes(&self, rows: &[u32]) -> Result<Vec<u64>, StoreError>;
    /// Locked issues, in the order given.
    fn records(&self, rows: &[u32]) -> Result<Vec<IssueRecord>, StoreError>;

    /// The time of a change that commits now. It is later than every earlier change of the domain.
    fn change_time(&self, now: UnixMillis) -> Result<UnixMillis, StoreError>;
    /// The next id of the domain, the time of the change, and a creation time: now, or the next
    /// millisecond that no issue has. It is later than every other one that this gave out.
    fn allocate(&self, now: UnixMillis) -> Result<IssueAllocation, StoreError>;
    /// Adds an issue and returns its row.
    fn insert(&self, allocation: &IssueAllocation, issue: &IssueRecord) -> Result<i64, StoreError>;
    /// Writes only the values that an edit may change.
    fn replace(&self, replaced: &[Replacement]) -> Result<(), StoreError>;
    /// Deletes locked issues with their fragments. The caller updates the index.
    fn delete(&self, rows: &[u32]) -> Result<(), StoreError>;
    /// Updates counters and term sets.
    fn update_index(&self, changes: IndexChanges) -> Result<(), StoreError>;
}
