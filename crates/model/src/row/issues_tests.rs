//! Rows of issues: the place of each column, and the value of each cell.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::{Cell, OtherColumns, RowColumns, RowEntry, RowRules};
use crate::task::Action;

fn columns(header: &[&str]) -> Result<RowColumns, Vec<String>> {
    let cells: Vec<_> = header.iter().map(|text| Cell { text, quoted: false }).collect();
    let (columns, faults) =
        RowColumns::read(Action::ImportIssues, &cells, &[], OtherColumns::Refuse);
    if faults.is_empty() {
        return Ok(columns);
    }
    Err(faults.into_iter().map(|fault| fault.detail).collect())
}

/// The entry of a row, and its warnings or faults.
fn entry(row: &[(&str, &str)]) -> (String, Vec<String>) {
    let header: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    let mut out = Vec::new();
    let cell = |at: usize| Cell { text: row[at].1, quoted: false };
    let written = columns(&header).unwrap().write_entry(&RowRules::default(), cell, &mut out);
    let found = match written {
        RowEntry::Blank => Vec::new(),
        RowEntry::Entry(found) => found.into_iter().map(|f| f.code.as_str().to_owned()).collect(),
        RowEntry::Faulty(found) => found
            .into_iter()
            .map(|fault| format!("{} {}", fault.code.as_str(), fault.pointer.unwrap()))
            .collect(),
    };
    (String::from_utf8(out).unwrap(), found)
}

#[test]
fn each_column_of_an_issue_is_a_member_of_the_entry() {
    let row = [
        ("id", " 7 "),
        ("message", "Hi"),
        ("title", "T"),
        ("state", "Waiting for agent"),
        ("state_data.changed_at", "1700000000000"),
        ("created_at", "2024-01-01T00:00:00Z"),
        ("author_email", "Ann <ann@x.org>"),
        ("assignee_email", "mailto:bob@x.org"),
        ("tags", "a|b"),
        ("cc", "c@x.org"),
        ("redacted", "no"),
        ("queue.id", "q"),
        ("queue.name", "Q"),
        ("issue_mode_data.issue_mode", "chat"),
        ("meta.browser", "F"),
        ("custom_fields.plan", "007"),
        ("custom_fields.seats:number", "1.50"),
        ("custom_fields.vip:boolean", "yes"),
        ("custom_fields.due:date", "2024-02-03"),
        ("custom_fields.kind:dropdown", "x"),
        ("domain", "elsewhere"),
    ];
    let right = concat!(
        r#"{"id":"7","title":"T","#,
        r#""state_data":{"state":"waiting-for-agent","changed_at":1700000000000},"#,
        r#""created_at":"2024-01-01T00:00:00Z","author_email":"ann@x.org","#,
        r#""assignee_email":"bob@x.org","tags":["a","b"],"cc":["c@x.org"],"redacted":false,"#,
        r#""queue":{"id":"q","name":"Q"},"issue_mode_data":{"issue_mode":"chat"},"#,
        r#""meta":{"browser":"F"},"custom_fields":{"plan":{"type":"singleline","value":"007"},"#,
        r#""seats":{"type":"number","value":1.50},"vip":{"type":"checkbox","value":true},"#,
        r#""due":{"type":"date","value":"2024-02-03"},"kind":{"type":"dropdown","value":"x"}},"#,
        r#""messages":[{"body":"Hi"}]}"#
    );
    assert_eq!(entry(&row), (right.to_owned(), Vec::new()));
}

#[test]
fn a_cell_that_has_not_the_type_of_its_column_is_a_fault() {
    let time = ("created_at", "2024-01-01");
    for (name, cell, pointer) in [
        ("custom_fields.n:number", "1,5", "wrong_type /custom_fields/n"),
        ("custom_fields.b:boolean", "maybe", "wrong_type /custom_fields/b"),
        ("custom_fields.d:date", "03/05/2024", "wrong_type /custom_fields/d"),
        ("custom_fields.t", "#N/A", "spreadsheet_error /custom_fields/t"),
        ("message", "#REF!", "spreadsheet_error /messages/0/body"),
        ("redacted", "?", "wrong_type /redacted"),
        ("id", "4.9E+12", "spreadsheet_error /id"),
    ] {
        assert_eq!(entry(&[time, (name, cell)]).1, [pointer]);
    }
    assert_eq!(entry(&[time, ("Requester email", "Ann Lee")]).1, ["suspicious_identity"]);
    assert_eq!(entry(&[time, ("Status", "Closed")]).1, ["reduced"]);
    assert_eq!(entry(&[time, ("Status", "Resolved")]).1, [""; 0]);
}

#[test]
fn a_cell_of_a_person_has_an_address_or_a_name() {
    let time = ("created_at", "2024-01-01T00:00:00Z");
    for (cells, members, warnings) in [
        (
            &[("Requester", "Ann Lee"), ("Assignee", " Bob ")][..],
            r#""author_name":"Ann Lee","assignee_name":"Bob""#,
            &[][..],
        ),
        (
            &[("Requester", "Ann <ann@x.org>"), ("Assigned to", "bob@x.org")],
            r#""author_email":"ann@x.org","assignee_email":"bob@x.org""#,
            &[],
        ),
        // A name that another cell has, too, is not one.
        (
            &[("Requester", "ann"), ("Requester name", "Ann Lee")],
            r#""author_email":"ann","author_name":"Ann Lee""#,
            &["suspicious_identity"],
        ),
        (&[("Requester", "Ann"), ("Requester name", " ")], r#""author_name":"Ann""#, &[]),
        (&[("author_email", "ann")], r#""author_email":"ann""#, &["suspicious_identity"]),
        (&[("Agent email", "bob")], r#""assignee_email":"bob""#, &["suspicious_identity"]),
        (&[("Requester", ""), ("title", "T")], r#""title":"T""#, &[]),
    ] {
        let (entry, found) = entry(&[&[time][..], cells].concat());
        let right = format!(r#"{{"created_at":"2024-01-01T00:00:00Z",{members}}}"#);
        assert_eq!((entry, found), (right, warnings.iter().map(|w| (*w).to_owned()).collect()));
    }
    let fault = entry(&[time, ("Requester", "#N/A")]).1;
    assert_eq!(fault, ["spreadsheet_error /author_name"]);
}

#[test]
fn a_header_names_its_faults() {
    for (header, detail) in [
        (&["id", "title"][..], "no column is created_at"),
        (&["created_at", "Created"], "is the same member as"),
        (&["created_at", "state", "state_data"], "is the same member as"),
        (&["created_at", "Shoe size"], "\"custom_fields.Shoe size\""),
        (&["created_at", "custom_fields."], "needs a name"),
        (&["created_at", "note"], "did you mean private_notes?"),
    ] {
        let faults = columns(header).unwrap_err();
        assert!(faults[0].contains(detail), "{faults:?}");
    }
}
