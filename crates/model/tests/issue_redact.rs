//! Redacting issues: the parts that go with a person, those that stay, and single parts.
#![expect(clippy::unwrap_used, reason = "tests")]

use caseload_model::erasure::Person;
use caseload_model::ids::{DomainName, IdentityKey};
use caseload_model::issue::write::{IssueRecord, RedactedPart, redact};
use caseload_model::issue::{IssueColumns, IssueFragments, prepare_imports, write_issue};
use caseload_model::issue_query::IssueView;
use caseload_model::payload::{Block, Entry};
use caseload_model::profile::IdentityType;
use caseload_model::time::UnixMillis;
use serde_json::{Value, json};

const LATER: UnixMillis = UnixMillis(5000);

fn ada() -> Person {
    let email = IdentityKey::new(IdentityType::Email, "ada.l@example.org");
    let pids = ["p7".to_owned(), "p8".to_owned()].into();
    Person { identities: [email].into(), pids, ..Person::default() }
}

/// The issue that an import makes of an entry.
fn issue(entry: &Value) -> IssueRecord {
    let bytes = entry.to_string().into_bytes();
    let range = 0..bytes.len();
    let entries = vec![Entry { index: 0, line: 1, range, oversize: None, of_row: false }];
    let block = Block { bytes, entries, ..Block::default() };
    let new = prepare_imports(&DomainName::parse("acme").unwrap(), &block).remove(0).item.unwrap();
    let (id, created_at) = (new.id.unwrap(), new.created_at);
    let columns = IssueColumns {
        id,
        created_at,
        original_created_at: None,
        app_id: "web".to_owned(),
        app_publish_id: "1".to_owned(),
        facts: new.facts,
    };
    let head = new.head.render(id, ("web", "1"), created_at, None);
    IssueRecord { columns, head, body: new.body }
}

fn shown(issue: &IssueRecord) -> Value {
    let mut out = Vec::new();
    write_issue(&IssueFragments::new(&issue.head, &issue.body), &IssueView::FULL, &mut out);
    serde_json::from_slice(&out).unwrap()
}

fn of_ada() -> Value {
    let file =
        |id: &str| json!({"url": format!("/v1/acme/attachments/{id}"), "file_name": "me.png"});
    let author = json!({"name": "Ada", "id": "p7", "emails": ["Ada.L@example.org"]});
    let other = json!({"name": "Bob", "id": "p9", "emails": ["bob@example.org"]});
    let desk = json!({"name": "Eva", "id": "eva", "emails": ["ada.l@example.org"]});
    json!({
        "id": 7, "title": "I, Ada", "tags": ["vip"], "app_id": "web", "app_publish_id": "1",
        "hs_user_id": "p7", "author_name": "Ada", "author_email": "Ada.L@Example.org",
        "state_data": {"state": "resolved", "changed_at": 1500}, "created_at": 1000,
        "updated_at": 2000, "language": "de", "cc": ["ada.l@example.org"],
        "messages": [
            {"id": "m1", "body": "my secret", "created_at": 1001, "origin": "end-user",
             "author": author, "attachments": [file("a1"), file("a2")], "intent_labels": ["angry"],
             "sentiment": {"label": "bad"}, "type": "Text"},
            {"id": "m2", "body": "Dear Ada", "created_at": 1002, "origin": "helpshift",
             "author": desk, "attachments": [file("a3")]},
            {"id": "m3", "body": "me too", "created_at": 1003, "origin": "end-user",
             "author": other},
            {"id": "m4", "body": "", "created_at": 1004, "origin": "end-user",
             "author": {"name": "A.", "id": "p8", "emails": []}},
        ],
        "meta": {"device": "Ada's phone"},
        "custom_fields": {"iban": {"type": "singleline", "value": "DE02"}},
        "feedback_rating": 4, "feedback_comment": "thanks, Ada",
        "queue": {"id": "q", "name": "Q"},
        "private_notes": [{"body": "Ada is kind", "created_at": 1005,
                           "author": {"name": "Eva", "emails": []}}],
        "current_predict_label": "billing", "sentiment_analysis": {"of": "my secret"},
        "smart_intents": {"of": "my secret"},
    })
}

#[test]
fn of_an_issue_of_the_person_only_the_part_of_the_desk_stays() {
    let before = issue(&of_ada());
    let redacted = redact(&before, RedactedPart::Person(&ada()), LATER).unwrap().unwrap();
    let nobody = json!({"name": "[redacted]", "id": "[redacted]", "emails": []});
    let mut expected = shown(&before);
    for (name, value) in [
        ("title", json!("[redacted]")),
        ("hs_user_id", json!("[redacted]")),
        ("author_name", json!("[redacted]")),
        ("author_email", json!("")),
        ("redacted", json!(true)),
        ("updated_at", json!(5000)),
        ("meta", json!({})),
        ("custom_fields", json!({})),
        ("feedback_comment", json!("[redacted]")),
    ] {
        expected[name] = value;
    }
    expected["messages"][0] = json!({"id": "m1", "body": "[redacted]", "created_at": 1001,
        "origin": "end-user", "author": nobody.clone(), "type": "Text"});
    expected["messages"][3]["author"] = nobody;
    let map = expected.as_object_mut().unwrap();
    map.remove("sentiment_analysis");
    map.remove("smart_intents");
    assert_eq!(shown(&redacted.issue), expected);
    assert_eq!(
        (redacted.messages, &redacted.attachments[..]),
        (2, &["a1".into(), "a2".into()][..])
    );

    // Columns are those of an issue that came like this, and an export of it can be imported.
    let again = issue(&expected);
    assert_eq!(again.columns.facts, redacted.issue.columns.facts);
    assert_eq!(again.body.messages, redacted.issue.body.messages);
    let twice = redact(&redacted.issue, RedactedPart::Person(&ada()), UnixMillis(9000));
    assert_eq!(twice, Ok(None));
    assert_eq!(redact(&redacted.issue, RedactedPart::Title, UnixMillis(9000)), Ok(None));
}

#[test]
fn an_issue_of_another_person_loses_only_the_messages_of_the_person() {
    let mut entry = of_ada();
    entry["hs_user_id"] = json!("p9");
    entry["author_email"] = json!("bob@example.org");
    let before = issue(&entry);
    let after = redact(&before, RedactedPart::Person(&ada()), LATER).unwrap().unwrap().issue;
    let (before, after) = (shown(&before), shown(&after));
    let changed: Vec<_> = before
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, value)| (after[name] != *value).then_some(name.as_str()))
        .collect();
    assert_eq!(changed, ["redacted", "updated_at", "messages"]);
    assert_eq!(after["messages"][1], before["messages"][1]);
    assert_eq!(after["messages"][2], before["messages"][2]);
    assert!(!after["messages"][0].to_string().contains("secret"));
    let stranger = Person { pids: ["p1".to_owned()].into(), ..Person::default() };
    let untouched = redact(&issue(&entry), RedactedPart::Person(&stranger), LATER);
    assert_eq!(untouched, Ok(None));
}

#[test]
fn a_single_part_goes_alone_and_once() {
    let before = issue(&of_ada());
    let file = |n: usize| of_ada()["messages"][0]["attachments"][n].clone();
    for (part, pointer, value, attachments) in [
        (RedactedPart::Title, "/title", json!("[redacted]"), &[][..]),
        (RedactedPart::Message("m2"), "/messages/1/body", json!("[redacted]"), &[]),
        (RedactedPart::Attachment("a1"), "/messages/0/attachments", json!([file(1)]), &["a1"]),
        (RedactedPart::Attachment("a2"), "/messages/0/attachments", json!([file(0)]), &["a2"]),
    ] {
        let after = redact(&before, part, LATER).unwrap().unwrap();
        let mut expected = shown(&before);
        *expected.pointer_mut(pointer).unwrap() = value.clone();
        if pointer.ends_with("attachments") {
            expected["messages"][0]["attachment"] = value[0].clone();
        }
        expected["redacted"] = json!(true);
        expected["updated_at"] = json!(5000);
        assert_eq!(shown(&after.issue), expected, "{part:?}");
        assert_eq!(after.attachments, attachments, "{part:?}");
        assert_eq!(redact(&after.issue, part, UnixMillis(9000)), Ok(None), "{part:?}");
    }
    let last = redact(&before, RedactedPart::Attachment("a3"), LATER).unwrap().unwrap();
    assert_eq!(shown(&last.issue)["messages"][1].get("attachments"), None);
    for unknown in [RedactedPart::Message("m"), RedactedPart::Attachment("a")] {
        assert_eq!(redact(&before, unknown, LATER), Ok(None));
    }
    let whole = redact(&before, RedactedPart::Issue, LATER).unwrap().unwrap();
    assert_eq!(shown(&whole.issue)["messages"][2]["body"], json!("[redacted]"));
    assert_eq!(shown(&whole.issue)["messages"][1], shown(&before)["messages"][1]);
}
