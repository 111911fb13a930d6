//! The faults of a task by code and pointer, as the server counts them. A summary also holds its
//! own bytes, for programs that pass it on.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The faults of a completed task.
#[derive(Debug, Clone, Deserialize)]
pub struct ErrorSummary {
    /// Faults of all groups, also of those that are left out.
    pub faults: u64,
    /// Entries that have at least one fault.
    pub entries: u64,
    /// Largest first.
    pub groups: Vec<ErrorGroup>,
    /// The summary as the server sent it.
    #[serde(skip)]
    pub record: String,
}

/// The faults that have one code at one pointer.
#[derive(Debug, Clone, Deserialize)]
pub struct ErrorGroup {
    pub code: String,
    /// `None` if the entries could not be read, empty for a fault of a whole entry.
    pub pointer: Option<String>,
    /// Number of faults.
    pub count: u64,
    pub example: ErrorExample,
}

/// The first fault of a group.
#[derive(Debug, Clone, Deserialize)]
pub struct ErrorExample {
    pub index: u64,
    pub line: u64,
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
