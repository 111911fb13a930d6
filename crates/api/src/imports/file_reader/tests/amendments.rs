//! Entries changed as the caller asked for. All other entries have the bytes that were sent.

use caseload_model::issue::MESSAGE_BODY_BYTES_MAX;
use caseload_model::json;
use caseload_model::time::zone::Zone;

use super::*;

fn leaving_out(action: Action) -> ReadOptions {
    ReadOptions { leave_out: true, ..options(action) }
}

#[test]
fn faulty_fields_of_json_are_left_out_with_a_warning_and_others_fail_as_before() {
    let options = leaving_out(Action::UpsertCoreProfiles);
    let good = r#"{"identities":[{"uid":"u"}],"age":3}"#;
    let faulty = r#"{"identities":[{"uid":"v"}],"age":"x","tags":[1,2],"names":{"first_name":1}}"#;
    let no_id = r#"{"identities":[{"uid":1}],"age":"x"}"#;
    let none = r#"{"age":"x"}"#;
    let wrong_id = r#"{"core-profile-id":"x","age":"x"}"#;
    let lines = [good, faulty, no_id, none, wrong_id, "[]", "{"].join("\n");
    let (blocks, _) = read(&options, &lines).unwrap();
    let texts: Vec<String> = entries(&blocks).into_iter().map(|entry| entry.2).collect();
    assert_eq!(texts[0], good);
    assert_eq!(texts[1], r#"{"identities":[{"uid":"v"}],"names":{}}"#);
    assert_eq!(texts[2..], [no_id, none, wrong_id, "[]", "{"]);
    let codes = outcomes(&options, &blocks);
    assert!(codes[..2].iter().all(|(_, codes)| codes.is_empty()), "{codes:?}");
    assert!(codes[2..].iter().all(|(_, codes)| !codes.is_empty()), "{codes:?}");
    let [notes] = &notes(&blocks)[..] else { panic!("one entry has notes") };
    for pointer in ["/age", "/tags", "/names/first_name"] {
        assert!(notes.contains(&format!("\"pointer\":\"{pointer}\"")), "{notes}");
    }
    assert!(notes.contains("left_out") && notes.contains("The field was left out"), "{notes}");
    // The sent entry comes back if it fails later.
    let (block, entry) = each_entry(&blocks).nth(1).unwrap();
    let rows: Vec<String> = block.rows_of(entry).map(|(_, row)| text(row)).collect();
    assert_eq!(rows, [faulty]);
}

#[test]
fn a_message_over_its_limit_is_cut_at_a_character() {
    let options = leaving_out(Action::ImportIssues);
    let body = "é".repeat(MESSAGE_BODY_BYTES_MAX / 2) + "é";
    let issue = format!(
        r#"{{"created_at":1700000000000,"title":3,"author_email":"a@x.org",
            "messages":[{{"body":"b"}},{{"body":"x{body}"}}]}}"#
    );
    let (blocks, _) = read(&options, issue.replace('\n', " ")).unwrap();
    assert_eq!(outcomes(&options, &blocks), [(1, vec![])]);
    let entry = &entries(&blocks)[0].2;
    let json = json::parse(entry.as_bytes()).unwrap();
    assert!(json.get("title").is_none() && json.get("created_at").is_some());
    let Some(json::Json::Array(messages)) = json.get("messages") else { panic!("{json:?}") };
    let cut = messages[1].get("body").and_then(json::Json::as_str).unwrap();
    assert_eq!(cut.len(), MESSAGE_BODY_BYTES_MAX - 1);
    let notes = notes(&blocks).concat();
    assert!(notes.contains("\"code\":\"cut\",\"pointer\":\"/messages/1/body\""), "{notes}");
    assert!(notes.contains("\"code\":\"left_out\",\"pointer\":\"/title\""), "{notes}");
    // Without created_at an issue is none, and messages never go as a whole.
    for faulty in [r#"{"created_at":"soon"}"#, r#"{"created_at":1,"messages":[1]}"#] {
        let (blocks, _) = read(&options, faulty).unwrap();
        assert_eq!(entries(&blocks)[0].2, faulty);
    }
}

#[test]
fn faulty_cells_are_left_out_of_their_row() {
    let options = leaving_out(Action::UpsertCoreProfiles);
    let (blocks, _) = read(&options, "uid,age,last_country\nu,x,Atlantis\n,1,\n").unwrap();
    assert_eq!(entries(&blocks)[0].2, r#"{"identities":[{"uid":"u"}]}"#);
    assert_eq!(notes(&blocks)[0].matches("left_out").count(), 2);
    assert_eq!(outcomes(&options, &blocks), [(2, vec![]), (3, vec!["required"])]);
}

#[test]
fn times_without_an_offset_are_in_the_zone_and_without_a_warning() {
    let warned = |options: &ReadOptions, blocks: &[Block]| {
        let work = ChunkWork::prepare(options.action, &options.context, &blocks[0]);
        let ChunkWork::UpsertCoreProfiles(entries) = work else { panic!("another action") };
        entries[0].warnings.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>()
    };
    let table = "uid,Last seen\nu,2024-05-01 12:00\n";
    let line = r#"{"identities":[{"uid":"u"}],"last_active_date":"2024-05-01 12:00"}"#;
    for file in [table, line] {
        let utc = upsert();
        let (blocks, _) = read(&utc, file).unwrap();
        assert_eq!(warned(&utc, &blocks), ["no_offset"]);
        let berlin = ReadOptions { timezone: Some(Zone::read("Europe/Berlin").unwrap()), ..utc };
        let (blocks, _) = read(&berlin, file).unwrap();
        assert!(entries(&blocks)[0].2.contains("2024-05-01T10:00:00.000Z"), "{file}");
        assert_eq!(warned(&berlin, &blocks), [""; 0]);
        let (block, entry) = each_entry(&blocks).next().unwrap();
        let rows: Vec<String> = block.rows_of(entry).map(|(_, row)| text(row)).collect();
        assert_eq!(rows, [file.lines().last().unwrap()]);
    }
}

#[test]
fn members_of_json_get_other_names() {
    let columns = [("ids", Some("identities")), ("x", None)];
    let columns = columns.map(|(from, to)| (from.to_owned(), to.map(str::to_owned))).to_vec();
    let options = ReadOptions { columns, ..upsert() };
    let (blocks, _) =
        read(&options, "{\"ids\":[{\"uid\":\"u\"}],\"x\":1.50}\n{\"age\": 1.0}\n").unwrap();
    let texts: Vec<String> = entries(&blocks).into_iter().map(|entry| entry.2).collect();
    assert_eq!(texts, [r#"{"identities":[{"uid":"u"}]}"#, "{\"age\": 1.0}"]);
}
