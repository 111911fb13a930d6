//! Records as a table (RFC 4180): a header, then one row per result, or one row per fault of an
//! error record. Texts are written as they are, numbers by their digits, and nested values as JSON
//! text. A missing value is an empty cell, and an empty text is `""`. No value is changed, not even
//! one that a spreadsheet would read as a formula: docs/api.md, "CSV", explains how to open such
//! files.
//!
//! The writer steps over records by grammar alone. Records may nest deeper than entries, and their
//! content was checked before it was stored.

use std::borrow::Cow;

use caseload_model::json::{self, DEPTH_MAX, Json};
use caseload_model::profile::{app_field_names, core_field_names};
use caseload_model::task::Action;
use caseload_store::RecordKind;

/// How many levels a record may nest: those of an entry and of the record around it.
const RECORD_DEPTH_MAX: usize = DEPTH_MAX + 10;
/// An entry of at most this size is repeated in the row of each of its faults. A larger entry is
/// written in the first row only, so that an entry with many faults does not make a huge file.
const REPEATED_ENTRY_BYTES_MAX: usize = 16 << 10;
/// The columns of a fault.
const FAULT_COLUMNS: [&str; 4] = ["code", "pointer", "detail", "value"];

/// A record that the store cannot have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DamagedRecord;

type Members<'a> = Vec<(&'a [u8], &'a [u8])>;

/// The columns for the records of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Table {
    /// One row per result, with these members.
    Results(Vec<&'static str>),
    /// One row per fault; `id` is the name of the member that identifies the profile or issue.
    Errors { id: &'static str },
}

impl Table {
    pub(super) fn new(action: Action, kind: RecordKind) -> Self {
        let id = action.id_field();
        let times = ["created_at", "updated_at"];
        if kind == RecordKind::Errors {
            return Self::Errors { id };
        }
        Self::Results(match action {
            Action::CreateCoreProfiles | Action::UpdateCoreProfiles | Action::UpdateAppProfiles => {
                vec!["index", "line", "outcome", id]
            }
            Action::ImportIssues => {
                vec![
                    "index",
                    "line",
                    "outcome",
                    id,
                    "created_at",
                    "original_created_at",
                    "warnings",
                ]
            }
            Action::GetCoreProfiles => {
                [id].into_iter().chain(core_field_names()).chain(times).collect()
            }
            Action::GetAppProfiles => [id, "app_id", "name", "emails"]
                .into_iter()
                .chain(app_field_names())
                .chain(times)
                .collect(),
        })
    }

    /// Appends the first line of the file.
    pub(super) fn write_header(&self, out: &mut Vec<u8>) {
        let names = match self {
            Self::Results(columns) => columns.join(","),
            Self::Errors { id } => format!("index,line,{id},{},entry", FAULT_COLUMNS.join(",")),
        };
        out.extend_from_slice(names.as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    /// Appends the rows of a run of records, one per line of `lines`.
    pub(super) fn write_rows(&self, lines: &[u8], out: &mut Vec<u8>) -> Result<(), DamagedRecord> {
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        for line in lines {
            let members = members(line)?;
            match self {
                Self::Results(columns) => {
                    let cells = columns.iter().map(|column| find(&members, column));
                    write_row(cells, out);
                }
                Self::Errors { id } => write_faults(&members, id, out)?,
            }
        }
        Ok(())
    }
}

fn write_faults(members: &Members<'_>, id: &str, out: &mut Vec<u8>) -> Result<(), DamagedRecord> {
    let position = ["index", "line", id].map(|name| find(members, name));
    let entry = find(members, "entry").or_else(|| find(members, "raw"));
    let faults = elements(find(members, "errors").ok_or(DamagedRecord)?)?;
    for (n, fault) in faults.into_iter().enumerate() {
        let fault = self::members(fault)?;
        let columns = FAULT_COLUMNS.iter().map(|name| find(&fault, name));
        let entry = entry.filter(|text| n == 0 || text.len() <= REPEATED_ENTRY_BYTES_MAX);
        write_row(position.into_iter().chain(columns).chain([entry]), out);
    }
    Ok(())
}

fn find<'a>(members: &Members<'a>, name: &str) -> Option<&'a [u8]> {
    members.iter().find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| *value)
}

fn write_row<'a>(cells: impl Iterator<Item = Option<&'a [u8]>>, out: &mut Vec<u8>) {
    for (n, cell) in cells.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        if let Some(value) = cell {
            write_cell(&text_of(value), out);
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// The text of a JSON string, and the JSON text of everything else.
fn text_of(value: &[u8]) -> Cow<'_, [u8]> {
    if value.first() != Some(&b'"') {
        return Cow::Borrowed(value);
    }
    match json::parse(value) {
        Ok(Json::String(Cow::Borrowed(text))) => Cow::Borrowed(text.as_bytes()),
        Ok(Json::String(Cow::Owned(text))) => Cow::Owned(text.into_bytes()),
        _ => Cow::Borrowed(value),
    }
}

fn write_cell(text: &[u8], out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, b'"' | b',' | b'\r' | b'\n');
    let spaced = text.first() == Some(&b' ') || text.last() == Some(&b' ');
    if !(text.is_empty() || spaced || text.iter().any(special)) {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for (n, run) in text.split(|byte| *byte == b'"').enumerate() {
        if n > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(run);
    }
    out.push(b'"');
}

/// The members of a map: keys without their quotes, values unchanged. Keys of records have no
/// escapes; a key with an escape would not be found.
fn members(map: &[u8]) -> Result<Members<'_>, DamagedRecord> {
    let mut rest = inside(map, b'{', b'}')?;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (key, after) = first_value(rest)?;
        let key = inside(key, b'"', b'"')?;
        let after = after.trim_ascii_start().strip_prefix(b":").ok_or(DamagedRecord)?;
        let (value, after) = first_value(after)?;
        found.push((key, value));
        rest = after_comma(after)?;
    }
    Ok(found)
}

fn elements(array: &[u8]) -> Result<Vec<&[u8]>, DamagedRecord> {
    let mut rest = inside(array, b'[', b']')?;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (value, after) = first_value(rest)?;
        found.push(value);
        rest = after_comma(after)?;
    }
    Ok(found)
}

fn inside(text: &[u8], open: u8, close: u8) -> Result<&[u8], DamagedRecord> {
    let text = text.trim_ascii().strip_prefix(&[open]).ok_or(DamagedRecord)?;
    Ok(text.strip_suffix(&[close]).ok_or(DamagedRecord)?.trim_ascii())
}

fn first_value(text: &[u8]) -> Result<(&[u8], &[u8]), DamagedRecord> {
    let text = text.trim_ascii_start();
    let end = json::skip_value(text, RECORD_DEPTH_MAX).map_err(|_| DamagedRecord)?;
    Ok(text.split_at(end))
}

fn after_comma(text: &[u8]) -> Result<&[u8], DamagedRecord> {
    let text = text.trim_ascii_start();
    if text.is_empty() { Ok(text) } else { text.strip_prefix(b",").ok_or(DamagedRecord) }
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
