//! Rows of a table as entries of profiles. The first line is a header, the others are rows, with
//! tabs between cells. A header is read or each of its faults names a column that it has. A row
//! gives an entry on one line, a map with a member for each column that has text at most, or
//! nothing if all cells are empty. Texts come through as they are.

use caseload_model::json::{self, Json};
use caseload_model::profile::RowColumns;
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
    let names: Vec<_> = header.iter().copied().map(Some).collect();
    for action in ACTIONS {
        match RowColumns::read(action, &names) {
            Ok(columns) => rows.iter().for_each(|row| entry(&columns, &header, row)),
            Err(faults) => {
                assert!(!faults.is_empty(), "a refusal has faults");
                for fault in faults {
                    assert!(fault.column.is_none_or(|column| column < header.len()), "{fault:?}");
                    assert!(!fault.detail.is_empty());
                }
            }
        }
    }
}

fn entry(columns: &RowColumns, header: &[&str], row: &[&str]) {
    let cell = |at: usize| row.get(at).copied().unwrap_or_default();
    let mut out = b"before".to_vec();
    let written = columns.write_entry(cell, &mut out);
    let entry = out.strip_prefix(b"before").expect("the earlier bytes remain");
    let with_text = (0..header.len()).filter(|at| !cell(*at).is_empty()).count();
    assert_eq!(written, !entry.is_empty());
    assert!(!written || with_text > 0, "empty cells give no entry");
    if !written {
        return;
    }
    assert!(!entry.contains(&b'\n') && !entry.contains(&b'\r'), "an entry is one line");
    // The reader of entries refuses JSON of cells that is too deep or has a key twice.
    let Ok(Json::Object(members)) = json::parse(entry) else {
        let is_json = (0..header.len()).any(|at| cell(at).contains(['[', '{']));
        assert!(is_json, "{}", entry.escape_ascii());
        return;
    };
    assert!((1..=with_text).contains(&members.len()), "a column gives one member at most");
    let place = header.iter().position(|name| name.trim() == TEXT);
    let stored = members.iter().find(|(name, _)| name == TEXT).map(|(_, value)| value.as_str());
    let sent = place.map(cell).filter(|text| !text.is_empty());
    assert!(stored.is_none_or(|stored| stored == sent), "{stored:?}, {sent:?}");
}
