//! The reasons to refuse a workbook, each with the way out. The limit of its size is here as well,
//! because most of them are about it.

/// Most bytes of a workbook: packed, unpacked, and of the texts of the sheet that is read.
pub const WORKBOOK_BYTES_MAX: u64 = 64 << 20;
const SAVE: &str = "save the sheet as CSV in UTF-8";

/// Why a workbook cannot be read, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkbookFault {
    #[error(
        "the workbook cannot be read: {0}; open it in a spreadsheet and save it again, or {SAVE}"
    )]
    Damaged(&'static str),
    #[error("the workbook has a password; {SAVE}, or as a workbook without a password")]
    Encrypted,
    #[error("the workbook has {0}; {SAVE}")]
    TooLarge(String),
    #[error("the workbook has no sheet {sheet:?}; its sheets are {sheets}")]
    NoSheet { sheet: String, sheets: String },
    #[error("the workbook shows none of its sheets; name the one to read, of {0}")]
    Hidden(String),
}

/// A workbook whose zip or XML cannot be read.
pub(super) const BROKEN: WorkbookFault = WorkbookFault::Damaged("it is damaged or cut short");
