//! The paths with which an import is mended: the payload as a reject file, the summary of its
//! faults, and the run of a dry run.

use caseload_model::error_code::{EntryErrorCode, ErrorCode};
use caseload_model::task::{Family, Outcome};
use serde_json::{Map, Value, json};

use super::paths::BulkPaths;
use crate::bulk_actions::SubjectKind;
use crate::bulk_actions::summary::SUMMARY_GROUPS_MAX;
use crate::http::format::LINES;
use crate::openapi::json::{array, integer, names, object, record, schema, string, text};
use crate::openapi::operation::{QUERY, json_content};
use crate::openapi::parameters::{BOUND_FORMS, OTHER_LISTS, bound, query, query_words};

pub(super) fn paths() -> Value {
    let all = Family::ALL.iter().flat_map(|family| {
        let paths = BulkPaths::of(*family, SubjectKind::Task);
        let payload = (paths.one("/payload"), json!({"get": payload(&paths)}));
        shared(&paths).into_iter().chain([payload])
    });
    Value::Object(all.collect::<Map<_, _>>())
}

/// The paths that a task and an import have.
pub(crate) fn shared(paths: &BulkPaths) -> [(String, Value); 3] {
    [
        (paths.one("/run"), json!({"post": run(paths)})),
        (paths.one("/errors/summary"), json!({"get": summary(paths)})),
        (paths.one("/warnings/summary"), json!({"get": warnings(paths)})),
    ]
}

pub(super) fn parameters() -> Value {
    let (outcomes, codes) =
        (names(Outcome::ALL, Outcome::as_str), names(EntryErrorCode::ALL, EntryErrorCode::as_str));
    let of = |name, about| query(name, about, json!({"type": "string"}));
    json!({
        "outcome": query_words("outcome", "Tasks that ended in one of these ways.", &outcomes),
        "task-dry-run": query(
            "dry_run",
            "Whether to list only dry runs, or only the other tasks.",
            json!({"type": "boolean"}),
        ),
        "parent_import_id": of("parent_import_id", "The retries and the runs of this import."),
        "task-import_id": of(
            "import_id",
            "The tasks of this import, or with `none` those of no import.",
        ),
        "parent_task_id": of("parent_task_id", "The retries and the runs of this task."),
        "submitted_by": query(
            "submitted_by",
            &format!("Tasks submitted with this key, by its id or its name. {OTHER_LISTS}"),
            // What begins with a quote or a bracket is read as JSON.
            json!({"type": "string", "minLength": 1, "pattern": "^[^\"\\[]"}),
        ),
        "task-created-since": query(
            "created-since",
            &format!("Tasks accepted at this time or later. {BOUND_FORMS}"),
            bound(),
        ),
        "task-created-until": query(
            "created-until",
            &format!("Tasks accepted at this time or earlier. {BOUND_FORMS}"),
            bound(),
        ),
        "only": query_words("only", "Entries of these parts alone.", &["failed", "unprocessed"]),
        "code": query_words("code", "Records with a fault of one of these codes.", &codes),
        "pointer": query(
            "pointer",
            &format!(
                "Records with a fault at this RFC 6901 pointer, as the record spells it; the empty \
                 one finds faults of whole entries. {OTHER_LISTS}"
            ),
            json!({"type": "string", "minLength": 1}),
        ),
        "error-excludes": query_words(
            "excludes",
            "`entry` leaves out `entry` and `raw`.",
            &["entry"],
        ),
        "result-includes": query_words(
            "includes",
            "`changes`: the records of dry runs of updates and upserts have the changes.",
            &["changes"],
        ),
        "error-cursor": query(
            "cursor",
            "`*` begins a list by cursor; then the `next-cursor` of the previous answer.",
            json!({"type": "string"}),
        ),
        "error-count": query(
            "count",
            "Whether a list by cursor has its totals.",
            json!({"type": "boolean"}),
        ),
    })
}

pub(super) fn schemas() -> Value {
    json!({
        "ErrorEnvelope": error_envelope(),
        "ErrorSummary": error_summary(),
        "WarningSummary": warning_summary(),
        "WarningGroup": object(&["code", "count", "example"], json!({
            "code": schema("EntryWarningCode"),
            "count": integer(1, "The number of warnings."),
            "example": record(
                "The first warning of the group.",
                &["index", "line", "pointer", "value", "detail"],
                json!({
                    "index": {"type": "integer", "minimum": 0},
                    "line": {"type": "integer", "minimum": 1},
                    "pointer": text("RFC 6901, into the entry."),
                    "value": {"description": "The odd value."},
                    "detail": string(),
                }),
            ),
        })),
        "ErrorGroup": object(&["code", "pointer", "count", "example"], json!({
            "code": schema("EntryErrorCode"),
            "pointer": {
                "type": ["string", "null"],
                "description": "RFC 6901, into the entry; null if the entry is unreadable.",
            },
            "count": integer(1, "The number of faults."),
            "example": record(
                "The first fault of the group.",
                &["index", "line", "value", "detail"],
                json!({
                    "index": {"type": "integer", "minimum": 0},
                    "line": {"type": "integer", "minimum": 1},
                    "value": {"description": "The faulty value; null if there is none."},
                    "detail": string(),
                }),
            ),
        })),
    })
}

/// A page of errors: by number with totals, by cursor with the next one.
fn error_envelope() -> Value {
    record(
        "A page of error records. Filters select whole records.",
        &["page", "page-size", "errors"],
        json!({
            "page": {"type": "integer", "minimum": 1},
            "page-size": {"type": "integer", "minimum": 1, "maximum": 1000},
            "errors": array(schema("ErrorRecord")),
            "total-hits": {"type": "integer", "minimum": 0},
            "total-pages": {"type": "integer", "minimum": 1},
            "next-cursor": {
                "type": ["string", "null"],
                "description": "Only by cursor: the beginning of the next page; null at the end.",
            },
        }),
    )
}

fn error_summary() -> Value {
    object(
        &["faults", "entries", "groups"],
        json!({
            "faults": integer(0, "All faults, also of groups that are left out."),
            "entries": integer(0, "The entries that failed."),
            "groups": {
                "type": "array",
                "maxItems": SUMMARY_GROUPS_MAX,
                "description": "The largest groups, each of one code at one pointer.",
                "items": schema("ErrorGroup"),
            },
        }),
    )
}

fn warning_summary() -> Value {
    object(
        &["warnings", "entries", "groups"],
        json!({
            "warnings": integer(0, "All warnings."),
            "entries": integer(0, "The entries that have warnings."),
            "groups": {
                "type": "array",
                "maxItems": SUMMARY_GROUPS_MAX,
                "description": "Each of one code, the largest first.",
                "items": schema("WarningGroup"),
            },
        }),
    )
}

/// Entries as lines.
pub(crate) fn entry_lines() -> Value {
    let lines = json!({
        "schema": text("One entry per line."),
        "example": "{\"identities\":[{\"email\":\"ada@example.org\"}],\"age\":-1}\n",
    });
    let gzip = json!({"schema": {
        "type": "string",
        "contentMediaType": "application/gzip",
        "description": "With `download=true`: the same lines, compressed.",
    }});
    let mut content = json!({"text/plain": lines, "application/gzip": gzip});
    for media_type in LINES {
        content[media_type] = content["text/plain"].clone();
    }
    content
}

fn payload(paths: &BulkPaths) -> Value {
    let content = entry_lines();
    paths
        .operation(
            "get",
            "Payload",
            "Get the entries as they were sent",
            "JSON lines, in payload order: all entries until the task is completed, then those \
             that failed or were not processed; of a dry run all. The file can be mended and sent \
             again as it is. `only` needs a completed task.",
        )
        .takes(["task_id", "only", "download", "If-None-Match"])
        .answers(200, "The entries.", &["ETag", "Content-Disposition"], &content)
        .answers(304, "The caller already has the file.", &["ETag"], &Value::Null)
        .fails(&QUERY[..3])
        .fails(&[ErrorCode::NotFound, ErrorCode::Expired, ErrorCode::NotCompleted])
        .build()
}

fn summary(paths: &BulkPaths) -> Value {
    let example = json!({
        "faults": 41,
        "entries": 40,
        "groups": [{
            "code": "unknown_country",
            "pointer": "/last_country",
            "count": 38,
            "example": {
                "index": 1,
                "line": 2,
                "value": "Atlantis",
                "detail": "\"Atlantis\" is not a country of ISO 3166-1",
            },
        }],
    });
    summary_of(
        paths,
        "ErrorSummary",
        &format!("Get the faults of {} in groups", paths.one_of()),
        "Groups of one code at one pointer, the largest first, at most 100.",
        example,
    )
}

fn warnings(paths: &BulkPaths) -> Value {
    let example = json!({
        "warnings": 12,
        "entries": 12,
        "groups": [{
            "code": "placeholder",
            "count": 12,
            "example": {
                "index": 3,
                "line": 4,
                "pointer": "/identities/0/email",
                "value": "N/A",
                "detail": "\"N/A\" is a placeholder, not a person",
            },
        }],
    });
    summary_of(
        paths,
        "WarningSummary",
        &format!("Get the warnings of {} in groups", paths.one_of()),
        "The oddities of entries that succeeded, or would succeed, in groups of one code.",
        example,
    )
}

fn summary_of(
    paths: &BulkPaths,
    name: &str,
    title: &str,
    description: &str,
    example: Value,
) -> Value {
    paths
        .operation("get", name, title, description)
        .takes([paths.id(), "If-None-Match"])
        .answers(200, "The groups.", &["ETag"], &json_content(schema(name), example))
        .answers(304, "The caller already has the groups.", &["ETag"], &Value::Null)
        .fails(&QUERY[..3])
        .fails(&[ErrorCode::NotFound, ErrorCode::Expired, ErrorCode::NotCompleted])
        .fails(&[ErrorCode::QueryTooExpensive])
        .build()
}

fn run(paths: &BulkPaths) -> Value {
    paths.again(
        "run",
        "Run a dry run for real",
        "Runs the entries of a completed dry run, at most once. Needs the access that the real \
         effect needs.",
        &[ErrorCode::AlreadyRun, ErrorCode::NotADryRun],
    )
}
