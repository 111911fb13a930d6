//! The source or the target of a copy, as a backend implements it: it reads batches of rows, writes
//! rows together with the progress of the copy, and reports its contents. A backend opens an end
//! for the copy alone, and no server may use the store at the same time. An end does not know the
//! meaning of the rows.

use super::numbering::RowSpan;
use super::rows::{CopyBatch, Rows};
use super::tables::Table;
use crate::{CheckReport, StoreError, StoreFuture};

/// Which end of the copy a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Read-only, and locked against changes while it is open.
    Source,
    Target,
}

/// The progress of a copy. It is stored in the target, in the same transaction as the rows. While
/// it is there, only a copy can open the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The digest of the source's small tables when the copy began.
    pub source: Vec<u8>,
    /// The location of the source as the command named it.
    pub origin: String,
    /// Incremented by each run that resumes the copy, so that an older run cannot continue.
    pub attempt: i64,
    /// The current table; empty once all are copied.
    pub table: String,
    /// The position at which the next batch of the table begins; `None` before the first.
    pub position: Option<Vec<u8>>,
    /// Copied rows of all tables.
    pub rows: i64,
}

/// One end of a copy.
pub trait CopyEnd: Send + Sync {
    /// Reads a batch of rows from a position on, in the order of the table.
    fn read(
        &self,
        table: &'static Table,
        position: Option<Vec<u8>>,
        batch: CopyBatch,
    ) -> StoreFuture<'_, Rows>;
    /// A table that has rows, if there is one.
    fn filled(&self) -> StoreFuture<'_, Option<&'static str>>;
    /// Whether one sequence numbers the issues and the tasks of all domains.
    fn counts_over_domains(&self) -> bool;
    /// The row numbers of the issues of each domain, ordered by domain.
    fn row_spans(&self) -> StoreFuture<'_, Vec<RowSpan>>;
    /// The largest id that a domain has ever had.
    fn last_domain_id(&self) -> StoreFuture<'_, i64>;
    /// The unfinished copy into this store, if there is one.
    fn progress(&self) -> StoreFuture<'_, Option<Progress>>;
    /// Begins or resumes a copy.
    fn begin(&self, progress: Progress) -> StoreFuture<'_, ()>;
    /// Deletes the rows of a copy and its progress.
    fn clear(&self) -> StoreFuture<'_, ()>;
    /// Writes rows and the progress in one transaction.
    fn write(&self, table: &'static Table, rows: Rows, progress: Progress) -> StoreFuture<'_, ()>;
    /// Sets the values that are derived from the copied rows. May run again.
    fn set_derived(&self, last_domain_id: i64) -> StoreFuture<'_, ()>;
    /// Runs the check of the stored data.
    fn check(&self) -> StoreFuture<'_, CheckReport>;
    /// Removes the progress, durably, which makes the target an ordinary store.
    fn finish(&self) -> StoreFuture<'_, ()>;
    /// Closes the store.
    fn close(&self) -> StoreFuture<'_, ()>;
}

/// The error of a store that cannot take part in a copy.
pub fn refused(reason: impl Into<String>) -> StoreError {
    StoreError::CopyRefused(reason.into())
}
