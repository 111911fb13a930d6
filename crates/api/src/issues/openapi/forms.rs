//! The forms that write issues, field by field. A form can only carry JSON as text, so such a field
//! is a text with the schema of its content. An empty optional field counts as absent, except a
//! title. Each content type of a call has a schema of its own, even with equal fields: generated
//! clients choose the content type by the class of the body.

use caseload_model::ids::{FOREIGN_ID_CHARS_MAX, ISSUE_ID_MAX};
use caseload_model::issue::{
    IssueState, MESSAGE_BODY_BYTES_MAX, TAG_CHARS_MAX, TAGS_MAX, TEXT_CHARS_MAX,
};
use serde_json::{Map, Value, json};

use crate::openapi::json::{or_null, schema};
use crate::openapi::parameters::spellings;

/// The most issues of one edit.
const EDITED_ISSUES_MAX: usize = 5000;

pub(super) fn schemas() -> Value {
    let create = [
        ("message-body", body("The first message.")),
        ("email", text("The address of the author.", TEXT_CHARS_MAX)),
        ("title", text("The default is the message.", TEXT_CHARS_MAX)),
        ("author-name", text("The name of the author.", TEXT_CHARS_MAX)),
        ("tags", tags()),
        ("meta", meta()),
        ("custom_fields", custom_fields()),
        ("platform-type", id("The platform that creates the issue, such as `web`.")),
        ("platform-id", id("Accepted and ignored.")),
        ("app-id", id("The id of an app. The default is the app with the publish id `1`.")),
        ("language", id("The language of the issue.")),
        ("cc", texts("Further addresses.", TEXT_CHARS_MAX)),
        ("end_user_id", id("The id of the author's app profile.")),
        ("identifier", text("Another name of the author.", TEXT_CHARS_MAX)),
    ];
    let message = [
        ("message-body", body("The message.")),
        ("message-type", json!({"type": "string", "enum": ["Text"]})),
        ("agent-id", id("The agent who writes. Without it, the author is the end user.")),
    ];
    let note = [
        ("note-text", required_text("The note.", TEXT_CHARS_MAX)),
        (
            "profile-id",
            id("The agent who writes. Without it, the author is the desk of the domain."),
        ),
    ];
    let files = [("attachment", file()), ("attachments", files())];
    json!({
        "IssueForm": form(&create, &["message-body"]),
        "IssueUpload": form(&[&create[..], &files].concat(), &["message-body"]),
        "MessageForm": form(&message, &["message-body"]),
        "MessageUpload": form(&[&message[..], &files].concat(), &["message-body"]),
        "NoteForm": form(&note, &["note-text"]),
        "NoteUpload": form(&note, &["note-text"]),
        "EditForm": edit(),
        "EditUpload": edit(),
        "BulkEditForm": bulk_edit(),
        "BulkEditUpload": bulk_edit(),
    })
}

/// The description of the queue in an edit.
pub(super) const QUEUE: &str = "The id of a queue. A move to another queue unassigns the issue, \
    unless the edit names an assignee.";

fn edit() -> Value {
    let fields = [
        ("title", json!({"type": "string", "maxLength": TEXT_CHARS_MAX})),
        ("tags", tags()),
        ("meta", meta()),
        ("custom_fields", custom_fields()),
        ("status", status()),
        ("assignee-id", assignee()),
        ("assignee-email", text("The address of an agent.", TEXT_CHARS_MAX)),
        ("agent-profile-id", id("The agent who edits.")),
        ("queue_id", id(QUEUE)),
    ];
    with_fields(1, form(&fields, &[]))
}

fn bulk_edit() -> Value {
    let id = json!({"oneOf": [
        {"type": "integer", "minimum": 1, "maximum": ISSUE_ID_MAX},
        {"type": "string", "pattern": "^[0-9]+$"},
    ]});
    let ids = json!({
        "type": "array", "minItems": 1, "maxItems": EDITED_ISSUES_MAX, "items": id,
    });
    let who = "The author of the message: the id or address of an agent, or any name.";
    let fields = [
        ("issue-ids", json_text("json-ids", "The issues.", ids)),
        ("tags", tags()),
        ("assignee-id", assignee()),
        ("assignee-email", text("The address of an agent.", TEXT_CHARS_MAX)),
        ("status", status()),
        ("message-body", text("A message from the desk to each issue.", MESSAGE_BODY_BYTES_MAX)),
        ("custom_fields", custom_fields()),
        ("action_taken_by", text(who, TEXT_CHARS_MAX)),
    ];
    with_fields(2, form(&fields, &["issue-ids"]))
}

/// A form with at least `number` fields, so that an edit changes something. The descriptions of the
/// calls name the fields that change nothing by themselves.
pub(super) fn with_fields(number: usize, mut form: Value) -> Value {
    form["minProperties"] = number.into();
    form
}

pub(super) fn form(fields: &[(&str, Value)], required: &[&str]) -> Value {
    let spelled = fields.iter().map(|(name, field)| {
        let mut field = field.clone();
        if let Some(both) = spellings(name) {
            field["x-spellings"] = json!(both);
        }
        ((*name).to_owned(), field)
    });
    json!({
        "type": "object",
        "required": required,
        "properties": spelled.collect::<Map<_, _>>(),
        "additionalProperties": false,
    })
}

fn text(description: &str, chars_max: usize) -> Value {
    json!({"type": "string", "maxLength": chars_max, "description": description})
}

fn required_text(description: &str, chars_max: usize) -> Value {
    let mut text = text(description, chars_max);
    text["minLength"] = 1.into();
    text
}

/// An id. An empty one counts as absent.
fn id(description: &str) -> Value {
    text(description, FOREIGN_ID_CHARS_MAX)
}

pub(super) fn body(description: &str) -> Value {
    let description = format!("{description} At most {MESSAGE_BODY_BYTES_MAX} bytes.");
    json!({"type": "string", "minLength": 1, "description": description})
}

fn status() -> Value {
    let states: Vec<_> = IssueState::ALL.iter().map(|state| state.as_str()).collect();
    json!({"type": "string", "enum": states, "description": "The state, in upper or lower case."})
}

fn assignee() -> Value {
    id("The id of an agent, or `unassigned`.")
}

/// A text that holds JSON.
fn json_text(format: &str, description: &str, content: Value) -> Value {
    json!({
        "type": "string",
        "format": format,
        "description": description,
        "contentMediaType": "application/json",
        "contentSchema": content,
    })
}

fn texts(description: &str, chars_max: usize) -> Value {
    let text = json!({"type": "string", "maxLength": chars_max});
    json_text("json-texts", description, json!({"type": "array", "items": text}))
}

fn tags() -> Value {
    let mut tags = texts("All tags of the issue.", TAG_CHARS_MAX);
    tags["contentSchema"]["maxItems"] = TAGS_MAX.into();
    tags
}

fn meta() -> Value {
    let map = json!({"type": "object", "additionalProperties": true});
    json_text("json-map", "Scalars become strings. In an edit, null removes a key.", map)
}

fn custom_fields() -> Value {
    let map = json!({"type": "object", "additionalProperties": or_null(schema("CustomField"))});
    json_text("json-custom-fields", "By key. In an edit, null removes a key.", map)
}

fn file() -> Value {
    json!({
        "type": "string",
        "format": "binary",
        "contentMediaType": "application/octet-stream",
        "description": "A file, at most 25 MiB.",
    })
}

fn files() -> Value {
    json!({"type": "array", "items": file(), "description": "Several files: repeat the part."})
}
