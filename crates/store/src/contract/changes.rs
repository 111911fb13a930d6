//! The log of changes: the effects on the records of a domain, in the order of the commits. Every
//! write of the contract adds to it in its own transaction.

use caseload_model::change::{Author, Change, ChangeAction, RecordId, Resource};
use caseload_model::ids::DomainId;

use super::StoreFuture;

/// Reading the log.
pub trait Changes: Send + Sync + 'static {
    /// The changes that follow a position, from one snapshot. A reader that continues
    /// at [`ChangePage::next`] sees every change once.
    /// [`StoreError::ChangesDropped`](super::StoreError) if changes that follow it are no longer
    /// kept.
    fn read_changes(&self, request: ReadChanges) -> StoreFuture<'_, ChangePage>;
    /// The changes of one record, newest first.
    fn history(&self, request: ReadHistory) -> StoreFuture<'_, HistoryPage>;
    /// The position of the last change; 0 before the first.
    fn last_position(&self, domain: DomainId) -> StoreFuture<'_, u64>;
}

/// A request for some changes.
#[derive(Debug, Clone)]
pub struct ReadChanges {
    pub domain: DomainId,
    /// Only the changes after this position; `None` for all that are kept.
    pub after: Option<u64>,
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

/// The changes to read: those that meet every condition. An empty list excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeFilter {
    pub resources: Vec<Resource>,
    pub actions: Vec<ChangeAction>,
    pub ids: Vec<RecordId>,
    /// The id of the task that did it.
    pub by_task: Option<String>,
    /// The id of the key with which it was done.
    pub by_key: Option<String>,
}

impl ChangeFilter {
    pub fn matches(&self, change: &Change) -> bool {
        let Self { resources, actions, ids, by_task, by_key } = self;
        let effect = &change.effect;
        let (task, key) = match &change.by {
            Author::Task { id } => (Some(id), None),
            Author::Key { id, .. } => (None, Some(id)),
            Author::Unknown | Author::Command { .. } => (None, None),
        };
        (resources.is_empty() || resources.contains(&effect.resource))
            && (actions.is_empty() || actions.contains(&effect.action))
            && (ids.is_empty() || ids.contains(&effect.id))
            && (by_task.is_none() || by_task.as_ref() == task)
            && (by_key.is_none() || by_key.as_ref() == key)
    }
}
