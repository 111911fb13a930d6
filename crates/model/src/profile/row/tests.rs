//! Rows as entries: the value of each cell, the place of each column, and every fault of a header.
//! The server's judgement of entries is not tested here.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::RowColumns;
use crate::task::Action;

fn columns(action: Action, header: &[&str]) -> Result<RowColumns, Vec<(Option<usize>, String)>> {
    let header: Vec<Option<&str>> = header.iter().copied().map(Some).collect();
    RowColumns::read(action, &header)
        .map_err(|faults| faults.into_iter().map(|f| (f.column, f.detail)).collect())
}

fn entry(action: Action, row: &[(&str, &str)]) -> String {
    let header: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    let columns = columns(action, &header).unwrap();
    let mut out = Vec::new();
    let any = columns.write_entry(|column| row[column].1, &mut out);
    assert_eq!(any, !out.is_empty());
    String::from_utf8(out).unwrap()
}

#[test]
fn each_column_is_a_member_of_the_entry_with_the_type_of_its_field() {
    let row = [
        ("email", "ada@example.org"),
        ("first_name", " Ada "),
        ("names.last_name", "Lovelace \"L\""),
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
            r#"{"uid":"u-1"}],"names":{"first_name":" Ada ","last_name":"Lovelace \"L\""},"#,
            r#""age":36,"lifetime_value":1023.990,"accepted_t_and_c":true,"#,
            r#""tags":["vip","early bird"],"custom_fields":{"plan":"007","#,
            r#""seats":12345678901234567890.10,"a.b":"x\ny"},"last_active_date":1700000000000}"#
        )
    );
    let row = [("pid", "p"), ("user_level", "3"), ("emails", "[\"a\"]"), ("core-profile-id", "1")];
    assert_eq!(entry(Action::UpdateAppProfiles, &row), r#"{"pid":"p","user_level":3}"#);
}

#[test]
fn a_text_that_has_not_the_form_of_its_field_stays_a_text() {
    for (name, cell, value) in [
        ("age", "thirty", r#""thirty""#),
        ("age", "036", r#""036""#),
        ("age", "1,5", r#""1,5""#),
        ("age", "\"36\"", r#""\"36\"""#),
        ("accepted_t_and_c", "yes", r#""yes""#),
        ("tags", "[\"a\",", r#""[\"a\",""#),
        ("tags", "[\"a|b\",\n\"c\"]", r#"["a|b", "c"]"#),
        ("custom_fields", "{\"n\":\n1.50}", r#"{"n": 1.50}"#),
        ("custom_fields", "none", r#""none""#),
        ("names", "{\"first_name\":\"Ada\"}", r#"{"first_name":"Ada"}"#),
    ] {
        let entry = entry(Action::UpsertCoreProfiles, &[("uid", "u"), (name, cell)]);
        assert_eq!(entry, format!(r#"{{"identities":[{{"uid":"u"}}],"{name}":{value}}}"#));
    }
}

#[test]
fn empty_cells_give_no_members_and_a_row_of_them_gives_no_entry() {
    let row = [("email", ""), ("first_name", ""), ("custom_fields.a", ""), ("age", "7")];
    assert_eq!(entry(Action::UpsertCoreProfiles, &row), r#"{"age":7}"#);
    assert_eq!(entry(Action::UpsertCoreProfiles, &row[..3]), "");
}

#[test]
fn every_fault_of_a_header_is_named_with_its_column() {
    let create = Action::CreateCoreProfiles;
    let nearest = |name: &str, near: &str| {
        format!("{name:?} is not a field of core profiles; did you mean {near}?")
    };
    assert_eq!(
        columns(
            create,
            &[
                "emial",
                "email",
                "identity.email",
                " ",
                "core-profile-id",
                "custom_fields.",
                "email.0"
            ]
        )
        .unwrap_err(),
        [
            (Some(0), nearest("emial", "email")),
            (
                Some(2),
                "\"identity.email\" is the same member as the column \"email\"; \
                 a second one is identity.email.2"
                    .to_owned()
            ),
            (Some(3), "the column has no name".to_owned()),
            (
                Some(4),
                "a new profile gets its core-profile-id from the server; update and upsert take it"
                    .to_owned()
            ),
            (Some(5), "a custom field needs a name, as in custom_fields.plan".to_owned()),
            (Some(6), nearest("email.0", "email")),
        ]
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
        (["age", "age"], "age", "age"),
    ] {
        let fault = format!("{second:?} is the same member as the column {first:?}");
        assert_eq!(columns(create, &header).unwrap_err(), [(Some(1), fault)]);
    }
}

#[test]
fn a_header_names_the_profile_of_each_row() {
    let none = "no column is an identity, such as email or identity.uid".to_owned();
    assert_eq!(columns(Action::CreateCoreProfiles, &["age"]).unwrap_err(), [(None, none)]);
    let none = "no column is the pid of the profile".to_owned();
    assert_eq!(columns(Action::UpdateAppProfiles, &["city"]).unwrap_err(), [(None, none)]);
    assert!(columns(Action::UpdateCoreProfiles, &["core_profile_id", "age"]).is_ok());
    let row = [("uid", "a"), ("updated_at", "7")];
    let entry = entry(Action::UpsertCoreProfiles, &row);
    assert_eq!(entry, r#"{"identities":[{"uid":"a"}]}"#, "only the server sets times");
}
