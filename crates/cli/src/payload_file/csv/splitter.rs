//! Makes each row of a table an entry, and cuts the entries into parts of JSON lines. A part knows
//! the line of the file on which each of its rows begins.

use std::io::{BufRead, Chain, Cursor, Read};

use caseload_model::profile::{ColumnFault, RowColumns};

use super::rows::{COLUMNS_MAX, CsvFault, Row, RowError, Rows};
use super::{TableForm, delimiter_of};
use crate::payload_file::part::{Part, PartLimits, SplitError};

/// Bytes of the first line in which the delimiter is looked for.
const FIRST_LINE_BYTES: u64 = 1 << 20;

/// A table whose first line has been read.
pub(crate) type AfterFirst<R> = Chain<Cursor<Vec<u8>>, R>;

/// Cuts a table into parts.
pub(crate) struct CsvSplitter<R> {
    rows: Rows<R>,
    columns: RowColumns,
    width: usize,
    limits: PartLimits,
    /// An entry that belongs to the next part, and its line.
    pending: Option<(Vec<u8>, u64)>,
    entries: u64,
}

impl<R: BufRead> CsvSplitter<R> {
    /// Reads the header.
    pub(crate) fn start(
        mut reader: R,
        form: &TableForm,
        limits: PartLimits,
    ) -> Result<CsvSplitter<AfterFirst<R>>, SplitError> {
        let mut first = Vec::new();
        reader.by_ref().take(FIRST_LINE_BYTES).read_until(b'\n', &mut first)?;
        let delimiter = form.delimiter.unwrap_or_else(|| delimiter_of(&first));
        let mut rows = Rows::new(Cursor::new(first).chain(reader), delimiter);
        let (columns, width) = match rows.next()? {
            Some(header) => (columns(header, form)?, header.cells),
            None => (RowColumns::default(), 0),
        };
        Ok(CsvSplitter { rows, columns, width, limits, pending: None, entries: 0 })
    }

    /// The next part; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Part>, SplitError> {
        let mut part = Part { entries_before: self.entries, ..Part::default() };
        loop {
            let next = match self.pending.take() {
                Some(entry) => Some(entry),
                None => self.next_entry()?,
            };
            let Some((entry, line)) = next else { break };
            let is_full = part.entries >= self.limits.entries as u64
                || part.entries > 0 && part.bytes.len() + entry.len() > self.limits.bytes;
            if is_full {
                self.pending = Some((entry, line));
                break;
            }
            part.bytes.extend_from_slice(&entry);
            part.rows.push(line);
            part.entries += 1;
        }
        self.entries += part.entries;
        part.lines_before = part.rows.first().map_or(0, |line| line - 1);
        Ok((part.entries > 0).then_some(part))
    }

    /// The entry of the next row that has any value, as a line, and the line of the row.
    fn next_entry(&mut self) -> Result<Option<(Vec<u8>, u64)>, SplitError> {
        while let Some(row) = self.rows.next()? {
            if row.cells != self.width {
                let (line, cells, columns) = (row.line, row.cells, self.width);
                return Err(CsvFault::Cells { line, cells, columns }.into());
            }
            let mut entry = Vec::new();
            if self.columns.write_entry(|at| row.cell(at), &mut entry) {
                entry.push(b'\n');
                return Ok(Some((entry, row.line)));
            }
        }
        Ok(None)
    }
}

/// Reads the header: renames its columns and finds their places in an entry.
fn columns(header: &Row, form: &TableForm) -> Result<RowColumns, CsvFault> {
    if header.cells > COLUMNS_MAX {
        let why = format!("it has {} columns; at most {COLUMNS_MAX} are read", header.cells);
        return Err(CsvFault::Header(vec![why]));
    }
    let given: Vec<&str> = (0..header.cells).map(|at| header.cell(at).trim()).collect();
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
        _ => Err(CsvFault::Header(faults)),
    }
}

impl From<RowError> for SplitError {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Io(error) => Self::Io(error),
            RowError::Fault(fault) => Self::Table(fault),
        }
    }
}
