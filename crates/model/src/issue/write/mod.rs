//! Writing issues one by one: forms read into typed requests, and pure plans of what a request
//! makes of an issue. Wire rules: docs/api.md, "Writing issues". A plan gets everything that the
//! store and the clock decide passed in, and returns whole records and the very bytes of the
//! answer, so that a backend only reads, writes and commits. Invariant: every write moves
//! `updated_at`, and `state_data.changed_at` moves exactly when the state does.

mod attachment;
mod author;
mod create;
mod edit;
mod fields;
mod forms;
mod merge;
mod message;
mod record;
mod requests;
mod state;

pub use attachment::{
    Attachment, CONTENT_TYPE_BYTES_MAX, FILE_NAME_CHARS_MAX, PLAIN_BYTES, served_type,
};
pub use author::{AgentSummary, AppProfileSummary, author_pid};
pub use create::{CreateContext, CreatePlan, plan_create};
pub use edit::{EditPlan, EditTargets, bulk_edit_answer, plan_edit};
pub use forms::{
    BULK_EDIT_FIELDS, BULK_EDIT_ISSUES_MAX, BULK_MESSAGE_BYTES_MAX, CREATE_FIELDS, EDIT_FIELDS,
    MESSAGE_FIELDS, NOTE_FIELDS, ParsedForm, read_bulk_edit, read_create, read_edit, read_message,
    read_note,
};
pub use merge::CustomFieldPatch;
pub use message::{
    MessageAuthor, NewMessage, message_answer, note_answer, plan_message, plan_note,
};
pub use record::{IssueRecord, IssueWriteError};
pub use requests::{
    AgentSelector, Assignment, BulkEditRequest, CreateRequest, EditRequest, MessageRequest,
    NoteRequest, Reference, References,
};

use crate::time::UnixMillis;

/// When something is written, and what makes its ids its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub at: UnixMillis,
    pub random: u64,
}
