//! The shape of issues: in answers, in the envelope, and as entries of an import. An entry has the
//! same members as an answer and accepts more forms of their values.

use caseload_model::ids::ISSUE_ID_MAX;
use caseload_model::issue::{ISSUE_MODE_DEFAULT, IssueState};
use serde_json::{Value, json};

use crate::openapi::json::{
    array, closed, described, integer, map, merged, names, object, record, schema, string, text,
    words,
};
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
    let sent = instant_in(
        "Unix milliseconds, also as a text, or ISO 8601: with or without seconds, a fraction of 1 \
         to 9 digits (cut to milliseconds) and an offset (without one it is UTC), or a date alone.",
    );
    let any = instant_in("Unix milliseconds, or ISO 8601 with `timestamp-format=iso-8601`.");
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
        "IssueEntry": closed(record(
            "An issue as an entry of `import_issues`, in the shape of lists with every word of \
             `includes`. Only `created_at` is required, and null counts as absent; the guide has \
             the defaults of absent members (docs/api.md, \"Importing issues\"). Scalars in `meta` \
             become strings; `domain` is ignored.",
            &["created_at"],
            merged([
                fields(&sent, &sent, "MessageEntry", "PrivateNoteEntry"),
                json!({"assignee_email": text(
                    "The address of the assignee, if `assignee_id` is absent. An agent without an \
                     id gets one.",
                )}),
            ]),
        )),
        "IssueState": words(&names(IssueState::ALL, IssueState::as_str)),
        "Message": message(&any, &["id", "body", "created_at", "origin", "author"]),
        "MessageEntry": message(&sent, &[]),
        "PrivateNote": note(&any, &["body", "created_at"]),
        "PrivateNoteEntry": note(&sent, &[]),
        "Person": person(),
        "Attachment": attachment(),
        "CustomField": record(
            "The value of a custom field: a string, a number of at most 4,000 \
             characters for `number`, Unix milliseconds for `date` (also sent as ISO 8601), a \
             boolean or its word for `checkbox`.",
            &["type"],
            json!({
                "type": {"type": "string", "enum": [
                    "singleline", "multiline", "number", "date", "dropdown", "checkbox",
                ]},
                "value": {
                    "type": ["string", "number", "boolean", "null"],
                    "description": "Without a value, or with null, the field is not set.",
                },
            }),
        ),
        "IssueEnvelope": envelope("issues", "Issue"),
        "IssueCursorEnvelope": cursor_envelope("issues", "Issue"),
        "MessageEnvelope": part_envelope("messages", "Message"),
        "PrivateNoteEnvelope": part_envelope("private_notes", "PrivateNote"),
    })
}

/// The envelope of a page of these records.
pub(crate) fn envelope(key: &str, kind: &str) -> Value {
    record(
        "A page. `total-hits` is exact, `total-pages` at least 1.",
        &["page", "page-size", key, "total-hits", "total-pages"],
        envelope_members("The page, from 1.", key, kind),
    )
}

/// The envelope of a step by cursor of these records.
pub(crate) fn cursor_envelope(key: &str, kind: &str) -> Value {
    let page = "The number of answers so far, including this one.";
    let mut members = envelope_members(page, key, kind);
    let token = json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$"});
    members["next-cursor"] = described(
        "The `cursor` of the next request; null at the end.",
        json!({"oneOf": [token, {"type": "null"}]}),
    );
    let about = "A step of a list by cursor. It has totals only with `count=true`.";
    record(about, &["page", "page-size", key, "next-cursor"], members)
}

/// The envelope of a list of one issue, by page or by cursor.
fn part_envelope(key: &str, kind: &str) -> Value {
    let about = "A part of a list. By page it has totals; by cursor it has `next-cursor`, and \
                 totals with `count=true`.";
    let mut envelope = described(about, cursor_envelope(key, kind));
    envelope["required"] = json!(["page", "page-size", key]);
    envelope
}

/// The members that all envelopes of issues and profiles share.
fn envelope_members(page: &str, key: &str, kind: &str) -> Value {
    let size = json!({"type": "integer", "minimum": 1, "maximum": 1000});
    json!({
        "page": integer(1, page),
        "page-size": described("The most records of an answer.", size),
        key: array(schema(kind)),
        "total-hits": integer(0, "All records that match."),
        "total-pages": integer(1, "The pages that they fill."),
    })
}

/// A number or a text. It has no `format`, because clients that turn a `date-time` into a date of
/// their language do so with a number, too.
fn instant_in(forms: &str) -> Value {
    let iso = json!({
        "type": "string",
        "description": "ISO 8601.",
        "examples": ["2023-01-01T02:21:46.000Z"],
    });
    json!({
        "description": forms,
        "oneOf": [instant(), iso],
    })
}

fn fields(time: &Value, changed_at: &Value, message: &str, note: &str) -> Value {
    merged([head(time, changed_at), optional_members(message, note)])
}

/// The members that are always included, and those about the origin of the issue.
fn head(time: &Value, changed_at: &Value) -> Value {
    let texts = |about| described(about, array(string()));
    let mode = format!("`{ISSUE_MODE_DEFAULT}` if the issue came without a mode.");
    let id = json!({"type": "integer", "format": "int64", "minimum": 1, "maximum": ISSUE_ID_MAX});
    json!({
        "id": described("The number of the issue in its domain.", id),
        "title": text("The title; it may be empty."),
        "tags": texts("The tags of the issue."),
        "app_id": text("The app through which the issue came."),
        "app_publish_id": text("The publish id of that app."),
        "domain": text("The domain of the issue."),
        "hs_user_id": text("The `pid` of the author's app profile."),
        "author_name": text("The name of the author; it may be empty."),
        "author_email": text("The address of the author; it may be empty."),
        "assignee_id": text("The id of an agent, or `unassigned`."),
        "assignee_name": {
            "type": ["string", "null"],
            "description": "The name of the agent; null if the issue is unassigned.",
        },
        "redacted": {"type": "boolean", "description": "Whether the issue was redacted."},
        "state_data": object(
            &["state", "changed_at"],
            json!({"state": schema("IssueState"), "changed_at": changed_at}),
        ),
        "created_at": time,
        "original_created_at": described(
            "Only of an import whose creation time was shifted: the time that was given.",
            time.clone(),
        ),
        "updated_at": time,
        "language": text("The language of the issue, if it is known."),
        "platform_type": text("The platform, if it is known."),
        "issue_mode_data": object(&["issue_mode"], json!({"issue_mode": text(&mode)})),
        "cc": texts("Further addresses, if there are any."),
    })
}

/// The members that `includes` and `excludes` choose.
fn optional_members(message: &str, note: &str) -> Value {
    let label = || described("With `predict_labels`.", string());
    let rating = json!({"type": "integer", "minimum": 1, "maximum": 5});
    json!({
        "messages": described(
            "In the order in which they were written or imported, unless `excludes` names them.",
            array(schema(message)),
        ),
        "meta": described(
            "Strings, and maps of strings such as `application` and `hardware`.",
            map(),
        ),
        "custom_fields": described(
            "With `custom_fields`, and always on a single issue: the fields by key.",
            json!({"type": "object", "additionalProperties": schema("CustomField")}),
        ),
        "feedback_rating": described("With `feedback`, if the issue is rated.", rating),
        "feedback_comment": described("With `feedback`, if there is a comment.", string()),
        "queue": {
            "type": ["object", "null"],
            "description": "With `queue`. Null if the issue is in no queue.",
            "required": ["id", "name"],
            "properties": {"id": string(), "name": string()},
        },
        "private_notes": described(
            "With `private_notes`.",
            array(schema(note)),
        ),
        "current_predict_label": label(),
        "original_predict_label": label(),
        "sentiment_analysis": described("With `sentiment_analysis`.", map()),
        "smart_intents": described("With `smart_intents`.", map()),
    })
}

fn message(time: &Value, required: &[&str]) -> Value {
    object(
        required,
        json!({
            "id": text("The id of the message."),
            "body": text("It may contain markup."),
            "created_at": time,
            "origin": {
                "type": "string",
                "enum": ["end-user", "helpshift"],
                "description": "Who wrote it: the end user, or an agent or the desk \
                                (`helpshift`).",
            },
            "author": schema("Person"),
            "attachments": {
                "type": "array",
                "minItems": 1,
                "items": schema("Attachment"),
                "description": "Only if the message has files; `attachment` is the first of them.",
            },
            "attachment": schema("Attachment"),
            "intent_labels": {"type": "array", "items": {}},
            "sentiment": map(),
            "type": string(),
        }),
    )
}

fn note(time: &Value, required: &[&str]) -> Value {
    object(
        required,
        json!({
            "id": string(),
            "body": string(),
            "created_at": time,
            "author": schema("Person"),
        }),
    )
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": text("The name."),
            "id": text("An app profile's `pid`, or an agent's id."),
            "emails": described(
                "Addresses. A message of the desk's side has at least one.",
                array(string()),
            ),
            "phone_number": string(),
        },
    })
}

fn attachment() -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": text("It begins with `http://` or `https://`, or is a path, and has no part \
                         `..`. A file of this server ends in `/v1/{domain}/attachments/{id}`."),
            "file_name": text("Without folders and without hidden characters, which are control \
                               characters and those that change the direction of a text."),
            "content_type": text("The media type of the file."),
            "size": integer(0, "Bytes."),
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
