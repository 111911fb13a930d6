//! The result and error records of tasks, and the formats in which callers read them.

use caseload_model::error_code::{EntryErrorCode, EntryWarningCode};
use caseload_model::record::WARNINGS_MAX;
use serde_json::{Value, json};

use crate::format::LINES;
use crate::openapi::json::{merged, schema};
use crate::openapi::operation::add_lines;
use crate::openapi::parameters::instant;

pub(super) fn schemas() -> Value {
    merged([of_profiles(), of_all()])
}

/// The results of actions on profiles.
fn of_profiles() -> Value {
    json!({
        "CreatedCoreProfile": outcome(
            &["created"],
            &[],
            json!({"core-profile-id": {
                "type": "string",
                "description": "The id of the new profile; absent in a dry run.",
            }}),
        ),
        "UpdatedCoreProfile": outcome(
            &["updated", "unchanged"],
            &["core-profile-id"],
            merged([json!({"core-profile-id": {"type": "string"}}), changes()]),
        ),
        "UpsertedCoreProfile": outcome(
            &["created", "updated", "unchanged"],
            &[],
            merged([
                json!({"core-profile-id": {
                    "type": "string",
                    "description": "The id of the profile; absent in a dry run that would create \
                                    it.",
                }}),
                changes(),
            ]),
        ),
        "DeletedProfile": outcome(
            &["deleted", "unchanged"],
            &[],
            json!({
                "core-profile-id": {
                    "type": "string",
                    "description": "Absent if the identities belong to no profile.",
                },
                "pid": {"type": "string", "description": "Of an app profile."},
            }),
        ),
        "UpdatedAppProfile": outcome(
            &["updated", "unchanged"],
            &["pid"],
            merged([json!({"pid": {"type": "string"}}), changes()]),
        ),
    })
}

/// The members with the changes of a dry run.
fn changes() -> Value {
    json!({
        "changes": {
            "type": "object",
            "description": "Only of an `updated` entry of a dry run, with `includes=changes`: the \
                            fields that change; custom fields under dotted names.",
            "additionalProperties": {
                "type": "object",
                "required": ["from", "to"],
                "properties": {
                    "from": {"description": "The value before; null if there is none."},
                    "to": {"description": "The value after; null if there is none."},
                },
            },
        },
        "changes_left_out": {
            "type": "integer",
            "minimum": 1,
            "description": "Only if changes of more than 16 KiB do not fit: how many fields are \
                            left out.",
        },
    })
}

fn of_all() -> Value {
    let codes: Vec<_> = EntryErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "ProfileResult": {
            "description": "Depends on the action of the task: the outcome of the entry, or for a \
                            get action the whole profile.",
            "anyOf": [
                schema("CreatedCoreProfile"),
                schema("UpdatedCoreProfile"),
                schema("UpsertedCoreProfile"),
                schema("DeletedProfile"),
                schema("UpdatedAppProfile"),
                schema("CoreProfile"),
                schema("AppProfile"),
            ],
        },
        "ImportedIssue": outcome(
            &["created", "updated", "unchanged", "deleted"],
            &[],
            json!({
                "id": {"type": "integer", "description": "Absent for a new issue in a dry run."},
                "created_at": instant(),
                "original_created_at": instant(),
                "warnings": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": WARNINGS_MAX,
                    "description": "Oddities of the entry, which succeeded nevertheless.",
                    "items": schema("EntryWarning"),
                },
            }),
        ),
        "ErrorRecord": error_record(),
        "EntryFault": entry_fault(),
        "EntryWarning": entry_warning(),
        "EntryErrorCode": {"type": "string", "enum": codes},
    })
}

fn entry_fault() -> Value {
    json!({
        "type": "object",
        "required": ["code", "detail"],
        "properties": {
            "code": schema("EntryErrorCode"),
            "pointer": {
                "type": "string",
                "description": "RFC 6901, into the entry: the faulty value, or the position \
                                of a missing one.",
            },
            "detail": {"type": "string"},
            "value": {"description": "The faulty value."},
            "core-profile-id": {
                "type": "string",
                "description": "Only with `identity_conflict`: the core profile that has the \
                                identity.",
            },
            "core-profile-ids": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "Only with `ambiguous_identity`: the core profiles that have the \
                                identities.",
            },
        },
    })
}

fn entry_warning() -> Value {
    let warnings: Vec<_> = EntryWarningCode::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "type": "object",
        "required": ["code", "pointer", "detail", "value"],
        "properties": {
            "code": {"type": "string", "enum": warnings},
            "pointer": {
                "type": "string",
                "description": "RFC 6901, into the entry: the odd value.",
            },
            "detail": {"type": "string"},
            "value": {"description": "The odd value, which was taken as it is."},
        },
    })
}

fn outcome(words: &[&str], ids: &[&str], own: Value) -> Value {
    let position = json!({
        "index": {
            "type": "integer",
            "minimum": 0,
            "description": "The index of the entry, from 0.",
        },
        "line": {
            "type": "integer",
            "minimum": 1,
            "description": "The line of the payload, from 1.",
        },
        "outcome": {"type": "string", "enum": words},
    });
    let required: Vec<_> = ["index", "line", "outcome"].iter().chain(ids).collect();
    json!({
        "type": "object",
        "required": required,
        "properties": merged([position, own]),
    })
}

fn error_record() -> Value {
    json!({
        "type": "object",
        "description": "An entry that failed, with all of its faults.",
        "required": ["index", "line", "errors"],
        "properties": {
            "index": {"type": "integer", "minimum": 0},
            "line": {"type": "integer", "minimum": 1},
            "core-profile-id": {"description": "The id in the entry."},
            "pid": {"description": "The id in the entry."},
            "id": {"description": "The id in the entry."},
            "errors": {"type": "array", "minItems": 1, "items": schema("EntryFault")},
            "entry": {
                "type": "object",
                "description": "The entry as the caller sent it.",
                "additionalProperties": true,
            },
            "raw": {
                "type": "string",
                "description": "Instead of `entry`, the shortened text of an entry that is not a \
                                map or is too large.",
            },
        },
    })
}

/// Records in every format, with an example.
pub(super) fn content(record: &str, example: &Value, lines: &str, table: &str) -> Value {
    let mut content = json!({
        "application/json": {
            "schema": {"type": "array", "items": schema(record)},
            "example": [example],
        },
        "text/csv": {
            "schema": {"type": "string", "description": "RFC 4180, with a header."},
            "example": table,
        },
        "application/gzip": {
            "schema": {
                "type": "string",
                "contentMediaType": "application/gzip",
                "description": "With `download=true`: the file of the chosen format, compressed.",
            },
        },
    });
    add_lines(&mut content, "One record per line.", lines);
    content
}

/// A range of the plain file, in any format. CSV comes first, because some generators read an
/// answer as its first type, and a part of a JSON text is not JSON.
pub(super) fn range() -> Value {
    let part = json!({"schema": {"type": "string", "description": "A part of the text."}});
    let types = ["text/csv", "application/json"].into_iter().chain(LINES);
    Value::Object(types.map(|media_type| (media_type.to_owned(), part.clone())).collect())
}
