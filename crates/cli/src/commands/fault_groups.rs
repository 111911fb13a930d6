//! The faults or the warnings of one or more tasks by code and field, as a table: the largest
//! groups first, each with the line and the detail of its first one.

use std::collections::HashMap;
use std::fmt::Write as _;

use caseload_client::{ErrorExample, ErrorSummary};

use crate::failure::Failure;
use crate::printer::{Printer, aligned, grouped};

/// Groups that a message has.
const GROUPS_PRINTED_MAX: usize = 10;
/// Code points of an example that a person reads.
const EXAMPLE_CHARS_MAX: usize = 100;
const HEADER: [&str; 5] = ["COUNT", "CODE", "FIELD", "LINE", "EXAMPLE"];

/// Faults or warnings of one or more tasks by code and pointer.
#[derive(Debug, Default)]
pub(crate) struct FaultGroups {
    groups: Vec<Group>,
    /// The index of each group.
    known: HashMap<(String, Option<String>), usize>,
    faults: u64,
}

#[derive(Debug)]
struct Group {
    code: String,
    pointer: Option<String>,
    count: u64,
    line: u64,
    example: String,
}

impl FaultGroups {
    /// Adds the faults of a task.
    pub(crate) fn add(&mut self, summary: &ErrorSummary) {
        self.faults += summary.faults;
        for group in &summary.groups {
            let ErrorExample { line, detail, pointer, .. } = &group.example;
            let shown = group.pointer.as_ref().or(pointer.as_ref());
            let key = (group.code.clone(), group.pointer.clone());
            self.group(key, shown, (*line, detail)).count += group.count;
        }
    }

    fn group(
        &mut self,
        key: (String, Option<String>),
        shown: Option<&String>,
        (line, example): (u64, &str),
    ) -> &mut Group {
        let code = key.0.clone();
        let at = *self.known.entry(key).or_insert_with(|| {
            let (pointer, example) = (shown.cloned(), example.to_owned());
            self.groups.push(Group { code, pointer, count: 0, line, example });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }

    /// Prints the groups as data, the largest first. A terminal gets the beginning of each example.
    pub(crate) fn print(&self, printer: &mut Printer) -> Result<(), Failure> {
        let rows = self.largest().into_iter().map(Group::row);
        let rows: Vec<_> =
            if printer.is_for_terminal() { rows.map(shortened).collect() } else { rows.collect() };
        printer.table(&HEADER, &rows)
    }

    /// The largest groups as a message, and how many faults the others have.
    pub(crate) fn message(&self) -> String {
        let mut largest = self.largest();
        largest.truncate(GROUPS_PRINTED_MAX);
        let shown: u64 = largest.iter().map(|group| group.count).sum();
        let rows: Vec<_> = largest.into_iter().map(Group::row).map(shortened).collect();
        let mut table = aligned(&HEADER, &rows);
        if self.faults > shown {
            let others = grouped(self.faults - shown);
            let _ = writeln!(table, "{others} more in smaller groups");
        }
        table
    }

    fn largest(&self) -> Vec<&Group> {
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        groups
    }
}

impl Group {
    fn row(&self) -> Vec<String> {
        let pointer = match self.pointer.as_deref() {
            Some("") => "(entry)",
            Some(pointer) => pointer,
            None => "(not readable)",
        };
        let (count, line) = (grouped(self.count), self.line.to_string());
        vec![count, self.code.clone(), pointer.to_owned(), line, self.example.clone()]
    }
}

/// A row with the beginning of its example, if that is long.
fn shortened(mut row: Vec<String>) -> Vec<String> {
    if let Some(example) = row.last_mut()
        && let Some((end, _)) = example.char_indices().nth(EXAMPLE_CHARS_MAX)
    {
        example.truncate(end);
        example.push('…');
    }
    row
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn groups_of_several_tasks_are_added_and_the_largest_come_first() {
        let summary = |faults: u64, groups: &str| -> ErrorSummary {
            let text = format!(r#"{{"faults":{faults},"entries":1,"groups":[{groups}]}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let group = |code: &str, pointer: &str, count: u64, line: u64| {
            let example = format!(r#"{{"index":0,"line":{line},"value":null,"detail":"d{line}"}}"#);
            format!(
                r#"{{"code":"{code}","pointer":{pointer},"count":{count},"example":{example}}}"#
            )
        };
        let mut groups = FaultGroups::default();
        let first = [group("a", r#""/x""#, 2, 1), group("b", "null", 3, 2)].join(",");
        groups.add(&summary(9, &first));
        groups.add(&summary(5, &group("a", r#""/x""#, 5, 7)));
        assert_eq!(
            groups.message(),
            "COUNT  CODE  FIELD           LINE  EXAMPLE\n\
             7      a     /x              1     d1\n\
             3      b     (not readable)  2     d2\n\
             4 more in smaller groups\n"
        );
    }
}
