//! The description of the log of changes: its parameters, a page, and a change. The words of
//! resources and actions are those of the model.

use caseload_model::change::{ChangeAction, Resource, WAIT_SECONDS_MAX};
use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::openapi::json::{
    array, described, integer, map, names, object, or_null, record, schema, string, text, words,
};
use crate::openapi::operation::{Operation, QUERY, add_lines, json_content};
use crate::openapi::parameters::{BOUND_FORMS, bound, header, instant, query, query_words};

pub(crate) fn paths() -> Value {
    json!({"/v1/{domain}/changes": {"get": list()}})
}

fn example() -> Value {
    json!({
        "position": "42",
        "at": 1_767_225_600_000_u64,
        "resource": "issue",
        "id": "12",
        "action": "updated",
        "fields": ["state"],
        "by": {"key_id": "k-1", "key_name": "desk"},
        "request_id": "0c7d1a3e",
        "changes": {"state": {"from": "new", "to": "resolved"}},
    })
}

fn list() -> Value {
    let page = json!({"changes": [example()], "next-cursor": "42"});
    let lines = format!("{}\n{{\"end\":true,\"count\":1,\"next-cursor\":\"42\"}}\n", example());
    let mut content = json_content(schema("ChangePage"), page);
    let about = "All changes up to the present end, one per line, and a last line with their \
                 number. A stream without that line was cut.";
    add_lines(&mut content, about, &lines);
    content["text/event-stream"] = json!({
        "schema": text("Each change is an event as it is committed; its id is its position. A \
                        comment shows that the stream is alive."),
        "example": format!("id: 42\ndata: {}\n\n", example()),
    });
    Operation::guarded(
        "listChanges",
        "changes",
        "Follow all changes",
        "Every committed change of the domain, in the order of the commits. Take a cursor with \
         `cursor=latest`, read the records, then follow the log from that cursor: no change is \
         missing, imports of old issues included. A page that is empty and has the cursor of its \
         request is the end; an empty page with another cursor goes on, because none of many \
         changes matched. As JSON lines it is a stream of all changes up to the present end; with \
         `Accept: text/event-stream` a tail that goes on.",
    )
    .takes(["domain", "change-cursor", "change-since", "resources", "actions", "record-ids"])
    .takes(["by-task", "by-key", "page-size", "change-wait", "change-includes", "collapse"])
    .takes(["change-format", "trailer", "Last-Event-ID"])
    .answers(200, "Some changes, oldest first.", &[], &content)
    .fails(&QUERY)
    .fails(&[ErrorCode::CursorExpired])
    .build()
}

pub(crate) fn parameters() -> Value {
    let ids = |name: &str, description: &str, example: &str| {
        let mut parameter = query_words(name, description, &[example]);
        // Any other text is sent in a JSON array.
        let item = json!({"type": "string", "pattern": "^[A-Za-z0-9_.-]+$"});
        parameter["schema"]["items"] = item;
        parameter
    };
    json!({
        "change-cursor": query(
            "cursor",
            "The place to read from: empty or `*` for the oldest change, which is the \
             default; `latest` for the changes from now on; or `next-cursor` of an answer, which \
             is the position of the last change that it looked at. Filters may differ from those \
             of that answer.",
            json!({"type": "string", "pattern": r"^([0-9]*|\*|latest)$"}),
        ),
        "change-since": query(
            "since",
            &format!("In place of `cursor`: from the first change at this time. {BOUND_FORMS}"),
            bound(),
        ),
        "resources": query_words(
            "resources",
            "Changes of these kinds of records.",
            &names(Resource::ALL, Resource::as_str),
        ),
        "actions": query_words(
            "actions",
            "Changes of these kinds.",
            &names(ChangeAction::ALL, ChangeAction::as_str),
        ),
        "record-ids": ids("ids", "Changes of the records with these ids.", "12"),
        "by-task": ids(
            "by-task",
            "Changes by these tasks.",
            "019b7716-2a80-7c3e-9a51-0f3c8d1e4b22",
        ),
        "by-key": ids("by-key", "Changes by single calls with these keys, by id.", "k-1"),
        "change-wait": query(
            "wait",
            "The most seconds to hold a page back until a change matches; the default is 0.",
            json!({"type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX}),
        ),
        "change-includes": query_words(
            "includes",
            "`record` shows issues, profiles and tasks with their changes, with every member that \
             can be included, as they are when the page is read; null if one is gone.",
            &["record"],
        ),
        "collapse": query(
            "collapse",
            "Whether a page has only the last change of each record. `page-size` counts the \
             changes before that.",
            json!({"type": "boolean"}),
        ),
        "change-format": query(
            "format",
            "The format. Without it, `Accept` chooses between `application/json`, JSON lines and \
             `text/event-stream`.",
            words(&["json", "jsonl", "ndjson"]),
        ),
        "Last-Event-ID": header(
            "Last-Event-ID",
            "Of a stream of events: continues after this event, in place of `cursor`.",
            string(),
        ),
    })
}

pub(crate) fn schemas() -> Value {
    json!({
        "ChangePage": object(
            &["changes", "next-cursor"],
            json!({
                "changes": array(schema("Change")),
                "next-cursor": text("The cursor of the next page. Never null."),
            }),
        ),
        "Change": record(
            "A committed effect on one record.",
            &["position", "at", "resource", "id", "action", "fields"],
            json!({
                "position": text("Digits. Greater than those of all earlier changes."),
                "at": instant(),
                "resource": words(&names(Resource::ALL, Resource::as_str)),
                "id": text("The id of the record."),
                "action": words(&names(ChangeAction::ALL, ChangeAction::as_str)),
                "fields": described("The fields that changed.", array(string())),
                "by": schema("ChangeAuthor"),
                "request_id": text("The request that did it, if one call did."),
                "changes": described(
                    "Of issues: old and new values of `state`, `assignee_id`, `queue`, `tags` and \
                     `title` as maps with `from` and `to`; `messages.added` has ids, \
                     `private_notes.added` a number.",
                    map(),
                ),
                "record": or_null(described("With `includes=record`: the record as it is.", map())),
            }),
        ),
        "ChangeAuthor": record(
            "Who did it: a key by a single call, a task, or a command of the operator.",
            &[],
            json!({
                "key_id": string(),
                "key_name": text("The name that the key had then."),
                "task_id": string(),
                "index": integer(0, "The entry of the task."),
                "command": text("Begins with `caseload`."),
            }),
        ),
    })
}
