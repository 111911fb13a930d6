//! Bulk actions from the POST to the records, over the real store and runner, as a client uses
//! them. Other files test the single answers.

use std::fmt::Write as _;

use caseload_api::ApiConfig;
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::Value;

use crate::real_server::RealServer;
use crate::server::{READ, WRITE, until};

on_each_store!(
    exported_profiles_are_unchanged_if_imported_again,
    thousands_of_records_stream_in_payload_order,
    a_full_queue_refuses_and_an_unfinished_task_has_no_records,
    the_use_of_a_key_is_stored_and_the_server_is_ready,
    every_rule_for_numbers_and_texts_survives_a_round_trip,
    the_largest_profile_survives_a_round_trip,
    people_and_issues_are_written_and_deleted_by_their_identities,
);

const PATH: &str = "/v2/acme/identity/bulk_actions";

fn records(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn exported_profiles_are_unchanged_if_imported_again() {
    let real = RealServer::start().await;
    let entries = "{\"identities\":[{\"uid\":\"u1\"}],\"lifetime_value\":1023.990,\"age\":30}\n\
                   {\"identities\":[{\"uid\":\"u2\"}],\"last_country\":\"Atlantis\",\"aeg\":1}\n\
                   no json\n\
                   {\"identities\":[{\"email\":\"A@x\"}],\
                   \"custom_fields\":{\"n\":1e400,\"s\":\"ä\\u0000\"}}\n";
    let task = real.run("identity", "create_core_profiles", entries).await;
    assert_eq!(task["outcome"], "completed_with_errors");
    let counts = serde_json::json!({"total":4,"succeeded":2,"failed":2,"unprocessed":0});
    assert_eq!(task["counts"], counts);

    let created = records(&real.lines(&task, "results").await);
    let places: Vec<_> =
        created.iter().map(|r| (r["index"].as_u64(), r["line"].as_u64())).collect();
    assert_eq!(places, [(Some(0), Some(1)), (Some(3), Some(4))]);
    let errors = real.json(task["links"]["errors"].as_str().unwrap()).await;
    let codes = |record: &Value| -> Vec<String> {
        let codes = record["errors"].as_array().unwrap().iter().map(|e| e["code"].to_string());
        codes.collect()
    };
    assert_eq!(codes(&errors[0]).len(), 2, "{errors}");
    assert_eq!(codes(&errors[1]), ["\"invalid_json\""]);

    let ids: String = created
        .iter()
        .map(|record| serde_json::json!({"core-profile-id": record["core-profile-id"]}))
        .fold(String::new(), |lines, id| lines + &id.to_string() + "\n");
    let read = real.run("identity", "get_core_profiles", &ids).await;
    let profiles = real.lines(&read, "results").await;
    assert!(profiles.contains("\"lifetime_value\":1023.990"), "{profiles}");
    assert!(profiles.contains("\"n\":1e400"), "{profiles}");

    let again = real.run("identity", "update_core_profiles", &profiles).await;
    assert_eq!(again["outcome"], "succeeded", "{}", real.lines(&again, "errors").await);
    let outcomes = records(&real.lines(&again, "results").await);
    assert!(outcomes.iter().all(|record| record["outcome"] == "unchanged"), "{outcomes:?}");
    real.stop().await;
}

async fn thousands_of_records_stream_in_payload_order() {
    let real = RealServer::start().await;
    let entry = |n: u32| format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}]}}\n");
    let entries: String = (0..3000).map(entry).fold(String::new(), |all, one| all + &one);
    let task = real.run("identity", "create_core_profiles", &entries).await;
    let array = real.json(task["links"]["results"].as_str().unwrap()).await;
    let indexes: Vec<_> = array.as_array().unwrap().iter().map(|r| r["index"].as_u64()).collect();
    assert!(indexes.into_iter().eq((0..3000).map(Some)));
    assert_eq!(real.text(task["links"]["errors"].as_str().unwrap()).await, "[]");
    real.stop().await;
}

async fn a_full_queue_refuses_and_an_unfinished_task_has_no_records() {
    let config = ApiConfig { unfinished_tasks_max: 2, ..ApiConfig::default() };
    let real = RealServer::without_runner(config).await;
    let mut paths = Vec::new();
    for status in [201, 201, 429] {
        let form = [("action", "create_core_profiles"), ("payload", "[{}]")];
        let answer = real.request(Method::POST, PATH).form(&form).send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers().contains_key("retry-after"), status == 429);
        let task: Value = answer.json().await.unwrap();
        paths.extend(task["links"]["results"].as_str().map(str::to_owned));
    }
    for path in &paths {
        let answer = real.request(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), 409, "{path}");
    }
    assert_eq!(paths.len(), 2);
    real.stop().await;
}

async fn the_use_of_a_key_is_stored_and_the_server_is_ready() {
    let real = RealServer::without_runner(ApiConfig::default()).await;
    assert_eq!(real.text("/readyz").await, "{\"status\":\"ok\"}");
    let answer = real.request(Method::GET, &format!("{PATH}/x")).send().await.unwrap();
    assert_eq!(answer.status(), 404);
    let used = async || {
        let keys = real.store.keys(real.domain).await.unwrap();
        let used = |id: &str| keys.iter().find(|key| key.id == id).unwrap().last_used_at;
        (used(&format!("key-{WRITE}")), used(&format!("key-{READ}")))
    };
    until("the use is stored", async || used().await.0.is_some()).await;
    let (write, read) = used().await;
    assert_eq!(write.unwrap().0 % 60_000, 0, "stored to the minute");
    assert_eq!(read, None);
    real.stop().await;
}

/// A JSON text, and the text that is stored or the code and pointer of its fault.
type Rule<'a> = (&'a str, Result<&'a str, (&'a str, &'a str)>);

/// The promise of docs/api.md, "Numbers and texts survive".
const RULES: [Rule<'static>; 17] = [
    ("1023.990", Ok("1023.990")),
    ("12345678901234567890.12", Ok("12345678901234567890.12")),
    ("1e400", Ok("1e400")),
    ("1E+0400", Ok("1E+0400")),
    ("-0", Ok("-0")),
    ("0.10", Ok("0.10")),
    ("9007199254740993", Ok("9007199254740993")),
    ("\"\u{1f600}\u{10ffff}\"", Ok("\"\u{1f600}\u{10ffff}\"")),
    ("\"\\ud83d\\ude00\"", Ok("\"\u{1f600}\"")),
    ("\"a\\u0000\\u001fb\\/\\u0041\"", Ok("\"a\\u0000\\u001fb/A\"")),
    ("\"e\u{301} \u{e9} \u{fb01} \u{2028}\"", Ok("\"e\u{301} \u{e9} \u{fb01} \u{2028}\"")),
    ("\"\\ud800\"", Err(("invalid_json", "/custom_fields/x"))),
    ("\"\\ude00\\ud83d\"", Err(("invalid_json", "/custom_fields/x"))),
    ("1,\"x\":1", Err(("invalid_json", "/custom_fields/x"))),
    ("1,\"\\u0078\":1", Err(("invalid_json", "/custom_fields/x"))),
    ("01", Err(("invalid_json", ""))),
    ("NaN", Err(("invalid_json", ""))),
];

/// The outputs of two gets, before and after an update with the first of them; all unchanged.
async fn round_trip(real: &RealServer, created: &Value) -> String {
    let mut ids = String::new();
    for record in records(&real.lines(created, "results").await) {
        let _ = writeln!(ids, "{{\"core-profile-id\":{}}}", record["core-profile-id"]);
    }
    let read = real.run("identity", "get_core_profiles", &ids).await;
    let first = real.lines(&read, "results").await;
    let update = real.run("identity", "update_core_profiles", &first).await;
    assert_eq!(update["outcome"], "succeeded", "{}", real.lines(&update, "errors").await);
    let outcomes = records(&real.lines(&update, "results").await);
    assert_eq!(outcomes.len(), first.lines().count());
    assert!(outcomes.iter().all(|record| record["outcome"] == "unchanged"), "{outcomes:?}");
    let again = real.run("identity", "get_core_profiles", &ids).await;
    assert_eq!(real.lines(&again, "results").await, first, "the same bytes");
    first
}

async fn every_rule_for_numbers_and_texts_survives_a_round_trip() {
    let real = RealServer::start().await;
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let entry = |(n, value): (usize, &str)| {
        format!("{{\"identities\":[{{\"uid\":\"u{n}\"}}],\"custom_fields\":{{\"x\":{value}}}}}\n")
    };
    let (levels_98, levels_99) = (deep(98), deep(99));
    let values = RULES.iter().map(|(sent, _)| *sent).chain([&*levels_98, &*levels_99]);
    let entries: String = values.enumerate().map(entry).collect();
    let task = real.run("identity", "create_core_profiles", &entries).await;
    let profiles = round_trip(&real, &task).await;
    let errors = records(&real.lines(&task, "errors").await);
    let mut stored = profiles.lines();
    let mut refused = errors.iter();
    for (sent, expected) in RULES {
        match expected {
            Ok(back) => {
                let profile = stored.next().unwrap();
                let member = format!("\"custom_fields\":{{\"x\":{back}}}");
                assert!(profile.contains(&member), "{sent}: {profile}");
            }
            Err((code, pointer)) => {
                let fault = &refused.next().unwrap()["errors"][0];
                assert_eq!(fault["code"], code, "{sent}: {fault}");
                assert_eq!(fault["pointer"].as_str().unwrap_or_default(), pointer, "{sent}");
            }
        }
    }
    // 98 levels within the entry and the custom fields are readable, but not a value of a custom
    // field; 99 levels are more than an entry may have.
    let codes: Vec<_> = refused.map(|record| record["errors"][0]["code"].as_str()).collect();
    assert_eq!(codes, [Some("wrong_type"), Some("invalid_json")], "{errors:?}");
    real.stop().await;
}

async fn the_largest_profile_survives_a_round_trip() {
    const LIMIT: usize = 256 << 10;
    let real = RealServer::start().await;
    let sized = |uid: &str, bytes: usize| {
        let head = format!("{{\"identities\":[{{\"uid\":\"{uid}\"}}],\"custom_fields\":{{\"a\":\"");
        let middle = format!("{}\",\"b\":\"", "\u{1f600}".repeat(50_000));
        let end = "\"}}";
        let filler = "y".repeat(bytes - head.len() - middle.len() - end.len());
        let entry = format!("{head}{middle}{filler}{end}");
        assert_eq!(entry.len(), bytes);
        entry + "\n"
    };
    let entries = sized("u0", LIMIT) + &sized("u1", LIMIT - 1) + &sized("u2", LIMIT + 1);
    let task = real.run("identity", "create_core_profiles", &entries).await;
    assert_eq!(task["counts"]["succeeded"], 2);
    let errors = records(&real.lines(&task, "errors").await);
    assert_eq!(
        (&errors[0]["index"], &errors[0]["errors"][0]["code"]),
        (&2.into(), &"too_large".into())
    );
    assert!(errors[0]["raw"].as_str().unwrap().len() < 5000);
    let profiles = round_trip(&real, &task).await;
    let first = profiles.lines().next().unwrap();
    assert!(first.len() > LIMIT, "the members that reading adds exceed the limit");
    // The members that count exceed the limit, so the entry is refused.
    let grown = first.replace("yyy\"", "yyyy\"");
    let task = real.run("identity", "update_core_profiles", &grown).await;
    let errors = real.lines(&task, "errors").await;
    assert!(errors.contains("\"too_large\"") && errors.contains("not counted"), "{errors}");
    real.stop().await;
}

async fn people_and_issues_are_written_and_deleted_by_their_identities() {
    let real = RealServer::start().await;
    let outcomes = async |task: &Value| -> Vec<String> {
        let results = records(&real.lines(task, "results").await);
        results.iter().map(|record| record["outcome"].as_str().unwrap().to_owned()).collect()
    };
    let people = "{\"identities\":[{\"email\":\"Ada@x.y\"}],\"age\":30}\n\
                  {\"identities\":[{\"uid\":\"u2\"}]}\n\
                  {\"identities\":[{\"email\":\"ada@x.y\"},{\"psn_id\":\"p\"}]}\n";
    let first = real.run("identity", "upsert_core_profiles", people).await;
    assert_eq!(outcomes(&first).await, ["created", "created", "updated"]);
    let again = real.run("identity", "upsert_core_profiles", people).await;
    assert_eq!(outcomes(&again).await, ["unchanged"; 3]);

    let both = "{\"identities\":[{\"uid\":\"u2\"},{\"psn_id\":\"p\"}]}\n{\"identities\":[]}\n";
    let errors = "{\"identities\":[{\"uid\":\"new\"}]}\n".to_owned() + both;
    let failed = real.run("identity", "update_core_profiles", &errors).await;
    let faults = records(&real.lines(&failed, "errors").await);
    let codes: Vec<_> = faults.iter().map(|record| &record["errors"][0]["code"]).collect();
    assert_eq!(codes, ["not_found", "ambiguous_identity", "required"]);
    let ids = faults[1]["errors"][0]["core-profile-ids"].as_array().unwrap();
    assert_eq!(ids.len(), 2, "{faults:?}");

    let deleted = real.run("identity", "delete_core_profiles", both).await;
    assert_eq!(deleted["counts"]["failed"], 2);
    let one =
        format!("{{\"core-profile-id\":{}}}\n{{\"identities\":[{{\"psn_id\":\"p\"}}]}}\n", ids[0]);
    let deleted = real.run("identity", "delete_core_profiles", &one.repeat(2)).await;
    assert_eq!(outcomes(&deleted).await, ["deleted", "deleted", "unchanged", "unchanged"]);
    let url = format!("{}?format=csv", deleted["links"]["results"].as_str().unwrap());
    let table = real.text(&url);
    assert!(table.await.ends_with("3,4,unchanged,,\r\n"));
    let absent = real.run("identity", "delete_app_profiles", "{\"pid\":\"p\"}\n{}\n").await;
    assert_eq!(outcomes(&absent).await, ["unchanged"]);
    assert_eq!(absent["counts"]["failed"], 1);
    let issues = "{\"id\":5,\"created_at\":1700000000000}\n";
    real.run("issues", "import_issues", issues).await;
    let gone = real.run("issues", "delete_issues", "{\"id\":\"5\"}\n{\"id\":5}\n").await;
    assert_eq!(outcomes(&gone).await, ["deleted", "unchanged"]);
    let list = real.json("/v1/acme/issues").await;
    assert_eq!(list["total-hits"], 0, "{list}");
    real.stop().await;
}
