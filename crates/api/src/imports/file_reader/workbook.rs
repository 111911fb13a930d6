//! A workbook: it is held until its end, and then the rows of its sheet become entries (`rows`).

use caseload_files::{ROW_BYTES_MAX, Sheet, WORKBOOK_BYTES_MAX, WorkbookFault, WorkbookSize};
use caseload_model::error_code::{EntryErrorCode, ErrorCode};
use caseload_model::payload::Block;
use caseload_model::profile::Cell;
use caseload_model::record::EntryFault;

use super::fault::FileFault;
use super::options::{FileFormat, FileRead, FileType, ReadOptions};
use super::rows::{BLOCKS_AT_ONCE, FileRow, Rows};

/// Between two cells of rejects.
const DELIMITER: u8 = b',';

pub(super) struct WorkbookSource {
    wanted: Option<String>,
    rows: Rows,
    state: State,
}

enum State {
    /// The file so far; with its size after its end.
    Arriving(Vec<u8>, Option<WorkbookSize>),
    /// The sheet, and the number of rows that were taken.
    Reading(Sheet, usize),
}

impl WorkbookSource {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let (wanted, rows) = (options.sheet.clone(), Rows::new(options));
        Self { wanted, rows, state: State::Arriving(Vec::new(), None) }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), FileFault> {
        let State::Arriving(held, _) = &mut self.state else { return Ok(()) };
        held.extend_from_slice(bytes);
        if held.len() as u64 > WORKBOOK_BYTES_MAX {
            let detail = format!("more than {WORKBOOK_BYTES_MAX} bytes");
            return Err(WorkbookFault::TooLarge(detail).into());
        }
        Ok(())
    }

    /// Ends the file. Its rows wait to be taken.
    pub(super) fn end(&mut self) -> Result<(), FileFault> {
        if let State::Arriving(held, size @ None) = &mut self.state {
            *size = Some(WorkbookSize::of(held)?);
        }
        Ok(())
    }

    pub(super) fn has_more(&self) -> bool {
        match &self.state {
            State::Arriving(_, size) => size.is_some(),
            State::Reading(sheet, taken) => *taken < sheet.len(),
        }
    }

    /// The bytes that the workbook takes, or will take when its rows are taken.
    pub(super) fn memory_bytes(&self) -> u64 {
        match &self.state {
            State::Arriving(held, size) => {
                held.capacity() as u64 + size.map_or(0, WorkbookSize::memory_bytes)
            }
            State::Reading(sheet, _) => sheet.memory_bytes(),
        }
    }

    /// Takes rows until some blocks are full.
    pub(super) fn step(&mut self, blocks: &mut Vec<Block>) -> Result<(), FileFault> {
        if let State::Arriving(held, Some(_)) = &mut self.state {
            let sheet = Sheet::read(held, self.wanted.as_deref())?;
            self.state = State::Reading(sheet, 0);
        }
        let State::Reading(sheet, taken) = &mut self.state else { return Ok(()) };
        let mut raw = String::new();
        while let Some(row) = sheet.row(*taken).filter(|_| blocks.len() < BLOCKS_AT_ONCE) {
            *taken += 1;
            raw.clear();
            row.write_csv(self.rows.width(), &mut raw);
            let mut cells = Ok(row.width());
            if raw.len() > ROW_BYTES_MAX {
                raw.truncate(raw.floor_char_boundary(ROW_BYTES_MAX));
                let detail = format!("the row has more than {ROW_BYTES_MAX} bytes");
                cells = Err(EntryFault::of_row(EntryErrorCode::TooLarge, detail));
            }
            let cell = |at| Cell { text: row.cell(at), quoted: false };
            let (line, delimiter) = (row.number.into(), DELIMITER);
            self.rows.take(FileRow { line, raw: &raw, delimiter, cells }, cell, blocks);
            self.rows.check()?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, blocks: &mut Vec<Block>) -> Result<FileRead, FileFault> {
        self.end()?;
        while self.has_more() {
            let mut some = Vec::new();
            self.step(&mut some)?;
            blocks.append(&mut some);
        }
        let State::Reading(sheet, _) = &self.state else { unreachable!("the file has ended") };
        let format = FileFormat {
            file_type: FileType::Xlsx,
            encoding: "utf-8".to_owned(),
            delimiter: Some(DELIMITER),
            sheet: Some(sheet.name.clone()),
        };
        self.rows.finish(format, blocks)
    }
}

impl From<WorkbookFault> for FileFault {
    fn from(fault: WorkbookFault) -> Self {
        let code = match fault {
            WorkbookFault::TooLarge(_) => ErrorCode::TooLarge,
            _ => ErrorCode::InvalidPayload,
        };
        Self::new(code, fault.to_string())
    }
}
