//! The JSON bodies that write issues: the fields of the forms, with lists and maps as they are. A
//! null counts as absent, so every optional field may be null; many clients send all fields of a
//! type.

use caseload_model::ids::{FOREIGN_ID_CHARS_MAX, ISSUE_ID_MAX};
use caseload_model::issue::write::BULK_EDIT_ISSUES_MAX;
use caseload_model::issue::{MESSAGE_BODY_BYTES_MAX, TAG_CHARS_MAX, TAGS_MAX, TEXT_CHARS_MAX};
use serde_json::{Value, json};

use super::forms::{QUEUE, body, form, with_fields};
use crate::openapi::json::{null_value, schema};

pub(super) fn schemas() -> Value {
    let create = [
        ("message-body", body("The first message.")),
        ("email", text("The address of the author.")),
        ("title", text("The default is the message.")),
        ("author-name", text("The name of the author.")),
        ("tags", tags()),
        ("meta", meta()),
        ("custom_fields", custom_fields()),
        ("platform-type", word("The platform that creates the issue, such as `web`.")),
        ("platform-id", id("Accepted and ignored.")),
        ("app-id", id("The id of an app. The default is the app with the publish id `1`.")),
        ("language", word("The language of the issue.")),
        ("cc", texts("Further addresses.", TEXT_CHARS_MAX)),
        ("end_user_id", id("The id of the author's app profile.")),
        ("identifier", id("Another name of the author.")),
    ];
    let message = [
        ("message-body", body("The message.")),
        (
            "message-type",
            json!({"oneOf": [{"type": "string", "enum": ["Text"]}, {"type": "null"}]}),
        ),
        ("agent-id", id("The agent who writes. Without it, the author is the end user.")),
    ];
    let note = [
        ("note-text", required_text("The note.")),
        ("profile-id", id("The agent who writes. Without it, the author is the desk.")),
    ];
    json!({
        "IssueJson": object(&create, &["message-body"], 1),
        "MessageJson": object(&message, &["message-body"], 1),
        "NoteJson": object(&note, &["note-text"], 1),
        "EditJson": edit(),
        "BulkEditJson": bulk_edit(),
        "GivenCustomField": custom_field(),
    })
}

fn edit() -> Value {
    let fields = [
        ("title", text("The title.")),
        ("tags", tags()),
        ("meta", meta()),
        ("custom_fields", custom_fields()),
        ("status", status()),
        ("assignee-id", assignee()),
        ("assignee-email", text("The address of an agent.")),
        ("agent-profile-id", id("The agent who edits.")),
        ("queue_id", id(QUEUE)),
    ];
    object(&fields, &[], 1)
}

fn bulk_edit() -> Value {
    let ids = json!({
        "type": "array",
        "description": "The issues.",
        "minItems": 1,
        "maxItems": BULK_EDIT_ISSUES_MAX,
        "items": {"oneOf": [
            {"type": "integer", "minimum": 1, "maximum": ISSUE_ID_MAX},
            {"type": "string", "pattern": "^[0-9]+$"},
        ]},
    });
    let who = "The author of the message: the id or address of an agent, or any name.";
    let fields = [
        ("issue-ids", ids),
        ("tags", tags()),
        ("assignee-id", assignee()),
        ("assignee-email", text("The address of an agent.")),
        ("status", status()),
        ("message-body", long_text("A message from the desk to each issue.")),
        ("custom_fields", custom_fields()),
        ("action_taken_by", text(who)),
    ];
    object(&fields, &["issue-ids"], 2)
}

/// The value of a custom field, by its type, or null. One schema has all five, because the code
/// that a generator writes for a choice within a choice fails its type check.
fn custom_field() -> Value {
    let of = |kinds: Value, value: Value| {
        json!({
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"type": "string", "enum": kinds}, "value": value},
            "additionalProperties": false,
        })
    };
    json!({
        "description": "A custom field. Null in place of it removes the field in an edit.",
        "oneOf": [
            of(
                json!(["singleline", "multiline", "dropdown"]),
                json!({"type": ["string", "null"], "maxLength": TEXT_CHARS_MAX}),
            ),
            of(json!(["number"]), json!({"type": ["number", "null"]})),
            of(json!(["date"]), json!({
                "type": ["integer", "null"], "minimum": i64::MIN, "maximum": i64::MAX,
            })),
            of(json!(["checkbox"]), json!({"anyOf": [
                {"type": ["boolean", "null"]},
                {"type": "string", "enum": ["true", "false"]},
            ]})),
            null_value(),
        ],
    })
}

fn object(fields: &[(&str, Value)], required: &[&str], members_min: usize) -> Value {
    with_fields(members_min, form(fields, required))
}

fn text(description: &str) -> Value {
    json!({
        "type": ["string", "null"], "maxLength": TEXT_CHARS_MAX, "description": description,
    })
}

fn long_text(description: &str) -> Value {
    json!({
        "type": ["string", "null"],
        "maxLength": MESSAGE_BODY_BYTES_MAX,
        "description": description,
    })
}

fn required_text(description: &str) -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX, "description": description,
    })
}

fn word(description: &str) -> Value {
    json!({
        "type": ["string", "null"],
        "maxLength": FOREIGN_ID_CHARS_MAX,
        "description": description,
    })
}

/// An id. A number counts as its digits.
fn id(description: &str) -> Value {
    json!({
        "type": ["string", "integer", "null"],
        "maxLength": FOREIGN_ID_CHARS_MAX,
        "description": description,
    })
}

fn assignee() -> Value {
    id("The id of an agent, or `unassigned`.")
}

fn status() -> Value {
    json!({
        "oneOf": [schema("IssueState"), {"type": "null"}],
        "description": "The state, in upper or lower case.",
    })
}

fn texts(description: &str, chars_max: usize) -> Value {
    json!({
        "type": ["array", "null"],
        "description": description,
        "items": {"type": "string", "maxLength": chars_max},
    })
}

fn tags() -> Value {
    let mut tags = texts("All tags of the issue.", TAG_CHARS_MAX);
    tags["maxItems"] = TAGS_MAX.into();
    tags
}

fn meta() -> Value {
    json!({
        "type": ["object", "null"],
        "description": "Scalars become strings. In an edit, null removes a key.",
        "additionalProperties": true,
    })
}

fn custom_fields() -> Value {
    json!({
        "type": ["object", "null"],
        "description": "By key. In an edit, null removes a key.",
        "additionalProperties": schema("GivenCustomField"),
    })
}
