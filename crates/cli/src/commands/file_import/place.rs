//! The place of a part in its file. The server numbers the entries and lines of a part; messages
//! and files name those of the whole file.

use super::record::{ErrorRecord, unknown_record};
use crate::failure::Failure;
use crate::payload_file::Part;

/// The place of a part in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) entries_before: u64,
    lines_before: u64,
    /// Of a table: the index of each entry's row, and the line on which it begins.
    rows: Vec<(u64, u64)>,
}

impl Place {
    pub(super) fn of(part: &Part) -> Self {
        let Part { entries_before, lines_before, rows, .. } = part;
        Self { entries_before: *entries_before, lines_before: *lines_before, rows: rows.clone() }
    }

    /// The line of the file on which an entry is, from its numbers in the part.
    pub(super) fn line(&self, index: u64, line: u64) -> u64 {
        self.row(index).map_or(self.lines_before + line, |(_, line)| line)
    }

    fn row(&self, index: u64) -> Option<(u64, u64)> {
        usize::try_from(index).ok().and_then(|index| self.rows.get(index)).copied()
    }

    /// An error record with the index and the line in the whole file instead of those in the part.
    pub(super) fn in_file_terms(
        &self,
        record: &[u8],
        error: &ErrorRecord,
    ) -> Result<Vec<u8>, Failure> {
        let head = format!("{{\"index\":{},\"line\":{}", error.index, error.line);
        let rest = record.strip_prefix(head.as_bytes()).ok_or_else(|| unknown_record(record))?;
        let index =
            self.row(error.index).map_or(self.entries_before + error.index, |(index, _)| index);
        let line = self.line(error.index, error.line);
        let mut line = format!("{{\"index\":{index},\"line\":{line}").into_bytes();
        line.extend_from_slice(rest);
        line.push(b'\n');
        Ok(line)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn only_index_and_line_of_an_error_record_change() {
        let record = concat!(
            r#"{"index":1,"line":2,"id":7,"errors":[{"code":"required","pointer":"/a"}],"#,
            r#""entry":{"n":1.50}}"#
        );
        let error: ErrorRecord = serde_json::from_str(record).unwrap();
        let lines = Place { entries_before: 10_000, lines_before: 10_002, rows: Vec::new() };
        let table = Place { rows: vec![(10_001, 10_003), (10_003, 10_009)], ..lines.clone() };
        for (place, head) in
            [(lines, r#""index":10001,"line":10004"#), (table, r#""index":10003,"line":10009"#)]
        {
            let moved = place.in_file_terms(record.as_bytes(), &error).unwrap();
            let expected = record.replace(r#""index":1,"line":2"#, head);
            assert_eq!(String::from_utf8(moved).unwrap(), expected + "\n");
        }
    }
}
