//! Workbooks, `.xlsx`: one sheet as rows of texts, as a spreadsheet shows them. A workbook is a zip
//! whose directory is at its end, so all of it is held. Its parts are measured before the library
//! reads them, by their bytes and not only by the directory, because a directory may lie.
//!
//! A merged cell has its value in its first cell alone, as in a CSV that a spreadsheet saves.

mod error_cells;
mod fault;
mod text;
mod zip_check;

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{Reader, SheetType, SheetVisible, Xlsx, XlsxError};

use fault::BROKEN;
pub use fault::{WORKBOOK_BYTES_MAX, WorkbookFault};
pub use zip_check::WorkbookSize;

/// The columns that a spreadsheet has.
const SHEET_COLUMNS: u32 = 16_384;
/// The rows of a sheet that have cells with a value.
#[derive(Debug)]
pub struct Sheet {
    pub name: String,
    /// The texts of all cells, one after another.
    text: String,
    /// The column of each cell, and the end of its text.
    cells: Vec<(u16, u32)>,
    /// The number of each row, and the end of its cells.
    rows: Vec<(u32, u32)>,
}

/// A row of a sheet.
#[derive(Debug, Clone, Copy)]
pub struct SheetRow<'s> {
    /// As the spreadsheet counts, from 1.
    pub number: u32,
    text: &'s str,
    /// The start of the text of the first cell.
    start: u32,
    cells: &'s [(u16, u32)],
}

impl Sheet {
    /// Reads a sheet by its name; without one, the first that is shown.
    pub fn read(workbook: &[u8], name: Option<&str>) -> Result<Self, WorkbookFault> {
        zip_check::check(workbook)?;
        // A panic of the library is about the file.
        let read = catch_unwind(AssertUnwindSafe(|| {
            if let Some(sheet) = read_sheet(workbook, name)? {
                return Ok(sheet);
            }
            let workbook = error_cells::as_texts(workbook).map_err(|_| BROKEN)?;
            read_sheet(&workbook, name)?.ok_or(BROKEN)
        }));
        read.unwrap_or(Err(BROKEN))
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The bytes that the sheet takes.
    pub fn memory_bytes(&self) -> u64 {
        (self.text.capacity() + 8 * (self.cells.capacity() + self.rows.capacity())) as u64
    }

    /// Whether no cell has a value.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn row(&self, at: usize) -> Option<SheetRow<'_>> {
        let (number, end) = *self.rows.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.rows[before].1 as usize);
        let text_start = start.checked_sub(1).map_or(0, |before| self.cells[before].1);
        let cells = &self.cells[start..end as usize];
        Some(SheetRow { number, text: &self.text, start: text_start, cells })
    }

    fn add(&mut self, (row, column): (u32, u32), text: &str) -> Result<(), WorkbookFault> {
        if column >= SHEET_COLUMNS {
            return Err(WorkbookFault::Damaged("it has a cell beyond the last column"));
        }
        if self.rows.last().is_none_or(|(number, _)| *number <= row) {
            self.rows.push((row + 1, self.cells.len() as u32));
        } else if self.rows.last().is_some_and(|(number, _)| *number > row + 1) {
            return Err(WorkbookFault::Damaged("its rows are not in order"));
        }
        let start = self.rows.len().checked_sub(2).map_or(0, |before| self.rows[before].1 as usize);
        if self.cells[start..].last().is_some_and(|(before, _)| u32::from(*before) >= column) {
            return Err(WorkbookFault::Damaged("its cells are not in order"));
        }
        self.text.push_str(text);
        if self.text.len() as u64 > WORKBOOK_BYTES_MAX {
            let detail = format!("texts of more than {WORKBOOK_BYTES_MAX} bytes in one sheet");
            return Err(WorkbookFault::TooLarge(detail));
        }
        self.cells.push((column as u16, self.text.len() as u32));
        if let Some((_, end)) = self.rows.last_mut() {
            *end = self.cells.len() as u32;
        }
        Ok(())
    }
}

impl<'s> SheetRow<'s> {
    /// The number of columns up to the last cell with a value.
    pub fn width(&self) -> usize {
        self.cells.last().map_or(0, |(column, _)| usize::from(*column) + 1)
    }

    /// The text of a cell; empty if it has no value.
    pub fn cell(&self, column: usize) -> &'s str {
        let at = self.cells.binary_search_by_key(&column, |(at, _)| usize::from(*at));
        at.map_or("", |at| {
            let start = at.checked_sub(1).map_or(self.start, |before| self.cells[before].1);
            &self.text[start as usize..self.cells[at].1 as usize]
        })
    }

    /// Writes the row as one of a CSV with this many columns, or more if the row has more.
    pub fn write_csv(&self, columns: usize, out: &mut String) {
        for column in 0..self.width().max(columns) {
            if column > 0 {
                out.push(',');
            }
            let text = self.cell(column);
            if text.contains([',', '"', '\n', '\r']) {
                out.push('"');
                out.push_str(&text.replace('"', "\"\""));
                out.push('"');
            } else {
                out.push_str(text);
            }
        }
    }
}

/// `None` if a cell has an error that the library does not know.
fn read_sheet(workbook: &[u8], name: Option<&str>) -> Result<Option<Sheet>, WorkbookFault> {
    let mut workbook: Xlsx<_> = Xlsx::new(Cursor::new(workbook)).map_err(|error| fault(&error))?;
    let name = sheet_name(&workbook, name)?;
    let mut cells = workbook.worksheet_cells_reader(&name).map_err(|error| fault(&error))?;
    let mut sheet = Sheet { name, text: String::new(), cells: Vec::new(), rows: Vec::new() };
    loop {
        let cell = match cells.next_cell() {
            Ok(Some(cell)) => cell,
            Ok(None) => return Ok(Some(sheet)),
            Err(XlsxError::CellError(_)) => return Ok(None),
            Err(error) => return Err(fault(&error)),
        };
        let text = text::text_of(cell.get_value());
        if !text.is_empty() {
            sheet.add(cell.get_position(), &text)?;
        }
    }
}

fn sheet_name(
    workbook: &Xlsx<Cursor<&[u8]>>,
    wanted: Option<&str>,
) -> Result<String, WorkbookFault> {
    let of_cells =
        || workbook.sheets_metadata().iter().filter(|sheet| sheet.typ == SheetType::WorkSheet);
    let found = match wanted {
        Some(wanted) => of_cells().find(|sheet| sheet.name == wanted),
        None => of_cells().find(|sheet| sheet.visible == SheetVisible::Visible),
    };
    found.map(|sheet| sheet.name.clone()).ok_or_else(|| {
        let names: Vec<String> = of_cells().map(|sheet| format!("{:?}", sheet.name)).collect();
        let sheets = names.join(", ");
        match wanted {
            _ if sheets.is_empty() => WorkbookFault::Damaged("it has no sheet with cells"),
            Some(wanted) => WorkbookFault::NoSheet { sheet: wanted.to_owned(), sheets },
            None => WorkbookFault::Hidden(sheets),
        }
    })
}

fn fault(error: &XlsxError) -> WorkbookFault {
    match error {
        XlsxError::Password => WorkbookFault::Encrypted,
        _ => BROKEN,
    }
}
