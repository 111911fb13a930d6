//! The kinds of fields of the writing calls, for bodies that are JSON: there a list or a map is a
//! value of its own, not a text with JSON. A form has texts only and does not need this.

use super::forms::{BULK_EDIT_FIELDS, CREATE_FIELDS, EDIT_FIELDS, MESSAGE_FIELDS, NOTE_FIELDS};
use crate::spelling::same_name;
use crate::tags::{ADD_TAGS, REMOVE_TAGS};

/// Fields with a list or a map.
const STRUCTURED: [&str; 7] =
    ["tags", ADD_TAGS, REMOVE_TAGS, "meta", "custom_fields", "cc", "issue-ids"];
/// Fields with the id of a record. Some systems number their records.
const IDS: [&str; 9] = [
    "app-id",
    "platform-id",
    "end_user_id",
    "identifier",
    "agent-id",
    "profile-id",
    "agent-profile-id",
    "assignee-id",
    "queue_id",
];
/// Fields with a text of the calls that administer a domain.
const ADMINISTRATION: [&str; 4] = ["name", "access", "desk_name", "desk_email"];
/// Fields that their calls require.
const REQUIRED: [&str; 3] = ["message-body", "note-text", "issue-ids"];

/// The kind of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    Text,
    /// An id; a whole number counts as its digits.
    Id,
    /// A list or a map.
    Structured,
}

/// The kind of a field, in either spelling; `None` if no call has such a field.
pub fn field_kind(name: &str) -> Option<FieldKind> {
    let is_in = |names: &[&str]| names.iter().any(|known| same_name(known, name));
    let calls = [CREATE_FIELDS, MESSAGE_FIELDS, NOTE_FIELDS, EDIT_FIELDS, BULK_EDIT_FIELDS];
    if is_in(&STRUCTURED) {
        Some(FieldKind::Structured)
    } else if is_in(&IDS) {
        Some(FieldKind::Id)
    } else {
        let is_text = calls.iter().any(|fields| is_in(fields)) || is_in(&ADMINISTRATION);
        is_text.then_some(FieldKind::Text)
    }
}

/// Whether a call that has this field requires it.
pub fn is_required_field(name: &str) -> bool {
    REQUIRED.iter().any(|known| same_name(known, name))
}
