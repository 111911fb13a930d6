//! Result and error records of tasks, and the forms in which they are read.

use caseload_model::error_code::EntryErrorCode;
use serde_json::{Value, json};

use crate::openapi::json::{merged, schema};
use crate::openapi::parameters::instant;

pub(super) fn schemas() -> Value {
    let codes: Vec<_> = EntryErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "ResultRecord": {
            "description": "By the action of the task: what became of the entry, or the whole \
                            profile for a get action.",
            "anyOf": [
                schema("CreatedCoreProfile"),
                schema("UpdatedCoreProfile"),
                schema("UpdatedAppProfile"),
                schema("ImportedIssue"),
                schema("CoreProfile"),
                schema("AppProfile"),
            ],
        },
        "CreatedCoreProfile": outcome(
            &["created"],
            &[],
            json!({"core-profile-id": {
                "type": "string",
                "description": "The new profile; not there in a dry run.",
            }}),
        ),
        "UpdatedCoreProfile": outcome(
            &["updated", "unchanged"],
            &["core-profile-id"],
            json!({"core-profile-id": {"type": "string"}}),
        ),
        "UpdatedAppProfile":
            outcome(&["updated", "unchanged"], &["pid"], json!({"pid": {"type": "string"}})),
        "ImportedIssue": outcome(
            &["created", "unchanged"],
            &[],
            json!({
                "id": {"type": "integer", "description": "Not there for a new one in a dry run."},
                "created_at": instant(),
                "original_created_at": instant(),
            }),
        ),
        "ErrorRecord": error_record(),
        "EntryFault": {
            "type": "object",
            "required": ["code", "detail"],
            "properties": {
                "code": schema("EntryErrorCode"),
                "pointer": {
                    "type": "string",
                    "description": "RFC 6901, into the entry: the faulty value, or the place of a \
                                    missing one.",
                },
                "detail": {"type": "string"},
                "value": {"description": "The faulty value."},
            },
        },
        "EntryErrorCode": {"type": "string", "enum": codes},
    })
}

fn outcome(words: &[&str], ids: &[&str], own: Value) -> Value {
    let place = json!({
        "index": {"type": "integer", "minimum": 0, "description": "Among the entries, from 0."},
        "line": {"type": "integer", "minimum": 1, "description": "Of the file, from 1."},
        "outcome": {"enum": words},
    });
    let required: Vec<_> = ["index", "line", "outcome"].iter().chain(ids).collect();
    json!({
        "type": "object",
        "required": required,
        "properties": merged([place, own]),
    })
}

fn error_record() -> Value {
    json!({
        "type": "object",
        "description": "An entry that failed, with every fault it has.",
        "required": ["index", "line", "errors"],
        "properties": {
            "index": {"type": "integer", "minimum": 0},
            "line": {"type": "integer", "minimum": 1},
            "core-profile-id": {"description": "As the entry gave it."},
            "pid": {"description": "As the entry gave it."},
            "id": {"description": "As the entry gave it."},
            "errors": {"type": "array", "minItems": 1, "items": schema("EntryFault")},
            "entry": {"type": "object", "description": "As sent.", "additionalProperties": true},
            "raw": {
                "type": "string",
                "description": "Instead of `entry`, shortened, where that is no map or too large.",
            },
        },
    })
}

/// Records in every form, with an example of one.
pub(super) fn content(record: &str, example: &Value, lines: &str, table: &str) -> Value {
    json!({
        "application/json": {
            "schema": {"type": "array", "items": schema(record)},
            "example": [example],
        },
        "application/x-ndjson": {
            "schema": {"type": "string", "description": "One record per line."},
            "example": lines,
        },
        "text/csv": {
            "schema": {"type": "string", "description": "RFC 4180, with a header."},
            "example": table,
        },
        "application/gzip": {
            "schema": {
                "type": "string",
                "contentMediaType": "application/gzip",
                "description": "With `download=true`: a file of the chosen form, packed.",
            },
        },
    })
}

/// A part of the plain file in any form.
pub(super) fn part() -> Value {
    json!({"application/json": {}, "application/x-ndjson": {}, "text/csv": {}})
}
