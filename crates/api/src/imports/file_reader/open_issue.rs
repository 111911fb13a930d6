//! An issue while rows with its id may follow. Its memory is bounded: an issue that has more rows
//! than it may have is ended, and its further rows are faulty entries.

use caseload_model::error_code::{EntryErrorCode, EntryWarningCode};
use caseload_model::issue::MESSAGES_MAX;
use caseload_model::notes::Notes;
use caseload_model::profile::{Cell, FAULTS_MAX, RowColumns, RowEntry, RowRules};
use caseload_model::record::{EntryFault, EntryWarning, WARNINGS_MAX};
use caseload_model::task::Family;

/// The pointer of the messages of an entry.
const MESSAGES: &str = "/messages";

pub(super) struct OpenIssue {
    pub(super) id: String,
    /// The cells of the first row.
    first: Vec<String>,
    pub(super) entry: Vec<u8>,
    pub(super) notes: Notes,
    /// The raw rows, each with its line.
    pub(super) rows: Vec<(u32, String)>,
    rows_bytes: usize,
    messages: usize,
    /// A row that cannot be read. It belongs to the issue if the next row does.
    pub(super) broken: Option<BrokenRow>,
}

pub(super) struct BrokenRow {
    pub(super) line: u32,
    pub(super) raw: String,
    pub(super) fault: EntryFault,
}

impl OpenIssue {
    pub(super) fn new(
        id: String,
        first: Vec<String>,
        entry: Vec<u8>,
        notes: Notes,
        row: (u32, String),
    ) -> Self {
        let messages = usize::from(!entry.ends_with(b"[]}"));
        let rows_bytes = row.1.len();
        Self { id, first, entry, notes, rows: vec![row], rows_bytes, messages, broken: None }
    }

    /// Whether the issue has more than it may have, so that validation rejects it.
    pub(super) fn is_full(&self) -> bool {
        let bytes_max = Family::Issues.entry_bytes_read_max();
        self.messages > MESSAGES_MAX
            || self.entry.len() > bytes_max
            || self.rows_bytes > 2 * bytes_max
            || self.rows.len() > 2 * MESSAGES_MAX
    }

    /// The fault of a further row of a full issue.
    pub(super) fn continuation(&self) -> EntryFault {
        let line = self.rows.first().map_or(0, |(line, _)| *line);
        let detail = format!(
            "the row adds to the issue on line {line}, which has more rows than an issue may have"
        );
        EntryFault::new(EntryErrorCode::TooMany, MESSAGES, detail)
    }

    /// Adds the message of a row with the same id.
    pub(super) fn add_row<'r>(
        &mut self,
        columns: &RowColumns,
        rules: &RowRules,
        line: u32,
        raw: &str,
        cell: impl Fn(usize) -> Cell<'r>,
    ) {
        if let Some(BrokenRow { line, raw, fault }) = self.broken.take() {
            let detail = format!("line {line}: {}", fault.detail);
            self.notes.faults.push(EntryFault::new(fault.code, MESSAGES, detail));
            self.keep(line, raw);
        }
        let is_repeated = self.rows.last().is_some_and(|(_, before)| before == raw);
        self.keep(line, raw.to_owned());
        if is_repeated {
            let detail =
                format!("the row on line {line} repeats the row before it, and was left out");
            self.notes.warnings.push(EntryWarning {
                code: EntryWarningCode::LeftOut,
                pointer: MESSAGES.to_owned(),
                detail,
                value: b"null".to_vec(),
            });
        } else {
            let first = |at: usize| {
                let text = self.first.get(at).map_or("", String::as_str);
                Cell { text, quoted: false }
            };
            let before = self.entry.len();
            match columns.write_message(rules, first, cell, self.messages, &mut self.entry) {
                RowEntry::Blank => {}
                RowEntry::Entry(warnings) => self.notes.warnings.extend(warnings),
                RowEntry::Faulty(faults) => {
                    let on_line = |fault: EntryFault| {
                        let detail = format!("line {line}: {}", fault.detail);
                        EntryFault { detail, ..fault }
                    };
                    self.notes.faults.extend(faults.into_iter().map(on_line));
                }
            }
            self.messages += usize::from(self.entry.len() > before);
        }
        self.notes.faults.truncate(FAULTS_MAX);
        self.notes.warnings.truncate(WARNINGS_MAX);
    }

    fn keep(&mut self, line: u32, raw: String) {
        self.rows_bytes += raw.len();
        self.rows.push((line, raw));
    }
}
