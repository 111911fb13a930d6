//! Rows of a table as entries of profiles. The first line is a header, the others are rows, with
//! tabs between cells. A header is read or each of its faults names a column that it has. A row
//! gives an entry on one line, a map with a member for each column at most, perhaps with faults of
//! fields that it lacks, or nothing if all cells are blank. Texts in quotes come through as they
//! are.

use caseload_model::json::{self, Json};
use caseload_model::profile::{Cell, OtherColumns, RowColumns, RowEntry, RowRules};
use caseload_model::task::Action;

const ACTIONS: [Action; 4] = [
    Action::CreateCoreProfiles,
    Action::UpdateCoreProfiles,
    Action::UpsertCoreProfiles,
    Action::UpdateAppProfiles,
];
/// A field of core profiles that is a plain text.
const TEXT: &str = "last_city";

pub(crate) fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    let names: Vec<_> = header.iter().map(|name| cell(name)).collect();
    for action in ACTIONS {
        for others in [OtherColumns::Refuse, OtherColumns::Ignore, OtherColumns::Custom] {
            let (columns, faults) = RowColumns::read(action, &names, &[], others);
            for fault in faults {
                assert!(fault.column.is_none_or(|at| at < header.len()), "{fault:?}");
                assert!(!fault.detail.is_empty());
            }
            // A preview reads the rows without the faulty columns.
            for row in &rows {
                entry(&columns, &header, row);
            }
        }
    }
}

/// A text in quotes, or without.
fn cell(text: &str) -> Cell<'_> {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    Cell { text: inside.unwrap_or(text), quoted: inside.is_some() }
}

fn entry(columns: &RowColumns, header: &[&str], row: &[&str]) {
    let cell = |at: usize| row.get(at).map_or_else(Cell::default, |text| cell(text));
    for leave_out in [false, true] {
        let rules = RowRules { leave_out, ..RowRules::default() };
        let mut out = b"before".to_vec();
        let written = columns.write_entry(&rules, cell, &mut out);
        let entry = out.strip_prefix(b"before").expect("the earlier bytes remain");
        let is_blank = (0..header.len()).all(|at| cell(at).is_blank());
        assert_eq!(written == RowEntry::Blank, is_blank, "a row of blanks gives no entry");
        match written {
            RowEntry::Entry(_) => holds_entry(entry, header, cell),
            RowEntry::Blank => assert!(entry.is_empty()),
            RowEntry::Faulty(faults) => {
                assert!(!faults.is_empty() && entry.starts_with(b"{") && entry.ends_with(b"}"));
                assert!(!entry.contains(&b'\n') && !entry.contains(&b'\r'));
                assert!(faults.iter().all(|fault| fault.value.is_some()), "{faults:?}");
            }
        }
    }
}

fn holds_entry<'c>(entry: &[u8], header: &[&str], cell: impl Fn(usize) -> Cell<'c>) {
    assert!(!entry.contains(&b'\n') && !entry.contains(&b'\r'), "an entry is one line");
    // The reader of entries refuses JSON that is too deep.
    let Ok(Json::Object(members)) = json::parse(entry) else {
        let is_json = (0..header.len()).any(|at| cell(at).text.contains(['[', '{']));
        assert!(is_json, "{}", entry.escape_ascii());
        return;
    };
    assert!(members.len() <= header.len(), "a column gives one member at most");
    let place = header.iter().position(|name| *name == TEXT);
    let stored = members.iter().find(|(name, _)| name == TEXT).map(|(_, value)| value.as_str());
    let sent = place.map(cell).filter(|cell| cell.quoted).map(|cell| cell.text);
    let is_plain = sent.is_some_and(|text| !text.starts_with("=\""));
    assert!(!is_plain || stored.is_none_or(|stored| stored == sent), "{stored:?}, {sent:?}");
}
