//! The reasons to refuse a whole file. A fault of one row is none of them.

use caseload_files::TextFault;
use caseload_model::error_code::ErrorCode;
use caseload_model::import::IMPORT_ENTRIES_MAX;
use caseload_model::payload::PayloadFault;
use caseload_model::profile::ColumnFault;

/// The reason to refuse a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileFault {
    pub(crate) code: ErrorCode,
    /// The fault and its correction, as a sentence for the caller.
    pub(crate) detail: String,
    /// The 1-based line of the file with the fault.
    pub(crate) line: Option<u32>,
    /// All faults of a header, if these are the reason; `detail` has the first one.
    pub(crate) columns: Vec<ColumnFault>,
}

impl FileFault {
    pub(super) const fn new(code: ErrorCode, detail: String) -> Self {
        Self { code, detail, line: None, columns: Vec::new() }
    }

    pub(super) const fn unreadable(detail: String) -> Self {
        Self::new(ErrorCode::InvalidPayload, detail)
    }

    pub(super) fn on_line(self, line: u64) -> Self {
        Self { line: Some(u32::try_from(line).unwrap_or(u32::MAX)), ..self }
    }

    /// All faults of a header.
    pub(super) fn header(columns: Vec<ColumnFault>) -> Self {
        let first = columns.first().map(|fault| fault.detail.clone());
        Self { columns, ..Self::unreadable(first.unwrap_or_default()) }
    }
}

impl From<TextFault> for FileFault {
    fn from(fault: TextFault) -> Self {
        let detail = format!("the file cannot be read: {}", fault.detail());
        Self::unreadable(detail).on_line(fault.line)
    }
}

impl From<PayloadFault> for FileFault {
    fn from(fault: PayloadFault) -> Self {
        let PayloadFault { code, detail, line } = fault;
        if code == ErrorCode::EmptyPayload {
            return Self::new(code, "the file has no entries; send at least one".to_owned());
        }
        Self { code, detail, line, columns: Vec::new() }
    }
}

/// Refuses a file as soon as it has too many entries.
pub(super) fn check_count(entries: u64) -> Result<(), FileFault> {
    if entries <= u64::from(IMPORT_ENTRIES_MAX) {
        return Ok(());
    }
    let detail =
        format!("the file has more than {IMPORT_ENTRIES_MAX} entries; split it into several files");
    Err(FileFault::new(ErrorCode::TooManyEntries, detail))
}
