//! The result records of dry runs that have the member `changes` as they are stored. Callers see it
//! if they ask for it.

use caseload_model::task::Task;

/// Begins the member, after the other ones. No text can be mistaken for it, because quotes within
/// a string are escaped.
const CHANGES: &[u8] = b",\"changes\":{";

/// Whether result records of the task may have changes.
pub(super) const fn has_changes(task: &Task) -> bool {
    task.dry_run && task.action.patches()
}

/// These lines without the changes.
pub(super) fn without_changes(lines: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        match memchr::memmem::find(line, CHANGES) {
            Some(at) => {
                shown.extend_from_slice(&line[..at]);
                shown.extend_from_slice(b"}\n");
            }
            None => shown.extend_from_slice(line),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_its_changes_and_nothing_else() {
        let lines = concat!(
            "{\"index\":0,\"pid\":\",\\\"changes\\\":{\"}\n",
            "{\"index\":1,\"pid\":\"a\",\"changes\":{\"age\":{\"from\":1,\"to\":2}},",
            "\"changes_left_out\":1}\n",
        );
        let shown = without_changes(lines.as_bytes());
        let wanted = "{\"index\":0,\"pid\":\",\\\"changes\\\":{\"}\n{\"index\":1,\"pid\":\"a\"}\n";
        assert_eq!(String::from_utf8_lossy(&shown), wanted);
    }
}
