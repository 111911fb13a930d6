//! The task record, lists of tasks, the forms of a new task, and the parameters of all these.

use caseload_model::task::{Action, Family, Outcome, PAYLOAD_ENTRIES_MAX, TaskStatus};
use serde_json::{Value, json};

use crate::openapi::json::{
    array, closed, described, integer, merged, names, object, record, schema, text, words,
};
use crate::openapi::parameters::{header, instant, query, query_words, spelled};

/// The id of the task in examples.
pub(crate) const TASK_ID: &str = "019b7716-2a80-7c3e-9a51-0f3c8d1e4b22";

pub(crate) fn parameters() -> Value {
    let statuses = names(TaskStatus::ALL, TaskStatus::as_str);
    let condition = |name, about| header(name, about, json!({"type": "string"}));
    json!({
        "task_id": {
            "name": "task_id",
            "in": "path",
            "required": true,
            "description": "The id of a task of this path.",
            "schema": {"type": "string", "format": "uuid"},
            "example": TASK_ID,
        },
        "status": query_words("status", "Tasks in one of these states.", &statuses),
        "action-identity": actions(Family::Identity),
        "action-issues": actions(Family::Issues),
        "wait": query(
            "wait",
            "The most seconds to hold the answer back until the task is completed; the default is \
             0.",
            json!({"type": "integer", "minimum": 0, "maximum": 60}),
        ),
        "format": query(
            "format",
            "The format of the records. Without it, `Accept` chooses between `application/json`, \
             JSON lines and `text/csv`.",
            json!({"type": "string", "enum": ["json", "jsonl", "ndjson", "csv"]}),
        ),
        "download": query(
            "download",
            "Whether to answer with a gzip file of the chosen format.",
            json!({"type": "boolean"}),
        ),
        "If-None-Match": condition(
            "If-None-Match",
            "The tags of answers that the caller already has; a match is answered with 304.",
        ),
        "Range": condition("Range", "One range of bytes of the plain file, answered with 206."),
        "If-Range": condition("If-Range", "The tag of the file that the range belongs to."),
    })
}

fn actions(family: Family) -> Value {
    let shown = Action::ALL.iter().filter(|action| action.family() == family);
    let actions: Vec<_> = shown.map(|action| action.as_str()).collect();
    query_words("action", "Tasks of one of these actions.", &actions)
}

pub(super) fn schemas() -> Value {
    json!({
        "Task": task(),
        "TaskEnvelope": record(
            "A page of tasks, newest first.",
            &["page", "page-size", "tasks", "total-hits", "total-pages"],
            json!({
                "page": {"type": "integer", "minimum": 1},
                "page-size": {"type": "integer", "minimum": 1, "maximum": 1000},
                "tasks": array(schema("Task")),
                "total-hits": {"type": "integer", "minimum": 0},
                "total-pages": {"type": "integer", "minimum": 1},
            }),
        ),
        "Action": words(&names(Action::ALL, Action::as_str)),
        "TaskStatus": words(&names(TaskStatus::ALL, TaskStatus::as_str)),
        "Outcome": words(&names(Outcome::ALL, Outcome::as_str)),
        "IdentityTaskForm": form(Family::Identity, array_payload(Family::Identity)),
        "IdentityTaskUpload": form(Family::Identity, file_payload(Family::Identity)),
        "IssueTaskForm": form(Family::Issues, array_payload(Family::Issues)),
        "IssueTaskUpload": form(Family::Issues, file_payload(Family::Issues)),
        "IdentityTaskJson": body(Family::Identity),
        "IssueTaskJson": body(Family::Issues),
        "NoFields": no_fields("This call takes no fields."),
        "NoFieldsJson": no_fields("This call takes no members."),
    })
}

fn task() -> Value {
    json!({
        "type": "object",
        "description": "A bulk action task. Its `status` goes from `created` to `completed`, the \
                        only end; `succeeded + failed + unprocessed = total` at every moment.",
        "required": [
            "task_id", "action", "status", "progress", "errors", "results", "outcome", "dry_run",
            "counts", "warnings", "created_at", "queued_at", "started_at", "completed_at",
            "expires_at", "file_name", "content_length", "submitted_by", "links",
        ],
        "properties": merged([json!({
            "task_id": {"type": "string", "format": "uuid"},
            "action": schema("Action"),
            "status": schema("TaskStatus"),
            "progress": {
                "type": "integer",
                "minimum": 0,
                "maximum": 100,
                "description": "Percent. It never falls, and is 100 exactly from completion on.",
            },
            "errors": {"type": "boolean", "description": "At least one entry failed."},
            "results": {"type": "boolean", "description": "The results can be read."},
            "outcome": {
                "description": "How the task ended; null until then. \
                                `completed_with_errors`: at least one entry failed. `cancelled`: \
                                entries remained unprocessed. `failed`: five attempts met a \
                                fault of the server.",
                "oneOf": [schema("Outcome"), {"type": "null"}],
            },
            "dry_run": {"type": "boolean", "description": "The task writes nothing."},
            "upsert": {
                "type": "boolean",
                "description": "Only on an import that replaces issues: true.",
            },
            "warnings": integer(0, "The number of warnings in the result records."),
            "position": integer(0, "Only while the task waits, and not in the answer to POST: how \
                                    many writing tasks of the domain precede it."),
        }), course(), deaths(), origin()]),
        "examples": [task_example(Action::CreateCoreProfiles)],
    })
}

/// The members that change while a task runs, and the links.
fn course() -> Value {
    let time = |about| {
        let null = json!({"type": ["integer", "null"], "format": "int64", "minimum": 0});
        described(about, null)
    };
    let path = |about| described(about, json!({"type": "string", "format": "uri-reference"}));
    json!({
        "counts": counts(PAYLOAD_ENTRIES_MAX as u32),
        "created_at": described("When the task was accepted: Unix milliseconds.", instant()),
        "queued_at": time("When the task was queued; null before."),
        "started_at": time("When a server began the task; null before."),
        "completed_at": time("When its last entry had been applied; null before."),
        "expires_at": time("From then on payload, results and errors are a 404 `expired`."),
        "links": object(&["self", "results", "errors"], json!({
            "self": path("The task."),
            "results": path("Its results."),
            "errors": path("Its errors."),
        })),
    })
}

/// The counts of at most so many entries.
pub(crate) fn counts(entries_max: u32) -> Value {
    let count = |about| {
        let count = json!({"type": "integer", "minimum": 0, "maximum": entries_max});
        described(about, count)
    };
    object(
        &["total", "succeeded", "failed", "unprocessed"],
        json!({
            "total": count("Entries of the payload."),
            "succeeded": count("Entries with a result record."),
            "failed": count("Entries with an error record."),
            "unprocessed": count("Entries that were not tried yet, or are not tried."),
        }),
    )
}

/// The members about servers that died.
fn deaths() -> Value {
    json!({
        "server_deaths": integer(1, "Only while the task is unfinished: how many servers died \
                                     while they worked on it, since an entry of it was committed."),
        "next_try_at": {
            "type": "integer",
            "format": "int64",
            "description": "Only while the task waits because a server died: when a server tries \
                            it again.",
        },
    })
}

/// The members about the payload, its sender, and other tasks of the same entries.
fn origin() -> Value {
    json!({
        "file_name": {
            "type": ["string", "null"],
            "description": "The name of the payload file, without folders and control characters; \
                            of a name over 255 characters, the end. Null without one.",
        },
        "content_length": {
            "type": "integer",
            "format": "int64",
            "minimum": 0,
            "description": "Bytes of the payload, without compression and the form around it; of \
                            a retry, of its entries as lines.",
        },
        "submitted_by": submitter(),
        "import_id": text("Only on a task of an import: the import."),
        "parent_task_id": text("Only on a retry, or the run of a dry run: the task whose entries \
                                it runs."),
        "run_by": text("Only on a dry run whose payload was run: the task that runs it."),
        "retried_by": text("Only on a task that was retried: its retry."),
    })
}

/// The key that submitted a task or an import.
pub(crate) fn submitter() -> Value {
    record(
        "The key that submitted it, with its name at that time.",
        &["key_id", "key_name"],
        json!({
            "key_id": text("The id of the API key."),
            "key_name": text("The name of the API key."),
        }),
    )
}

/// A task that has just been accepted.
pub(crate) fn task_example(action: Action) -> Value {
    let this =
        format!("https://desk.example/v2/acme/{}/bulk_actions/{TASK_ID}", action.family().as_str());
    json!({
        "task_id": TASK_ID,
        "action": action.as_str(),
        "status": "queued",
        "progress": 0,
        "errors": false,
        "results": false,
        "outcome": null,
        "dry_run": false,
        "counts": {"total": 2, "succeeded": 0, "failed": 0, "unprocessed": 2},
        "warnings": 0,
        "created_at": 1_767_225_600_000_u64,
        "queued_at": 1_767_225_600_000_u64,
        "started_at": null,
        "completed_at": null,
        "expires_at": 1_769_817_600_000_u64,
        "file_name": "people.jsonl",
        "content_length": 4711,
        "submitted_by": {"key_id": "k1", "key_name": "nightly"},
        "links": {
            "self": this,
            "results": format!("{this}/results"),
            "errors": format!("{this}/errors"),
        },
    })
}

/// Completes the example of a task or an import, with one failed entry.
pub(super) fn complete(task: &mut Value) {
    task["status"] = "completed".into();
    task["progress"] = 100.into();
    for name in ["errors", "results"] {
        if let Some(member) = task.get_mut(name) {
            *member = true.into();
        }
    }
    task["outcome"] = "completed_with_errors".into();
    task["counts"] = json!({"total": 2, "succeeded": 1, "failed": 1, "unprocessed": 0});
    task["started_at"] = 1_767_225_600_004_u64.into();
    task["completed_at"] = 1_767_225_600_017_u64.into();
}

fn no_fields(description: &str) -> Value {
    json!({"type": "object", "description": description, "maxProperties": 0})
}

/// The fields of a new task.
fn form(family: Family, payload: Value) -> Value {
    let actions: Vec<_> = Action::of_family(family).map(Action::as_str).collect();
    let dry_run = "With `true` the task writes nothing; its results and errors show what it would \
                   do.";
    let upsert = "Only of `import_issues`. With `true` an entry replaces the issue that has its \
                  id, if their content differs; without it, that is an `id_conflict`.";
    let mut fields = vec![
        ("action", words(&actions)),
        ("payload", payload),
        ("dry_run", described(dry_run, json!({"type": "boolean"}))),
    ];
    if family == Family::Issues {
        fields.push(("upsert", described(upsert, json!({"type": "boolean"}))));
    }
    closed(object(&["action", "payload"], spelled(fields)))
}

/// The JSON body of a new task. A wrong entry is an error of the task and not of the request, so
/// the schema of the payload accepts any entry.
fn body(family: Family) -> Value {
    let payload = json!({
        "type": "array",
        "description": "One map per entry. A fault of a single entry is reported in the errors of \
                        the task.",
        "minItems": 1,
        "maxItems": PAYLOAD_ENTRIES_MAX,
        "items": {},
        "x-entry-schema": entry(family),
    });
    let mut body = form(family, payload);
    for name in ["dry_run", "upsert"] {
        if let Some(field) = body["properties"].get_mut(name) {
            field["type"] = json!(["boolean", "null"]);
        }
    }
    body
}

/// The names of the schemas of an entry and of a result, by action.
const fn schemas_of(action: Action) -> (&'static str, &'static str) {
    match action {
        Action::CreateCoreProfiles => ("CreateCoreProfile", "CreatedCoreProfile"),
        Action::UpdateCoreProfiles => ("UpdateCoreProfile", "UpdatedCoreProfile"),
        Action::UpsertCoreProfiles => ("UpsertCoreProfile", "UpsertedCoreProfile"),
        Action::DeleteCoreProfiles => ("DeleteCoreProfile", "DeletedProfile"),
        Action::UpdateAppProfiles => ("UpdateAppProfile", "UpdatedAppProfile"),
        Action::DeleteAppProfiles => ("GetAppProfile", "DeletedProfile"),
        Action::GetCoreProfiles => ("GetCoreProfile", "CoreProfile"),
        Action::GetAppProfiles => ("GetAppProfile", "AppProfile"),
        Action::ImportIssues => ("IssueEntry", "ImportedIssue"),
        Action::DeleteIssues => ("DeleteIssue", "ImportedIssue"),
        Action::ErasePerson => ("ErasureForm", "ErasureReceipt"),
    }
}

/// An entry of any action of the family.
fn entry(family: Family) -> Value {
    any_of(Action::of_family(family).map(|action| schemas_of(action).0))
}

/// A result of any action of the family.
pub(super) fn result(family: Family) -> Value {
    let shown = Action::ALL.iter().filter(|action| action.family() == family);
    any_of(shown.map(|action| schemas_of(*action).1))
}

fn any_of(names: impl Iterator<Item = &'static str>) -> Value {
    let mut schemas = Vec::new();
    for schema in names.map(schema) {
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
    }
    match schemas.as_slice() {
        [one] => one.clone(),
        _ => json!({"anyOf": schemas}),
    }
}

fn array_payload(family: Family) -> Value {
    json!({
        "type": "string",
        "format": "json-array",
        "description": "A JSON array with one map per entry. A fault of a single entry is reported \
                        in the errors of the task.",
        "contentMediaType": "application/json",
        "contentSchema": {
            "type": "array",
            "minItems": 1,
            "maxItems": PAYLOAD_ENTRIES_MAX,
            "items": entry(family),
        },
    })
}

fn file_payload(family: Family) -> Value {
    json!({
        "type": "string",
        "format": "json-lines",
        "description": "A file of JSON lines, one map per line, or one JSON array: 1 to 10000 \
                        entries.",
        "contentMediaType": "application/x-ndjson",
        "x-line-schema": entry(family),
    })
}
