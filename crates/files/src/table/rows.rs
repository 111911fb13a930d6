//! The rows of a table by the grammar of RFC 4180, with recovery: a faulty row costs one line.
//!
//! A quoted cell that is never closed, or whose closing quote is followed by other text, may have
//! run over many lines that are rows of their own. Then the row ends with the line on which that
//! cell began, it is a fault, and reading continues on the next line, inside the cell.
//!
//! Cost: each byte of any input is passed at most twice. The scan of an open cell passes only
//! runs of an even number of quotes: a run of an odd number closes the cell. So when the lines
//! inside are read again, a cell that begins with quotes begins with an even run: it opens, and its
//! own run closes it. None of these lines opens a second long scan. The next long scan can begin
//! only at the run of quotes that ended the first one, at the 1 MiB limit of the row perhaps in its
//! middle. Such a run has no line break, so of two scans that end in it only the first is repeated.
//! The beginning of a faulty line is passed once more, to count its columns.
//!
//! Memory: the bytes of one row, which has at most 1 MiB, and of one piece.

use memchr::{memchr2, memchr3};

use super::record::{Cell, Record, Row, RowFault};

/// The longest row in bytes, its line end included.
pub const ROW_BYTES_MAX: usize = 1 << 20;
/// The most columns of a table. Cells beyond them are only counted.
pub const COLUMNS_MAX: usize = 1_000;
/// The code of a row with a quote that is never closed, or that is closed within a cell.
pub const OPEN_QUOTE: &str = "open_quote";
/// The code of a row over the limit.
pub const TOO_LARGE: &str = "too_large";

const NOT_CLOSED: &str = "the quote that opens here is never closed; close it, or write a quote \
                          inside quotes twice";
const AFTER_QUOTE: &str = "a delimiter or the end of the line was expected after the closing \
                           quote; write a quote inside quotes twice";
const OVER_LIMIT: &str = "the row that begins here is longer than 1 MiB";

/// The place in the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a row. A line feed right after a carriage return belongs to the end of the last row.
    RowStart {
        after_return: bool,
    },
    CellStart,
    Plain,
    Quoted,
    /// After a quote in a quoted cell: its end, or the first of two.
    Quote,
    /// After a fault, before the end of its line.
    Faulty(Fault),
    /// After a fault that has been given, before the end of its line.
    Dropped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fault {
    code: &'static str,
    line: u64,
    column: usize,
    detail: &'static str,
}

/// The quoted cell that began last.
#[derive(Debug, Clone, Copy, Default)]
struct Opened {
    quote: usize,
    line: u64,
    line_start: usize,
    /// The place after the first line break inside the cell.
    next_line: Option<usize>,
}

/// Reads rows. Places are indexes of the buffer.
#[derive(Debug)]
pub(super) struct Rows {
    delimiter: u8,
    buffer: String,
    /// The beginning of the row.
    start: usize,
    /// The next byte.
    at: usize,
    state: State,
    /// The line of the next byte, and its beginning.
    line: u64,
    line_start: usize,
    row_line: u64,
    opened: Opened,
    /// The texts of the row's cells, one after another.
    text: String,
    cells: Vec<Cell>,
    count: usize,
    passed: u64,
}

type Each<'e> = &'e mut dyn FnMut(Record<'_>);

impl Rows {
    /// Reads rows that begin on that line of the file.
    pub(super) const fn new(delimiter: u8, line: u64) -> Self {
        assert!(delimiter.is_ascii() && !matches!(delimiter, b'"' | b'\n' | b'\r'));
        Self {
            delimiter,
            buffer: String::new(),
            start: 0,
            at: 0,
            state: State::RowStart { after_return: false },
            line,
            line_start: 0,
            row_line: line,
            opened: Opened { quote: 0, line: 0, line_start: 0, next_line: None },
            text: String::new(),
            cells: Vec::new(),
            count: 0,
            passed: 0,
        }
    }

    /// How many bytes the scans passed so far: the cost of the input.
    pub(super) const fn passed(&self) -> u64 {
        self.passed
    }

    pub(super) fn feed(&mut self, piece: &str, each: Each<'_>) {
        self.buffer.push_str(piece);
        self.scan(each);
        self.buffer.drain(..self.start);
        let start = std::mem::take(&mut self.start);
        self.at -= start;
        self.line_start = self.line_start.saturating_sub(start);
        self.opened.quote = self.opened.quote.saturating_sub(start);
        self.opened.line_start = self.opened.line_start.saturating_sub(start);
        self.opened.next_line = self.opened.next_line.map(|next| next.saturating_sub(start));
    }

    /// Ends the file, perhaps with a row that has no line break.
    pub(super) fn finish(&mut self, each: Each<'_>) {
        loop {
            self.scan(each);
            match (self.state, self.opened.next_line) {
                (State::RowStart { .. } | State::Dropped, _) => return,
                (State::Quoted, Some(next)) => self.recover(next, each),
                (State::Quoted, None) => self.give(self.not_closed(), self.at, each),
                (State::Faulty(fault), _) => self.give(fault, self.at, each),
                (State::CellStart | State::Plain | State::Quote, _) => {
                    self.end_cell(self.state == State::Quote);
                    self.end_row(self.at, each);
                }
            }
        }
    }

    fn scan(&mut self, each: Each<'_>) {
        loop {
            let limit = self.start.saturating_add(ROW_BYTES_MAX);
            let end = self.buffer.floor_char_boundary(limit);
            if self.at < end {
                self.step(end, each);
            } else if end < self.buffer.len() {
                self.overflow(each);
            } else {
                return;
            }
        }
    }

    /// Passes some bytes before `end`.
    fn step(&mut self, end: usize, each: Each<'_>) {
        let bytes = &self.buffer.as_bytes()[..end];
        let byte = bytes[self.at];
        match self.state {
            State::RowStart { after_return } => {
                self.state = State::CellStart;
                if after_return && byte == b'\n' {
                    self.pass(1);
                    self.start_row();
                }
                self.row_line = self.line;
                self.text.clear();
                self.cells.clear();
                self.count = 0;
            }
            State::CellStart if byte == b'"' => {
                let (quote, line, line_start) = (self.at, self.line, self.line_start);
                self.opened = Opened { quote, line, line_start, next_line: None };
                self.state = State::Quoted;
                self.pass(1);
            }
            State::CellStart | State::Plain => {
                self.state = State::Plain;
                let found = memchr3(self.delimiter, b'\n', b'\r', &bytes[self.at..]);
                self.keep(found.unwrap_or(end - self.at));
                if found.is_some() {
                    self.end_cell(false);
                    self.after_cell(each);
                }
            }
            State::Quoted => self.quoted(end),
            State::Quote if byte == b'"' => {
                self.keep(1);
                self.state = State::Quoted;
            }
            State::Quote if byte == self.delimiter || matches!(byte, b'\n' | b'\r') => {
                self.end_cell(true);
                self.after_cell(each);
            }
            State::Quote => self.after_quote(each),
            State::Faulty(_) | State::Dropped => self.skip(end, each),
        }
    }

    /// Neither a delimiter nor a line end follows the closing quote.
    fn after_quote(&mut self, each: Each<'_>) {
        if let Some(next) = self.opened.next_line {
            return self.recover(next, each);
        }
        let (line, column) = (self.line, self.column(self.line_start, self.at));
        self.state = State::Faulty(Fault { code: OPEN_QUOTE, line, column, detail: AFTER_QUOTE });
    }

    /// Passes the rest of a faulty line.
    fn skip(&mut self, end: usize, each: Each<'_>) {
        let found = memchr2(b'\n', b'\r', &self.buffer.as_bytes()[self.at..end]);
        self.pass(found.unwrap_or(end - self.at));
        match (self.state, found) {
            (State::Dropped, None) => self.start = self.at,
            (_, None) => {}
            (state, Some(_)) => {
                let content = self.at;
                self.pass(1);
                if let State::Faulty(fault) = state {
                    self.give(fault, content, each);
                }
                self.next_line();
            }
        }
    }

    /// Passes bytes of a quoted cell to the next quote or line break, and that one.
    fn quoted(&mut self, end: usize) {
        let bytes = &self.buffer.as_bytes()[..end];
        let found = memchr3(b'"', b'\n', b'\r', &bytes[self.at..]);
        // The opening quote is before the cell, so there is a byte before each of its bytes.
        let after_return = found.is_some_and(|found| bytes[self.at + found - 1] == b'\r');
        match found.map(|found| bytes[self.at + found]) {
            None => self.keep(end - self.at),
            Some(b'"') => {
                self.keep(found.unwrap_or_default());
                self.pass(1);
                self.state = State::Quote;
            }
            Some(byte) => {
                self.keep(found.unwrap_or_default() + 1);
                self.line += u64::from(!(byte == b'\n' && after_return));
                self.line_start = self.at;
                self.opened.next_line.get_or_insert(self.at);
            }
        }
    }

    /// Takes the delimiter or the line end after a cell.
    fn after_cell(&mut self, each: Each<'_>) {
        let content = self.at;
        self.pass(1);
        if self.buffer.as_bytes()[content] == self.delimiter {
            self.state = State::CellStart;
        } else {
            self.end_row(content, each);
            self.next_line();
        }
    }

    /// The row has more bytes than a row may have.
    fn overflow(&mut self, each: Each<'_>) {
        match (self.state, self.opened.next_line) {
            (State::Quoted | State::Quote, Some(next)) => return self.recover(next, each),
            (State::Faulty(fault), _) => self.give(fault, self.at, each),
            (State::Dropped, _) => {}
            _ => {
                let line = self.row_line;
                let fault = Fault { code: TOO_LARGE, line, column: 1, detail: OVER_LIMIT };
                self.give(fault, self.at, each);
            }
        }
        self.state = State::Dropped;
    }

    /// Gives the fault of an open quote, and continues on the line after it.
    fn recover(&mut self, next: usize, each: Each<'_>) {
        let ends = usize::from(self.buffer[..next].ends_with(['\n', '\r']));
        self.line = self.opened.line;
        self.at = next;
        self.give(self.not_closed(), next - ends, each);
        self.next_line();
    }

    fn not_closed(&self) -> Fault {
        let Opened { quote, line, line_start, .. } = self.opened;
        let column = self.column(line_start, quote);
        Fault { code: OPEN_QUOTE, line, column, detail: NOT_CLOSED }
    }

    /// The column of a place, counted in characters.
    fn column(&self, line_start: usize, place: usize) -> usize {
        self.buffer[line_start..place].chars().count() + 1
    }

    /// Gives a fault. The row ends at `content`.
    fn give(&mut self, fault: Fault, content: usize, each: Each<'_>) {
        let Fault { code, line, column, detail } = fault;
        let (row_line, raw) = (self.row_line, &self.buffer[self.start..content]);
        let delimiter = self.delimiter;
        each(Record::Fault(RowFault { code, row_line, line, column, detail, raw, delimiter }));
        self.start_row();
    }

    fn end_cell(&mut self, quoted: bool) {
        self.count += 1;
        if self.count <= COLUMNS_MAX {
            self.cells.push(Cell { end: self.text.len(), quoted });
        } else {
            let kept = self.cells.last().map_or(0, |cell| cell.end);
            self.text.truncate(kept);
        }
    }

    /// Gives the row, unless it has nothing but blanks. It ends at `content`.
    fn end_row(&mut self, content: usize, each: Each<'_>) {
        if !self.text.trim().is_empty() || self.count > COLUMNS_MAX {
            let (line, raw) = (self.row_line, &self.buffer[self.start..content]);
            let (text, cells, count) = (&self.text, &self.cells, self.count);
            let delimiter = self.delimiter;
            each(Record::Row(Row { line, raw, delimiter, text, cells, count }));
        }
        self.start_row();
    }

    /// Begins the line after the line end that was passed last.
    fn next_line(&mut self) {
        let after_return = self.buffer.as_bytes()[self.at - 1] == b'\r';
        self.line += 1;
        self.start_row();
        self.state = State::RowStart { after_return };
    }

    const fn start_row(&mut self) {
        self.start = self.at;
        self.line_start = self.at;
        self.state = State::RowStart { after_return: false };
    }

    /// Passes bytes of a cell's text.
    fn keep(&mut self, bytes: usize) {
        self.text.push_str(&self.buffer[self.at..self.at + bytes]);
        self.pass(bytes);
    }

    const fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        self.passed += bytes as u64;
    }
}
