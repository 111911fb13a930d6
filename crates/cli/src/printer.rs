//! All output: data goes to standard output, messages go to standard error. If the reader closes
//! standard output (`caseload issues export | head`), the program ends without a message. A table
//! has a header and aligned columns on a terminal; elsewhere a row is a line of tab-separated
//! cells. A message goes above the progress bar, if there is one.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use indicatif::ProgressBar;
use parking_lot::Mutex;

use crate::failure::Failure;
use crate::part_file::PartFile;

/// The progress bar at the bottom of the terminal.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Sets or removes the progress bar that messages go above.
pub(crate) fn set_bar(bar: Option<ProgressBar>) {
    *BAR.lock() = bar;
}

/// The output of a command: standard output, or a file in its place.
#[derive(Debug)]
pub(crate) struct Printer {
    out: io::BufWriter<io::Stdout>,
    out_is_terminal: bool,
    file: Option<PartFile>,
}

impl Printer {
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        Self { out_is_terminal: out.is_terminal(), out: io::BufWriter::new(out), file: None }
    }

    /// Writes the data to a file from now on.
    pub(crate) fn redirect(&mut self, path: &Path) -> Result<(), Failure> {
        self.file = Some(PartFile::create(path)?);
        Ok(())
    }

    /// Whether a person reads the data.
    pub(crate) const fn is_for_terminal(&self) -> bool {
        self.out_is_terminal && self.file.is_none()
    }

    /// Writes bytes of data as they are.
    pub(crate) fn data(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => self.out.write_all(bytes).map_err(|error| Failure::output(&error)),
        }
    }

    /// Writes one line of data and flushes it.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        self.data(format!("{text}\n").as_bytes())?;
        self.flush()
    }

    /// Writes the rest of the data, gives a file its name, and says `said`.
    pub(crate) fn complete(&mut self, said: impl fmt::Display) -> Result<(), Failure> {
        self.flush()?;
        let Some(file) = self.file.take() else {
            note(said);
            return Ok(());
        };
        let path = file.path().to_owned();
        file.complete()?;
        note(format_args!("{said} to {}", path.display()));
        Ok(())
    }

    /// The same at the end of a command that has said all it has to say.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        if self.file.is_some() { self.complete("written") } else { self.flush() }
    }

    /// Writes the buffered data. Dropping the printer does not report errors, so commands call
    /// this.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| Failure::output(&error))
    }

    /// Writes rows of data under `header`.
    pub(crate) fn table(&mut self, header: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
        if !self.is_for_terminal() {
            return self.rows(rows);
        }
        self.data(aligned(header, rows).as_bytes())?;
        self.flush()
    }

    /// Writes rows of data as lines with tabs between the cells.
    pub(crate) fn rows(&mut self, rows: &[Vec<String>]) -> Result<(), Failure> {
        self.data(tabbed(rows).as_bytes())?;
        self.flush()
    }

    /// Writes records: as JSON, one a line, or as rows under a header.
    pub(crate) fn list<T, J: fmt::Display>(
        &mut self,
        as_json: bool,
        records: &[T],
        json: impl Fn(&T) -> J,
        (header, row): (&[&str], impl Fn(&T) -> Vec<String>),
    ) -> Result<(), Failure> {
        if as_json {
            return records.iter().try_for_each(|record| self.line(json(record)));
        }
        self.table(header, &records.iter().map(row).collect::<Vec<_>>())
    }
}

/// The page of a list that was printed, and how many records there are, in words.
pub(crate) fn page_of((page, pages): (u64, u64), all: &str) -> String {
    format!("page {page} of {pages}, {all} in all")
}

/// Prints a message. An error is ignored: no other channel could report it.
pub(crate) fn note(text: impl fmt::Display) {
    let write = || {
        let _ = writeln!(io::stderr().lock(), "{text}");
    };
    let bar = BAR.lock().clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Rows as columns of equal width, two spaces apart.
pub(crate) fn aligned(header: &[&str], rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    let mut widths: Vec<usize> = header.iter().map(|name| name.chars().count()).collect();
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in std::iter::once(&header).chain(&rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Rows as lines with tabs between the cells.
fn tabbed(rows: &[Vec<String>]) -> String {
    rows.iter()
        .map(|row| row.iter().map(|text| cell(text)).collect::<Vec<_>>().join("\t") + "\n")
        .collect()
}

/// A cell without control characters, so that no value can break a table or a terminal.
fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            cell.extend(c.escape_default());
        } else {
            cell.push(c);
        }
    }
    cell
}

/// A number with commas between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and its noun, which is singular after 1.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_on_a_terminal_and_tab_separated_elsewhere() {
        let rows = vec![
            vec!["a".to_owned(), "long value".to_owned()],
            vec!["bc\t\u{1b}[0m".to_owned(), String::new()],
        ];
        assert_eq!(
            aligned(&["ID", "N"], &rows),
            "ID             N\na              long value\nbc\\t\\u{1b}[0m\n"
        );
        assert_eq!(tabbed(&rows), "a\tlong value\nbc\\t\\u{1b}[0m\t\n");
    }

    #[test]
    fn numbers_are_grouped_and_counted() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (12345, "12,345"), (1_000_000, "1,000,000")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(10_000, "entry", "entries"), "10,000 entries");
    }
}
