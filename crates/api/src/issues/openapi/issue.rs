//! The shape of issues: in answers, in the envelope, and as entries of an import. An entry has the
//! same members as an answer and accepts more forms of their values.

use caseload_model::ids::ISSUE_ID_MAX;
use caseload_model::issue::{ISSUE_MODE_DEFAULT, IssueState};
use serde_json::{Map, Value, json};

use crate::openapi::json::{into_members, schema};
use crate::openapi::parameters::instant;

/// The members of every issue, except `messages`, which `excludes` can remove.
const ALWAYS: [&str; 17] = [
    "id",
    "title",
    "tags",
    "app_id",
    "app_publish_id",
    "domain",
    "hs_user_id",
    "author_name",
    "author_email",
    "assignee_id",
    "assignee_name",
    "redacted",
    "state_data",
    "created_at",
    "updated_at",
    "issue_mode_data",
    "meta",
];

pub(super) fn schemas() -> Value {
    let any = any_instant();
    let states: Vec<_> = IssueState::ALL.iter().map(|state| state.as_str()).collect();
    json!({
        "Issue": {
            "type": "object",
            "description": "An issue in an answer.",
            "required": ALWAYS,
            "properties": fields(&any, &instant(), "Message", "PrivateNote"),
            "examples": [example()],
        },
        "DeleteIssue": {
            "type": "object",
            "description": "An entry of `delete_issues`.",
            "required": ["id"],
            "properties": {"id": {"oneOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": "^[0-9]+$"},
            ]}},
            "additionalProperties": false,
        },
        "IssueEntry": {
            "type": "object",
            "description": "An issue as an entry of `import_issues`, in the shape of lists with \
                            every word of `includes`. Only `created_at` is required, and null \
                            counts as absent. docs/api.md, \"Importing issues\", has the defaults \
                            of absent members. Scalars in `meta` become strings; `domain` is \
                            ignored.",
            "required": ["created_at"],
            "properties": fields(&any, &any, "MessageEntry", "PrivateNoteEntry"),
            "additionalProperties": false,
        },
        "IssueState": {"type": "string", "enum": states},
        "Message": message(&any_instant(), &["id", "body", "created_at", "origin", "author"]),
        "MessageEntry": message(&any_instant(), &[]),
        "PrivateNote": note(&any_instant(), &["body", "created_at"]),
        "PrivateNoteEntry": note(&any_instant(), &[]),
        "Person": person(),
        "Attachment": attachment(),
        "CustomField": {
            "type": "object",
            "description": "The value of a custom field: a string, a number for `number`, Unix \
                            milliseconds for `date`, a boolean or its word for `checkbox`.",
            "required": ["type"],
            "properties": {
                "type": {"type": "string", "enum": [
                    "singleline", "multiline", "number", "date", "dropdown", "checkbox",
                ]},
                "value": {"type": ["string", "number", "boolean", "null"]},
            },
        },
        "IssueEnvelope": envelope("issues", "Issue"),
        "IssueCursorEnvelope": cursor_envelope(),
        "MessageEnvelope": part_envelope("messages", "Message"),
        "PrivateNoteEnvelope": part_envelope("private_notes", "PrivateNote"),
    })
}

/// The envelope of a page of these records.
pub(crate) fn envelope(key: &str, record: &str) -> Value {
    let mut envelope = json!({
        "type": "object",
        "description": "A page. `total-hits` is exact, `total-pages` at least 1.",
        "required": ["page", "page-size", key, "total-hits", "total-pages"],
        "properties": {
            "page": {"type": "integer", "minimum": 1},
            "page-size": {"type": "integer", "minimum": 1, "maximum": 1000},
            "total-hits": {"type": "integer", "minimum": 0},
            "total-pages": {"type": "integer", "minimum": 1},
        },
    });
    envelope["properties"][key] = json!({"type": "array", "items": schema(record)});
    envelope
}

/// The envelope of a step by cursor of these records.
pub(crate) fn cursor_envelope_of(key: &str, record: &str) -> Value {
    let mut envelope = cursor_envelope();
    envelope["required"][2] = key.into();
    if let Some(properties) = envelope["properties"].as_object_mut() {
        properties.shift_remove("issues");
    }
    envelope["properties"][key] = json!({"type": "array", "items": schema(record)});
    envelope
}

fn cursor_envelope() -> Value {
    let token = json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$"});
    json!({
        "type": "object",
        "description": "A step of a list by cursor. It has totals only with `count=true`.",
        "required": ["page", "page-size", "issues", "next-cursor"],
        "properties": {
            "page": {
                "type": "integer",
                "minimum": 1,
                "description": "The number of answers so far, including this one.",
            },
            "page-size": {"type": "integer", "minimum": 1, "maximum": 1000},
            "issues": {"type": "array", "items": schema("Issue")},
            "total-hits": {"type": "integer", "minimum": 0},
            "total-pages": {"type": "integer", "minimum": 1},
            "next-cursor": {"oneOf": [token, {"type": "null"}]},
        },
    })
}

/// The envelope of a list of one issue, by page or by cursor.
fn part_envelope(key: &str, record: &str) -> Value {
    let mut envelope = cursor_envelope();
    envelope["description"] = "A part of a list. By page it has totals; by cursor it has \
                               `next-cursor`, and totals with `count=true`."
        .into();
    envelope["required"] = json!(["page", "page-size", key]);
    let mut properties = into_members(envelope["properties"].take());
    properties.shift_remove("issues");
    properties.insert(key.to_owned(), json!({"type": "array", "items": schema(record)}));
    envelope["properties"] = properties.into();
    envelope
}

/// Unix milliseconds, or the ISO form with milliseconds. It has no `format`, because clients that
/// turn a `date-time` into a date of their language do so with a number, too.
fn any_instant() -> Value {
    let iso = json!({
        "type": "string",
        "description": "ISO 8601.",
        "examples": ["2023-01-01T02:21:46.000Z"],
    });
    json!({"oneOf": [instant(), iso]})
}

fn fields(time: &Value, changed_at: &Value, message: &str, note: &str) -> Map<String, Value> {
    let all = [head(time, changed_at), optional_members(message, note)];
    all.into_iter().flat_map(into_members).collect()
}

/// The members that are always included, and those about the origin of the issue.
fn head(time: &Value, changed_at: &Value) -> Value {
    let text = || json!({"type": "string"});
    json!({
        "id": {"type": "integer", "format": "int64", "minimum": 1, "maximum": ISSUE_ID_MAX},
        "title": text(),
        "tags": {"type": "array", "items": text()},
        "app_id": text(),
        "app_publish_id": text(),
        "domain": text(),
        "hs_user_id": {"type": "string", "description": "The `pid` of the author's app profile."},
        "author_name": text(),
        "author_email": text(),
        "assignee_id": {
            "type": "string",
            "description": "The id of an agent, or `unassigned`.",
        },
        "assignee_name": {"type": ["string", "null"]},
        "redacted": {"type": "boolean"},
        "state_data": {
            "type": "object",
            "required": ["state", "changed_at"],
            "properties": {"state": schema("IssueState"), "changed_at": changed_at},
        },
        "created_at": time,
        "original_created_at": time,
        "updated_at": time,
        "language": text(),
        "platform_type": text(),
        "issue_mode_data": {
            "type": "object",
            "required": ["issue_mode"],
            "properties": {"issue_mode": {
                "type": "string",
                "description": format!(
                    "`{ISSUE_MODE_DEFAULT}` if the issue came without a mode."
                ),
            }},
        },
        "cc": {"type": "array", "items": text()},
    })
}

/// The members that `includes` and `excludes` choose.
fn optional_members(message: &str, note: &str) -> Value {
    let text = || json!({"type": "string"});
    json!({
        "messages": {"type": "array", "items": schema(message)},
        "meta": {
            "type": "object",
            "description": "Strings, and maps of strings such as `application` and `hardware`.",
            "additionalProperties": true,
        },
        "custom_fields": {"type": "object", "additionalProperties": schema("CustomField")},
        "feedback_rating": {"type": "integer", "minimum": 1, "maximum": 5},
        "feedback_comment": text(),
        "queue": {
            "type": ["object", "null"],
            "description": "Null if the issue is in no queue.",
            "required": ["id", "name"],
            "properties": {"id": text(), "name": text()},
        },
        "private_notes": {"type": "array", "items": schema(note)},
        "current_predict_label": text(),
        "original_predict_label": text(),
        "sentiment_analysis": {"type": "object", "additionalProperties": true},
        "smart_intents": {"type": "object", "additionalProperties": true},
    })
}

fn message(time: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "required": required,
        "properties": {
            "id": {"type": "string"},
            "body": {"type": "string", "description": "It may contain markup."},
            "created_at": time,
            "origin": {"type": "string", "enum": ["end-user", "helpshift"]},
            "author": schema("Person"),
            "attachments": {"type": "array", "minItems": 1, "items": schema("Attachment")},
            "attachment": schema("Attachment"),
            "intent_labels": {"type": "array", "items": {}},
            "sentiment": {"type": "object", "additionalProperties": true},
            "type": {"type": "string"},
        },
    })
}

fn note(time: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "required": required,
        "properties": {
            "id": {"type": "string"},
            "body": {"type": "string"},
            "created_at": time,
            "author": schema("Person"),
        },
    })
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "id": {"type": "string", "description": "An app profile's `pid`, or an agent's id."},
            "emails": {"type": "array", "items": {"type": "string"}},
            "phone_number": {"type": "string"},
        },
    })
}

fn attachment() -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": {"type": "string"},
            "file_name": {"type": "string"},
            "content_type": {"type": "string"},
            "size": {"type": "integer", "minimum": 0, "description": "Bytes."},
        },
    })
}

/// An issue as the list shows it.
pub(super) fn example() -> Value {
    json!({
        "id": 12,
        "title": "No mail since noon",
        "tags": ["billing"],
        "app_id": "acme_app_20260101000000000-1370923e4e06ab6",
        "app_publish_id": "1",
        "domain": "acme",
        "hs_user_id": "acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
        "author_name": "Ada",
        "author_email": "ada@example.org",
        "assignee_id": "unassigned",
        "assignee_name": null,
        "redacted": false,
        "state_data": {"state": "new", "changed_at": 1_767_225_600_000_u64},
        "created_at": 1_767_225_600_000_u64,
        "updated_at": 1_767_225_600_000_u64,
        "issue_mode_data": {"issue_mode": ISSUE_MODE_DEFAULT},
        "messages": [{
            "id": "acme_message_20260101000000000-7e7211c0966b107",
            "body": "Nothing arrives.",
            "created_at": 1_767_225_600_000_u64,
            "origin": "end-user",
            "author": {
                "name": "Ada",
                "id": "acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
                "emails": ["ada@example.org"],
            },
        }],
        "meta": {},
    })
}
