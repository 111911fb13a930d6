//! Makes each row of a table an entry, and cuts the entries into parts of JSON lines. A part knows
//! the line of the file on which each of its rows begins, and the rows that cannot be read.

use std::collections::VecDeque;
use std::io::BufRead;

use caseload_files::{COLUMNS_MAX, Record, Row, RowFault, TableReader};
use caseload_model::profile::{ColumnFault, RowColumns};

use super::{HeaderFault, TableForm};
use crate::payload_file::part::{FaultyRow, Part, PartLimits, SplitError};

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
    /// The columns of the header, and how many there are.
    header: Option<Result<(RowColumns, usize), HeaderFault>>,
    ready: VecDeque<Item>,
}

enum Item {
    /// An entry as a line, and the line of its row.
    Entry(Vec<u8>, u64),
    Fault(FaultyRow),
}

impl<R: BufRead> CsvSplitter<R> {
    pub(crate) fn new(source: R, form: &TableForm, limits: PartLimits) -> Self {
        let reader = TableReader::new(form.options);
        let rows = RowsOfProfiles { form: form.clone(), header: None, ready: VecDeque::new() };
        Self { source, reader, rows, limits, is_ended: false, entries: 0 }
    }

    /// The next part; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Part>, SplitError> {
        let mut part = Part { entries_before: self.entries, ..Part::default() };
        let (mut items, mut bytes) = (0, 0);
        while let Some(item) = self.next_item()? {
            items += 1;
            bytes += item.bytes();
            if items > 1 && (items > self.limits.entries || bytes > self.limits.bytes) {
                self.rows.ready.push_front(item);
                break;
            }
            match item {
                Item::Entry(entry, line) => {
                    part.bytes.extend_from_slice(&entry);
                    part.rows.push(line);
                    part.entries += 1;
                }
                Item::Fault(fault) => part.faults.push(fault),
            }
        }
        self.entries += part.entries;
        part.lines_before = part.rows.first().map_or(0, |line| line - 1);
        Ok((items > 0).then_some(part))
    }

    fn next_item(&mut self) -> Result<Option<Item>, SplitError> {
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

impl Item {
    const fn bytes(&self) -> usize {
        match self {
            Self::Entry(entry, _) => entry.len(),
            Self::Fault(fault) => fault.raw.len(),
        }
    }
}

impl RowsOfProfiles {
    /// Takes the header, or a row; a row without any value is skipped.
    fn take(&mut self, record: Record<'_>) {
        let item = match (&self.header, record) {
            (Some(Err(_)), _) => return,
            (None, Record::Row(row)) => {
                let header = columns(&row, &self.form).map(|columns| (columns, row.cells()));
                self.header = Some(header);
                return;
            }
            (None, Record::Fault(RowFault { line, column, detail: why, .. })) => {
                self.header = Some(Err(HeaderFault::Grammar { line, column, why }));
                return;
            }
            (Some(Ok((_, width))), Record::Row(row)) if row.cells() > *width => {
                Item::Fault(FaultyRow::too_many_cells(&row, *width))
            }
            (Some(Ok((columns, _))), Record::Row(row)) => {
                let mut entry = Vec::new();
                if !columns.write_entry(|at| row.cell(at), &mut entry) {
                    return;
                }
                entry.push(b'\n');
                Item::Entry(entry, row.line)
            }
            (Some(Ok(_)), Record::Fault(fault)) => Item::Fault(fault.into()),
        };
        self.ready.push_back(item);
    }
}

/// Reads the header: renames its columns and finds their places in an entry.
fn columns(header: &Row<'_>, form: &TableForm) -> Result<RowColumns, HeaderFault> {
    if header.cells() > COLUMNS_MAX {
        let why = format!("it has {} columns; at most {COLUMNS_MAX} are read", header.cells());
        return Err(HeaderFault::Columns(vec![why]));
    }
    let given: Vec<&str> = (0..header.cells()).map(|at| header.cell(at).trim()).collect();
    let unknown = form.renames.iter().filter(|(column, _)| !given.contains(&column.as_str()));
    let mut faults: Vec<String> =
        unknown.map(|(column, _)| format!("--map {column:?}: there is no such column")).collect();
    let renamed =
        given.iter().map(|name| match form.renames.iter().find(|(column, _)| column == name) {
            Some((_, field)) => Some(field.as_str()).filter(|field| !field.is_empty()),
            None => Some(*name),
        });
    let read = RowColumns::read(form.action, &renamed.collect::<Vec<_>>());
    if let Err(found) = &read {
        faults.extend(found.iter().map(|ColumnFault { column, detail }| match column {
            Some(at) => format!("column {}: {detail}", at + 1),
            None => detail.clone(),
        }));
    }
    match read {
        Ok(columns) if faults.is_empty() => Ok(columns),
        _ => Err(HeaderFault::Columns(faults)),
    }
}
