//! The description of erasures: the form, the answer of a dry run, and the receipt, which is the
//! result of the task.

use caseload_model::erasure::ERASURE_FIELDS;
use caseload_model::error_code::ErrorCode;
use caseload_model::task::Action;
use serde_json::{Map, Value, json};

use crate::admin::openapi::FORM_ERRORS;
use crate::bulk_actions::openapi::task::task_example;
use crate::openapi::json::{
    array, closed, described, integer, map, object, record, schema, string, text, words,
};
use crate::openapi::operation::{Operation, json_content};
use crate::openapi::parameters::spelled;

const DESCRIPTION: &str = "Finds the person by one of `identity`, `core-profile-id` and `pid`, and \
    makes a task that erases them: core and app profiles, the issues that they are the author of, \
    and their entries in the payloads, results and errors of tasks. Everything that shares an \
    identity or a pid with them counts as theirs; `dry_run` shows the ids first, with a key that \
    may only read, and `tasks` shows what tasks hold. Issues are \
    redacted, and tags, notes and messages of the desk stay; `issues=delete` deletes them. \
    The task is one of the issues, and its result is a receipt. Writing tasks that were accepted \
    later still run.";

const TASKS: &str = "Of a dry run: `*`, or the `next-tasks` of its last answer. Some tasks are \
    shown, with their entries and records of the person, and `counts` has the `entries` and \
    `records` of these. Writing tasks that are not completed are left out.";

/// The errors that are not those of any form.
const ERRORS: [ErrorCode; 4] = [
    ErrorCode::NotFound,
    ErrorCode::IdempotencyInProgress,
    ErrorCode::IdempotencyKeyReused,
    ErrorCode::QueueFull,
];

pub(crate) fn paths() -> Value {
    let example = json!({"identity": "email:ada@example.org"});
    let body = json!({"required": true, "content": json_content(schema("ErasureForm"), example)});
    let answer = json_content(schema("ErasureReceipt"), receipt());
    let headers = ["Location", "Idempotent-Replayed"];
    let mut task = task_example(Action::ErasePerson);
    task["counts"] = json!({"total": 1, "succeeded": 0, "failed": 0, "unprocessed": 1});
    task["file_name"] = Value::Null;
    let task = json_content(schema("Task"), task);
    let operation =
        Operation::guarded("createErasure", "administration", "Erase a person", DESCRIPTION)
            .takes(["domain", "Idempotency-Key"])
            .body(body)
            .answers(200, "The counts and ids of a dry run.", &[], &answer)
            .answers(201, "The task.", &headers, &task)
            .fails(&FORM_ERRORS)
            .fails(&ERRORS);
    json!({"/v1/{domain}/erasures": {"post": operation.build()}})
}

fn receipt() -> Value {
    json!({
        "counts": {
            "core_profiles": 1, "app_profiles": 1, "issues": 2, "messages": 5, "attachments": 0,
            "entries": 1, "records": 3,
        },
        "core_profile_ids": ["1767225600000001"],
        "pids": ["acme_profile_5f0c91d2a7b4"],
        "issue_ids": [17, 42],
        "erased_at": null,
    })
}

pub(crate) fn schemas() -> Value {
    let identity = "`TYPE:VALUE`, such as `email:ada@example.org`.";
    let fields = vec![
        ("identity", described(identity, string())),
        ("core-profile-id", string()),
        ("pid", string()),
        ("issues", described("`redact` if it is not given.", words(&["redact", "delete"]))),
        ("dry_run", described("With `true` nothing is erased.", json!({"type": "boolean"}))),
        ("tasks", described(TASKS, string())),
    ];
    assert_eq!(fields.len(), ERASURE_FIELDS.len(), "every field is described");
    let count = json!({"type": "integer", "minimum": 0});
    let names = [
        "core_profiles",
        "app_profiles",
        "issues",
        "messages",
        "attachments",
        "entries",
        "records",
    ];
    let counts: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), count.clone())).collect();
    let members = ["counts", "core_profile_ids", "pids", "issue_ids", "erased_at"];
    json!({
        "ErasureForm": closed(object(&[], spelled(fields))),
        "ErasureReceipt": object(&members, json!({
            "counts": object(&names, counts.into()),
            "core_profile_ids": array(string()),
            "pids": array(string()),
            "issue_ids": array(count),
            "erased_at": {"type": ["integer", "null"], "description": "`null` of a dry run."},
            "tasks": described("With `tasks`.", array(schema("PersonTask"))),
            "next-tasks": described(
                "With `tasks`: the `tasks` of the next request; null at the end.",
                json!({"type": ["string", "null"]}),
            ),
        })),
        "PersonTask": record(
            "The entries and records of a task that hold a person.",
            &["task_id", "action", "entries", "results", "errors"],
            json!({
                "task_id": string(),
                "action": string(),
                "entries": array(schema("PersonEntry")),
                "results": described("Result records of the person.", array(map())),
                "errors": described("Error records of the person.", array(map())),
            }),
        ),
        "PersonEntry": record(
            "A stored entry of a payload. It has `entry` or `raw`.",
            &["index", "line"],
            json!({
                "index": integer(0, "0-based among the entries."),
                "line": integer(1, "The line of the file."),
                "entry": described("The entry as the caller sent it.", map()),
                "raw": text("Instead of `entry`, the text of an entry that is not a map."),
                "rows": described("The rows of the file that it was made of.", array(string())),
            }),
        ),
    })
}
