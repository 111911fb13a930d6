//! Records as rows of a table. The model chooses the columns, and `http::csv` writes the cells.

use std::sync::Arc;

use crate::http::csv::{DamagedRecord, Members, at_path, find, members, write_cells, write_header};

/// The member whose members are custom fields, and the member of an issue's field that has its
/// value.
const CUSTOM_FIELDS: &str = "custom_fields";
const VALUE: &str = "value";

/// The columns of a table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Arc<[String]>,
    /// Whether a custom field is a map of its type and value.
    has_typed_fields: bool,
}

impl Table {
    pub(crate) fn of_issues(columns: Vec<String>) -> Self {
        Self { columns: columns.into(), has_typed_fields: true }
    }

    pub(crate) fn of_profiles(columns: Vec<String>) -> Self {
        Self { columns: columns.into(), has_typed_fields: false }
    }

    /// The first row.
    pub(crate) fn header(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_header(self.columns.iter().map(String::as_str), &mut out);
        out
    }

    /// The rows of records, one record per line of `lines`.
    pub(crate) fn rows(&self, lines: &[u8]) -> Result<Vec<u8>, DamagedRecord> {
        let mut out = Vec::with_capacity(lines.len() / 2);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let record = members(line)?;
            let cells = self.columns.iter().map(|column| self.cell(&record, column));
            write_cells(cells.collect::<Result<_, _>>()?, &mut out);
        }
        Ok(out)
    }

    /// The value of a column; that of an issue's custom field is without its type.
    fn cell<'a>(
        &self,
        record: &Members<'a>,
        column: &str,
    ) -> Result<Option<&'a [u8]>, DamagedRecord> {
        let value = at_path(record, column)?;
        let is_field = column.split_once('.').is_some_and(|(member, _)| member == CUSTOM_FIELDS);
        match value {
            Some(field) if is_field && self.has_typed_fields => {
                Ok(find(&members(field)?, VALUE).filter(|value| *value != b"null"))
            }
            value => Ok(value),
        }
    }
}
