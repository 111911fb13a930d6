//! What a backend does for a copy: hand out rows, take rows together with how far the copy is, and
//! say what it holds. A backend opens an end for the copy alone: no server may use it meanwhile.
//! Nothing here knows what the rows mean.

use super::numbering::RowSpan;
use super::rows::{CopyBatch, Rows};
use super::tables::Table;
use crate::{CheckReport, StoreError, StoreFuture};

/// Which end of the copy a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Read only, and kept from changing while it is open.
    Source,
    Target,
}

/// How far a copy is; kept in the target, in the transaction of the rows that it tells of. While
/// it is there, the target can be opened by a copy alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Digest of the source's small tables when the copy began.
    pub source: Vec<u8>,
    /// The source as the command named it.
    pub origin: String,
    /// Raised by each run that takes the copy up, so that an older one cannot go on beside it.
    pub attempt: i64,
    /// The table at hand; empty once all are copied.
    pub table: String,
    /// Where its next batch begins; `None` before the first.
    pub position: Option<Vec<u8>>,
    /// Rows copied, of all tables.
    pub rows: i64,
}

/// One end of a copy.
pub trait CopyEnd: Send + Sync {
    /// Rows of a table from a position on, in the table's order.
    fn read(
        &self,
        table: &'static Table,
        position: Option<Vec<u8>>,
        batch: CopyBatch,
    ) -> StoreFuture<'_, Rows>;
    /// A table that has rows.
    fn filled(&self) -> StoreFuture<'_, Option<&'static str>>;
    /// Whether one sequence numbers the issues and the tasks of all domains.
    fn counts_over_domains(&self) -> bool;
    /// Which rows the issues of each domain have, by domain.
    fn row_spans(&self) -> StoreFuture<'_, Vec<RowSpan>>;
    /// The largest id that a domain ever had.
    fn last_domain_id(&self) -> StoreFuture<'_, i64>;
    /// The copy into this store that is not finished.
    fn progress(&self) -> StoreFuture<'_, Option<Progress>>;
    /// Begins a copy or takes it up.
    fn begin(&self, progress: Progress) -> StoreFuture<'_, ()>;
    /// Throws away what a copy brought, and that there was one.
    fn clear(&self) -> StoreFuture<'_, ()>;
    /// Keeps rows and how far the copy is then, both or neither.
    fn write(&self, table: &'static Table, rows: Rows, progress: Progress) -> StoreFuture<'_, ()>;
    /// Sets what is derived from the rows. May be done again.
    fn settle(&self, last_domain_id: i64) -> StoreFuture<'_, ()>;
    /// Verifies the laws of the stored data.
    fn check(&self) -> StoreFuture<'_, CheckReport>;
    /// Makes the store one like any other, durably.
    fn finish(&self) -> StoreFuture<'_, ()>;
    /// Lets go of the store.
    fn close(&self) -> StoreFuture<'_, ()>;
}

/// Why a store does not take part in a copy.
pub fn refused(reason: impl Into<String>) -> StoreError {
    StoreError::CopyRefused(reason.into())
}
