//! Single entries of `import_issues`: which are accepted, which are rejected with which faults, how
//! gaps are filled, and that an issue comes back as it was sent.
#![expect(clippy::unwrap_used, reason = "tests")]

use caseload_model::error_code::EntryErrorCode as Code;
use caseload_model::ids::DomainName;
use caseload_model::issue::{IssueFragments, IssueState, NewIssue, prepare_imports, write_issue};
use caseload_model::issue_query::{IssueView, parse_list};
use caseload_model::payload::{Block, Entry};
use caseload_model::record::{PreparedEntry, Rejection};
use caseload_model::spelling::is_hidden;
use caseload_model::time::UnixMillis;
use proptest::prelude::*;
use serde_json::{Value, json};

const FULL: &str = concat!(
    r#"{"id":7,"title":"Sync stops \"at\" 99 %","tags":["sync","sync","ü"],"app_id":"acme_app_1","#,
    r#""app_publish_id":"12","domain":"acme","hs_user_id":"acme_profile_u","author_name":"Ünal","#,
    r#""author_email":"Unal@Example.org","assignee_id":"acme_profile_a","assignee_name":"Ada","#,
    r#""redacted":true,"state_data":{"state":"resolved","changed_at":1500},"created_at":1000,"#,
    r#""original_created_at":999,"updated_at":900,"language":"tr","platform_type":"ios","#,
    r#""issue_mode_data":{"issue_mode":"chat"},"cc":["x@example.org"],"messages":["#,
    r#"{"id":"m1","body":"<b>hi</b>","created_at":1001,"origin":"end-user","author":"#,
    r#"{"name":"Ünal","id":"acme_profile_u","emails":[],"phone_number":"+49 1"},"#,
    r#""attachments":[{"url":"/a/1","file_name":"a.png","content_type":"image/png","#,
    r#""size":12},{"url":"/a/2"}],"#,
    r#""attachment":{"url":"/a/1","file_name":"a.png","content_type":"image/png","size":12},"#,
    r#""intent_labels":["x"],"sentiment":{"label":"bad"},"type":"Text"},"#,
    r#"{"id":"m2","body":"","created_at":1002,"origin":"helpshift","author":{"name":"Ada","#,
    r#""id":"acme_profile_a","emails":["ada@example.org"]}}],"#,
    r#""meta":{"z":"1","a":{"b":["2",null]}},"#,
    r#""custom_fields":{"n":{"type":"number","value":1.50e2},"d":{"type":"date","value":-5},"#,
    r#""c":{"type":"checkbox","value":"true"},"b":{"type":"checkbox","value":false},"#,
    r#""s":{"type":"singleline","value":"a\u0000b"},"m":{"type":"multiline","value":null}},"#,
    r#""feedback_rating":4,"feedback_comment":"ok","queue":{"id":"123","name":"Queue A"},"#,
    r#""private_notes":[{"id":"n1","body":"vip","created_at":1003,"author":{"name":"Ada","#,
    r#""emails":[]}}],"current_predict_label":"p","original_predict_label":"q","#,
    r#""sentiment_analysis":{"sentiment_enabled":true},"smart_intents":{"intent":{"id":"1"}}}"#
);

fn prepare(entry: &str) -> Result<NewIssue, Rejection> {
    prepared(entry).item
}

fn prepared(entry: &str) -> PreparedEntry<NewIssue> {
    let domain = DomainName::parse("acme").unwrap();
    let bytes = entry.as_bytes().to_vec();
    let entries =
        vec![Entry { index: 0, line: 1, range: 0..bytes.len(), oversize: None, of_row: false }];
    prepare_imports(&domain, &Block { bytes, entries, ..Block::default() }).remove(0)
}

fn render(issue: &NewIssue) -> String {
    let app =
        (issue.app_id.as_deref().unwrap_or("web"), issue.app_publish_id.as_deref().unwrap_or("1"));
    let id = issue.id.unwrap_or(1);
    let head = issue.head.render(id, app, issue.created_at, issue.original_created_at);
    let mut out = Vec::new();
    write_issue(&IssueFragments::new(&head, &issue.body), &IssueView::FULL, &mut out);
    String::from_utf8(out).unwrap()
}

fn rendered(entry: &str) -> Value {
    serde_json::from_str(&render(&prepare(entry).unwrap())).unwrap()
}

fn faults(entry: &str) -> Vec<(Code, String)> {
    let rejected = prepare(entry).expect_err(entry);
    rejected.faults.into_iter().map(|f| (f.code, f.pointer.unwrap_or_default())).collect()
}

#[test]
fn lists_too_long_for_any_issue_are_rejected_before_they_are_read() {
    let (many, large) = (Code::TooMany, Code::TooLarge);
    for (name, count, code) in [("messages", 10_001, many), ("private_notes", 330_000, large)] {
        let entry = format!(r#"{{"created_at":1,"{name}":[{}]}}"#, vec!["1"; count].join(","));
        let refused = prepare(&entry).unwrap_err();
        assert_eq!(refused.faults.len(), 1, "{name}");
        let fault = &refused.faults[0];
        let pointer = format!("/{name}");
        assert_eq!((fault.code, fault.pointer.as_ref()), (code, Some(&pointer)));
        assert!(fault.detail.contains(&count.to_string()), "{}", fault.detail);
    }
    let least = r#"{"created_at":1,"messages":[{"id":"i","created_at":1}],"private_notes":[{}]}"#;
    let shown = rendered(least);
    assert!(shown["messages"][0].to_string().len() >= 80, "no message is shorter");
    assert!(shown["private_notes"][0].to_string().len() >= 26, "no note is shorter");
}

#[test]
fn an_entry_that_would_become_too_long_an_issue_is_rejected() {
    let name = "n".repeat(100_000);
    let messages = |count: usize| vec!["{}"; count].join(",");
    let authored = |count| {
        format!(r#"{{"created_at":1,"author_name":"{name}","messages":[{}]}}"#, messages(count))
    };
    let pad = "x".repeat(8_250_000);
    let counted = |count| {
        let numbers = vec!["1"; count].join(",");
        format!(r#"{{"id":3,"created_at":1,"meta":{{"pad":"{pad}","a":[{numbers}]}}}}"#)
    };
    for good in [authored(80), counted(10_000)] {
        let text = render(&prepare(&good).unwrap());
        assert!(text.len() <= 8 << 20, "{}", text.len());
        assert_eq!(render(&prepare(&text).unwrap()), text, "it comes back");
    }
    for (long, id) in [(authored(84), None), (authored(10_000), None), (counted(50_000), Some(3))] {
        let refused = prepare(&long).unwrap_err();
        let id = id.map(|id: u64| id.to_string().into_bytes());
        assert_eq!((refused.readable, refused.id), (true, id));
        assert_eq!(refused.faults.len(), 1);
        let fault = &refused.faults[0];
        assert_eq!((fault.code, fault.pointer.as_deref()), (Code::TooLarge, Some("")));
        assert!(fault.detail.contains("8388608"), "{}", fault.detail);
    }
}

#[test]
fn blanks_around_addresses_are_left_out() {
    let entry = concat!(
        r#"{"created_at":1,"author_email":"\ufeff Ann@x.example ","cc":[" c@x.example\u00a0"],"#,
        r#""messages":[{"author":{"emails":["\tann@x.example\u200b"],"name":" Ann "},"#,
        r#""body":" b "}]}"#
    );
    let issue = prepare(entry).unwrap();
    assert_eq!(issue.facts.author_email, "ann@x.example");
    let shown = rendered(entry);
    assert_eq!(shown["author_email"], "Ann@x.example");
    assert_eq!(shown["cc"], json!(["c@x.example"]));
    let message = &shown["messages"][0];
    assert_eq!(message["author"]["emails"], json!(["ann@x.example"]));
    assert_eq!((&message["author"]["name"], &message["body"]), (&json!(" Ann "), &json!(" b ")));
}

#[test]
fn an_issue_with_every_field_comes_back_byte_for_byte() {
    let issue = prepare(FULL).unwrap();
    assert_eq!(render(&issue), FULL);
    assert_eq!(issue.id, Some(7));
    assert_eq!(issue.created_at, UnixMillis(1000));
    assert_eq!(issue.original_created_at, Some(UnixMillis(999)));
    let facts = &issue.facts;
    assert_eq!(facts.state, IssueState::Resolved);
    assert_eq!((facts.changed_at, facts.updated_at), (UnixMillis(1500), UnixMillis(900)));
    assert_eq!(facts.assignee_id.as_deref(), Some("acme_profile_a"));
    assert_eq!(facts.author_email, "unal@example.org");
    assert_eq!(facts.rating, Some(4));
    assert_eq!(facts.queue.as_ref().unwrap().id, "123");
    assert_eq!(facts.tags, ["sync", "sync", "ü"]);
    assert_eq!(facts.issue_mode.as_deref(), Some("chat"));
    assert!(facts.redacted);
}

#[test]
fn fields_are_rendered_in_a_fixed_order() {
    let reversed: Vec<(String, Value)> = match serde_json::from_str(FULL).unwrap() {
        Value::Object(map) => map.into_iter().collect(),
        _ => unreachable!(),
    };
    let reversed: serde_json::Map<String, Value> = reversed.into_iter().rev().collect();
    let mut text = serde_json::to_string(&reversed).unwrap();
    // The one number that `serde_json` rewrites.
    text = text.replace("150.0", "1.50e2");
    assert_eq!(render(&prepare(&text).unwrap()), FULL);
}

#[test]
fn an_entry_with_only_a_creation_time_becomes_a_complete_issue() {
    let issue = rendered(r#"{"created_at":1000}"#);
    let pid = issue["hs_user_id"].as_str().unwrap();
    assert_eq!(pid.len(), "acme_profile_".len() + 40);
    assert_eq!(
        issue,
        json!({
            "id": 1, "title": "", "tags": [], "app_id": "web", "app_publish_id": "1",
            "domain": "acme", "hs_user_id": pid, "author_name": "", "author_email": "",
            "assignee_id": "unassigned", "assignee_name": null, "redacted": false,
            "state_data": {"state": "new", "changed_at": 1000}, "created_at": 1000,
            "updated_at": 1000, "issue_mode_data": {"issue_mode": "default"}, "messages": [],
            "meta": {}, "custom_fields": {}, "queue": null,
        })
    );
}

#[test]
fn updated_at_defaults_to_the_latest_instant_of_the_issue() {
    for (entry, expected) in [
        (r#"{"created_at":5}"#, 5),
        (r#"{"created_at":5,"state_data":{"changed_at":9}}"#, 9),
        (r#"{"created_at":5,"messages":[{"created_at":8},{"created_at":7}]}"#, 8),
        (r#"{"created_at":5,"updated_at":3}"#, 3),
    ] {
        assert_eq!(rendered(entry)["updated_at"], expected, "{entry}");
    }
}

#[test]
fn each_fault_has_its_code_and_its_pointer() {
    let at = |text: &str| format!(r#"{{"created_at":1,{text}}}"#);
    for (text, code, pointer) in [
        (r#""Title":"x""#, Code::UnknownField, "/Title"),
        (r#""messages":[{"created_at":1,"bodi":"x"}]"#, Code::UnknownField, "/messages/0/bodi"),
        (
            r#""messages":[{"created_at":1,"author":{"nick":1}}]"#,
            Code::UnknownField,
            "/messages/0/author/nick",
        ),
        (r#""state_data":{"since":1}"#, Code::UnknownField, "/state_data/since"),
        (r#""title":5"#, Code::WrongType, "/title"),
        (r#""tags":"x""#, Code::WrongType, "/tags"),
        (r#""tags":["x",5]"#, Code::WrongType, "/tags/1"),
        (r#""redacted":"true""#, Code::WrongType, "/redacted"),
        (r#""meta":[1]"#, Code::WrongType, "/meta"),
        (r#""custom_fields":["a"]"#, Code::WrongType, "/custom_fields"),
        (r#""messages":{}"#, Code::WrongType, "/messages"),
        (r#""messages":[null]"#, Code::WrongType, "/messages/0"),
        (
            r#""messages":[{"created_at":1,"origin":"agent"}]"#,
            Code::OutOfRange,
            "/messages/0/origin",
        ),
        (
            r#""messages":[{"created_at":1,"attachments":[{"size":-1}]}]"#,
            Code::OutOfRange,
            "/messages/0/attachments/0/size",
        ),
        (
            r#""messages":[{"created_at":1,"sentiment":"bad"}]"#,
            Code::WrongType,
            "/messages/0/sentiment",
        ),
        (r#""state_data":{"state":"open"}"#, Code::OutOfRange, "/state_data/state"),
        (r#""state_data":{"state":"New"}"#, Code::OutOfRange, "/state_data/state"),
        (r#""updated_at":1.5"#, Code::WrongType, "/updated_at"),
        (r#""updated_at":-1"#, Code::OutOfRange, "/updated_at"),
        (r#""updated_at":"1969-12-31""#, Code::OutOfRange, "/updated_at"),
        (r#""updated_at":253402300800000"#, Code::OutOfRange, "/updated_at"),
        (r#""updated_at":"253402300800000""#, Code::OutOfRange, "/updated_at"),
        (r#""updated_at":"01/02/2023""#, Code::WrongType, "/updated_at"),
        (r#""updated_at":"""#, Code::WrongType, "/updated_at"),
        (r#""updated_at":{"$date":1}"#, Code::WrongType, "/updated_at"),
        (r#""updated_at":true"#, Code::WrongType, "/updated_at"),
        (r#""feedback_rating":0"#, Code::OutOfRange, "/feedback_rating"),
        (r#""feedback_rating":6"#, Code::OutOfRange, "/feedback_rating"),
        (r#""feedback_rating":"3""#, Code::WrongType, "/feedback_rating"),
        (r#""queue":{"name":"x"}"#, Code::Required, "/queue/id"),
        (r#""queue":{"id":5}"#, Code::WrongType, "/queue/id"),
        (r#""assignee_id":"""#, Code::OutOfRange, "/assignee_id"),
        (r#""private_notes":[{"text":"x"}]"#, Code::UnknownField, "/private_notes/0/text"),
        (r#""custom_fields":{"a/b":{}}"#, Code::Required, "/custom_fields/a~1b/type"),
        (r#""custom_fields":{"k":{"type":"text"}}"#, Code::OutOfRange, "/custom_fields/k/type"),
        (r#""custom_fields":{"k":"v"}"#, Code::WrongType, "/custom_fields/k"),
        (
            r#""custom_fields":{"k":{"type":"date","val":1}}"#,
            Code::UnknownField,
            "/custom_fields/k/val",
        ),
        (r#""smart_intents":"x""#, Code::WrongType, "/smart_intents"),
        (r#""id":0"#, Code::OutOfRange, "/id"),
        (r#""id":9007199254740992"#, Code::OutOfRange, "/id"),
        (r#""id":"9007199254740992""#, Code::OutOfRange, "/id"),
        (r#""id":99999999999999999999999"#, Code::OutOfRange, "/id"),
        (r#""id":1.0"#, Code::WrongType, "/id"),
        (r#""id":"x1""#, Code::WrongType, "/id"),
        (r#""id":"01""#, Code::WrongType, "/id"),
        (r#""id":"""#, Code::WrongType, "/id"),
        (r#""id":true"#, Code::WrongType, "/id"),
    ] {
        assert_eq!(faults(&at(text)), [(code, pointer.to_owned())], "{text}");
    }
    assert_eq!(faults("{}"), [(Code::Required, "/created_at".to_owned())]);
    assert_eq!(faults(r#"{"created_at":null}"#), [(Code::Required, "/created_at".to_owned())]);
}

#[test]
fn all_faults_of_an_entry_are_reported_at_once_with_its_id() {
    let rejected = prepare(
        r#"{"id":12,"titel":"x","tags":[1,2],"custom_fields":{"n":{"type":"number","value":"1"}}}"#,
    )
    .unwrap_err();
    assert_eq!(rejected.id.as_deref(), Some(&b"12"[..]));
    assert!(rejected.readable);
    let mut pointers: Vec<_> = rejected.faults.iter().filter_map(|f| f.pointer.clone()).collect();
    pointers.sort();
    let all = ["/created_at", "/custom_fields/n/value", "/tags/0", "/tags/1", "/titel"];
    assert_eq!(pointers, all);
    let unknown = rejected.faults.iter().find(|f| f.code == Code::UnknownField).unwrap();
    assert!(unknown.detail.contains("did you mean title?"), "{}", unknown.detail);
}

#[test]
fn texts_are_limited_in_characters_and_bodies_in_bytes() {
    let entry = |title: usize, tag: usize, app: usize, body: usize| {
        json!({
            "created_at": 1, "title": "ü".repeat(title), "tags": ["ü".repeat(tag)],
            "app_id": "ü".repeat(app),
            "messages": [{"created_at": 1, "body": "x".repeat(body)}],
        })
        .to_string()
    };
    let mib = 1 << 20;
    assert!(prepare(&entry(100_000, 1000, 255, mib)).is_ok());
    for (entry, pointer) in [
        (entry(100_001, 1, 1, 1), "/title"),
        (entry(1, 1001, 1, 1), "/tags/0"),
        (entry(1, 1, 256, 1), "/app_id"),
        (entry(1, 1, 1, mib + 1), "/messages/0/body"),
    ] {
        assert_eq!(faults(&entry), [(Code::TooLong, pointer.to_owned())]);
    }
}

#[test]
fn collections_within_the_limits_of_an_issue_are_stored() {
    let many = 101;
    let entry = json!({
        "created_at": 1, "tags": vec!["t"; many],
        "messages": vec![json!({"created_at": 1, "body": "x"}); many],
        "meta": (0..many).map(|n| (n.to_string(), json!(n))).collect::<serde_json::Map<_, _>>(),
    });
    let issue = rendered(&entry.to_string());
    assert_eq!(issue["messages"].as_array().unwrap().len(), many);
    assert_eq!(issue["tags"].as_array().unwrap().len(), many);
}

#[test]
fn null_reads_as_absent() {
    let Value::Object(full) = serde_json::from_str::<Value>(FULL).unwrap() else { unreachable!() };
    let bare = prepare(r#"{"created_at":1,"hs_user_id":"u"}"#).unwrap();
    for name in full.keys().filter(|name| !matches!(name.as_str(), "created_at" | "hs_user_id")) {
        let entry = format!(r#"{{"created_at":1,"hs_user_id":"u","{name}":null}}"#);
        assert_eq!(prepare(&entry).unwrap(), bare, "{name}");
    }
    let message = rendered(
        r#"{"created_at":1,"tags":["a",null],"messages":[{"id":"m","created_at":1,"origin":null,
            "author":null,"attachments":null,"attachment":null,"type":null}]}"#,
    );
    assert_eq!(message["tags"], json!(["a"]));
    assert_eq!(message["messages"][0]["origin"], "end-user");
    assert!(message["messages"][0].get("attachments").is_none());
}

#[test]
fn scalars_in_meta_become_strings_at_every_level() {
    let issue = prepare(
        r#"{"created_at":1,"meta":{"n":1.50,"b":true,"s":"x","deep":{"l":[false,1e9,{"k":-0}]}}}"#,
    );
    assert_eq!(
        String::from_utf8(issue.unwrap().body.meta).unwrap(),
        r#"{"n":"1.50","b":"true","s":"x","deep":{"l":["false","1e9",{"k":"-0"}]}}"#
    );
}

#[test]
fn custom_field_values_have_the_type_of_their_field() {
    for (kind, good, bad) in [
        ("singleline", &[r#""x""#, "null"][..], &["1", "true", "[]"][..]),
        ("multiline", &[r#""""#, "null"], &["1", "{}"]),
        ("dropdown", &[r#""x""#, "null"], &["1", r#"["x"]"#]),
        ("number", &["1", "-0.10", "123456789012345678901234567890", "null"], &[r#""1""#, "true"]),
        (
            "date",
            &["1500000000000", "-1", "null"],
            &["1.5", r#""12.05.2023""#, r#""""#, "true", "[1]"],
        ),
        ("checkbox", &["true", "false", r#""true""#, r#""false""#, "null"], &["1", r#""yes""#]),
    ] {
        let entry = |value: &str| {
            format!(
                r#"{{"created_at":1,"custom_fields":{{"k":{{"type":"{kind}","value":{value}}}}}}}"#
            )
        };
        for value in good {
            let issue = prepare(&entry(value)).unwrap();
            let fields = String::from_utf8(issue.body.custom_fields).unwrap();
            assert_eq!(fields, format!(r#"{{"k":{{"type":"{kind}","value":{value}}}}}"#));
        }
        for value in bad {
            let expected = [(Code::WrongType, "/custom_fields/k/value".to_owned())];
            assert_eq!(faults(&entry(value)), expected, "{kind} {value}");
        }
    }
}

/// Spellings of 2024-02-29T06:07:08.000Z.
const SPELLINGS: [&str; 9] = [
    "1709186828000",
    "1709186828000.0",
    "2024-02-29T06:07:08.000Z",
    "2024-02-29T06:07:08Z",
    "2024-02-29 06:07:08",
    "2024-02-29T06:07:08.000000+00:00",
    "2024-02-29 08:07:08.000000001+02",
    "2024-02-29T00:37:08-0530",
    "2024-02-29T06:07:08,000Z",
];

#[test]
fn every_time_of_an_entry_may_come_in_every_spelling() {
    let entry = |time: &str| {
        format!(
            r#"{{"created_at":{time},"updated_at":{time},"original_created_at":{time},
            "hs_user_id":"u","state_data":{{"changed_at":{time}}},"messages":[{{"id":"m",
            "created_at":{time}}}],"private_notes":[{{"created_at":{time}}}],"custom_fields":
            {{"k":{{"type":"date","value":{time}}}}}}}"#
        )
    };
    let number = prepare(&entry("1709186828000")).unwrap();
    let fields = String::from_utf8(number.body.custom_fields.clone()).unwrap();
    assert_eq!(fields, r#"{"k":{"type":"date","value":1709186828000}}"#);
    for spelling in SPELLINGS {
        assert_eq!(prepare(&entry(&format!("{spelling:?}"))).unwrap(), number, "{spelling}");
        let query = [("created-since".to_owned(), spelling.to_owned())];
        let since = parse_list(&query).unwrap().query.created.since;
        let is_finer = spelling.contains("000000001");
        assert_eq!(since, Some(UnixMillis(1_709_186_828_000 + i64::from(is_finer))), "{spelling}");
    }
    assert_eq!(prepare(&entry("1709186828000.0")).unwrap(), number);
    let date = prepare(&entry(r#""2024-02-29""#)).unwrap();
    assert_eq!(date, prepare(&entry("1709164800000")).unwrap());
}

#[test]
fn the_domain_of_an_entry_is_ignored() {
    let issue = rendered(r#"{"created_at":1,"domain":"elsewhere"}"#);
    assert_eq!(issue["domain"], "acme");
}

#[test]
fn gaps_in_messages_are_filled_from_the_issue() {
    let head = r#""created_at":1,"author_name":"Eva","author_email":"eva@example.org",
        "assignee_id":"ada","assignee_name":"Ada""#;
    for (message, origin, author) in [
        ("{}", "end-user", json!({"name": "Eva", "id": "eva", "emails": ["eva@example.org"]})),
        (
            r#"{"origin":"helpshift"}"#,
            "helpshift",
            json!({"name": "Ada", "id": "ada", "emails": ["desk@acme.invalid"]}),
        ),
        (
            r#"{"author":{"id":"ada","emails":[""]}}"#,
            "helpshift",
            json!({"name": "", "id": "ada", "emails": ["desk@acme.invalid"]}),
        ),
        (
            r#"{"author":{"id":"bot","emails":["bot@x"]}}"#,
            "helpshift",
            json!({"name": "", "id": "bot", "emails": ["bot@x"]}),
        ),
        (r#"{"author":{"id":"eva"}}"#, "end-user", json!({"name": "", "id": "eva", "emails": []})),
        (
            r#"{"author":{"emails":["EVA@example.org"]}}"#,
            "end-user",
            json!({"name": "", "id": "eva", "emails": ["EVA@example.org"]}),
        ),
    ] {
        let message = format!(r#"{{"created_at":2,{}"#, &message[1..]).replace(",}", "}");
        let first = r#"{"created_at":1,"origin":"end-user","author":{"id":"eva"}}"#;
        let issue = rendered(&format!(r#"{{{head},"messages":[{first},{message}]}}"#));
        assert_eq!(issue["hs_user_id"], "eva");
        assert_eq!(issue["messages"][1]["origin"], origin, "{message}");
        assert_eq!(issue["messages"][1]["author"], author, "{message}");
    }
}

#[test]
fn messages_and_notes_without_a_time_get_that_of_the_issue() {
    let issue = rendered(r#"{"created_at":7,"messages":[{"body":"x"}],"private_notes":[{}]}"#);
    assert_eq!(issue["messages"][0]["created_at"], 7);
    assert_eq!(issue["private_notes"], json!([{"body": "", "created_at": 7}]));
}

#[test]
fn an_agent_s_message_without_an_author_belongs_to_an_unnamed_agent() {
    let entry = r#"{"created_at":7,"messages":[{"origin":"helpshift"},{"origin":"helpshift"}]}"#;
    let issue = prepare(entry).unwrap();
    assert_eq!(issue.agents.len(), 1);
    assert!(issue.agents[0].id.starts_with("acme_profile_"));
    let author = json!({"name": "", "id": issue.agents[0].id, "emails": ["desk@acme.invalid"]});
    assert_eq!(rendered(entry)["messages"][1]["author"], author);
}

#[test]
fn faults_beyond_the_limit_are_cut_off_and_the_last_one_says_so() {
    let unknown: Vec<String> = (0..3000).map(|n| format!("\"x{n}\":1")).collect();
    let rejected = prepare(&format!("{{{}}}", unknown.join(","))).unwrap_err();
    assert_eq!(rejected.faults.len(), 100);
    let last = &rejected.faults[99].detail;
    assert!(last.ends_with("2901 more faults of this entry are not listed"), "{last}");

    let key = "k".repeat(100_000);
    let entry =
        format!(r#"{{"created_at":1,"custom_fields":{{"{key}":{{"a":1,"b":2}}}},"{key}":1}}"#);
    let rejected = prepare(&entry).unwrap_err();
    assert_eq!(rejected.faults.len(), 4);
    for fault in rejected.faults {
        assert_eq!(fault.pointer, None);
        assert!(fault.detail.len() < 1000, "{}", fault.detail.len());
    }
}

#[test]
fn attachment_and_attachments_imply_each_other() {
    let of = |text: &str| {
        let entry = format!(r#"{{"created_at":1,"messages":[{{"created_at":1,{text}}}]}}"#);
        rendered(&entry)["messages"][0].clone()
    };
    for text in [
        r#""attachment":{"url":"/1"}"#,
        r#""attachments":[{"url":"/1"}]"#,
        r#""attachments":[],"attachment":{"url":"/1"}"#,
    ] {
        assert_eq!(of(text)["attachment"], json!({"url": "/1"}), "{text}");
        assert_eq!(of(text)["attachments"], json!([{"url": "/1"}]), "{text}");
    }
    assert!(of(r#""attachments":[]"#).get("attachments").is_none());
}

#[test]
fn the_name_of_an_imported_file_is_corrected_with_a_warning() {
    let long = format!("{}.pdf", "ä".repeat(300));
    let end = format!("{}.pdf", "ä".repeat(251));
    for (sent, stored) in [
        ("report.pdf", "report.pdf"),
        ("Invoice..pdf", "Invoice..pdf"),
        (" lead 100%; \"q\".pdf", " lead 100%; \"q\".pdf"),
        ("…😀.pdf", "…😀.pdf"),
        ("", ""),
        ("a/b.pdf", "b.pdf"),
        ("C:\\fakepath\\x.png", "x.png"),
        ("x\ty\n.txt", "xy.txt"),
        ("gpj.\u{202e}exe", "gpj.exe"),
        ("..", "attachment"),
        ("\u{200e}", "attachment"),
        ("=?utf-8?Q?=C3=A4_b.txt?=", "ä b.txt"),
        (&long, &end),
    ] {
        let import = |name: &str| {
            let files = json!([{ "file_name": name }]);
            let messages = json!([{ "created_at": 1e12 as i64, "attachments": files }]);
            prepared(&json!({ "created_at": 1e12 as i64, "messages": messages }).to_string())
        };
        let issue = import(sent);
        let shown: Value = serde_json::from_str(&render(issue.item.as_ref().unwrap())).unwrap();
        assert_eq!(shown["messages"][0]["attachment"]["file_name"], stored);
        let codes: Vec<_> = issue.warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes, if sent == stored { &[][..] } else { &["mended_name"] }, "{sent:?}");
        assert!(import(stored).warnings.is_empty(), "{stored:?} stays");
    }
}

#[test]
fn each_person_is_mentioned_once_with_every_address() {
    let issue = prepare(
        r#"{"created_at":1,"hs_user_id":"eva","author_email":"eva@example.org","assignee_id":"ada",
            "messages":[
            {"created_at":1,"origin":"end-user",
                "author":{"id":"eva","name":"Eva","emails":["e2","EVA@example.org",""]}},
            {"created_at":5,"origin":"end-user","author":{"id":"eva","emails":["e3","E2"]}},
            {"created_at":2,"origin":"helpshift",
                "author":{"id":"ada","name":"Ada","emails":["a@b"]}},
            {"created_at":3,"origin":"helpshift","author":{"id":"bot","name":"Bot"}},
            {"created_at":4,"origin":"end-user",
                "author":{"id":"tom","name":"Tom","emails":["t","u"]}}]}"#,
    )
    .unwrap();
    let profiles: Vec<_> = issue
        .app_profiles
        .iter()
        .map(|p| (p.pid.as_str(), p.name.as_str(), std::str::from_utf8(&p.emails).unwrap()))
        .collect();
    assert_eq!(
        profiles,
        [("eva", "Eva", r#"["eva@example.org","e2","e3"]"#), ("tom", "Tom", r#"["t","u"]"#)]
    );
    let agents: Vec<_> =
        issue.agents.iter().map(|a| (a.id.as_str(), a.name.as_str(), a.email.as_deref())).collect();
    assert_eq!(agents, [("ada", "Ada", Some("a@b")), ("bot", "Bot", None)]);
}

#[test]
fn generated_ids_are_stable_and_differ_between_entries() {
    let entry = |title: &str| {
        let message = r#"{"created_at":1499889810397,"body":"x"}"#;
        format!(r#"{{"created_at":1,"title":"{title}","messages":[{message},{message}]}}"#)
    };
    let (a, again, b) = (rendered(&entry("a")), rendered(&entry("a")), rendered(&entry("b")));
    assert_eq!(a, again);
    let id = |issue: &Value, n: usize| issue["messages"][n]["id"].as_str().unwrap().to_owned();
    assert!(id(&a, 0).starts_with("acme_message_20170712200330397-"), "{}", id(&a, 0));
    assert_eq!(id(&a, 0).len(), "acme_message_".len() + 17 + 1 + 15);
    assert_ne!(id(&a, 0), id(&a, 1));
    assert_ne!(id(&a, 0), id(&b, 0));
    assert_ne!(a["hs_user_id"], b["hs_user_id"]);
}

#[test]
fn generated_ids_depend_on_the_content_of_an_entry_and_not_on_its_spelling() {
    let entry = r#"{"id":5,"created_at":10,"title":"Aé","messages":[{"body":"x","created_at":11}],
        "meta":{"a":"1","b":"2"}}"#;
    let expected = rendered(entry);
    for again in [
        r#"{ "meta":{"b":"2","a":"1"}, "messages":[{"created_at":11,"body":"x"}], "id":5,
            "created_at":10, "title":"Aé" }"#,
        r#"{"id":"5","created_at":10,"title":"\u0041\u00e9","domain":"other","tags":null,
            "messages":[{"body":"x","created_at":11,"id":null}],"meta":{"a":"1","b":"2"}}"#,
    ] {
        assert_eq!(rendered(again), expected, "{again}");
    }
    for other in [entry.replace("11", "12"), entry.replace(r#""a":"1""#, r#""a":"3""#)] {
        assert_ne!(rendered(&other)["hs_user_id"], expected["hs_user_id"], "{other}");
    }
}

#[test]
fn an_empty_array_in_place_of_a_map_is_an_empty_map() {
    let with = |empty: &str| {
        format!(
            concat!(
                r#"{{"id":1,"created_at":1,"hs_user_id":"u","meta":{0},"custom_fields":{0},"#,
                r#""state_data":{0},"issue_mode_data":{0},"sentiment_analysis":{0},"#,
                r#""smart_intents":{0},"messages":[{{"id":"m","author":{0},"sentiment":{0}}}],"#,
                r#""private_notes":[{{"author":{0}}}]}}"#
            ),
            empty
        )
    };
    let issue = rendered(&with("[]"));
    assert_eq!(issue, rendered(&with("{}")));
    for name in ["meta", "custom_fields", "sentiment_analysis", "smart_intents"] {
        assert_eq!(issue[name], json!({}), "{name}");
    }
    assert_eq!(issue["messages"][0]["sentiment"], json!({}));
}

#[test]
fn one_address_in_one_app_means_one_author() {
    let user = |entry: &str| rendered(entry)["hs_user_id"].clone();
    let a = user(r#"{"created_at":1,"author_email":"Eva@example.org"}"#);
    assert_eq!(a, user(r#"{"created_at":2,"title":"x","author_email":"eva@EXAMPLE.org"}"#));
    assert_ne!(a, user(r#"{"created_at":1,"author_email":"eva@example.org","app_id":"other"}"#));
    assert_ne!(a, user(r#"{"created_at":1,"author_email":"tom@example.org"}"#));
}

#[test]
fn a_view_selects_fragments() {
    let issue = prepare(FULL).unwrap();
    let head = issue.head.render(7, ("a", "1"), issue.created_at, None);
    let keys = |view: &IssueView| -> Vec<String> {
        let mut out = Vec::new();
        write_issue(&IssueFragments::new(&head, &issue.body), view, &mut out);
        let Value::Object(map) = serde_json::from_slice(&out).unwrap() else { unreachable!() };
        map.keys().skip_while(|key| *key != "cc").skip(1).cloned().collect()
    };
    let none = IssueView::default();
    for (view, expected) in [
        (none, &["messages", "meta"][..]),
        (IssueView { exclude_messages: true, ..none }, &["meta"]),
        (IssueView { custom_fields: true, ..none }, &["messages", "meta", "custom_fields"]),
        (
            IssueView { feedback: true, ..none },
            &["messages", "meta", "feedback_rating", "feedback_comment"],
        ),
        (IssueView { queue: true, ..none }, &["messages", "meta", "queue"]),
        (IssueView { private_notes: true, ..none }, &["messages", "meta", "private_notes"]),
        (
            IssueView { predict_labels: true, ..none },
            &["messages", "meta", "current_predict_label", "original_predict_label"],
        ),
        (
            IssueView { sentiment_analysis: true, ..none },
            &["messages", "meta", "sentiment_analysis"],
        ),
        (IssueView { smart_intents: true, ..none }, &["messages", "meta", "smart_intents"]),
    ] {
        assert_eq!(keys(&view), expected);
    }
}

/// A text with everything that is hard for JSON writers.
fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![any::<char>(), Just('"'), Just('\\'), Just('\0'), Just('\n'), Just('ß')],
        1..6,
    )
    .prop_map(|chars| chars.into_iter().collect())
}

fn free_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(text(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn free_map() -> impl Strategy<Value = Value> {
    proptest::collection::hash_map(text(), free_json(), 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn message() -> impl Strategy<Value = Value> {
    let author = (proptest::option::of(text()), text(), proptest::collection::vec(text(), 0..3))
        .prop_map(|(id, name, emails)| json!({"id": id, "name": name, "emails": emails}));
    let parts = (
        proptest::option::of(text()),
        text(),
        0i64..10_000,
        proptest::option::of(author),
        proptest::option::of(Just("end-user")),
        proptest::collection::vec(
            text().prop_map(|name| json!({"url": path(&name), "size": 5})),
            0..3,
        ),
    );
    parts.prop_map(|(id, body, at, author, origin, attachments)| {
        json!({
            "id": id, "body": body, "created_at": at, "origin": origin, "author": author,
            "attachments": attachments,
        })
    })
}

/// A path of any characters that the URL of an attachment may have.
fn path(text: &str) -> String {
    format!("/f/_{}", text.replace(is_hidden, "").replace(['/', '\\', '%'], "_"))
}

prop_compose! {
    fn entry()(
        title in proptest::option::of(text()),
        tags in proptest::collection::vec(text(), 0..3),
        created_at in 0i64..5_000,
        original in proptest::option::of(0i64..5_000),
        state in proptest::option::of(0usize..7),
        people in proptest::collection::vec(proptest::option::of(text()), 3),
        queue in proptest::option::of(text()),
        messages in proptest::collection::vec(message(), 0..4),
        meta in proptest::option::of(free_map()),
        intents in proptest::option::of(free_map()),
        rating in proptest::option::of(1u8..=5),
        comment in proptest::option::of(text()),
        number in any::<f64>(),
    ) -> String {
        json!({
            "title": title, "tags": tags, "created_at": created_at, "original_created_at": original,
            "state_data": state.map(|n| json!({"state": IssueState::ALL[n].as_str()})),
            "author_name": people[0], "author_email": people[1], "assignee_name": people[2],
            "queue": queue.map(|id| json!({"id": id})), "messages": messages, "meta": meta,
            "smart_intents": intents, "feedback_rating": rating, "feedback_comment": comment,
            "custom_fields": {"n": {"type": "number", "value": number}},
            "private_notes": [{"body": "n", "created_at": 3, "author": {"name": "x"}}],
        })
        .to_string()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn a_rendered_issue_is_imported_and_rendered_as_the_same_bytes(entry in entry()) {
        let first = prepare(&entry);
        prop_assert!(first.is_ok(), "{:?}", first);
        let bytes = render(&first.unwrap());
        let second = prepare(&bytes);
        prop_assert!(second.is_ok(), "{:?}", second);
        prop_assert_eq!(render(&second.unwrap()), bytes);
    }
}
