//! The faults of a task by code and pointer, or its warnings by code, as the server counts them. A
//! summary also holds its own bytes, for programs that pass it on.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The faults or the warnings of a completed task.
#[derive(Debug, Clone, Deserialize)]
pub struct ErrorSummary {
    /// Faults or warnings of all groups, also of those that are left out.
    #[serde(alias = "warnings")]
    pub faults: u64,
    /// Entries that have at least one.
    pub entries: u64,
    /// Largest first.
    pub groups: Vec<ErrorGroup>,
    /// The summary as the server sent it.
    #[serde(skip)]
    pub record: String,
}

/// The faults that have one code at one pointer, or the warnings of one code.
#[derive(Debug, Clone, Deserialize)]
pub struct ErrorGroup {
    pub code: String,
    /// `None` for warnings and if the entries could not be read, empty for a fault of a whole
    /// entry.
    pub pointer: Option<String>,
    /// Number of faults or warnings.
    pub count: u64,
    pub example: ErrorExample,
}

/// The first fault or warning of a group.
#[derive(Debug, Clone, Deserialize)]
pub struct ErrorExample {
    pub index: u64,
    pub line: u64,
    /// Only of a warning.
    pub pointer: Option<String>,
    /// The value as the server sent it; `None` if the fault has none.
    pub value: Option<Box<RawValue>>,
    pub detail: String,
}

impl ErrorSummary {
    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let mut summary: Self = serde_json::from_slice(body)?;
        String::from_utf8_lossy(body).trim_end().clone_into(&mut summary.record);
        Ok(summary)
    }
}
