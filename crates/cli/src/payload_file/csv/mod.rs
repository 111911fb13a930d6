//! A file of profiles as CSV: RFC 4180 with a header. `rows` has the grammar, `splitter` makes each
//! row an entry and cuts the entries into parts. A file that breaks the grammar is refused with the
//! line and the column of the break, because everything after it could mean something else.

mod rows;
mod splitter;

pub(crate) use rows::CsvFault;
pub(super) use splitter::{AfterFirst, CsvSplitter};

use caseload_model::task::Action;

/// The byte between the cells of a table, by its first line: a comma, unless the line has none and
/// has semicolons or tabs, as the tables of some spreadsheets do.
fn delimiter_of(line: &[u8]) -> u8 {
    let mut quoted = false;
    let plain: Vec<u8> = line
        .iter()
        .copied()
        .filter(|byte| {
            quoted ^= *byte == b'"';
            !quoted
        })
        .collect();
    [b',', b';', b'\t'].into_iter().find(|byte| plain.contains(byte)).unwrap_or(b',')
}

/// How a table is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableForm {
    /// The action that the rows are entries of.
    pub(crate) action: Action,
    /// The byte between two cells; `None` if the header shows it.
    pub(crate) delimiter: Option<u8>,
    /// Columns and the names that they get; without a name a column is not read.
    pub(crate) renames: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_the_one_of_the_header() {
        for (line, delimiter) in [
            ("email,first_name", b','),
            ("email;first_name", b';'),
            ("email\tfirst_name", b'\t'),
            ("\"a,b\";\"c,d\"", b';'),
            ("email;first,name", b','),
            ("email", b','),
        ] {
            assert_eq!(delimiter_of(line.as_bytes()), delimiter, "{line}");
        }
    }
}
