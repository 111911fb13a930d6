//! Changes: which effect on which record was committed, when and by whom. The effects of one
//! transaction are a [`Batch`], which a store has packed as one row, because the thousands of
//! effects of a chunk differ in little. Positions number the changes of a domain in the order of
//! commits; a batch is packed without them, and its row has them. Invariant: a batch that
//! is packed and unpacked is the same batch.

mod audit;
mod bytes;
mod history;
mod issue;
mod pack;
mod query;
mod record_id;
#[cfg(test)]
mod tests;
mod titles;
mod wire;
mod words;

use std::borrow::Cow;
use std::sync::Arc;

use crate::time::UnixMillis;

pub use audit::{
    AUDIT_ACTIONS, AUDIT_PAGE_SIZE_DEFAULT, AUDIT_PAGE_SIZE_MAX, AUDIT_PARAMETERS, AuditRequest,
    parse_audit,
};
pub use bytes::BatchFault;
pub use history::{HISTORY_PARAMETERS, HistoryRequest, parse_history};
pub use issue::issue_effect;
pub use pack::BATCH_CHANGES_MAX;
pub use query::{
    CHANGE_PARAMETERS, ChangeFilter, ChangeRequest, LogPlace, WAIT_SECONDS_MAX, parse_changes,
    parse_place,
};
pub use record_id::RecordId;
pub use words::{ChangeAction, Resource};

/// The names of fields that changed. Effects with the same names may share them.
pub type FieldNames = Arc<[Cow<'static, str>]>;

/// The effect of a transaction on one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    pub resource: Resource,
    pub id: RecordId,
    pub action: ChangeAction,
    /// The fields that an update changed, in the order of the record.
    pub fields: FieldNames,
    /// Of an effect of a task: the index of the entry.
    pub index: Option<u32>,
    /// The members of the map `changes`, as JSON without braces: old and new values. Empty if there
    /// are none.
    pub values: Vec<u8>,
}

impl Effect {
    pub fn new(resource: Resource, id: impl Into<RecordId>, action: ChangeAction) -> Self {
        Self {
            resource,
            id: id.into(),
            action,
            fields: FieldNames::default(),
            index: None,
            values: Vec::new(),
        }
    }

    /// This effect with the fields that it changed.
    #[must_use]
    pub fn of_fields(self, names: impl IntoIterator<Item = Cow<'static, str>>) -> Self {
        Self { fields: names.into_iter().collect(), ..self }
    }
}

/// Who caused a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Author {
    /// A command without a key.
    #[default]
    Unknown,
    /// A caller. The name is the one that the key had then.
    Key { id: String, name: String },
    /// A task, whose entries have indexes.
    Task { id: String },
    /// A command on the machine of the store.
    Command { line: String },
}

/// The effects of one transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub at: UnixMillis,
    pub by: Author,
    /// The id of the request, if one call caused the batch.
    pub request_id: Option<String>,
    pub effects: Vec<Effect>,
}

impl Batch {
    pub const fn new(at: UnixMillis, by: Author, effects: Vec<Effect>) -> Self {
        Self { at, by, request_id: None, effects }
    }

    /// The changes of a batch whose first one has this position.
    pub fn into_changes(self, first_position: u64) -> impl Iterator<Item = Change> {
        let Self { at, by, request_id, effects } = self;
        let by = Arc::new(by);
        effects.into_iter().zip(first_position..).map(move |(effect, position)| Change {
            position,
            at,
            effect,
            by: by.clone(),
            request_id: request_id.clone(),
        })
    }
}

/// One committed change, as readers of the log see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Greater than that of every change of the domain that was committed before.
    pub position: u64,
    pub at: UnixMillis,
    pub effect: Effect,
    /// The changes of a batch share it.
    pub by: Arc<Author>,
    pub request_id: Option<String>,
}
