//! The log of changes: the effects on the records of a domain, in the order of the commits. Every
//! write of the contract adds to it in its own transaction.

use caseload_model::change::{Change, ChangeFilter, Resource};
use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use tokio::sync::watch;

use super::StoreFuture;

/// Reading the log.
pub trait Changes: Send + Sync + 'static {
    /// The changes that follow a position, from one snapshot. A reader that continues
    /// at [`ChangePage::next`] sees every change once.
    /// [`StoreError::ChangesDropped`](super::StoreError) if changes that follow it are no longer
    /// stored.
    fn read_changes(&self, request: ReadChanges) -> StoreFuture<'_, ChangePage>;
    /// The changes of one record, newest first.
    fn history(&self, request: ReadHistory) -> StoreFuture<'_, HistoryPage>;
    /// The position of the last change; 0 before the first.
    fn last_position(&self, domain: DomainId) -> StoreFuture<'_, u64>;
    /// The position before the first change at a time or later; the last one if there is none.
    fn position_before(&self, domain: DomainId, at: UnixMillis) -> StoreFuture<'_, u64>;
    /// Moves after each commit of this server that may have changed a record, and after a
    /// notification of another server. A hint: a waiting caller polls as well.
    fn appended(&self) -> watch::Receiver<u64>;
}

/// A request for some changes.
#[derive(Debug, Clone)]
pub struct ReadChanges {
    pub domain: DomainId,
    /// Only the changes after this position. All that are stored follow
    /// [`Changes::position_before`] the beginning of time.
    pub after: u64,
    /// The most changes of the answer, at least 1.
    pub changes_max: usize,
    pub filter: ChangeFilter,
}

/// Some changes, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangePage {
    pub changes: Vec<Change>,
    /// The position after which the next read begins. The log has ended if it is that of the
    /// request. Without changes it may still be greater, if none of many matched.
    pub next: u64,
}

/// A request for the history of an issue or a core profile.
#[derive(Debug, Clone)]
pub struct ReadHistory {
    pub domain: DomainId,
    pub resource: Resource,
    pub id: u64,
    /// Only the changes before this position; `None` for all.
    pub before: Option<u64>,
    /// The most changes of the answer, at least 1.
    pub changes_max: usize,
}

/// Some changes of a record, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryPage {
    pub changes: Vec<Change>,
    /// The position before which the next read begins; `None` at the oldest change. A page may have
    /// fewer changes than it could, even none, although the history continues.
    pub next: Option<u64>,
}
