//! A person's entries and records of tasks, as the dry run of an erasure shows them: entries of
//! payloads, results and errors, as they are stored. They come in parts, and each part has whole
//! tasks. Erasing them is not done here. Invariant: a stored record is shown with all of its bytes.

use crate::json::{self, Json, write_array, write_string};
use crate::task::Action;

/// A part of the tasks that hold a person, in the order in which they were accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonTasks {
    pub tasks: Vec<PersonTask>,
    /// The place after which the next part begins; `None` at the end.
    pub next: Option<u64>,
}

/// The entries and records of one task that hold a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonTask {
    /// Its place in the order of acceptance.
    pub seq: u64,
    pub id: String,
    pub action: Action,
    pub entries: Vec<PersonEntry>,
    /// Lines of records, without their line breaks.
    pub results: Vec<Vec<u8>>,
    pub errors: Vec<Vec<u8>>,
}

/// An entry of a payload that holds a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonEntry {
    pub index: u32,
    pub line: u32,
    /// The entry as it is stored; it need not be a JSON map.
    pub text: Vec<u8>,
    /// The rows of the file that the entry was made of.
    pub rows: Vec<Vec<u8>>,
}

impl PersonTasks {
    /// How many entries of payloads the part has.
    pub fn entries(&self) -> u64 {
        self.tasks.iter().map(|task| task.entries.len() as u64).sum()
    }

    /// How many results and errors the part has.
    pub fn records(&self) -> u64 {
        self.tasks.iter().map(|task| (task.results.len() + task.errors.len()) as u64).sum()
    }

    /// Appends the members `tasks` and `next-tasks`, each after a comma.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"tasks\":");
        write_array(&self.tasks, out, PersonTask::write);
        let next = self.next.map_or_else(|| "null".to_owned(), |next| format!("\"{next}\""));
        out.extend_from_slice(format!(",\"next-tasks\":{next}").as_bytes());
    }
}

impl PersonTask {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"task_id\":");
        write_string(&self.id, out);
        out.extend_from_slice(format!(",\"action\":\"{}\"", self.action.as_str()).as_bytes());
        out.extend_from_slice(b",\"entries\":");
        write_array(&self.entries, out, PersonEntry::write);
        for (name, lines) in [("results", &self.results), ("errors", &self.errors)] {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            write_array(lines, out, |line, out| out.extend_from_slice(line));
        }
        out.push(b'}');
    }
}

impl PersonEntry {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { index, line, text, rows } = self;
        out.extend_from_slice(format!("{{\"index\":{index},\"line\":{line},").as_bytes());
        let shown = |bytes: &[u8], out: &mut Vec<u8>| {
            write_string(&String::from_utf8_lossy(bytes), out);
        };
        if matches!(json::parse(text), Ok(Json::Object(_))) {
            out.extend_from_slice(b"\"entry\":");
            out.extend_from_slice(text);
        } else {
            out.extend_from_slice(b"\"raw\":");
            shown(text, out);
        }
        if !rows.is_empty() {
            out.extend_from_slice(b",\"rows\":");
            write_array(rows, out, |row, out| shown(row, out));
        }
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_records_as_they_are_and_unreadable_entries_as_texts() {
        let entry = |text: &str, rows: Vec<Vec<u8>>| PersonEntry {
            index: 4,
            line: 5,
            text: text.into(),
            rows,
        };
        let task = PersonTask {
            seq: 9,
            id: "t".to_owned(),
            action: Action::UpsertCoreProfiles,
            entries: vec![
                entry(r#"{"age": 7.0}"#, vec![b"a,\"b\"".to_vec()]),
                entry("{not JSON", vec![]),
            ],
            results: vec![br#"{"index":0,"line":1}"#.to_vec()],
            errors: Vec::new(),
        };
        let part = PersonTasks { tasks: vec![task], next: Some(9) };
        assert_eq!((part.entries(), part.records()), (2, 1));
        let mut out = Vec::new();
        part.write(&mut out);
        let expected = concat!(
            r#","tasks":[{"task_id":"t","action":"upsert_core_profiles","entries":["#,
            r#"{"index":4,"line":5,"entry":{"age": 7.0},"rows":["a,\"b\""]},"#,
            r#"{"index":4,"line":5,"raw":"{not JSON"}],"#,
            r#""results":[{"index":0,"line":1}],"errors":[]}],"next-tasks":"9""#
        );
        assert_eq!(String::from_utf8_lossy(&out), expected);
        let (mut out, end) = (Vec::new(), PersonTasks::default());
        end.write(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), r#","tasks":[],"next-tasks":null"#);
    }
}
