//! Failed entries in the form of their file. A table gets two cells in front of each row, the
//! faults and the line, and the file's own cells follow byte by byte, so that they are read as
//! before. A workbook becomes such a table. An import takes the two cells off again. (The rejects
//! of JSON are lines, as payloads are.)

use caseload_model::payload::{Block, Entry};
use caseload_model::profile::REJECTS_COLUMNS;

/// Delimiters that the first rows show. Any other one is named in a line of its own.
const FOUND_DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The error of an entry without faults.
const NOT_PROCESSED: &str = "not processed";

/// A row of a table of rejects as it was in the file before; the whole row if it has no such cells.
pub(super) fn without_front_cells(raw: &str, delimiter: u8) -> &str {
    let mut rest = raw;
    for _ in REJECTS_COLUMNS {
        let Some(end) = end_of_cell(rest, delimiter) else { return raw };
        rest = &rest[end + 1..];
    }
    rest
}

/// The place of the delimiter after the first cell. Two quotes inside a quoted cell cancel out.
fn end_of_cell(row: &str, delimiter: u8) -> Option<usize> {
    let mut is_quoted = false;
    let opens = row.starts_with('"');
    row.bytes().position(|byte| {
        is_quoted ^= opens && byte == b'"';
        byte == delimiter && !is_quoted
    })
}

/// How the rejects of a table are written.
#[derive(Debug, Clone)]
pub(crate) struct Rejects {
    pub(crate) delimiter: u8,
    /// Whether the file was UTF-8.
    pub(crate) is_utf_8: bool,
    /// That of the file.
    pub(crate) header: String,
}

impl Rejects {
    /// The beginning of the file.
    pub(crate) fn write_header(&self, out: &mut Vec<u8>) {
        if !self.is_utf_8 {
            // It is UTF-8, whatever encoding the caller names again.
            out.extend_from_slice(b"\xef\xbb\xbf");
        }
        if !FOUND_DELIMITERS.contains(&self.delimiter) {
            out.extend_from_slice(b"sep=");
            out.extend_from_slice(&[self.delimiter, b'\r', b'\n']);
        }
        for name in REJECTS_COLUMNS {
            out.extend_from_slice(name.as_bytes());
            out.push(self.delimiter);
        }
        out.extend_from_slice(self.header.as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    /// Writes the rows of an entry that failed, or was not processed. `error` has the details of
    /// its faults.
    pub(crate) fn write(
        &self,
        block: &Block,
        entry: &Entry,
        error: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let mut rows: Vec<_> = block.rows_of(entry).collect();
        if rows.is_empty() {
            rows.push((entry.line, block.bytes_of(entry)));
        }
        let error = error.unwrap_or(NOT_PROCESSED);
        // A quote that is open in the row before ends at this one, and the text after it shows it.
        let error = error.replace(['\n', '\r'], " ").replace('"', "\"\"");
        for (line, row) in rows {
            out.push(b'"');
            out.extend_from_slice(error.as_bytes());
            out.push(b'"');
            out.push(self.delimiter);
            out.extend_from_slice(line.to_string().as_bytes());
            out.push(self.delimiter);
            out.extend_from_slice(row);
            out.extend_from_slice(b"\r\n");
        }
    }
}
