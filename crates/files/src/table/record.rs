//! The records of a table: rows and faults of rows. They borrow from the reader, so that a row
//! costs no memory of its own.

/// A row or a faulty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'r> {
    Row(Row<'r>),
    Fault(RowFault<'r>),
}

/// A row. Lines of the file count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'r> {
    /// The line on which the row begins.
    pub line: u64,
    /// The row as it is in the file, without its line end.
    pub raw: &'r str,
    /// The byte between two cells.
    pub delimiter: u8,
    pub(super) text: &'r str,
    pub(super) cells: &'r [Cell],
    pub(super) count: usize,
}

/// A cell of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    /// Its end in the text of the row.
    pub(super) end: usize,
    pub(super) quoted: bool,
}

/// A row that cannot be read. The next line was read as a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowFault<'r> {
    /// `OPEN_QUOTE` or `TOO_LARGE`.
    pub code: &'static str,
    /// The line on which the row begins.
    pub row_line: u64,
    /// The place of the fault; columns count from 1, in characters.
    pub line: u64,
    pub column: usize,
    pub detail: &'static str,
    /// The row as it is in the file, without its line end; at most 1 MiB of it.
    pub raw: &'r str,
    /// The byte between two cells.
    pub delimiter: u8,
}

impl<'r> Row<'r> {
    /// The number of cells, those beyond the most columns included.
    pub const fn cells(&self) -> usize {
        self.count
    }

    /// The text of a cell; empty if the row has no such cell.
    pub fn cell(&self, at: usize) -> &'r str {
        let Some(cell) = self.cells.get(at) else { return "" };
        let start = at.checked_sub(1).map_or(0, |before| self.cells[before].end);
        &self.text[start..cell.end]
    }

    /// Whether a cell was written in quotes.
    pub fn is_quoted(&self, at: usize) -> bool {
        self.cells.get(at).is_some_and(|cell| cell.quoted)
    }
}
