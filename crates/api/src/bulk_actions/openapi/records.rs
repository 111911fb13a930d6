//! The result and error records of tasks, and the formats in which callers read them.

use caseload_model::error_code::{EntryErrorCode, EntryWarningCode};
use caseload_model::record::WARNINGS_MAX;
use caseload_model::task::Family;
use serde_json::{Map, Value, json};

use super::task;
use crate::http::format::LINES;
use crate::openapi::json::{
    array, described, integer, map, merged, names, object, record, schema, string, text, words,
};
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
            json!({"core-profile-id": text("The id of the new profile; absent in a dry run.")}),
        ),
        "UpdatedCoreProfile": outcome(
            &["updated", "unchanged"],
            &["core-profile-id"],
            merged([json!({"core-profile-id": string()}), changes()]),
        ),
        "UpsertedCoreProfile": outcome(
            &["created", "updated", "unchanged"],
            &[],
            merged([
                json!({"core-profile-id": text("The id of the profile; absent in a dry run that \
                                                would create it.")}),
                changes(),
            ]),
        ),
        "DeletedProfile": outcome(
            &["deleted", "unchanged"],
            &[],
            json!({
                "core-profile-id": text("Absent if the identities belong to no profile."),
                "pid": text("Of an app profile."),
            }),
        ),
        "UpdatedAppProfile": outcome(
            &["updated", "unchanged"],
            &["pid"],
            merged([json!({"pid": string()}), changes()]),
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
            "additionalProperties": object(&["from", "to"], json!({
                "from": {"description": "The value before; null if there is none."},
                "to": {"description": "The value after; null if there is none."},
            })),
        },
        "changes_left_out": integer(1, "Only if changes of more than 16 KiB do not fit: how many \
                                        fields are left out."),
    })
}

fn of_all() -> Value {
    let mut of_profiles = task::result(Family::Identity);
    if let Some(forms) = of_profiles["anyOf"].as_array_mut() {
        forms.push(schema("ErasedRecord"));
    }
    let meanings: Map<_, _> = EntryErrorCode::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), meaning(*code).into()))
        .collect();
    json!({
        "ProfileResult": described(
            "Depends on the action of the task: the outcome of the entry, or for a get action the \
             whole profile.",
            of_profiles,
        ),
        "ImportedIssue": outcome(
            &["created", "updated", "unchanged", "deleted", "erased"],
            &[],
            json!({
                "erased": erased(),
                "id": {"type": "integer", "description": "Absent for a new issue in a dry run."},
                "created_at": described(
                    "Only if the time was shifted: the creation time that the issue got.",
                    instant(),
                ),
                "original_created_at": described(
                    "Only if the time was shifted: the creation time of the entry.",
                    instant(),
                ),
            }),
        ),
        "ErrorRecord": error_record(),
        "ErasedRecord": record(
            "In place of a result that was erased with a person.",
            &["index", "line", "erased", "outcome"],
            json!({
                "index": integer(0, "The index of the entry, from 0."),
                "line": integer(1, "The line of the file, from 1; the element of an array."),
                "erased": {"const": true},
                "outcome": {"const": "erased"},
            }),
        ),
        "EntryFault": entry_fault(),
        "EntryWarning": entry_warning(),
        "EntryWarningCode": warning_codes(),
        "EntryErrorCode": {
            "type": "string",
            "description": "The fault of an entry.",
            "enum": names(EntryErrorCode::ALL, EntryErrorCode::as_str),
            "x-enum-descriptions": meanings,
        },
    })
}

/// When an entry has this fault.
const fn meaning(code: EntryErrorCode) -> &'static str {
    match code {
        EntryErrorCode::InvalidJson => {
            "The line is not JSON, or has a key twice in one map, half of a surrogate pair, or \
             more than 100 levels."
        }
        EntryErrorCode::InvalidUtf8 => "The line is not UTF-8.",
        EntryErrorCode::NotAMap => "The entry is JSON, but not a map.",
        EntryErrorCode::TooLarge => {
            "The entry is too large: a profile of more than 256 KiB, also after the update, or an \
             issue of more than 8 MiB, also with its defaults."
        }
        EntryErrorCode::UnknownField => {
            "There is no such field. The detail names a known one that is probably meant."
        }
        EntryErrorCode::Required => "A required field is missing.",
        EntryErrorCode::WrongType => {
            "The value does not have the type of the field. Nothing is converted: `\"30\"` is not \
             an age."
        }
        EntryErrorCode::TooLong => "A text has too many characters.",
        EntryErrorCode::TooMany => "A list or map has too many members.",
        EntryErrorCode::OutOfRange => "A number, time, URL or name is not one of those allowed.",
        EntryErrorCode::UnknownCountry => "The value is neither a code nor a name of a country.",
        EntryErrorCode::UnknownLanguage => {
            "The value does not name a language that has a code of ISO 639-1."
        }
        other => meaning_of_records(other),
    }
}

/// When an entry has a fault that is about identities or stored records.
const fn meaning_of_records(code: EntryErrorCode) -> &'static str {
    match code {
        EntryErrorCode::InvalidIdentity => {
            "An identity has no type, two types, or nothing but blanks."
        }
        EntryErrorCode::SpreadsheetError => {
            "A spreadsheet wrote this in place of the value, as `4.9E+12` for a phone number."
        }
        EntryErrorCode::OpenQuote => "A quote in the row is not closed, or text follows its end.",
        EntryErrorCode::TooManyCells => "The row has more cells than the header.",
        EntryErrorCode::DuplicateIdentity => "The entry has one identity twice.",
        EntryErrorCode::IdentityConflict => {
            "Another profile has the identity; `core-profile-id` is its id, unless an earlier \
             entry of the same dry run has it."
        }
        EntryErrorCode::AmbiguousIdentity => {
            "The identities belong to several profiles, and the entry has no `core-profile-id`; \
             `core-profile-ids` are their ids."
        }
        EntryErrorCode::LastIdentity => "The update would leave the profile without an identity.",
        EntryErrorCode::NotFound => {
            "The domain has no profile with this id, or none with one of the identities."
        }
        EntryErrorCode::IdConflict => {
            "An issue of this id with other content exists, and the task is not an upsert."
        }
        _ => "The server gave up this entry; a retry of the task tries it again.",
    }
}

fn entry_fault() -> Value {
    object(
        &["code", "detail"],
        json!({
            "code": schema("EntryErrorCode"),
            "pointer": text("RFC 6901, into the entry: the faulty value, or the position of a \
                             missing one."),
            "detail": text("The cause, and how to correct it."),
            "value": {"description": "The faulty value."},
            "core-profile-id": text("Only with `identity_conflict`: the core profile that has the \
                                     identity."),
            "core-profile-ids": {
                "type": "array",
                "items": string(),
                "minItems": 1,
                "description": "Only with `ambiguous_identity`: the core profiles that have the \
                                identities.",
            },
        }),
    )
}

fn warning_codes() -> Value {
    let codes = names(EntryWarningCode::ALL, EntryWarningCode::as_str);
    described(
        "`looks_like_seconds`: a time is a number below 100,000,000,000, which is before March \
         1973 in milliseconds. It is taken as it is. `mended_name`: the name of an attachment is \
         stored as that of an upload would be, without folders, hidden characters and encoded \
         words, and of a long one the last 255 characters. `unusable_url`: an attachment is stored \
         without its URL, because it is neither `http://…`, `https://…` nor a path, or has a part \
         `..` or hidden characters. `placeholder`: an identity is a word such as `n/a`. \
         `suspicious_identity`: an e-mail address has not exactly one `@`, or blanks, commas or \
         angle brackets inside. `joins_people`: an upsert adds an identity to a profile that has \
         another one of its type. `reduced`: a language was stored without its region. \
         `looks_like_list`: a tag from a table has a separator inside. `left_out`: a faulty field \
         was left out, as asked for. `no_offset`: a time without an offset was taken as UTC. \
         `cut`: the body of a message was cut to the length that it may have, as asked for. \
         `repeated_id`: an earlier entry of an import has changed the profile or issue already.",
        words(&codes),
    )
}

fn entry_warning() -> Value {
    object(
        &["code", "pointer", "detail", "value"],
        json!({
            "code": schema("EntryWarningCode"),
            "pointer": text("RFC 6901, into the entry: the odd value."),
            "detail": text("The cause, and how to correct it."),
            "value": {"description": "The odd value, shortened if it is long."},
        }),
    )
}

fn outcome(outcomes: &[&str], ids: &[&str], own: Value) -> Value {
    let position = json!({
        "index": integer(0, "The index of the entry, from 0."),
        "line": integer(1, "The line of the payload, from 1."),
        "outcome": described(
            "The effect of the entry; of a dry run, the effect that it would have.",
            words(outcomes),
        ),
        "warnings": {
            "type": "array",
            "minItems": 1,
            "maxItems": WARNINGS_MAX,
            "description": "Oddities of the entry, which succeeded nevertheless.",
            "items": schema("EntryWarning"),
        },
    });
    let required = [&["index", "line", "outcome"], ids].concat();
    object(&required, merged([position, own]))
}

/// Marks the rest of a record.
fn erased() -> Value {
    let about = "`true` of a record that was erased with a person; it has nothing of the entry.";
    described(about, json!({"type": "boolean"}))
}

fn error_record() -> Value {
    record(
        "An entry that failed, with all of its faults.",
        &["index", "line", "errors"],
        json!({
            "erased": erased(),
            "index": integer(0, "The index of the entry, from 0."),
            "line": integer(1, "The line of the file, from 1; the element of an array."),
            "core-profile-id": {"description": "The id in the entry."},
            "pid": {"description": "The id in the entry."},
            "id": {"description": "The id in the entry."},
            "errors": {
                "type": "array",
                "items": schema("EntryFault"),
                "description": "At most 100 faults; the last one says how many more there are. \
                                None of an erased record.",
            },
            "entry": described("The entry as the caller sent it.", map()),
            "raw": text("Instead of `entry`, the shortened text of an entry that is not a map or \
                         is too large."),
        }),
    )
}

/// Records in every format, with an example.
pub(super) fn content(record: &str, example: &Value, lines: &str, table: &str) -> Value {
    let mut content = json!({
        "application/json": {
            "schema": array(schema(record)),
            "example": [example],
        },
        "text/csv": {
            "schema": text("RFC 4180, with a header."),
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
    let part = json!({"schema": text("A part of the text.")});
    let types = ["text/csv", "application/json"].into_iter().chain(LINES);
    Value::Object(types.map(|media_type| (media_type.to_owned(), part.clone())).collect())
}
