//! The operations that write issues, and their answers. The module `forms` describes their bodies.
//! A test compares these with the fields that the model reads.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::openapi::json::{array, map, object, or_null, schema, string};
use crate::openapi::operation::{Operation, json_content};
use crate::openapi::parameters::instant;

/// The errors of every form with an idempotency key.
const FORM: [ErrorCode; 11] = [
    ErrorCode::InvalidRequest,
    ErrorCode::UnknownParameter,
    ErrorCode::ConflictingParameter,
    ErrorCode::InvalidValue,
    ErrorCode::OutOfRange,
    ErrorCode::MissingField,
    ErrorCode::TooMany,
    ErrorCode::TooLarge,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::IdempotencyInProgress,
    ErrorCode::IdempotencyKeyReused,
];
/// The headers of an answer about a new record, and about a changed one.
const CREATED: &[&str] = &["Location", "Idempotent-Replayed"];
const EDITED: &[&str] = &["Idempotent-Replayed"];

pub(super) fn create() -> Value {
    let answer = json!({
        "created_at": 1_767_225_600_000_u64,
        "id": "13",
        "title": "Nothing arrives.",
        "tags": [],
        "meta": {},
        "custom_fields": {},
    });
    let operation = writing(
        "createIssue",
        "Create an issue",
        "Tags, keys of custom fields and dropdown choices need no registration. Without an \
         identity the author is a new profile.",
    );
    let form = json!({"message-body": "Nothing arrives.", "email": "ada@example.org"});
    operation
        .takes(["domain", "Idempotency-Key"])
        .body(bodies("Issue", &form, &form))
        .answers(201, "The issue.", CREATED, &json_content(schema("CreatedIssue"), answer))
        .links(
            201,
            json!({
                "issue": {
                    "operationId": "getIssue",
                    "description": "The whole issue.",
                    "parameters": {
                        "domain": "$request.path.domain",
                        "issue_id": "$response.body#/id",
                    },
                },
            }),
        )
        .build()
}

pub(super) fn message() -> Value {
    let answer = json!({"added-message": {"body": "Now it works.", "type": "Text"}});
    let form = json!({"message-body": "Now it works."});
    writing(
        "addMessage",
        "Add a message",
        "The author is the agent of `agent-id`, or without it the end user. The message may change \
         the state of the issue: docs/api.md, \"Writing issues\".",
    )
    .takes(["domain", "issue_id", "Idempotency-Key"])
    .body(bodies("Message", &form, &form))
    .answers(201, "The message.", CREATED, &json_content(schema("NewMessage"), answer))
    .fails(&[ErrorCode::NotFound])
    .build()
}

pub(super) fn note() -> Value {
    let answer = json!({"added-note": "called back"});
    let form = json!({"note-text": "called back"});
    writing("addPrivateNote", "Add a private note", "Only agents see it.")
        .takes(["domain", "issue_id", "Idempotency-Key"])
        .body(bodies("Note", &form, &form))
        .answers(201, "The note.", CREATED, &json_content(schema("NewNote"), answer))
        .fails(&[ErrorCode::NotFound])
        .build()
}

pub(super) fn edit() -> Value {
    let answer = json!({"updated-data": {"status": "resolved"}});
    let form = json!({"status": "resolved"});
    writing(
        "editIssue",
        "Edit an issue",
        "`tags` replace all tags. With `add_tags` and `remove_tags`, two people who tag an issue \
         lose nothing. `custom_fields` and `meta` merge by key. At least one field changes \
         something: an empty one counts as absent, except `title`, and `agent-profile-id` only \
         names the editor. The answer has the changed members.",
    )
    .takes(["domain", "issue_id", "Idempotency-Key"])
    .body(bodies("Edit", &form, &form))
    .answers(200, "The changed members.", EDITED, &json_content(schema("EditedIssue"), answer))
    .fails(&[ErrorCode::NotFound])
    .build()
}

pub(super) fn delete() -> Value {
    let description = "The issue is gone with its messages, notes and attachments, as after a task \
                       with the action `delete_issues`. Needs a write key.";
    Operation::guarded("deleteIssue", "issues", "Delete an issue", description)
        .takes(["domain", "issue_id"])
        .deletes("The issue is deleted.")
        .build()
}

pub(super) fn edit_many() -> Value {
    let answer = json!({"issue-count": 2, "edit-info": {"status": "resolved"}});
    writing(
        "editIssues",
        "Edit many issues",
        "At least one field changes something: an empty one counts as absent, and \
         `action_taken_by` only names the author. The edit is one transaction: with any fault, \
         such as an unknown id, it changes nothing.",
    )
    .takes(["domain", "Idempotency-Key"])
    .body(bodies(
        "BulkEdit",
        &json!({"issue-ids": "[12,13]", "status": "resolved"}),
        &json!({"issue-ids": [12, 13], "status": "resolved"}),
    ))
    .answers(200, "The edit that was made.", EDITED, &json_content(schema("EditedIssues"), answer))
    .build()
}

fn writing(id: &str, summary: &str, description: &str) -> Operation {
    let description = format!("{description} Needs a write key.");
    Operation::guarded(id, "issues", summary, &description).fails(&FORM)
}

/// The three content types, by the schemas `{name}Form`, `{name}Upload` and `{name}Json`, with the
/// example of both forms and that of a JSON body. JSON comes first, because a generator may make
/// the arguments of the first type and then send them as JSON.
fn bodies(name: &str, form: &Value, body: &Value) -> Value {
    let media =
        |kind, example| json!({"schema": schema(&format!("{name}{kind}")), "example": example});
    json!({
        "required": true,
        "content": {
            "application/json": media("Json", body),
            "application/x-www-form-urlencoded": media("Form", form),
            "multipart/form-data": media("Upload", form),
        },
    })
}

pub(super) fn schemas() -> Value {
    let fields = || json!({"type": "object", "additionalProperties": schema("CustomField")});
    let patch = json!({"type": "object", "additionalProperties": or_null(schema("CustomField"))});
    let files = || json!({"type": "array", "minItems": 1, "items": schema("Attachment")});
    let created = ["created_at", "id", "title", "tags", "meta", "custom_fields"];
    json!({
        "CreatedIssue": object(&created, json!({
            "created_at": instant(),
            "id": {"type": "string", "description": "Digits.", "pattern": "^[0-9]+$"},
            "title": string(),
            "tags": array(string()),
            "meta": map(),
            "custom_fields": fields(),
            "attachment": schema("Attachment"),
            "attachments": files(),
        })),
        "NewMessage": object(&["added-message"], json!({
            "added-message": object(&["body", "type"], json!({
                "body": string(),
                "type": {"type": "string", "const": "Text"},
                "attachment": schema("Attachment"),
                "attachments": files(),
            })),
        })),
        "NewNote": object(&["added-note"], json!({"added-note": string()})),
        "EditedIssue": object(&["updated-data"], json!({
            "updated-data": object(&[], json!({
                "status": schema("IssueState"),
                "assignee": string(),
                "title": string(),
                "tags": array(string()),
                "meta": map(),
                "custom_fields": patch.clone(),
                "queue_id": string(),
            })),
        })),
        "EditedIssues": object(&["issue-count", "edit-info"], json!({
            "issue-count": {"type": "integer", "minimum": 1},
            "edit-info": object(&[], json!({
                "message-body": string(),
                "status": schema("IssueState"),
                "assignee": string(),
                "assignee-id": string(),
                "tags": array(string()),
                "add_tags": array(string()),
                "remove_tags": array(string()),
                "custom_fields": patch,
            })),
            "action_taken_by": string(),
        })),
    })
}
