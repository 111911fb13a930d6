//! The upkeep of a store: readiness, figures, checks, backups, removal of expired records, closing.

use std::path::PathBuf;

use caseload_model::time::UnixMillis;

use super::{StoreFuture, StoreMetrics};

/// Operations on the store as a whole, for operators and running servers.
pub trait Upkeep: Send + Sync + 'static {
    /// Succeeds if the store answers and takes writes.
    fn ready(&self) -> StoreFuture<'_, ()>;
    /// Figures for operators, read cheaply.
    fn metrics(&self) -> StoreFuture<'_, StoreMetrics>;
    /// Verifies the laws of the stored data by reading all of it.
    fn check(&self) -> StoreFuture<'_, CheckReport>;
    /// Copies the store as it is at one moment and checks the copy before it gets its name.
    /// [`StoreError::AlreadyExists`](super::StoreError) if a file of that name may not be replaced.
    fn backup(&self, command: CreateBackup) -> StoreFuture<'_, BackupReport>;
    /// Removes some expired records in one small write: payloads and records of completed tasks
    /// after their `expires_at` (the tasks remain), staged blocks that are abandoned or whose
    /// server is gone, and idempotency keys. True if more may be left to remove.
    fn purge_expired(&self, now: UnixMillis) -> StoreFuture<'_, bool>;
    /// Removes some of the oldest changes from the log, if they were committed before this time, in
    /// one small write. True if more may be left to remove.
    fn purge_changes(&self, before: UnixMillis) -> StoreFuture<'_, bool>;
    /// Carries out one step of indexing: moves rows that writes marked into the text index. True if
    /// it did something, so that more may be left. False if there was nothing to do, or if another
    /// session holds the texts of the domain or has just indexed them: a later step does the rest.
    /// Only the speed of filters on texts depends on it.
    fn index_texts(&self, how: IndexTexts) -> StoreFuture<'_, bool>;
    /// Stops background work and closes files. Later commands fail with
    /// [`StoreError::Closed`](super::StoreError).
    fn close(&self) -> StoreFuture<'_, ()>;
}

/// Which marked rows are indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexTexts {
    /// Those of domains that have many.
    Due,
    /// These, and segments that have deleted issues are replaced.
    Erasures,
    /// All.
    Everything,
}

/// The records that a check verified and the faults that it found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// The kinds of records that the check verified, with the number of records of each.
    pub verified: Vec<(String, u64)>,
    /// Broken laws, each a sentence that names domain and record. Empty for a sound store.
    pub faults: Vec<String>,
    /// Damage that the check cannot see in this store. No faults.
    pub notes: Vec<String>,
}

/// Copies the store to a file while it is in use.
#[derive(Debug, Clone)]
pub struct CreateBackup {
    pub file: PathBuf,
    /// Whether an existing file of that name may be replaced.
    pub overwrite: bool,
}

/// A copy that is complete, durable and sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupReport {
    pub bytes: u64,
    /// The check of the copy.
    pub check: CheckReport,
}
