//! The records of tasks, of which an import reads some members and passes the rest on.

use serde::Deserialize;

use crate::failure::Failure;

/// The members of an error record that are printed.
#[derive(Deserialize)]
pub(super) struct ErrorRecord {
    pub(super) index: u64,
    pub(super) line: u64,
    pub(super) errors: Vec<EntryFault>,
}

#[derive(Deserialize)]
pub(super) struct EntryFault {
    pub(super) code: String,
    #[serde(default)]
    pub(super) pointer: Option<String>,
    #[serde(default)]
    pub(super) detail: String,
}

pub(super) fn read_record<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(line).map_err(|_| unknown_record(line))
}

pub(super) fn unknown_record(line: &[u8]) -> Failure {
    let text: String = String::from_utf8_lossy(line).chars().take(100).collect();
    Failure::server(format!("the server sent a record that is not valid: {text}"))
}
