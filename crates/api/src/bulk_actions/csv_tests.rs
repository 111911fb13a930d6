//! Tests of records as tables. A reader of CSV finds in each cell the text or the JSON of the
//! record, so no value is lost.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use caseload_model::json::{DEPTH_MAX, write_string};
use caseload_testdata::csv_rows;
use proptest::prelude::*;

use super::*;

fn table(action: Action, kind: RecordKind, lines: &str) -> String {
    let table = Table::new(action, kind, false);
    let mut out = Vec::new();
    table.write_header(Style::Plain, &mut out);
    table.write_rows(lines.as_bytes(), Style::Plain, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn results_have_the_columns_of_their_action() {
    for (action, header) in [
        (Action::CreateCoreProfiles, "index,line,outcome,core-profile-id,warnings"),
        (Action::UpdateCoreProfiles, "index,line,outcome,core-profile-id,warnings"),
        (Action::UpsertCoreProfiles, "index,line,outcome,core-profile-id,warnings"),
        (Action::DeleteCoreProfiles, "index,line,outcome,core-profile-id,warnings"),
        (Action::UpdateAppProfiles, "index,line,outcome,pid,warnings"),
        (Action::DeleteAppProfiles, "index,line,outcome,pid,warnings"),
        (Action::DeleteIssues, "index,line,outcome,id,warnings"),
        (Action::ImportIssues, "index,line,outcome,id,created_at,original_created_at,warnings"),
        (
            Action::GetCoreProfiles,
            "core-profile-id,identities,names,tags,custom_fields,full_privacy_enabled,\
             last_country,last_city,age,lifetime_value,user_persona,user_vip_segment,\
             user_support_status,accepted_t_and_c,preferred_language,last_active_date,\
             created_at,updated_at",
        ),
        (
            Action::GetAppProfiles,
            "pid,app_id,name,emails,custom_fields,user_persona,user_paying_segment,\
             user_vip_segment,user_level,accepted_t_and_c,app_status,user_support_status,\
             country,city,language,app_rating,lifetime_value,created_at,updated_at",
        ),
    ] {
        assert_eq!(table(action, RecordKind::Results, ""), format!("{header}\r\n"));
        let id = action.id_field();
        let errors = format!("index,line,{id},code,pointer,detail,value,entry\r\n");
        assert_eq!(table(action, RecordKind::Errors, ""), errors);
    }
}

#[test]
fn results_are_one_row_each_and_missing_members_are_empty() {
    let lines = "{\"index\":0,\"line\":1,\"outcome\":\"created\",\"core-profile-id\":\"16\"}\n\
                 {\"index\":2,\"line\":4,\"outcome\":\"created\"}\n";
    assert_eq!(
        table(Action::CreateCoreProfiles, RecordKind::Results, lines),
        "index,line,outcome,core-profile-id,warnings\r\n0,1,created,16,\r\n2,4,created,,\r\n"
    );
}

#[test]
fn nested_values_are_json_and_scalars_are_plain() {
    let line = "{\"core-profile-id\":\"7\",\"identities\":[{\"uid\":\"u,1\"}],\"tags\":[],\
                \"custom_fields\":{\"n\":1e400},\"full_privacy_enabled\":false,\
                \"last_city\":\"\",\"lifetime_value\":-1023.990,\"user_persona\":\"=1+2\",\
                \"created_at\":5,\"updated_at\":6}\n";
    let rows = csv_rows(&table(Action::GetCoreProfiles, RecordKind::Results, line));
    let cell = |name: &str| {
        let at = rows[0].iter().position(|column| column == name).unwrap();
        rows[1][at].as_str()
    };
    assert_eq!(cell("identities"), "[{\"uid\":\"u,1\"}]");
    assert_eq!((cell("tags"), cell("custom_fields")), ("[]", "{\"n\":1e400}"));
    assert_eq!((cell("full_privacy_enabled"), cell("lifetime_value")), ("false", "-1023.990"));
    assert_eq!((cell("user_persona"), cell("names"), cell("updated_at")), ("=1+2", "", "6"));
    assert!(table(Action::GetCoreProfiles, RecordKind::Results, line).contains(",\"\",,-1023"));
}

#[test]
fn errors_are_one_row_per_fault_with_the_entry() {
    let lines = "{\"index\":1,\"line\":2,\"core-profile-id\":\"9\",\"errors\":[\
                 {\"code\":\"wrong_type\",\"pointer\":\"/age\",\"detail\":\"no, a number\",\
                 \"value\":\"3\\n0\"},{\"code\":\"required\",\"pointer\":\"/x\",\"detail\":\"d\"}],\
                 \"entry\":{ \"age\": \"3\\n0\" }}\n\
                 {\"index\":2,\"line\":3,\"errors\":[{\"code\":\"invalid_json\",\"detail\":\"d\"}],\
                 \"raw\":\"no \\\"json\\\"\"}\n";
    let rows = csv_rows(&table(Action::UpdateCoreProfiles, RecordKind::Errors, lines));
    let entry = "{ \"age\": \"3\\n0\" }";
    assert_eq!(rows[1], ["1", "2", "9", "wrong_type", "/age", "no, a number", "3\n0", entry]);
    assert_eq!(rows[2], ["1", "2", "9", "required", "/x", "d", "", entry]);
    assert_eq!(rows[3], ["2", "3", "", "invalid_json", "", "d", "", "no \"json\""]);
    assert_eq!(rows.len(), 4);
}

#[test]
fn a_large_entry_is_written_once() {
    let entry = format!("{{\"x\":\"{}\"}}", "y".repeat(REPEATED_ENTRY_BYTES_MAX));
    let fault = "{\"code\":\"c\",\"detail\":\"d\"}";
    let line =
        format!("{{\"index\":0,\"line\":1,\"errors\":[{fault},{fault}],\"entry\":{entry}}}\n");
    let rows = csv_rows(&table(Action::ImportIssues, RecordKind::Errors, &line));
    assert_eq!((rows[1][7].as_str(), rows[2][7].as_str()), (entry.as_str(), ""));
}

#[test]
fn the_deepest_entry_fits_into_a_table() {
    let deep = format!("{}1{}", "[".repeat(DEPTH_MAX - 1), "]".repeat(DEPTH_MAX - 1));
    let fault = "{\"code\":\"c\",\"detail\":\"d\"}";
    let line =
        format!("{{\"index\":0,\"line\":1,\"errors\":[{fault}],\"entry\":{{\"a\":{deep}}}}}\n");
    assert!(table(Action::ImportIssues, RecordKind::Errors, &line).contains(&deep));
}

#[test]
fn a_damaged_record_is_an_error() {
    let table = Table::new(Action::CreateCoreProfiles, RecordKind::Errors, false);
    for line in ["{", "[]", "{\"index\":0}", "{\"errors\":[1]}", "{\"errors\":[{}] \"a\":1}"] {
        assert_eq!(
            table.write_rows(line.as_bytes(), Style::Plain, &mut Vec::new()),
            Err(DamagedRecord),
            "{line}"
        );
    }
}

proptest! {
    #[test]
    fn any_text_survives_in_its_cell(
        texts in prop::collection::vec(prop_oneof![any::<String>(), "[\",\r\n ='+-]{0,6}"], 3),
    ) {
        let mut line = b"{\"index\":0,\"line\":".to_vec();
        write_string(&texts[0], &mut line);
        line.extend_from_slice(b",\"outcome\":");
        write_string(&texts[1], &mut line);
        line.extend_from_slice(b",\"pid\":");
        write_string(&texts[2], &mut line);
        line.extend_from_slice(b"}\n");
        let line = String::from_utf8(line).unwrap();
        let rows = csv_rows(&table(Action::UpdateAppProfiles, RecordKind::Results, &line));
        // A text that an import would take for a spreadsheet's is wrapped once more.
        prop_assume!(texts.iter().all(|text| !text.contains("=\"")));
        prop_assert_eq!(&rows[1][1..4], &texts[..]);
    }
}
