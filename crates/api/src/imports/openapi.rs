//! The description of imports: the paths that tasks do not have, the record and the form.

use caseload_model::error_code::ErrorCode;
use caseload_model::import::IMPORT_ENTRIES_MAX;
use caseload_model::task::{Action, Family};
use serde_json::{Map, Value, json};

use super::example::{IMPORT_ID, import_example};
use super::options::fields_of;
use crate::bulk_actions::SubjectKind;
use crate::bulk_actions::openapi::mending::{entry_lines, shared};
use crate::bulk_actions::openapi::paths::{BulkPaths, FORM_ERRORS};
use crate::bulk_actions::openapi::task::{counts, submitter};
use crate::openapi::json::{
    array, closed, described, integer, merged, object, record, schema, text, words,
};
use crate::openapi::operation::{QUERY, add_lines, add_table, json_content};
use crate::openapi::parameters::{instant, spelled};

pub(crate) fn paths() -> Value {
    let all = Family::ALL.iter().flat_map(|family| {
        let paths = BulkPaths::of(*family, SubjectKind::Import);
        let own = [
            (paths.all(), json!({"get": list(&paths), "post": create(&paths)})),
            (paths.one("/rejects"), json!({"get": rejects(&paths)})),
            (format!("{}/preview", paths.all()), json!({"post": preview(&paths)})),
        ];
        own.into_iter().chain(paths.shared()).chain(shared(&paths))
    });
    Value::Object(all.collect::<Map<_, _>>())
}

pub(crate) fn parameters() -> Value {
    json!({"import_id": {
        "name": "import_id",
        "in": "path",
        "required": true,
        "description": "The id of an import of this path.",
        "schema": {"type": "string", "format": "uuid"},
        "example": IMPORT_ID,
    }})
}

pub(crate) fn schemas() -> Value {
    json!({
        "FileImport": import(),
        "ImportFormat": format(),
        "ImportEnvelope": record(
            "A page of imports, newest first.",
            &["page", "page-size", "imports", "total-hits", "total-pages"],
            json!({
                "page": {"type": "integer", "minimum": 1},
                "page-size": {"type": "integer", "minimum": 1, "maximum": 1000},
                "imports": array(schema("FileImport")),
                "total-hits": {"type": "integer", "minimum": 0},
                "total-pages": {"type": "integer", "minimum": 1},
            }),
        ),
        "ImportPreview": import_preview(),
        "IdentityImportForm": form(Family::Identity),
        "IssueImportForm": form(Family::Issues),
    })
}

fn import() -> Value {
    let time = |about| {
        let null = json!({"type": ["integer", "null"], "format": "int64", "minimum": 0});
        described(about, null)
    };
    let path = |about| described(about, json!({"type": "string", "format": "uri-reference"}));
    json!({
        "type": "object",
        "description": "A file as tasks of at most 10000 entries each; state, counts and warnings \
                        are the sums of its tasks.",
        "required": [
            "import_id", "action", "status", "progress", "outcome", "dry_run", "counts",
            "warnings", "created_at", "started_at", "completed_at", "expires_at", "file_name",
            "content_length", "format", "columns", "tasks", "submitted_by", "links",
        ],
        "properties": merged([json!({
            "import_id": {"type": "string", "format": "uuid"},
            "action": schema("Action"),
            "status": schema("TaskStatus"),
            "progress": {"type": "integer", "minimum": 0, "maximum": 100},
            "outcome": {
                "description": "The worst outcome of its tasks; null until all are completed.",
                "oneOf": [schema("Outcome"), {"type": "null"}],
            },
            "dry_run": {"type": "boolean", "description": "The import writes nothing."},
            "upsert": {
                "type": "boolean",
                "description": "Only on an import that replaces issues: true.",
            },
            "counts": counts(IMPORT_ENTRIES_MAX),
            "warnings": integer(0, "The number of warnings in the result records."),
            "created_at": described("When the import was accepted: Unix milliseconds.", instant()),
            "started_at": time("When its first task began; null before."),
            "completed_at": time("When its last task completed; null before."),
            "expires_at": described("From then on entries and records are gone.", instant()),
            "links": object(&["self", "results", "errors"], json!({
                "self": path("The import."),
                "results": path("Its results."),
                "errors": path("Its errors."),
            })),
        }), file_members()]),
        "examples": [import_example(Action::CreateCoreProfiles)],
    })
}

/// The members about the file, its sender, and other imports of the same entries.
fn file_members() -> Value {
    json!({
        "file_name": {
            "type": ["string", "null"],
            "description": "The name of the file, without folders; null without one.",
        },
        "content_length": {
            "type": "integer",
            "format": "int64",
            "minimum": 0,
            "description": "Bytes of the file, unpacked; of a retry, of its entries as lines.",
        },
        "format": schema("ImportFormat"),
        "columns": {
            "type": "object",
            "description": "The field of each column of a table; null for one that was left out.",
            "additionalProperties": {"type": ["string", "null"]},
        },
        "tasks": described(
            "The ids of its tasks in the order of the file.",
            array(json!({"type": "string", "format": "uuid"})),
        ),
        "submitted_by": submitter(),
        "parent_import_id": text("Only on a retry, or the run of a dry run: the import whose \
                                  entries it runs."),
        "run_by": text("Only on a dry run that was run: the import that runs it."),
        "retried_by": text("Only on an import that was retried: its retry."),
        "repeat_of": text("Only if the same file was imported before with the same options: that \
                           import."),
        "doubles": described(
            "Only if entries without an id were in an earlier import, of which something was \
             created, and so are created a second time: the import that had most of them.",
            object(&["import_id", "created_at", "entries", "without_id"], json!({
                "import_id": text("The earlier import."),
                "created_at": described("When it was created.", instant()),
                "entries": described(
                    "How many entries it had, too. Above 256 entries without an id this is an \
                     estimate, and less than 1 % is none.",
                    json!({"type": "integer", "minimum": 1}),
                ),
                "without_id": described(
                    "How many entries of this import have no id.",
                    json!({"type": "integer", "minimum": 1}),
                ),
            })),
        ),
    })
}

fn format() -> Value {
    let or_null = |about| described(about, json!({"type": ["string", "null"]}));
    record(
        "How the file was read.",
        &["type", "encoding", "delimiter"],
        json!({
            "type": words(&["jsonl", "json", "csv", "xlsx"]),
            "encoding": or_null("The encoding of the text; null in a workbook."),
            "delimiter": or_null("The sign between the cells of a table."),
            "sheet": text("Only of a workbook: the sheet."),
        }),
    )
}

fn list(paths: &BulkPaths) -> Value {
    let record = paths.completed();
    let line = format!("{record}\n");
    let example = json!({
        "page": 1, "page-size": 100, "imports": [record], "total-hits": 1, "total-pages": 1,
    });
    let action = match paths.family {
        Family::Identity => "action-identity",
        Family::Issues => "action-issues",
    };
    let mut page = json_content(schema("ImportEnvelope"), example);
    add_lines(&mut page, "The imports of the page, one per line.", &line);
    let table = "import_id,action,status\r\n0198f0c2,create_core_profiles,completed\r\n";
    add_table(&mut page, "The imports of the page, one per row.", table);
    paths
        .operation("list", "s", "List imports", "The imports of this path, newest first.")
        .takes(["status", action, "outcome", "task-created-since", "task-created-until"])
        .takes(["task-dry-run", "parent_import_id", "submitted_by"])
        .takes(["page", "page-size", "list-format", "bom", "spreadsheet", "If-None-Match"])
        .answers(200, "A page of imports.", &["Link", "ETag"], &page)
        .answers(304, "The caller already has the list.", &["ETag"], &Value::Null)
        .fails(&QUERY)
        .fails(&[ErrorCode::PageTooDeep, ErrorCode::QueryTooExpensive])
        .build()
}

/// The body with a file.
fn body(paths: &BulkPaths) -> Value {
    let form = match paths.family {
        Family::Identity => "IdentityImportForm",
        Family::Issues => "IssueImportForm",
    };
    let action = paths.action.as_str();
    json!({
        "required": true,
        "content": {"multipart/form-data": {
            "schema": schema(form),
            "encoding": {"file": {"contentType": "application/octet-stream"}},
            "example": {"action": action, "file": "E-mail;Notes\r\nada@example.org;\r\n"},
        }},
    })
}

/// The errors of a form with a file that other forms with entries do not have.
const FILE_ERRORS: [ErrorCode; 3] =
    [ErrorCode::RoundedIds, ErrorCode::TooLarge, ErrorCode::UnsupportedMediaType];

fn preview(paths: &BulkPaths) -> Value {
    let example = json!({
        "format": {"type": "csv", "encoding": "utf-8", "delimiter": ";"},
        "columns": [{
            "name": "E-mail",
            "field": "identities.email",
            "why": "a known name",
            "samples": ["ada@example.org"],
            "warnings": [],
        }],
        "errors": [],
        "entries": [{
            "line": 2,
            "entry": {"identities": [{"email": "ada@example.org"}]},
            "errors": [],
            "warnings": [],
        }],
    });
    paths
        .operation(
            "preview",
            "",
            "See how a file would be read",
            "Takes the form of an import, reads at most the first MiB of the file, and writes \
             nothing. The first 20 entries are shown as they would be sent, with the faults and \
             warnings that need no stored data.",
        )
        .body(body(paths))
        .answers(200, "The preview.", &[], &json_content(schema("ImportPreview"), example))
        .fails(&FORM_ERRORS)
        .fails(&FILE_ERRORS)
        .build()
}

fn import_preview() -> Value {
    object(
        &["format", "columns", "errors", "entries"],
        json!({
            "format": schema("ImportFormat"),
            "columns": array(object(&["name", "field", "why", "samples", "warnings"], json!({
                "name": text("The name of the column, or `#3` for the third."),
                "field": described("Null if it is left out.", json!({"type": ["string", "null"]})),
                "why": described("The reason.", json!({"type": ["string", "null"]})),
                "samples": described("Some of its cells.", array(json!({"type": "string"}))),
                "warnings": described("Its oddities.", array(json!({"type": "string"}))),
            }))),
            "errors": described(
                "Faults of the header that are not those of one column.",
                array(json!({"type": "string"})),
            ),
            "entries": array(object(&["line", "entry", "errors", "warnings"], json!({
                "line": integer(1, "Of the file."),
                "entry": {"description": "The entry; a text if it cannot be read."},
                "errors": array(schema("EntryFault")),
                "warnings": array(schema("EntryWarning")),
            }))),
        }),
    )
}

fn create(paths: &BulkPaths) -> Value {
    let record = paths.content(paths.example());
    paths
        .operation(
            "create",
            "",
            "Import a file",
            "Reads a file of any format, known by its content, and answers once all of it is \
             durable. The options come before the part `file`. A file that is refused leaves \
             nothing; a fault of a single entry is reported in the errors of the import. A read \
             key may make dry runs.",
        )
        .takes(["Idempotency-Key"])
        .body(body(paths))
        .answers(
            200,
            "The first import of this file.",
            &["Location", "Idempotent-Replayed"],
            &record,
        )
        .answers(201, "The import.", &["Location", "Idempotent-Replayed"], &record)
        .links(201, paths.links())
        .fails(&FORM_ERRORS)
        .fails(&FILE_ERRORS)
        .fails(&[
            ErrorCode::IdempotencyInProgress,
            ErrorCode::IdempotencyKeyReused,
            ErrorCode::QueueFull,
        ])
        .build()
}

fn rejects(paths: &BulkPaths) -> Value {
    paths
        .operation(
            "get",
            "Rejects",
            "Get what failed or was not processed, in the form of the file",
            "A table has the header and cells of the file, after the columns `error` and `line`, \
             which an import ignores; JSON becomes JSON lines. Mend it and send it again.",
        )
        .takes([paths.id(), "download", "If-None-Match"])
        .answers(200, "The entries.", &["ETag", "Content-Disposition"], &entry_lines())
        .answers(304, "The caller already has the file.", &["ETag"], &Value::Null)
        .fails(&QUERY[..3])
        .fails(&[ErrorCode::NotFound, ErrorCode::Expired, ErrorCode::NotCompleted])
        .build()
}

/// The options and the file of a new import.
fn form(family: Family) -> Value {
    let fields = fields_of(family).iter().map(|name| (*name, field(name, family)));
    closed(object(&["action", "file"], spelled(fields.collect::<Vec<_>>())))
}

fn field(name: &str, family: Family) -> Value {
    let writing = Action::of_family(family).filter(|action| action.writes());
    let boolean = |about| described(about, json!({"type": "boolean"}));
    match name {
        "action" => words(&writing.map(Action::as_str).collect::<Vec<_>>()),
        "dry_run" => boolean(
            "With `true` the import writes nothing; its results and errors show \
                              what it would do.",
        ),
        "upsert" => boolean(
            "Only of `import_issues`. With `true` an entry replaces the issue that \
                             has its id, if their content differs.",
        ),
        "again" => boolean("With `true` a file is imported again that was imported before."),
        "columns" => json!({
            "type": "string",
            "description": "A JSON map from the name of a column, or `#3` for the third, to a \
                            field, or to null to leave it out.",
            "contentMediaType": "application/json",
            "contentSchema": {
                "type": "object",
                "additionalProperties": {"type": ["string", "null"]},
            },
        }),
        "others" => described(
            "Columns without a field: `refuse` is usual; `custom` makes custom fields.",
            words(&["refuse", "ignore", "custom"]),
        ),
        "faulty_fields" => described(
            "`fail` is usual: a faulty field fails its entry. `leave_out`: the entry is taken \
             without the field, with the warning `left_out`.",
            words(&["fail", "leave_out"]),
        ),
        "separator" => text("The text between the values of a list in a cell; `|` is usual."),
        "delimiter" => text(
            "The sign between two cells, or `comma`, `semicolon`, `tab`, `bar`; \
                             without it, it is found.",
        ),
        "encoding" => text("The encoding of a file without a byte order mark; `utf-8` is usual."),
        "timezone" => text("The time zone of times without an offset; `UTC` is usual."),
        "null" => text("The text of a cell that clears its field."),
        "sheet" => text("The sheet of a workbook; the first one that is shown is usual."),
        _ => json!({
            "type": "string",
            "description": "The file: JSON lines, one JSON array, a table or a workbook, perhaps \
                            packed with gzip or zstd. It follows all options.",
            "contentMediaType": "application/octet-stream",
        }),
    }
}
