//! Splits a file of JSON Lines into payloads of at most 10,000 entries and 32 MiB. Blank lines are
//! not entries. A payload has the line number of each entry in the file, so that a message about an
//! entry can name its line.

use std::io::{self, BufRead, Read};

use caseload_model::task::PAYLOAD_ENTRIES_MAX;

/// Largest payload in bytes; an entry that is larger than this is a payload alone.
const PART_BYTES_MAX: usize = 32 << 20;
/// Longest line in bytes. No server accepts a longer entry.
const LINE_BYTES_MAX: u64 = 64 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Why a file could not be split.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SplitError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("line {0} is longer than 64 MiB; is this a file with one JSON map per line?")]
    LineTooLong(u64),
    #[error("it is one JSON array, not one JSON map per line")]
    Array,
}

/// One payload.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) lines: Vec<u8>,
    /// The line number of each entry in the file, from 1.
    pub(crate) line_numbers: Vec<u64>,
    /// Number of entries of the file before this part.
    pub(crate) first_index: u64,
}

/// Splits a file into payloads.
#[derive(Debug)]
pub(crate) struct Splitter<R> {
    reader: R,
    /// A line that has been read and belongs to the next part.
    pending: Vec<u8>,
    line: u64,
    entries: u64,
    bytes: u64,
    entries_max: usize,
    bytes_max: usize,
}

impl<R: BufRead> Splitter<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::with_limits(reader, PAYLOAD_ENTRIES_MAX, PART_BYTES_MAX)
    }

    fn with_limits(reader: R, entries_max: usize, bytes_max: usize) -> Self {
        let pending = Vec::new();
        Self { reader, pending, line: 0, entries: 0, bytes: 0, entries_max, bytes_max }
    }

    /// Bytes of the file read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes
    }

    /// The next part; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Part>, SplitError> {
        let mut part = Part { first_index: self.entries, ..Part::default() };
        while part.line_numbers.len() < self.entries_max {
            if self.pending.is_empty() && !self.read_entry()? {
                break;
            }
            if !part.lines.is_empty() && part.lines.len() + self.pending.len() > self.bytes_max {
                break;
            }
            part.lines.append(&mut self.pending);
            part.line_numbers.push(self.line);
        }
        self.entries += part.line_numbers.len() as u64;
        Ok((!part.line_numbers.is_empty()).then_some(part))
    }

    /// Reads up to the next line that is an entry; returns `false` at the end of the file.
    fn read_entry(&mut self) -> Result<bool, SplitError> {
        loop {
            let mut limited = self.reader.by_ref().take(LINE_BYTES_MAX + 1);
            let read = limited.read_until(b'\n', &mut self.pending)? as u64;
            if read == 0 {
                return Ok(false);
            }
            self.line += 1;
            self.bytes += read;
            if read > LINE_BYTES_MAX {
                return Err(SplitError::LineTooLong(self.line));
            }
            if self.line == 1 && self.pending.starts_with(BOM) {
                self.pending.drain(..BOM.len());
            }
            let text = self.pending.trim_ascii();
            if text.is_empty() {
                self.pending.clear();
                continue;
            }
            if self.entries == 0 && self.line == 1 && text.first() == Some(&b'[') {
                return Err(SplitError::Array);
            }
            if self.pending.last() != Some(&b'\n') {
                self.pending.push(b'\n');
            }
            return Ok(true);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn split(text: &str, entries_max: usize, bytes_max: usize) -> Vec<(String, Vec<u64>, u64)> {
        let mut splitter = Splitter::with_limits(text.as_bytes(), entries_max, bytes_max);
        let mut parts = Vec::new();
        while let Some(part) = splitter.next().unwrap() {
            let lines = String::from_utf8(part.lines).unwrap();
            parts.push((lines, part.line_numbers, part.first_index));
        }
        assert_eq!(splitter.bytes_read(), text.len() as u64);
        parts
    }

    fn part(lines: &str, numbers: &[u64], first: u64) -> (String, Vec<u64>, u64) {
        (lines.to_owned(), numbers.to_vec(), first)
    }

    #[test]
    fn a_part_has_at_most_the_allowed_number_of_entries() {
        assert_eq!(
            split("{1}\n{2}\n{3}\n{4}\n{5}", 2, 1000),
            [
                part("{1}\n{2}\n", &[1, 2], 0),
                part("{3}\n{4}\n", &[3, 4], 2),
                part("{5}\n", &[5], 4)
            ]
        );
        assert_eq!(split("{1}\n{2}\n", 2, 1000), [part("{1}\n{2}\n", &[1, 2], 0)]);
    }

    #[test]
    fn a_part_stays_below_the_size_limit_unless_one_entry_is_larger() {
        assert_eq!(
            split("{1}\n{2}\n{loooooooong}\n{4}\n", 9, 8),
            [
                part("{1}\n{2}\n", &[1, 2], 0),
                part("{loooooooong}\n", &[3], 2),
                part("{4}\n", &[4], 3)
            ]
        );
    }

    #[test]
    fn blank_lines_are_not_entries_but_count_as_lines() {
        assert_eq!(
            split("\u{feff}{1}\r\n\n  \r\n{2}\n\n", 1, 1000),
            [part("{1}\r\n", &[1], 0), part("{2}\n", &[4], 1)]
        );
        assert_eq!(split("", 1, 1), []);
        assert_eq!(split("\n \n", 1, 1), []);
    }

    #[test]
    fn a_json_array_is_refused() {
        let mut splitter = Splitter::new(" [{}]".as_bytes());
        assert!(matches!(splitter.next(), Err(SplitError::Array)));
    }
}
