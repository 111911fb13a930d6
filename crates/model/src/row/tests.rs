//! Rows as entries: the value of each cell, the place of each column, and every fault of a header
//! and of a row. The server's judgement of entries is not tested here.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::{Cell, OtherColumns, RowColumns, RowEntry, RowRules};
use crate::task::Action;

/// A text in quotes, or without.
fn cell(text: &str) -> Cell<'_> {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) => Cell { text, quoted: true },
        None => Cell { text, quoted: false },
    }
}

fn read(
    action: Action,
    header: &[&str],
    renames: &[(&str, &str)],
    others: OtherColumns,
) -> Result<RowColumns, Vec<(Option<usize>, String)>> {
    let header: Vec<Cell<'_>> = header.iter().map(|name| cell(name)).collect();
    let renames: Vec<_> =
        renames.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
    let (columns, faults) = RowColumns::read(action, &header, &renames, others);
    if faults.is_empty() {
        return Ok(columns);
    }
    Err(faults.into_iter().map(|f| (f.column, f.detail)).collect())
}

fn columns(action: Action, header: &[&str]) -> Result<RowColumns, Vec<(Option<usize>, String)>> {
    read(action, header, &[], OtherColumns::Refuse)
}

/// The result of a row: its entry and its warnings, or its faults, each as a line.
fn row_of(columns: &RowColumns, rules: &RowRules, cells: &[&str]) -> (String, Vec<String>) {
    let mut out = Vec::new();
    let at = |column: usize| cells.get(column).map_or_else(Cell::default, |text| cell(text));
    let written = columns.write_entry(rules, at, &mut out);
    // The entry of the other cells has a test of its own.
    let is_faulty = matches!(written, RowEntry::Faulty(_));
    let found = match written {
        RowEntry::Blank => vec!["blank".to_owned()],
        RowEntry::Entry(warnings) => warnings
            .iter()
            .map(|found| format!("{} {}: {}", found.code.as_str(), found.pointer, found.detail))
            .collect(),
        RowEntry::Faulty(faults) => faults
            .iter()
            .map(|found| {
                let pointer = found.pointer.as_deref().unwrap();
                format!("{} {pointer}: {}", found.code.as_str(), found.detail)
            })
            .collect(),
    };
    (if is_faulty { String::new() } else { String::from_utf8(out).unwrap() }, found)
}

#[test]
fn a_faulty_row_gives_the_entry_of_its_other_cells() {
    let header = ["uid", "age", "tags", "last_country", "email"];
    let columns = columns(Action::UpsertCoreProfiles, &header).unwrap();
    let row = ["u", "x", "a", "Atlantis", "n/a"];
    let mut out = b"before".to_vec();
    let cell = |at: usize| Cell { text: row[at], quoted: false };
    let written = columns.write_entry(&RowRules::default(), cell, &mut out);
    let RowEntry::Faulty(faults) = written else { panic!("{written:?}") };
    let pointers: Vec<_> = faults.iter().filter_map(|fault| fault.pointer.as_deref()).collect();
    assert_eq!(pointers, ["/identities/1/email", "/age", "/last_country"]);
    assert_eq!(out, b"before{\"identities\":[{\"uid\":\"u\"}],\"tags\":[\"a\"]}");
    let fields = [("uid", "uid"), ("age", "age"), ("tags", "tags")];
    let fields = fields.map(|(name, field)| (name.to_owned(), Some(field.to_owned())));
    assert_eq!(columns.fields()[..3], fields);
}

fn given(action: Action, row: &[(&str, &str)], rules: &RowRules) -> (String, Vec<String>) {
    let header: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    let cells: Vec<&str> = row.iter().map(|(_, cell)| *cell).collect();
    row_of(&columns(action, &header).unwrap(), rules, &cells)
}

fn entry(action: Action, row: &[(&str, &str)]) -> String {
    let (entry, found) = given(action, row, &RowRules::default());
    assert_eq!(found, [""; 0], "{row:?}");
    entry
}

/// The member after `uid` that a column gives, or the faults.
fn member(name: &str, cell: &str, rules: &RowRules) -> (String, Vec<String>) {
    let (entry, found) = given(Action::UpsertCoreProfiles, &[("uid", "u"), (name, cell)], rules);
    let rest = entry.strip_prefix(r#"{"identities":[{"uid":"u"}]"#).unwrap_or(&entry);
    let rest = rest.trim_start_matches(',').strip_suffix('}').unwrap_or(rest);
    (rest.to_owned(), found)
}

#[test]
fn each_column_is_a_member_of_the_entry_with_the_type_of_its_field() {
    let row = [
        ("email", "ada@example.org"),
        ("first_name", " Ada "),
        ("names.last_name", "\" Lovelace \""),
        ("age", " 36 "),
        ("lifetime_value", "1023.990"),
        ("accepted_t_and_c", "TRUE"),
        ("tags", "vip| early bird ||"),
        ("custom_fields.plan", "007"),
        ("custom_fields.seats:number", "12345678901234567890.10"),
        ("custom_fields.a.b:text", "x\ny"),
        ("identity.email.2", "ada@example.com"),
        ("identity.uid", "u-1"),
        ("last_country", ""),
        ("created_at", "1700000000000"),
        ("last_active_date", "1700000000000"),
    ];
    assert_eq!(
        entry(Action::CreateCoreProfiles, &row),
        concat!(
            r#"{"identities":[{"email":"ada@example.org"},{"email":"ada@example.com"},"#,
            r#"{"uid":"u-1"}],"names":{"first_name":"Ada","last_name":" Lovelace "},"#,
            r#""age":36,"lifetime_value":1023.990,"accepted_t_and_c":true,"#,
            r#""tags":["vip","early bird"],"custom_fields":{"plan":"007","#,
            r#""seats":12345678901234567890.10,"a.b":"x\ny"},"last_active_date":1700000000000}"#
        )
    );
    let row = [("pid", "p"), ("user_level", "3"), ("emails", "[\"a\"]"), ("core-profile-id", "1")];
    assert_eq!(entry(Action::UpdateAppProfiles, &row), r#"{"pid":"p","user_level":3}"#);
}

#[test]
fn names_of_columns_count_in_any_case_and_as_other_desks_write_them() {
    let of = |action, name: &str| {
        let id = if action == Action::UpdateAppProfiles { "pid" } else { "uid" };
        let entry = entry(action, &[(id, "u"), (name, "1")]);
        let rest = entry.split_once(if id == "uid" { "{\"uid\":\"u\"}" } else { "\"u\"" });
        rest.unwrap().1.trim_start_matches(']').to_owned()
    };
    let core = Action::UpsertCoreProfiles;
    for (name, member) in [
        ("Last Country", r#","last_country":"1"}"#),
        ("LAST-COUNTRY", r#","last_country":"1"}"#),
        ("\u{feff}last country ", r#","last_country":"1"}"#),
        ("names.first name", r#","names":{"first_name":"1"}}"#),
        ("FirstName", r#","names":{"first_name":"1"}}"#),
        ("Name", r#","names":{"full_name":"1"}}"#),
        ("Surname", r#","names":{"last_name":"1"}}"#),
        ("Custom Fields.Plan B", r#","custom_fields":{"Plan B":"1"}}"#),
        ("custom_fields.Seats: Number", r#","custom_fields":{"Seats":1}}"#),
        ("Labels", r#","tags":["1"]}"#),
        ("Segment", r#","user_vip_segment":"1"}"#),
        ("Last Seen", r#","last_active_date":1}"#),
        ("LTV", r#","lifetime_value":1}"#),
        ("E-mail", r#",{"email":"1"}]}"#),
        ("Email address", r#",{"email":"1"}]}"#),
        ("Email 2", r#",{"email":"1"}]}"#),
        ("Mobile", r#",{"phone_number":"1"}]}"#),
        ("Phone 2", r#",{"phone_number":"1"}]}"#),
        ("identity.Steam-ID", r#",{"steam_id":"1"}]}"#),
    ] {
        assert_eq!(of(core, name), member, "{name}");
    }
    for (name, member) in [
        ("Country", r#","country":"1"}"#),
        ("Level", r#","user_level":1}"#),
        ("Name", "}"),
        ("Core Profile ID", "}"),
    ] {
        assert_eq!(of(Action::UpdateAppProfiles, name), member, "{name}");
    }
    let row = [("Customer ID", "u"), ("Phone", "1"), ("Mobile", "2"), ("phone_number", "3")];
    let phones = r#"{"phone_number":"1"},{"phone_number":"2"},{"phone_number":"3"}"#;
    assert_eq!(entry(core, &row), format!(r#"{{"identities":[{{"uid":"u"}},{phones}]}}"#));
    for unsure in ["ID", "Status", "Plan", "Username", "level", "email.0", "uid2"] {
        let faults = columns(core, &["uid", unsure]).unwrap_err();
        assert!(faults[0].1.contains("is not a field of core profiles"), "{faults:?}");
    }
}

#[test]
fn the_type_is_that_of_the_column() {
    let rules = RowRules::default();
    for (name, cell, value) in [
        ("custom_fields.zip", "01067", r#""custom_fields":{"zip":"01067"}"#),
        ("custom_fields.zip", "1e5", r#""custom_fields":{"zip":"1e5"}"#),
        ("custom_fields.n:number", "1e3", r#""custom_fields":{"n":1e3}"#),
        ("custom_fields.n:number", "\" 7 \"", r#""custom_fields":{"n":7}"#),
        ("custom_fields.n:number", "-0", r#""custom_fields":{"n":-0}"#),
        ("custom_fields.n:number", "\"  \"", ""),
        ("age", "31.0", r#""age":31.0"#),
        ("last_active_date", "2024-05-01", r#""last_active_date":"2024-05-01""#),
        ("accepted_t_and_c", "yes", r#""accepted_t_and_c":true"#),
        ("accepted_t_and_c", "N", r#""accepted_t_and_c":false"#),
        ("accepted_t_and_c", "Off", r#""accepted_t_and_c":false"#),
        ("accepted_t_and_c", "1", r#""accepted_t_and_c":true"#),
        ("last_city", "\"\u{a0}Rome \"", "\"last_city\":\"\u{a0}Rome \""),
        ("last_city", "\u{a0}Rome ", r#""last_city":"Rome""#),
        ("last_country", "\" de \"", r#""last_country":"de""#),
        ("last_city", "\"=\"0049\"\"", r#""last_city":"0049""#),
        ("last_city", "=\"0049\"", r#""last_city":"0049""#),
        ("last_city", "=\"=\"\"x\"\"\"", r#""last_city":"=\"x\"""#),
        ("last_city", "=\"a\"b\"", r#""last_city":"=\"a\"b\"""#),
        ("tags", "[\"a|b\",\n\"c\"]", r#""tags":["a|b", "c"]"#),
        ("tags", " | ", ""),
        ("custom_fields", "{\"n\":\n1.50}", r#""custom_fields":{"n": 1.50}"#),
        ("names", "{\"first_name\":\"Ada\"}", r#""names":{"first_name":"Ada"}"#),
    ] {
        assert_eq!(member(name, cell, &rules), (value.to_owned(), vec![]), "{name} {cell}");
    }
    for (name, cell, fault) in [
        ("custom_fields.n:number", "1,50", "as in 1.50, and nothing between thousands"),
        ("custom_fields.n:number", "n/a", "\"n/a\" is not a number; digits are expected"),
        ("custom_fields.n:number", "007", "is not a number"),
        ("age", "+5", "is not a number"),
        ("age", "NaN", "is not a number"),
        ("age", "\"\"36\"\"", "is not a number"),
        ("accepted_t_and_c", "WAHR", "write true, yes, y, on or 1, or false, no, n, off or 0"),
        ("tags", "[\"a\",", "a cell that begins with [ is a JSON array"),
        ("custom_fields", "none", "cannot be read as JSON"),
        ("names", "7", "it is neither an array nor a map"),
    ] {
        let (entry, faults) = member(name, cell, &rules);
        assert_eq!(entry, "", "{name} {cell}");
        let pointer = match name.strip_suffix(":number") {
            Some(name) => format!("/{}", name.replace('.', "/")),
            None => format!("/{name}"),
        };
        let start = format!("wrong_type {pointer}: column {name:?}: ");
        assert!(faults.len() == 1 && faults[0].starts_with(&start), "{faults:?}");
        assert!(faults[0].contains(fault), "{faults:?}");
    }
}

#[test]
fn an_error_of_a_spreadsheet_is_a_fault_unless_it_is_in_quotes() {
    let rules = RowRules::default();
    for error in ["#N/A", " #REF! ", "#value!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!"] {
        for name in ["last_city", "email", "custom_fields.x", "age", "tags"] {
            let (_, faults) = member(name, error, &rules);
            assert!(faults[0].starts_with("spreadsheet_error /"), "{name}: {faults:?}");
        }
        assert_eq!(member("last_city", &format!("\"{error}\""), &rules).1, [""; 0]);
    }
    assert_eq!(member("tags", "#1", &rules).0, r##""tags":["#1"]"##);
    for (name, cell) in
        [("phone_number", "4.9E+12"), ("phone_number", "4,9E+12"), ("email", "1E+9")]
    {
        let (_, faults) = member(name, cell, &rules);
        let start = format!("spreadsheet_error /identities/1/{name}: column {name:?}: ");
        assert!(faults[0].starts_with(&start), "{faults:?}");
    }
    let row = [("core-profile-id", "1.80E+14"), ("age", "7")];
    let (_, faults) = given(Action::UpdateCoreProfiles, &row, &rules);
    assert!(faults[0].starts_with("spreadsheet_error /core-profile-id: "), "{faults:?}");
}

#[test]
fn a_cell_gives_each_of_its_addresses_once_and_a_placeholder_none() {
    let rules = RowRules::default();
    let emails = |row: &[(&str, &str)]| entry(Action::UpsertCoreProfiles, row);
    assert_eq!(
        emails(&[("email", "\"Roe, Cy\" <c@x>; D@x,d@x"), ("Mail", "mailto:e@x")]),
        r#"{"identities":[{"email":"c@x"},{"email":"D@x"},{"email":"e@x"}]}"#
    );
    for (name, cell, detail) in [
        ("email", "N/A", "\"N/A\" is a placeholder, not a person; leave the cell empty"),
        ("email", "a@x; noreply@x", "\"noreply@x\" is a placeholder"),
        ("phone_number", "000 000", "is a placeholder"),
        ("steam_id", "0", "is a placeholder"),
        ("email", "\"   \"", "the cell has blanks alone"),
        ("email", ";", "the cell has blanks alone"),
    ] {
        let (_, faults) = member(name, cell, &rules);
        let start = format!("invalid_identity /identities/1/{name}: column {name:?}: ");
        assert!(faults.len() == 1 && faults[0].starts_with(&start), "{faults:?}");
        assert!(faults[0].contains(detail), "{faults:?}");
    }
    let kept = r#"{"identities": [{"uid":"test"}]}"#;
    assert_eq!(emails(&[("identities", "[{\"uid\":\"test\"}]")]), kept.replace(": [", ":["));
}

#[test]
fn tags_are_split_at_the_separator_alone() {
    let rules =
        |separator: &str| RowRules { separator: separator.to_owned(), ..RowRules::default() };
    for (cell, separator, tags, doubts) in [
        ("\"vip, beta\"", "|", r#"["vip, beta"]"#, 1),
        ("vip;beta|x", "|", r#"["vip;beta","x"]"#, 1),
        ("vip | beta |", "|", r#"["vip","beta"]"#, 0),
        ("vip, beta", ",", r#"["vip","beta"]"#, 0),
        ("a::b:::c", ":::", r#"["a::b","c"]"#, 0),
        ("[\"a,b\"]", "|", r#"["a,b"]"#, 0),
    ] {
        let (entry, found) = member("tags", cell, &rules(separator));
        assert_eq!(entry, format!("\"tags\":{tags}"));
        assert_eq!(found.len(), doubts, "{found:?}");
        let start = "looks_like_list /tags/0: column \"tags\": ";
        assert!(found.iter().all(|found| found.starts_with(start)), "{found:?}");
    }
}

#[test]
fn a_cell_with_the_text_of_null_clears_its_field() {
    let rules = RowRules { null: Some("NULL".to_owned()), ..RowRules::default() };
    let row = [
        ("uid", "u"),
        ("email", "NULL"),
        ("age", " NULL "),
        ("first_name", "\"NULL\""),
        ("custom_fields.a", "NULL"),
        ("custom_fields.b", "null"),
        ("last_city", ""),
    ];
    let cleared = concat!(
        r#"{"identities":[{"uid":"u"}],"age":null,"names":{"first_name":null},"#,
        r#""custom_fields":{"a":null,"b":"null"}}"#
    );
    assert_eq!(given(Action::UpsertCoreProfiles, &row, &rules).0, cleared);
    let created = r#"{"identities":[{"uid":"u"}],"custom_fields":{"b":"null"}}"#;
    assert_eq!(given(Action::CreateCoreProfiles, &row, &rules).0, created);
    assert_eq!(entry(Action::UpsertCoreProfiles, &[row[0], row[3]]).matches("null").count(), 0);
}

#[test]
fn all_faults_of_a_row_are_named_or_its_faulty_fields_left_out() {
    let row = [
        ("uid", "u"),
        ("age", "old"),
        ("last_country", "Atlantis"),
        ("custom_fields.n:number", "x"),
        ("last_city", "Rome"),
    ];
    let codes = |found: &[String]| -> Vec<String> {
        found.iter().map(|found| found.split(':').next().unwrap().to_owned()).collect()
    };
    let (entry, faults) = given(Action::UpsertCoreProfiles, &row, &RowRules::default());
    assert_eq!(entry, "");
    let all = ["wrong_type /age", "unknown_country /last_country", "wrong_type /custom_fields/n"];
    assert_eq!(codes(&faults), all);
    let rules = RowRules { leave_out: true, ..RowRules::default() };
    let (entry, warnings) = given(Action::UpsertCoreProfiles, &row, &rules);
    assert_eq!(entry, r#"{"identities":[{"uid":"u"}],"last_city":"Rome"}"#);
    let left_out = ["left_out /age", "left_out /last_country", "left_out /custom_fields/n"];
    assert_eq!(codes(&warnings), left_out);
    for row in [
        &[("uid", "n/a"), ("age", "7")][..],
        &[("identities", "x"), ("age", "7")],
        &[("identities", "[{\"uid\":7}]"), ("age", "7")],
        &[("core-profile-id", "#N/A"), ("age", "7")],
    ] {
        let (entry, faults) = given(Action::UpdateCoreProfiles, row, &rules);
        assert!(entry.is_empty() && faults.len() == 1, "{faults:?}");
        assert!(!faults[0].starts_with("left_out"), "{faults:?}");
    }
}

#[test]
fn a_row_of_blanks_is_none_and_another_one_is_never_skipped() {
    let row = [("email", ""), ("first_name", ""), ("custom_fields.a", ""), ("age", "7")];
    assert_eq!(entry(Action::UpsertCoreProfiles, &row), r#"{"age":7}"#);
    let rules = RowRules::default();
    let blank = (String::new(), vec!["blank".to_owned()]);
    assert_eq!(given(Action::UpsertCoreProfiles, &row[..3], &rules), blank);
    let row = [("email", "\" \""), ("age", "\u{a0}\u{200b}")];
    assert_eq!(given(Action::UpsertCoreProfiles, &row, &rules), blank);
    let row = [("uid", ""), ("updated_at", "7")];
    assert_eq!(entry(Action::UpsertCoreProfiles, &row), "{}", "the server says what is missing");
}

#[test]
fn a_column_without_a_name_is_a_fault_of_the_rows_that_have_a_cell_there() {
    let header = ["uid", "", "\" \"", "age"];
    let update = Action::UpdateCoreProfiles;
    let columns = columns(update, &header).unwrap();
    let rules = RowRules::default();
    let good = r#"{"identities":[{"uid":"u"}],"age":7}"#;
    assert_eq!(row_of(&columns, &rules, &["u", " ", "\"\"", "7"]), (good.to_owned(), vec![]));
    let fault = "unknown_field : column #3: it has no name, and this row has a value there; give \
                 the column a name, or leave out #3";
    let faulty = row_of(&columns, &rules, &["u", "", "x", "7"]);
    assert_eq!(faulty, (String::new(), vec![fault.to_owned()]));
    for (renames, others) in
        [(&[("#2", ""), ("#3", "")][..], OtherColumns::Refuse), (&[], OtherColumns::Ignore)]
    {
        let columns = read(update, &header, renames, others).unwrap();
        let row = row_of(&columns, &rules, &["u", "x", "x", "7"]);
        assert_eq!(row, (good.to_owned(), vec![]));
    }
}

#[test]
fn columns_get_other_names_by_name_or_number() {
    let update = Action::UpdateCoreProfiles;
    let renames = [("Kunde", "uid"), ("#2", "age"), ("#3", ""), ("#1", "email")];
    let columns = read(update, &["Kunde", "Alter", "x"], &renames, OtherColumns::Refuse).unwrap();
    let row = row_of(&columns, &RowRules::default(), &["u", "7", "x"]);
    assert_eq!(row.0, r#"{"identities":[{"uid":"u"}],"age":7}"#, "a name comes before a number");
    let faults = read(update, &["uid"], &[("#2", "age"), ("x", "")], OtherColumns::Ignore);
    let none =
        |name: &str| (None, format!("there is no column {name:?}, which is given another name"));
    assert_eq!(faults.unwrap_err(), [none("#2"), none("x")]);
    let faults = read(update, &["uid", "x"], &[("x", "agee")], OtherColumns::Custom).unwrap_err();
    assert_eq!(faults.len(), 1, "a field that is named must exist: {faults:?}");
}

#[test]
fn columns_without_a_field_are_ignored_or_become_custom_fields() {
    let header = ["uid", "Plan B", "Seats:number"];
    for (others, entry) in [
        (OtherColumns::Ignore, r#"{"identities":[{"uid":"u"}]}"#),
        (
            OtherColumns::Custom,
            r#"{"identities":[{"uid":"u"}],"custom_fields":{"Plan B":"pro","Seats":3}}"#,
        ),
    ] {
        let columns = read(Action::UpsertCoreProfiles, &header, &[], others).unwrap();
        assert_eq!(row_of(&columns, &RowRules::default(), &["u", "pro", "3"]).0, entry);
    }
    let rejects = ["error", "line", "uid"];
    let columns = columns(Action::UpsertCoreProfiles, &rejects).unwrap();
    let row = row_of(&columns, &RowRules::default(), &["bad", "7", "u"]);
    assert_eq!(row.0, r#"{"identities":[{"uid":"u"}]}"#);
}

#[test]
fn every_fault_of_a_header_is_named_with_its_column() {
    let create = Action::CreateCoreProfiles;
    let header = [
        "emial",
        "email",
        "identity.email",
        "custom_fields.ok:boolean",
        "core-profile-id",
        "custom_fields.",
        "Internal note",
    ];
    assert_eq!(
        columns(create, &header).unwrap_err(),
        [
            (0, "\"emial\" is not a field of core profiles; did you mean email?"),
            (
                2,
                "\"identity.email\" is the same member as the column \"email\"; a second one is \
                 identity.email.2"
            ),
            (
                3,
                "custom fields of profiles are texts and numbers, not of the type \"boolean\"; \
                 custom_fields.ok is a text"
            ),
            (
                4,
                "a new profile gets its core-profile-id from the server; update and upsert take it"
            ),
            (5, "a custom field needs a name, as in custom_fields.plan"),
            (
                6,
                "\"Internal note\" is not a field of core profiles; as a custom field it is \
                 \"custom_fields.Internal note\""
            ),
        ]
        .map(|(column, detail)| (Some(column), detail.to_owned()))
    );
    for (header, second, first) in [
        (["identities", "email"], "email", "identities"),
        (["email", "identities"], "identities", "email"),
        (["names", "first_name"], "first_name", "names"),
        (["custom_fields.a", "custom_fields"], "custom_fields", "custom_fields.a"),
        (
            ["custom_fields.a", "custom_fields.a:number"],
            "custom_fields.a:number",
            "custom_fields.a",
        ),
        (["first_name", "names.first_name"], "names.first_name", "first_name"),
        (["age", "Age"], "Age", "age"),
        (["Customer ID", "User ID"], "User ID", "Customer ID"),
    ] {
        let faults = columns(create, &header).unwrap_err();
        let fault = format!("{second:?} is the same member as the column {first:?}");
        assert!(faults.len() == 1 && faults[0].0 == Some(1), "{faults:?}");
        assert!(faults[0].1.starts_with(&fault), "{faults:?}");
    }
}

#[test]
fn a_header_names_the_profile_of_each_row() {
    let none = "no column is an identity, such as email or identity.uid".to_owned();
    assert_eq!(columns(Action::CreateCoreProfiles, &["age"]).unwrap_err(), [(None, none)]);
    let none = "no column is the pid of the profile".to_owned();
    assert_eq!(columns(Action::UpdateAppProfiles, &["city"]).unwrap_err(), [(None, none)]);
    assert!(columns(Action::UpdateCoreProfiles, &["core_profile_id", "age"]).is_ok());
}

#[test]
fn ids_of_which_all_end_in_zero_were_rounded() {
    let refused = |name: &str, ids: &[&str]| {
        let columns = columns(Action::UpdateCoreProfiles, &["email", name]).unwrap();
        let mut rounded = columns.rounded_ids();
        for id in ids {
            rounded.see(|at| if at == 1 { cell(id) } else { cell("a@x") });
        }
        rounded.refusal()
    };
    let id = "1795713654871010";
    let all = [id, "12345678901234560", "", id, "123456789012340", " 1795713654871000 "];
    let detail = refused("Core Profile ID", &all).unwrap();
    assert!(detail.starts_with("all 5 ids in the column \"Core Profile ID\" end in 0"), "{detail}");
    assert!(refused("uid", &all).is_some() && refused("steam_id", &all).is_some());
    assert_eq!(refused("phone_number", &all), None);
    assert_eq!(refused("uid", &all[..5]), None, "four ids are too few");
    for good in ["1795713654871011", "12345678901230", "u-12345678901230", "=\"1795713654871010\""]
    {
        let mut ids = all.to_vec();
        ids.push(good);
        assert_eq!(refused("uid", &ids), None, "{good}");
    }
}
