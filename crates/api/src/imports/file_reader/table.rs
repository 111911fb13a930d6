//! A table: its records become entries (`rows`). A record that cannot be read is a row with a
//! fault. It needs no more memory than one row and the blocks that it fills.

use caseload_files::{Record, Row, RowFault, TOO_LARGE, TableOptions, TableReader, TextFault};
use caseload_model::error_code::EntryErrorCode;
use caseload_model::payload::Block;
use caseload_model::profile::Cell;
use caseload_model::record::EntryFault;

use super::fault::FileFault;
use super::options::{FileFormat, FileRead, FileType, ReadOptions};
use super::rows::{FileRow, Rows};

pub(super) struct TableSource {
    reader: TableReader,
    rows: Rows,
}

impl TableSource {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let ReadOptions { delimiter, encoding, .. } = *options;
        let reader = TableReader::new(TableOptions { delimiter, encoding });
        Self { reader, rows: Rows::new(options) }
    }

    pub(super) fn push(&mut self, bytes: &[u8], blocks: &mut Vec<Block>) -> Result<(), FileFault> {
        let rows = &mut self.rows;
        let read = self.reader.feed(bytes, &mut |record| take(rows, record, blocks));
        self.check(read)
    }

    /// With `is_cut`, a row that has not ended is not read.
    pub(super) fn finish(
        &mut self,
        is_cut: bool,
        blocks: &mut Vec<Block>,
    ) -> Result<FileRead, FileFault> {
        if !is_cut {
            let rows = &mut self.rows;
            let read = self.reader.finish(&mut |record| take(rows, record, blocks));
            self.check(read)?;
        }
        let encoding = self.reader.encoding().name();
        let delimiter = self.reader.delimiter();
        let format = FileFormat { file_type: FileType::Csv, encoding, delimiter, sheet: None };
        self.rows.finish(format, blocks)
    }

    fn check(&self, read: Result<(), TextFault>) -> Result<(), FileFault> {
        read?;
        self.rows.check()
    }
}

fn take(rows: &mut Rows, record: Record<'_>, blocks: &mut Vec<Block>) {
    match record {
        Record::Row(row) => {
            let Row { line, raw, delimiter, .. } = row;
            let cell = |at| Cell { text: row.cell(at), quoted: row.is_quoted(at) };
            rows.take(FileRow { line, raw, delimiter, cells: Ok(row.cells()) }, cell, blocks);
        }
        Record::Fault(fault) => {
            let RowFault { row_line, raw, delimiter, .. } = fault;
            let cells = Err(unreadable(&fault));
            let row = FileRow { line: row_line, raw, delimiter, cells };
            rows.take(row, |_| Cell::default(), blocks);
        }
    }
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
