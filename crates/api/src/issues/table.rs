//! Issues as rows of a table. The model chooses the columns, and `crate::csv` writes the cells.

use std::sync::Arc;

use crate::csv::{DamagedRecord, Members, at_path, find, members, write_cells, write_header};

/// The member whose members are custom fields, and the member of a field that has its value.
const CUSTOM_FIELDS: &str = "custom_fields";
const VALUE: &str = "value";

/// The columns of a table.
#[derive(Debug, Clone)]
pub(super) struct IssueTable(Arc<[String]>);

impl IssueTable {
    pub(super) fn new(columns: Vec<String>) -> Self {
        Self(columns.into())
    }

    /// The first row.
    pub(super) fn header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_header(self.0.iter().map(String::as_str), &mut out);
        out
    }

    /// The rows of issues, one issue per line of `lines`.
    pub(super) fn rows(&self, lines: &[u8]) -> Result<Vec<u8>, DamagedRecord> {
        let mut out = Vec::with_capacity(lines.len() / 2);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let issue = members(line)?;
            let cells = self.0.iter().map(|column| cell(&issue, column));
            write_cells(cells.collect::<Result<_, _>>()?, &mut out);
        }
        Ok(out)
    }
}

/// The value of a column; that of a custom field is without its type.
fn cell<'a>(issue: &Members<'a>, column: &str) -> Result<Option<&'a [u8]>, DamagedRecord> {
    let value = at_path(issue, column)?;
    let is_field = column.split_once('.').is_some_and(|(member, _)| member == CUSTOM_FIELDS);
    match value {
        Some(field) if is_field => {
            Ok(find(&members(field)?, VALUE).filter(|value| *value != b"null"))
        }
        value => Ok(value),
    }
}
