//! A file of profiles as a table: `splitter` makes each row an entry and cuts the entries into
//! parts. A row that cannot be read is a fault of that row.

mod splitter;

pub(super) use splitter::CsvSplitter;

use caseload_files::TableOptions;
use caseload_model::profile::{OtherColumns, RowRules};
use caseload_model::task::Action;

/// How a table is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableForm {
    /// The action that the rows are entries of.
    pub(crate) action: Action,
    pub(crate) options: TableOptions,
    /// Columns and the names that they get; without a name a column is not read.
    pub(crate) renames: Vec<(String, String)>,
    /// The use of columns without a field.
    pub(crate) others: OtherColumns,
    pub(crate) rules: RowRules,
}

/// A header that no table of profiles has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderFault {
    /// Lines and columns count from 1, columns in characters.
    #[error("line {line}, column {column}: {why}; without a header no row can be read")]
    Grammar { line: u64, column: usize, why: &'static str },
    #[error("its header is not one of profiles:{}", list(.0))]
    Columns(Vec<String>),
}

fn list(faults: &[String]) -> String {
    faults.iter().flat_map(|fault| ["\n  ", fault.as_str()]).collect()
}
