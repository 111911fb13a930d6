//! Failed entries in the form of their file. A table gets two cells in front of each row, the
//! faults and the line, and the file's own cells follow byte by byte, so that they are read as
//! before. An import takes the two cells off again. JSON becomes JSON lines.

use caseload_model::payload::{Block, Entry};
use caseload_model::profile::REJECTS_COLUMNS;

use super::options::{FileFormat, FileType};

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

/// Begins a file of rejects. `header` is that of the file.
pub(crate) fn write_reject_header(format: &FileFormat, header: Option<&str>, out: &mut Vec<u8>) {
    let (Some(delimiter), Some(header)) = (format.delimiter, header) else { return };
    if format.encoding != "utf-8" {
        // It is UTF-8, whatever encoding the caller names again.
        out.extend_from_slice(b"\xef\xbb\xbf");
    }
    if !FOUND_DELIMITERS.contains(&delimiter) {
        out.extend_from_slice(b"sep=");
        out.extend_from_slice(&[delimiter, b'\r', b'\n']);
    }
    for name in REJECTS_COLUMNS {
        out.extend_from_slice(name.as_bytes());
        out.push(delimiter);
    }
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes an entry that failed, or was not processed, in the form of its file. `details` are those
/// of its faults.
pub(crate) fn write_reject<'d>(
    format: &FileFormat,
    block: &Block,
    entry: &Entry,
    details: impl IntoIterator<Item = &'d str>,
    out: &mut Vec<u8>,
) {
    let mut rows: Vec<_> = block.rows_of(entry).collect();
    if rows.is_empty() {
        rows.push((entry.line, block.bytes_of(entry)));
    }
    let Some(delimiter) = format.delimiter.filter(|_| format.file_type == FileType::Csv) else {
        for (_, line) in rows {
            out.extend(line.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
            out.push(b'\n');
        }
        return;
    };
    let mut error = details.into_iter().collect::<Vec<_>>().join("; ");
    if error.is_empty() {
        error.push_str(NOT_PROCESSED);
    }
    // A quote that is open in the row before ends at this one, and the text after it shows that.
    let error = error.replace(['\n', '\r'], " ").replace('"', "\"\"");
    for (line, row) in rows {
        out.push(b'"');
        out.extend_from_slice(error.as_bytes());
        out.push(b'"');
        out.push(delimiter);
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(delimiter);
        out.extend_from_slice(row);
        out.extend_from_slice(b"\r\n");
    }
}
