//! The rows of a CSV file by the grammar of RFC 4180: cells in quotes may have delimiters, line
//! breaks and doubled quotes. Every row ends as the first one does, in LF or in CRLF. The usual
//! libraries accept broken quotes without a word and take the rest of the file for one cell, so the
//! grammar is here. Memory is bounded by the longest row.

use std::io::{self, BufRead};

/// The longest row in bytes. The server accepts no entry of this size.
const ROW_BYTES_MAX: usize = 4 << 20;
/// The most columns of a table.
pub(super) const COLUMNS_MAX: usize = 10_000;

/// A place that breaks the grammar, or a header that no profile has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CsvFault {
    /// Lines and columns count from 1, columns in characters.
    #[error("line {line}, column {column}: {why}")]
    Grammar { line: u64, column: u64, why: &'static str },
    #[error(
        "line {line} has {cells} cells, and the header has {columns} columns; is a delimiter or a \
         quote missing?"
    )]
    Cells { line: u64, cells: usize, columns: usize },
    #[error("its header is not one of profiles:{}", list(.0))]
    Header(Vec<String>),
}

fn list(faults: &[String]) -> String {
    faults.iter().flat_map(|fault| ["\n  ", fault.as_str()]).collect()
}

/// Why there is no next row.
#[derive(Debug, thiserror::Error)]
pub(super) enum RowError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Fault(#[from] CsvFault),
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    line: u64,
    column: u64,
}

/// The place in the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    CellStart,
    Plain,
    Quoted,
    /// After a quote in a cell with quotes: its end, or the first of two.
    Quote,
    /// After a carriage return that ends a row.
    Return,
}

/// Reads rows.
pub(super) struct Rows<R> {
    reader: R,
    delimiter: u8,
    state: State,
    /// Whether rows end in CRLF; `None` before the first end.
    crlf: Option<bool>,
    /// The place of the next byte.
    next: Place,
    cell: Place,
    row: Row,
    row_bytes: usize,
}

/// A row: its cells, as texts.
#[derive(Debug, Default)]
pub(super) struct Row {
    text: String,
    /// The end of each cell in the text.
    ends: Vec<usize>,
    /// Bytes of the cell that is being read.
    bytes: Vec<u8>,
    /// Number of cells, those beyond the most columns included.
    pub(super) cells: usize,
    /// The line on which the row begins.
    pub(super) line: u64,
}

impl Row {
    /// A cell by its index.
    pub(super) fn cell(&self, at: usize) -> &str {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(at).copied().unwrap_or(self.text.len());
        self.text.get(start.unwrap_or(0)..end).unwrap_or_default()
    }

    /// Whether the line has nothing on it.
    pub(super) const fn is_blank(&self) -> bool {
        self.cells == 1 && self.text.is_empty()
    }
}

impl<R: BufRead> Rows<R> {
    pub(super) fn new(reader: R, delimiter: u8) -> Self {
        let start = Place { line: 1, column: 1 };
        let (row, state) = (Row::default(), State::CellStart);
        Self { reader, delimiter, state, crlf: None, next: start, cell: start, row, row_bytes: 0 }
    }

    /// Reads the next row that is not blank; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<&Row>, RowError> {
        while self.read()? {
            if !self.row.is_blank() {
                return Ok(Some(&self.row));
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> Result<bool, RowError> {
        self.row.text.clear();
        self.row.ends.clear();
        self.row.bytes.clear();
        (self.row.cells, self.row.line, self.row_bytes) = (0, self.next.line, 0);
        (self.state, self.cell) = (State::CellStart, self.next);
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return Ok(self.end_of_file()?);
            }
            // The bytes are taken out, because a step needs the whole reader.
            let taken = bytes.len().min(64 << 10);
            let piece = bytes[..taken].to_vec();
            for (at, byte) in piece.into_iter().enumerate() {
                let ended = self.step(byte)?;
                self.advance(byte);
                if ended {
                    self.reader.consume(at + 1);
                    return Ok(true);
                }
            }
            self.reader.consume(taken);
        }
    }
}

impl<R> Rows<R> {
    /// Takes a byte; returns whether it ends the row.
    fn step(&mut self, byte: u8) -> Result<bool, CsvFault> {
        self.row_bytes += 1;
        if self.row_bytes > ROW_BYTES_MAX {
            let line = self.row.line;
            let why = "the row that begins here is longer than 4 MiB; is a quote not closed?";
            return Err(CsvFault::Grammar { line, column: 1, why });
        }
        let ends_cell = byte == self.delimiter || matches!(byte, b'\n' | b'\r');
        self.state = match (self.state, byte) {
            (State::Return, b'\n') => return self.end_row(true),
            (State::Return, _) => return Err(self.fault(NO_LINE_FEED)),
            (State::CellStart, b'"') => State::Quoted,
            (State::Quoted, b'"') => State::Quote,
            (State::Plain, b'"') => return Err(self.fault(QUOTE_INSIDE)),
            (State::CellStart | State::Plain | State::Quote, _) if ends_cell => {
                self.end_cell(self.state == State::Quote)?;
                match byte {
                    b'\n' => return self.end_row(false),
                    b'\r' => State::Return,
                    _ => State::CellStart,
                }
            }
            (State::Quoted, _) | (State::Quote, b'"') => self.push(byte, State::Quoted),
            (State::Quote, _) => return Err(self.fault(AFTER_QUOTE)),
            (State::CellStart | State::Plain, _) => self.push(byte, State::Plain),
        };
        Ok(false)
    }

    /// Ends a row; every row ends as the first one.
    fn end_row(&mut self, crlf: bool) -> Result<bool, CsvFault> {
        if *self.crlf.get_or_insert(crlf) == crlf {
            return Ok(true);
        }
        Err(self.fault(if crlf { CRLF_AFTER_LF } else { LF_AFTER_CRLF }))
    }

    fn push(&mut self, byte: u8, next: State) -> State {
        self.row.bytes.push(byte);
        next
    }

    /// Moves to the place after a byte.
    const fn advance(&mut self, byte: u8) {
        if byte == b'\n' {
            self.next.line += 1;
            self.next.column = 1;
        } else if byte & 0xc0 != 0x80 {
            self.next.column += 1;
        }
        if matches!(self.state, State::CellStart) {
            self.cell = self.next;
        }
    }

    /// Ends the file, perhaps with a row that has no line break.
    fn end_of_file(&mut self) -> Result<bool, CsvFault> {
        match self.state {
            State::CellStart if self.row_bytes == 0 => return Ok(false),
            State::Return => {}
            State::Quoted => {
                let Place { line, column } = self.cell;
                return Err(CsvFault::Grammar { line, column, why: NOT_CLOSED });
            }
            state => self.end_cell(state == State::Quote)?,
        }
        Ok(true)
    }

    fn end_cell(&mut self, quoted: bool) -> Result<(), CsvFault> {
        let is_first = self.row.line == 1 && self.row.cells == 0;
        self.row.cells += 1;
        if self.row.cells <= COLUMNS_MAX {
            match str::from_utf8(&self.row.bytes) {
                Ok(text) => self.row.text.push_str(text),
                Err(error) => {
                    let valid = &self.row.bytes[..error.valid_up_to()];
                    let Place { line, column } = place_after(self.cell, valid, quoted);
                    let utf_16 = is_first
                        && matches!(
                            self.row.bytes[..2.min(self.row.bytes.len())],
                            [0xff, 0xfe] | [0xfe, 0xff]
                        );
                    let why = if utf_16 { UTF_16 } else { NOT_UTF_8 };
                    return Err(CsvFault::Grammar { line, column, why });
                }
            }
            self.row.ends.push(self.row.text.len());
        }
        self.row.bytes.clear();
        Ok(())
    }

    const fn fault(&self, why: &'static str) -> CsvFault {
        CsvFault::Grammar { line: self.next.line, column: self.next.column, why }
    }
}

const NO_LINE_FEED: &str = "a line feed was expected after the carriage return; lines end in LF or \
                            CRLF";
const CRLF_AFTER_LF: &str =
    "this line ends in CRLF, and the first one in LF; a file has one kind of line end";
const LF_AFTER_CRLF: &str =
    "this line ends in LF, and the first one in CRLF; a file has one kind of line end";
const QUOTE_INSIDE: &str = "a quote inside a cell without quotes; put the cell in quotes and write \
                            the quote twice";
const AFTER_QUOTE: &str = "a delimiter or the end of the line was expected after the closing quote";
const NOT_CLOSED: &str = "the cell that begins here has no closing quote";
const NOT_UTF_8: &str = "these bytes are not UTF-8; save the file as CSV in UTF-8";
const UTF_16: &str = "the file looks like UTF-16; save it as CSV in UTF-8";

/// The place in the file after the beginning of a cell.
fn place_after(cell: Place, value: &[u8], quoted: bool) -> Place {
    let mut place = Place { column: cell.column + u64::from(quoted), ..cell };
    for byte in value {
        match byte {
            b'\n' => place = Place { line: place.line + 1, column: 1 },
            b'"' => place.column += 2,
            byte if byte & 0xc0 != 0x80 => place.column += 1,
            _ => {}
        }
    }
    place
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::samples::SplitMix;

    fn rows(text: &[u8]) -> Result<Vec<(u64, Vec<String>)>, RowError> {
        // A small buffer, so that rows lie across its ends.
        let mut rows = Rows::new(io::BufReader::with_capacity(3, text), b',');
        let mut read = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..row.cells).map(|at| row.cell(at).to_owned()).collect();
            read.push((row.line, cells));
        }
        Ok(read)
    }

    #[test]
    fn random_tables_are_read_as_they_were_written() {
        for seed in 0..2_000 {
            let mut random = SplitMix::new(seed);
            let end = if random.below(2) == 0 { "\n" } else { "\r\n" };
            let (mut text, mut expected, mut line) = (String::new(), Vec::new(), 1);
            for _ in 0..random.below(6) {
                let pieces = ["a", "ü", ",", "\"", "\n", "\r\n", "\r", " ", "", "€"];
                let cells: Vec<String> = (0..=random.below(4))
                    .map(|_| {
                        (0..random.below(4)).map(|_| pieces[random.below(10) as usize]).collect()
                    })
                    .collect();
                let needs_quotes = |cell: &str| cell.contains([',', '"', '\n', '\r']);
                let written: Vec<String> = cells
                    .iter()
                    .map(|cell| {
                        if needs_quotes(cell) || random.below(3) == 0 {
                            format!("\"{}\"", cell.replace('"', "\"\""))
                        } else {
                            cell.clone()
                        }
                    })
                    .collect();
                let written = written.join(",");
                text = text + &written + end;
                if cells.len() > 1 || !cells[0].is_empty() {
                    expected.push((line, cells));
                }
                line += written.matches('\n').count() as u64 + 1;
            }
            if random.below(2) == 0 {
                text.truncate(text.trim_end_matches(end).len());
            }
            if text.ends_with('"') || !text.ends_with(['\n', '\r']) {
                assert_eq!(rows(text.as_bytes()).unwrap(), expected, "seed {seed}: {text:?}");
            }
        }
    }

    #[test]
    fn a_break_of_the_grammar_has_its_line_and_column() {
        for (text, line, column) in [
            ("a,b\n1,\"2", 2, 3),
            ("a,\"ü\nb\"\n€\"", 3, 2),
            ("a\n\"b\"c", 2, 4),
            ("a\nb\rc", 2, 3),
            ("a\r\nb\n", 2, 2),
            ("a\nb\r\n", 2, 3),
        ] {
            match rows(text.as_bytes()).unwrap_err() {
                RowError::Fault(CsvFault::Grammar { line: at, column: of, .. }) => {
                    assert_eq!((at, of), (line, column), "{text:?}");
                }
                error => panic!("{text:?}: {error}"),
            }
        }
        for (bytes, line, column) in
            [(&b"a\n\xff"[..], 2, 1), (b"a,\"b\"\"\n\xc3\",c", 2, 1), (b"a,\"b\"\"\xc3\",c", 1, 7)]
        {
            match rows(bytes).unwrap_err() {
                RowError::Fault(CsvFault::Grammar { line: at, column: of, .. }) => {
                    assert_eq!((at, of), (line, column), "{bytes:?}");
                }
                error => panic!("{bytes:?}: {error}"),
            }
        }
    }
}
