//! The failed entries of an import, as its user reads them: the first ones one by one, and if there
//! are more, the faults of all of them by code and field, each group with an example.

use caseload_client::ErrorSummary;
use serde::Deserialize;

use crate::commands::fault_groups::FaultGroups;
use crate::failure::Failure;
use crate::printer::{counted, note};

/// Failed entries that are printed one by one.
pub(super) const FAILURES_PRINTED_MAX: u64 = 20;

/// The members of an error record that are printed.
#[derive(Deserialize)]
struct ErrorRecord {
    line: u64,
    errors: Vec<EntryFault>,
}

#[derive(Deserialize)]
struct EntryFault {
    code: String,
    #[serde(default)]
    pointer: Option<String>,
    #[serde(default)]
    detail: String,
}

/// Prints a failed entry.
pub(super) fn note_failure(record: &[u8]) -> Result<(), Failure> {
    note(fault_line(&read_record(record)?));
    Ok(())
}

/// Prints the faults of all entries, if some were not printed one by one.
pub(super) fn note_groups(failed: u64, summary: &ErrorSummary) {
    let more = counted(failed - FAILURES_PRINTED_MAX, "more entry", "more entries");
    note(format_args!("… and {more} failed"));
    let mut groups = FaultGroups::default();
    groups.add(summary);
    note(groups.message().trim_end());
}

/// Reads some members of a record of the server's.
pub(super) fn read_record<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(line).map_err(|_| {
        let text: String = String::from_utf8_lossy(line).chars().take(100).collect();
        Failure::server(format!("the server sent a record that is not valid: {text}"))
    })
}

/// A failed entry and all of its faults, in one line.
fn fault_line(error: &ErrorRecord) -> String {
    let fault = |fault: &EntryFault| {
        let pointer = fault.pointer.as_deref().unwrap_or_default();
        let space = if pointer.is_empty() { "" } else { " " };
        format!("{pointer}{space}{}: {}", fault.code, fault.detail)
    };
    let faults: Vec<String> = error.errors.iter().map(fault).collect();
    format!("line {}: {}", error.line, faults.join("; "))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_failed_entry_is_printed_with_its_line_and_all_faults() {
        let record = concat!(
            r#"{"index":1,"line":2,"errors":[{"code":"required","pointer":"/a","detail":"b"},"#,
            r#"{"code":"not_a_map","detail":"c"}]}"#
        );
        let error: ErrorRecord = serde_json::from_str(record).unwrap();
        assert_eq!(fault_line(&error), "line 2: /a required: b; not_a_map: c");
    }
}
