//! Results and errors as a table: a header, then one row per result, or one row per fault of an
//! error record. `http::csv` writes the cells.

use caseload_model::profile::{app_field_names, core_field_names};
use caseload_model::task::Action;
use caseload_store::RecordKind;

use crate::http::csv::{
    self, DamagedRecord, Members, Style, elements, find, members, text_of, write_header, write_row,
};

/// An entry of at most this size is repeated in the row of each of its faults. A larger entry is
/// written in the first row only, so that an entry with many faults does not make a huge file.
const REPEATED_ENTRY_BYTES_MAX: usize = 16 << 10;
/// The columns of a fault.
const FAULT_COLUMNS: [&str; 4] = ["code", "pointer", "detail", "value"];

/// The columns for the records of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Table {
    /// One row per result, with these members.
    Results(Vec<&'static str>),
    /// One row per fault; `id` is the name of the member that identifies the profile or issue.
    Errors { id: &'static str },
}

impl Table {
    /// With `changes`, results have a column for these.
    pub(super) fn new(action: Action, kind: RecordKind, changes: bool) -> Self {
        let id = action.id_field();
        let times = ["created_at", "updated_at"];
        if kind == RecordKind::Errors {
            return Self::Errors { id };
        }
        let mut columns = match action {
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
            _ => vec!["index", "line", "outcome", id, "warnings"],
        };
        if changes {
            columns.extend(["changes", "changes_left_out"]);
        }
        Self::Results(columns)
    }

    /// Appends the first line of the file.
    pub(super) fn write_header(&self, style: Style, out: &mut Vec<u8>) {
        match self {
            Self::Results(columns) => write_header(columns.iter().copied(), style, out),
            Self::Errors { id } => {
                let position = ["index", "line", id];
                write_header(
                    position.into_iter().chain(FAULT_COLUMNS).chain(["entry"]),
                    style,
                    out,
                );
            }
        }
    }

    /// Appends the rows of a run of records, one per line of `lines`.
    pub(super) fn write_rows(
        &self,
        lines: &[u8],
        style: Style,
        out: &mut Vec<u8>,
    ) -> Result<(), DamagedRecord> {
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        for line in lines {
            let members = members(line)?;
            match self {
                Self::Results(columns) => {
                    let cells = columns.iter().map(|column| find(&members, column));
                    write_row(cells.map(|cell| cell.map(text_of)), style, out);
                }
                Self::Errors { id } => write_faults(&members, id, style, out)?,
            }
        }
        Ok(())
    }
}

fn write_faults(
    members: &Members<'_>,
    id: &str,
    style: Style,
    out: &mut Vec<u8>,
) -> Result<(), DamagedRecord> {
    let position = ["index", "line", id].map(|name| find(members, name));
    let entry = find(members, "entry").or_else(|| find(members, "raw"));
    // An entry that was erased with a person has no faults any more, and a row without values.
    let is_erased = find(members, "erased").is_some();
    let faults = if is_erased { Some(&b"[{}]"[..]) } else { find(members, "errors") };
    let faults = elements(faults.ok_or(DamagedRecord)?)?;
    for (n, fault) in faults.into_iter().enumerate() {
        let fault = csv::members(fault)?;
        let columns = FAULT_COLUMNS.iter().map(|name| find(&fault, name));
        let entry = entry.filter(|text| n == 0 || text.len() <= REPEATED_ENTRY_BYTES_MAX);
        let cells = position.into_iter().chain(columns).chain([entry]);
        write_row(cells.map(|cell| cell.map(text_of)), style, out);
    }
    Ok(())
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
