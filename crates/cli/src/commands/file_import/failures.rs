//! The failed entries of an import, as its user reads them: the first ones one by one, and if there
//! are more, the faults of all of them by code and field, each group with an example.

use caseload_client::ErrorSummary;

use super::place::Place;
use super::record::{EntryFault, ErrorRecord};
use crate::commands::fault_groups::FaultGroups;
use crate::printer::{counted, note};

/// Failed entries that are printed one by one.
const FAILURES_PRINTED_MAX: u64 = 20;

/// The failed entries so far.
#[derive(Debug, Default)]
pub(super) struct Failures {
    failed: u64,
    groups: FaultGroups,
}

impl Failures {
    /// Number of entries.
    pub(super) const fn failed(&self) -> u64 {
        self.failed
    }

    /// Adds a failed entry, and prints it if it is one of the first.
    pub(super) fn add(&mut self, error: &ErrorRecord, line: u64) {
        if self.failed < FAILURES_PRINTED_MAX {
            note(fault_line(line, error));
        }
        self.failed += 1;
    }

    /// Adds a row that gave no entry. Its record has the line of the file.
    pub(super) fn add_row(&mut self, error: &ErrorRecord) {
        self.add(error, error.line);
        for fault in &error.errors {
            let pointer = fault.pointer.as_deref();
            self.groups.add_one(&fault.code, pointer, (error.line, &fault.detail));
        }
    }

    /// Adds the faults of a task.
    pub(super) fn add_groups(&mut self, summary: &ErrorSummary, place: &Place) {
        self.groups.add(summary, |index, line| place.line(index, line));
    }

    /// Prints the faults of all entries, if some were not printed one by one.
    pub(super) fn finish(&self, has_file: bool) {
        if self.failed <= FAILURES_PRINTED_MAX {
            return;
        }
        let more = counted(self.failed - FAILURES_PRINTED_MAX, "more entry", "more entries");
        let hint = if has_file {
            ""
        } else {
            "; --errors FILE writes all error records, --rejects FILE the entries"
        };
        note(format_args!("… and {more} failed{hint}"));
        note(self.groups.message().trim_end());
    }
}

/// A failed entry and all of its faults, in one line.
fn fault_line(file_line: u64, error: &ErrorRecord) -> String {
    let fault = |fault: &EntryFault| {
        let pointer = fault.pointer.as_deref().unwrap_or_default();
        let space = if pointer.is_empty() { "" } else { " " };
        format!("{pointer}{space}{}: {}", fault.code, fault.detail)
    };
    let faults: Vec<String> = error.errors.iter().map(fault).collect();
    format!("line {file_line}: {}", faults.join("; "))
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
        assert_eq!(fault_line(10_004, &error), "line 10004: /a required: b; not_a_map: c");
    }
}
