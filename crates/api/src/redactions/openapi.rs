//! The description of redactions: the form, the answer to it, and the state of one.

use caseload_model::erasure::{REDACTION_FIELDS, REDACTION_STATUSES, REDACTIONS_MAX};
use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::admin::openapi::FORM_ERRORS;
use crate::openapi::json::{
    array, closed, described, integer, object, record, schema, string, text, words,
};
use crate::openapi::operation::{Operation, json_content};
use crate::openapi::parameters::{instant, path_id, spelled};

const CREATE: &str = "Redacts parts of issues, in the form that clients of the API family send. \
    Each request names one thing: `title` and `issue` an `issue_id`, `message` a `message_id`, \
    `attachment` an `attachment_id`; `issue` and `user` also a person by `email`, `hs_user_id` or \
    `external_user_id`. `issue` redacts everything of end users and leaves the person; `user` \
    makes the task of an erasure. Everything else is done when the answer comes, all in one \
    transaction. A request that cannot be carried out has a `reason`, and the others are carried \
    out. Earlier titles of the issues go from the log of changes, and a repeat of an earlier write \
    of them has effect again. The payloads and errors of tasks stay until they expire; an erasure \
    takes them, too. A message is looked for in all issues.";

const GET: &str = "The state of a redaction. That of issues is known as long as the log of changes \
    is stored; that of a `user` is the state of its task.";

/// The errors of the form that are not those of any form.
const ERRORS: [ErrorCode; 4] = [
    ErrorCode::QueryTooExpensive,
    ErrorCode::IdempotencyInProgress,
    ErrorCode::IdempotencyKeyReused,
    ErrorCode::QueueFull,
];
const QUERY_ERRORS: [ErrorCode; 3] =
    [ErrorCode::UnknownParameter, ErrorCode::TooMany, ErrorCode::NotFound];

const EXAMPLE_ID: &str = "17-1767225600000-0-1";

pub(crate) fn paths() -> Value {
    let request = json!({"redaction_type": "title", "property": "issue_id", "value": "17"});
    let body = json!({
        "required": true,
        "content": json_content(schema("RedactionForm"), json!({"requests": [request]})),
    });
    let outcome = json!({"success": true, "redaction_id": EXAMPLE_ID});
    let answer = json_content(schema("RedactionAnswer"), json!({"response": [outcome]}));
    let state = json!({
        "redaction_id": EXAMPLE_ID,
        "status": "done",
        "issue_ids": [17],
        "task_id": null,
        "created_at": 1_767_225_600_000_u64,
        "completed_at": 1_767_225_600_000_u64,
    });
    let create =
        Operation::guarded("createRedactions", "administration", "Redact parts of issues", CREATE)
            .takes(["domain", "Idempotency-Key"])
            .body(body)
            .answers(200, "An outcome for each request.", &["Idempotent-Replayed"], &answer)
            .fails(&FORM_ERRORS)
            .fails(&ERRORS);
    let get = Operation::guarded("getRedaction", "administration", "Read a redaction", GET)
        .takes(["domain", "redaction_id"])
        .answers(200, "The state.", &[], &json_content(schema("Redaction"), state))
        .fails(&QUERY_ERRORS);
    json!({
        "/v1/{domain}/redactions": {"post": create.build()},
        "/v1/{domain}/redactions/{redaction_id}": {"get": get.build()},
    })
}

pub(crate) fn parameters() -> Value {
    json!({"redaction_id": path_id("redaction_id", "The id of a redaction.", EXAMPLE_ID)})
}

pub(crate) fn schemas() -> Value {
    let types = ["message", "issue", "user", "attachment", "title"];
    let properties =
        ["email", "issue_id", "hs_user_id", "external_user_id", "attachment_id", "message_id"];
    let of_app = "The publish id of an app: only issues of this app. The erasure of a `user` has \
                  no such limit.";
    let request = record(
        "A redaction of one thing.",
        &["redaction_type", "property", "value"],
        json!({
            "redaction_type": words(&types),
            "property": words(&properties),
            "value": text("The id or the address. A number is accepted, too."),
            "app_publish_id": text(of_app),
            "external_redaction_id": text("A name of the caller's choice, which the answer has."),
            "author": text("Accepted and not used: the log of changes names the key."),
        }),
    );
    let mut requests = array(schema("RedactionRequest"));
    requests["minItems"] = json!(1);
    requests["maxItems"] = json!(REDACTIONS_MAX);
    let fields = vec![("requests", described("In a form, a JSON array.", requests))];
    assert_eq!(fields.len(), REDACTION_FIELDS.len(), "every field is described");
    let mut completed = instant();
    completed["type"] = json!(["integer", "null"]);
    let members = ["redaction_id", "status", "issue_ids", "task_id", "created_at", "completed_at"];
    json!({
        "RedactionForm": closed(object(&["requests"], spelled(fields))),
        "RedactionRequest": closed(request),
        "RedactionAnswer": object(&["response"], json!({
            "response": array(schema("RedactionOutcome")),
        })),
        "RedactionOutcome": record("The outcome of one request.", &["success"], json!({
            "success": {"type": "boolean"},
            "redaction_id": text("Missing if nothing was redacted."),
            "reason": text("Why nothing was redacted."),
            "external_redaction_id": string(),
        })),
        "Redaction": record("The state of a redaction.", &members, json!({
            "redaction_id": string(),
            "status": words(&REDACTION_STATUSES),
            "issue_ids": described(
                "The issues that were redacted; empty for a `user`, whose task has a receipt.",
                array(integer(1, "The id of an issue.")),
            ),
            "task_id": {"type": ["string", "null"], "description": "The task of a `user`."},
            "created_at": instant(),
            "completed_at": completed,
        })),
    })
}
