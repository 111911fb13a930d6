//! A part of a file: the entries of one task. A part knows its place in the file, so that the
//! numbers that the server gives to its entries can be translated to those of the file.

use std::io;

use caseload_files::{FormatFault, TextFault};
use caseload_model::profile::RoundedIds;
use caseload_model::record::EntryWarning;
use caseload_model::task::PAYLOAD_ENTRIES_MAX;

use super::csv::HeaderFault;

/// Longest line or element in bytes. No server accepts a longer entry.
pub(super) const ENTRY_BYTES_MAX: usize = 64 << 20;
/// Largest part of an import in bytes; an entry that is larger than this is a part alone.
const IMPORT_PART_BYTES_MAX: usize = 32 << 20;
/// The same for a part of another task: the default body limit of
/// servers, less the form around the file.
const SUBMIT_PART_BYTES_MAX: usize = 120 << 20;

/// The size of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartLimits {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

impl PartLimits {
    /// The parts of an import, which waits for each of them.
    pub(crate) const IMPORT: Self =
        Self { entries: PAYLOAD_ENTRIES_MAX, bytes: IMPORT_PART_BYTES_MAX };
    /// The parts of any other submission: as few tasks as possible.
    pub(crate) const SUBMIT: Self =
        Self { entries: PAYLOAD_ENTRIES_MAX, bytes: SUBMIT_PART_BYTES_MAX };
}

/// One part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Lines as they are in the file, blank ones included, or a JSON array.
    pub(crate) bytes: Vec<u8>,
    /// Number of entries.
    pub(crate) entries: u64,
    /// Number of entries of the file before this part.
    pub(crate) entries_before: u64,
    /// Number of lines of the file before this part; of an array the number of elements.
    pub(crate) lines_before: u64,
    /// The index of each entry among the rows of the file and the line on which it begins, if the
    /// part is of a table.
    pub(crate) rows: Vec<(u64, u64)>,
    /// The error records of rows that give no entry.
    pub(crate) failed: Vec<Vec<u8>>,
    /// The oddities of rows, each with its line.
    pub(crate) warnings: Vec<(u64, EntryWarning)>,
}

impl Part {
    /// The number in the file of the part's first entry, from 1.
    pub(crate) const fn first(&self) -> u64 {
        self.entries_before + 1
    }

    /// The number in the file of the part's last entry.
    pub(crate) const fn last(&self) -> u64 {
        self.entries_before + self.entries
    }
}

/// Why a file could not be cut into parts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SplitError {
    #[error("{0}")]
    Io(io::Error),
    #[error("line {0} is longer than 64 MiB; is this a file with one JSON map per line?")]
    LineTooLong(u64),
    #[error("element {0} of the array is longer than 64 MiB")]
    ElementTooLong(u64),
    #[error("line {0} and the lines before it are JSON arrays, not JSON maps")]
    ArrayLines(u64),
    #[error("it is a broken JSON array: {why} at line {line}, element {element}")]
    BrokenArray { why: &'static str, line: u64, element: u64 },
    #[error("it is one JSON array, and --map takes JSON lines or CSV")]
    ArrayToRename,
    #[error("{code}: {0}", code = RoundedIds::CODE)]
    RoundedIds(String),
    #[error(transparent)]
    Header(#[from] HeaderFault),
    #[error(transparent)]
    Format(#[from] FormatFault),
    #[error("it is a workbook, and workbooks are not read yet: save it as CSV in UTF-8")]
    Workbook,
    #[error(transparent)]
    Text(#[from] TextFault),
}

impl From<io::Error> for SplitError {
    /// A source that is decoded gives the faults of its text as errors of reading.
    fn from(error: io::Error) -> Self {
        error.downcast::<TextFault>().map_or_else(Self::Io, Self::Text)
    }
}
