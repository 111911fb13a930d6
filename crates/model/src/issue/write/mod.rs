//! Single writes of issues: forms are read into typed requests, and pure plans compute the issue
//! after a request. Wire rules: docs/api.md, "Writing issues". A plan gets everything that the
//! store and the clock determine, and returns whole records and the exact bytes of the answer, so a
//! backend only reads, writes and commits. Invariant: `updated_at` changes exactly when the issue
//! does, and `state_data.changed_at` exactly when the state does.

mod attachment;
mod author;
mod create;
mod desk;
mod edit;
pub(crate) mod fields;
mod forms;
mod kinds;
mod merge;
mod message;
mod record;
mod redact;
mod requests;
mod same;
mod state;

pub use attachment::{
    Attachment, CONTENT_TYPE_BYTES_MAX, FILE_NAME_CHARS_MAX, NO_NAME, PLAIN_BYTES, imported_name,
    served_type, stored_name,
};
pub use author::{AgentSummary, AppProfileSummary, author_pid};
pub use create::{CreateContext, CreatePlan, plan_create};
pub use desk::{DESK_TEXT_CHARS_MAX, Desk};
pub use edit::{EditDraft, EditPlan, EditTargets, bulk_edit_answer};
pub use forms::{
    BULK_EDIT_BYTES_MAX, BULK_EDIT_FIELDS, BULK_EDIT_ISSUES_MAX, BULK_EDIT_STORED_BYTES_MAX,
    CREATE_FIELDS, EDIT_FIELDS, MESSAGE_FIELDS, NOTE_FIELDS, ParsedForm, read_bulk_edit,
    read_create, read_edit, read_message, read_note,
};
pub use kinds::{FieldKind, field_kind, is_required_field};
pub use merge::CustomFieldPatch;
pub use message::{
    MessageAuthor, NewMessage, message_answer, note_answer, plan_message, plan_note,
};
pub use record::{IssueRecord, IssueWriteError};
pub use redact::{RedactedIssue, RedactedPart, redact};
pub use requests::{
    AgentSelector, Assignment, BulkEditRequest, CreateRequest, EditRequest, MessageRequest,
    NoteRequest, Reference, References,
};
pub use same::in_one_spelling;

use crate::time::UnixMillis;

/// The time of a write, and the random number that makes its ids unique.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    pub at: UnixMillis,
    pub random: u64,
}
