//! How a file is read, and the findings afterwards. Handlers of requests make the options, and
//! store the findings as text.

use caseload_files::Encoding;
use caseload_model::profile::OtherColumns;
use caseload_model::sketch::Sketch;
use caseload_model::task::Action;
use caseload_model::time::zone::Zone;
use caseload_store::EntryContext;
use serde::Serialize;

/// How a file is read.
#[derive(Debug, Clone)]
pub(crate) struct ReadOptions {
    pub(crate) action: Action,
    /// Columns by name, or by number as in `#3`, each with its field; without one it is left out.
    /// In JSON they are members of an entry.
    pub(crate) columns: Vec<(String, Option<String>)>,
    /// The use of columns without a field.
    pub(crate) others: OtherColumns,
    /// Whether a faulty field is left out instead of failing its entry.
    pub(crate) leave_out: bool,
    /// Between two members of a list in one cell.
    pub(crate) separator: String,
    /// Between two cells; without it, the first rows show it.
    pub(crate) delimiter: Option<u8>,
    /// Of a file without a byte order mark; without it, UTF-8.
    pub(crate) encoding: Option<Encoding>,
    /// Of times without an offset; without it they are in UTC, and validation warns of them.
    pub(crate) timezone: Option<Zone>,
    /// The text of a cell that clears its field.
    pub(crate) null: Option<String>,
    /// The sheet of a workbook; without it, the first one that is shown.
    pub(crate) sheet: Option<String>,
    pub(crate) context: EntryContext,
    /// The most unpacked bytes.
    pub(crate) bytes_max: u64,
    /// Whether to read that many bytes of a longer file and no more.
    pub(crate) is_preview: bool,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileType {
    Jsonl,
    Json,
    Csv,
    Xlsx,
}

impl FileType {
    /// The word on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Xlsx => "xlsx",
        }
    }
}

/// How a file was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileFormat {
    pub(crate) file_type: FileType,
    /// The name of the encoding, in lower case.
    pub(crate) encoding: String,
    /// Of a table; of a workbook that of its rejects.
    pub(crate) delimiter: Option<u8>,
    /// Of a workbook.
    pub(crate) sheet: Option<String>,
}

/// The findings about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRead {
    /// Faulty rows included.
    pub(crate) entries: u32,
    /// Unpacked bytes.
    pub(crate) content_length: u64,
    /// SHA-256 of the unpacked bytes.
    pub(crate) digest: [u8; 32],
    /// The entries without an id.
    pub(crate) sketch: Sketch,
    pub(crate) format: FileFormat,
    /// Each column of the header and the field that it fills.
    pub(crate) columns: Vec<(String, Option<String>)>,
    /// The header as it is in the file, or would be in a CSV, without the columns of a table of
    /// rejects.
    pub(crate) header: Option<String>,
    /// Of the preview of a table.
    pub(crate) previews: Vec<ColumnPreview>,
    /// Of a preview: the faults of the header that are not those of one column.
    pub(crate) header_faults: Vec<String>,
}

/// A column of a table in a preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ColumnPreview {
    pub(crate) name: String,
    /// `None` leaves it out.
    pub(crate) field: Option<String>,
    /// Why it is read so.
    pub(crate) why: &'static str,
    /// Its first values.
    pub(crate) samples: Vec<String>,
    pub(crate) warnings: Vec<String>,
}
