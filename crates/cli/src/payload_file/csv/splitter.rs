//! Makes each row of a table an entry, and cuts the entries into parts of JSON lines. A part knows
//! the line of the file on which each of its rows begins, and the rows that give no entry.

use std::collections::VecDeque;
use std::io::BufRead;

use caseload_files::{COLUMNS_MAX, Record, Row, RowFault, TOO_LARGE, TableReader};
use caseload_model::error_code::EntryErrorCode;
use caseload_model::payload::Entry;
use caseload_model::profile::{Cell, ColumnFault, RoundedIds, RowColumns, RowEntry};
use caseload_model::record::{ChunkRecords, EntryFault, EntryWarning};
use caseload_model::task::Action;

use super::{HeaderFault, TableForm};
use crate::payload_file::part::{Part, PartLimits, SplitError};

/// Bytes that are read at a time. Their rows are in memory at once.
const PIECE_BYTES: usize = 64 << 10;

/// Cuts a table into parts.
pub(crate) struct CsvSplitter<R> {
    source: R,
    reader: TableReader,
    rows: RowsOfProfiles,
    limits: PartLimits,
    is_ended: bool,
    entries: u64,
}

/// The rows that have been read and are in no part yet.
struct RowsOfProfiles {
    form: TableForm,
    header: Option<Result<Header, HeaderFault>>,
    ready: VecDeque<ReadRow>,
    /// Rows so far, faulty ones included.
    rows_read: u64,
}

struct Header {
    columns: RowColumns,
    width: usize,
    rounded: RoundedIds,
}

/// A row that is not blank.
enum ReadRow {
    Entry {
        line: u64,
        index: u64,
        entry: Vec<u8>,
        warnings: Vec<EntryWarning>,
    },
    /// With its error record.
    Faulty(Vec<u8>),
}

impl ReadRow {
    const fn bytes(&self) -> usize {
        match self {
            Self::Entry { entry, .. } => entry.len(),
            Self::Faulty(record) => record.len(),
        }
    }
}

impl<R: BufRead> CsvSplitter<R> {
    pub(crate) fn new(source: R, form: &TableForm, limits: PartLimits) -> Self {
        let reader = TableReader::new(form.options);
        let (header, ready) = (None, VecDeque::new());
        let rows = RowsOfProfiles { form: form.clone(), header, ready, rows_read: 0 };
        Self { source, reader, rows, limits, is_ended: false, entries: 0 }
    }

    /// The next part; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Part>, SplitError> {
        let mut part = Part { entries_before: self.entries, ..Part::default() };
        let (mut rows, mut bytes) = (0, 0);
        while let Some(row) = self.next_row()? {
            rows += 1;
            bytes += row.bytes();
            if rows > 1 && (rows > self.limits.entries || bytes > self.limits.bytes) {
                self.rows.ready.push_front(row);
                break;
            }
            match row {
                ReadRow::Entry { line, index, entry, warnings } => {
                    part.bytes.extend_from_slice(&entry);
                    part.rows.push((index, line));
                    part.warnings.extend(warnings.into_iter().map(|warning| (line, warning)));
                    part.entries += 1;
                }
                ReadRow::Faulty(record) => part.failed.push(record),
            }
        }
        if let Some(detail) = self.rows.refusal() {
            return Err(SplitError::RoundedIds(detail));
        }
        self.entries += part.entries;
        part.lines_before = part.rows.first().map_or(0, |(_, line)| line - 1);
        Ok((rows > 0).then_some(part))
    }

    fn next_row(&mut self) -> Result<Option<ReadRow>, SplitError> {
        while self.rows.ready.is_empty() && !self.is_ended {
            let bytes = self.source.fill_buf()?;
            let taken = bytes.len().min(PIECE_BYTES);
            let rows = &mut self.rows;
            if taken == 0 {
                self.is_ended = true;
                self.reader.finish(&mut |record| rows.take(record))?;
            } else {
                self.reader.feed(&bytes[..taken], &mut |record| rows.take(record))?;
            }
            self.source.consume(taken);
            if let Some(Err(fault)) = &self.rows.header {
                return Err(fault.clone().into());
            }
        }
        Ok(self.rows.ready.pop_front())
    }
}

impl RowsOfProfiles {
    /// Takes the header, or a row; a row without any value is skipped.
    fn take(&mut self, record: Record<'_>) {
        let index = self.rows_read;
        let action = self.form.action;
        let read = match (&mut self.header, record) {
            (Some(Err(_)), _) => return,
            (None, Record::Row(row)) => {
                self.header = Some(header(&row, &self.form));
                return;
            }
            (None, Record::Fault(RowFault { line, column, detail: why, .. })) => {
                self.header = Some(Err(HeaderFault::Grammar { line, column, why }));
                return;
            }
            (Some(Ok(Header { width, .. })), Record::Row(row)) if row.cells() > *width => {
                let fault = too_many_cells(&row, *width);
                ReadRow::Faulty(error_record(action, (index, row.line), row.raw, &[fault]))
            }
            (Some(Ok(header)), Record::Row(row)) => {
                let mut entry = Vec::new();
                let cell = |at| cell_of(&row, at);
                let written = header.columns.write_entry(&self.form.rules, cell, &mut entry);
                if !matches!(written, RowEntry::Blank) {
                    header.rounded.see(cell);
                }
                match written {
                    RowEntry::Blank => return,
                    RowEntry::Entry(warnings) => {
                        entry.push(b'\n');
                        ReadRow::Entry { line: row.line, index, entry, warnings }
                    }
                    RowEntry::Faulty(faults) => {
                        let place = (index, row.line);
                        ReadRow::Faulty(error_record(action, place, row.raw, &faults))
                    }
                }
            }
            (Some(Ok(_)), Record::Fault(fault)) => {
                let (place, raw) = ((index, fault.row_line), fault.raw);
                ReadRow::Faulty(error_record(action, place, raw, &[unreadable(&fault)]))
            }
        };
        self.rows_read += 1;
        self.ready.push_back(read);
    }

    /// Why the table is refused as a whole, by the rows so far.
    fn refusal(&self) -> Option<String> {
        self.header.as_ref()?.as_ref().ok()?.rounded.refusal()
    }
}

/// The error record of a row that gives no entry, with its index and line in the file.
fn error_record(
    action: Action,
    (index, line): (u64, u64),
    raw: &str,
    faults: &[EntryFault],
) -> Vec<u8> {
    let place = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let range = 0..raw.len();
    let entry = Entry { index: place(index), line: place(line), range, oversize: None };
    let mut records = ChunkRecords::default();
    records.error(action, raw.as_bytes(), &entry, None, faults, false);
    records.errors
}

fn too_many_cells(row: &Row<'_>, width: usize) -> EntryFault {
    let detail = format!(
        "the row has {} cells, and the header has {width} columns; is a quote missing?",
        row.cells()
    );
    EntryFault::of_row(EntryErrorCode::TooManyCells, detail)
}

fn unreadable(fault: &RowFault<'_>) -> EntryFault {
    let RowFault { code, row_line, line, column, detail, .. } = fault;
    let line = if line == row_line { String::new() } else { format!("line {line}, ") };
    let code = match *code {
        TOO_LARGE => EntryErrorCode::TooLarge,
        _ => EntryErrorCode::OpenQuote,
    };
    EntryFault::of_row(code, format!("{line}column {column}: {detail}"))
}

fn cell_of<'r>(row: &Row<'r>, at: usize) -> Cell<'r> {
    Cell { text: row.cell(at), quoted: row.is_quoted(at) }
}

/// Reads the header.
fn header(row: &Row<'_>, form: &TableForm) -> Result<Header, HeaderFault> {
    if row.cells() > COLUMNS_MAX {
        let why = format!("it has {} columns; at most {COLUMNS_MAX} are read", row.cells());
        return Err(HeaderFault::Columns(vec![why]));
    }
    let width = row.cells();
    let cells: Vec<Cell<'_>> = (0..width).map(|at| cell_of(row, at)).collect();
    let read = RowColumns::read(form.action, &cells, &form.renames, form.others);
    let columns = read.map_err(|faults| {
        let shown = faults.into_iter().map(|ColumnFault { column, detail }| match column {
            Some(at) => format!("column {}: {detail}", at + 1),
            None => detail,
        });
        HeaderFault::Columns(shown.collect())
    })?;
    let rounded = columns.rounded_ids();
    Ok(Header { columns, width, rounded })
}
