//! Requests and plans of single writes: forms with all of their faults, and the issue after a plan.
//! Unchanged parts keep their bytes; state and times change exactly when they should.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainName;
use caseload_model::issue::write::{
    AgentSummary, Attachment, CreateContext, Desk, EditDraft, EditRequest, EditTargets,
    IssueRecord, IssueWriteError, MessageAuthor, Moment, NewMessage, author_pid, bulk_edit_answer,
    plan_create, plan_message, plan_note, read_bulk_edit, read_create, read_edit, read_message,
    read_note,
};
use caseload_model::issue::{App, IssueQueue, IssueState, write_issue};
use caseload_model::issue_query::{IssueView, ParameterFault};
use caseload_model::time::UnixMillis;
use proptest::prelude::*;
use serde_json::{Value, json};

type Fields<'f> = &'f [(&'f str, &'f str)];

fn pairs(fields: Fields<'_>) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn acme() -> DomainName {
    DomainName::parse("acme").unwrap()
}

fn at(millis: i64) -> Moment {
    Moment { at: UnixMillis(millis), random: 1 }
}

fn eva() -> AgentSummary {
    AgentSummary { id: "eva".to_owned(), name: "Eva".to_owned(), email: "eva@desk".to_owned() }
}

/// A new issue, created at instant 1000.
fn created(fields: Fields<'_>) -> IssueRecord {
    let (request, faults) = read_create(&pairs(fields));
    assert_eq!(faults, []);
    let context = CreateContext {
        domain: &acme(),
        id: 5,
        created_at: UnixMillis(1000),
        moment: at(1000),
        app: App { app_id: "web".to_owned(), publish_id: "1".to_owned() },
        pid: author_pid(&acme(), &request, None, 1),
        profile: None,
        attachments: &[],
    };
    plan_create(&context, &request).unwrap().issue
}

fn shown(issue: &IssueRecord) -> Value {
    let mut out = Vec::new();
    write_issue(&issue.fragments(), &IssueView::FULL, &mut out);
    serde_json::from_slice(&out).unwrap()
}

fn text(issue: &IssueRecord) -> String {
    let mut out = Vec::new();
    write_issue(&issue.fragments(), &IssueView::FULL, &mut out);
    String::from_utf8(out).unwrap()
}

fn edited(issue: &IssueRecord, fields: Fields<'_>, targets: &EditTargets) -> (IssueRecord, Value) {
    let (request, faults) = read_edit(&pairs(fields));
    assert_eq!(faults, []);
    let draft = EditDraft::new(issue, &request, targets, None);
    let plan = draft.finish(&acme(), at(2000)).unwrap();
    (plan.issue, serde_json::from_slice(&plan.answer).unwrap())
}

#[test]
fn a_field_is_read_in_every_spelling() {
    let (hyphens, faults) = read_create(&pairs(&[
        ("message-body", "b"),
        ("author-name", "n"),
        ("custom-fields", "{}"),
        ("platform-type", "web"),
        ("app-id", "a"),
        ("end-user-id", "e"),
    ]));
    assert_eq!(faults, []);
    let (underscores, faults) = read_create(&pairs(&[
        ("message_body", "b"),
        ("author_name", "n"),
        ("custom_fields", "{}"),
        ("platform_type", "web"),
        ("app_id", "a"),
        ("end_user_id", "e"),
    ]));
    assert_eq!(faults, []);
    assert_eq!(hyphens.app_id.as_ref().unwrap().field, "app-id");
    assert_eq!(underscores.app_id.as_ref().unwrap().field, "app_id");
    let same = caseload_model::issue::write::CreateRequest {
        app_id: hyphens.app_id.clone(),
        ..underscores
    };
    assert_eq!(same, hyphens);
}

#[test]
fn all_faults_of_a_form_are_reported_up_to_a_limit() {
    let codes = |faults: Vec<ParameterFault>| {
        faults.into_iter().map(|fault| (fault.parameter, fault.code)).collect::<Vec<_>>()
    };
    let (_, faults) = read_edit(&pairs(&[
        ("titel", "x"),
        ("tags", "{}"),
        ("status", "x"),
        ("meta", "[1]"),
        ("assignee-id", "unassigned"),
        ("assignee-email", "x"),
    ]));
    assert_eq!(
        codes(faults),
        [
            ("titel".to_owned(), ErrorCode::UnknownParameter),
            ("meta".to_owned(), ErrorCode::InvalidValue),
            ("tags".to_owned(), ErrorCode::InvalidValue),
            ("status".to_owned(), ErrorCode::InvalidValue),
            ("assignee-email".to_owned(), ErrorCode::ConflictingParameter),
        ]
    );
    let many: Vec<_> = (0..5000).map(|n| (format!("x{n}"), String::new())).collect();
    let (_, faults) = read_message(&many);
    assert!(faults.len() <= 101, "{}", faults.len());
    let field =
        format!("{{{}}}", (0..900).map(|n| format!("\"{n}\":1")).collect::<Vec<_>>().join(","));
    let (_, faults) = read_create(&pairs(&[("message-body", "x"), ("custom_fields", &field)]));
    assert_eq!(faults.len(), 100);
}

#[test]
fn a_tag_that_is_too_long_is_named_by_its_place() {
    let tags = format!(r#"["a","{}"]"#, "é".repeat(1001));
    let (_, faults) = read_create(&pairs(&[("message-body", "x"), ("tags", &tags)]));
    let details: Vec<_> = faults.iter().map(|fault| &*fault.detail).collect();
    assert_eq!(details, ["tags at /1 has 1001 characters; at most 1000 are allowed"]);
}

#[test]
fn null_is_not_an_element_of_a_list_of_texts() {
    for (what, list, at) in
        [("tags", "[null]", 0), ("tags", r#"["a",null]"#, 1), ("cc", "[null]", 0)]
    {
        let fault = ParameterFault {
            parameter: what.to_owned(),
            code: ErrorCode::InvalidValue,
            detail: format!(
                "{what} at /{at} holds null; a JSON array of strings such as [\"a\",\"b\"] is \
                 expected"
            ),
        };
        let (_, of_create) = read_create(&pairs(&[("message-body", "x"), (what, list)]));
        assert_eq!(of_create, std::slice::from_ref(&fault), "{list}");
        if what == "tags" {
            assert_eq!(read_edit(&pairs(&[(what, list)])).1, std::slice::from_ref(&fault));
            let (_, of_bulk) = read_bulk_edit(&pairs(&[("issue-ids", "[1]"), (what, list)]));
            assert_eq!(of_bulk, [fault]);
        }
    }
}

#[test]
fn a_list_field_comes_as_json_by_repetition_or_in_brackets_and_ids_also_with_commas() {
    let tags = |fields: Fields<'_>| {
        let (request, faults) = read_edit(&pairs(fields));
        assert_eq!(faults, [], "{fields:?}");
        request.tags.unwrap()
    };
    for (fields, expected) in [
        (&[("tags", r#"["b","a","b"]"#)][..], &["b", "a", "b"][..]),
        (&[("tags", "b"), ("tags", "a")], &["b", "a"]),
        (&[("tags[]", "b"), ("tags[]", "a"), ("tags[]", "b")], &["b", "a", "b"]),
        (&[("tags[0]", "b"), ("tags[1]", "a")], &["b", "a"]),
        (&[("tags", "a, b")], &["a, b"]),
        (&[("tags[]", "[a]")], &["[a]"]),
        (&[("tags", r#"["a"]"#), ("tags", r#"["a"]"#)], &["a"]),
        (&[("tags", r#"["a"]"#), ("tags", "b"), ("tags", "")], &["a", "b"]),
        (&[("tags", "[]")], &[]),
        (&[("tags[]", "")], &[]),
        (&[("tags[]", ""), ("tags[]", "a")], &["a"]),
    ] {
        assert_eq!(tags(fields), expected, "{fields:?}");
    }
    let (create, faults) =
        read_create(&pairs(&[("message-body", "x"), ("cc", "a@x"), ("cc", "b@x, c@x")]));
    assert_eq!((create.cc, faults), (Some(vec!["a@x".to_owned(), "b@x, c@x".to_owned()]), vec![]));
    for fields in [
        &[("issue-ids", "[2,\"1\"]"), ("status", "new")][..],
        &[("issue-ids", "2,1"), ("status", "new")],
        &[("issue-ids", " 2 , 1 "), ("status", "new")],
        &[("issue_ids", "2"), ("issue_ids", "1"), ("status", "new")],
        &[("issue-ids[]", "2"), ("issue-ids[]", "1"), ("issue-ids[]", "2"), ("status", "new")],
    ] {
        let (request, faults) = read_bulk_edit(&pairs(fields));
        assert_eq!((request.issue_ids.to, faults), (vec![2, 1], vec![]), "{fields:?}");
    }
    // An empty field counts as absent, an empty list does not.
    let (request, faults) = read_edit(&pairs(&[("title", "x"), ("tags", "")]));
    assert_eq!((request.tags, faults), (None, vec![]));
}

#[test]
fn a_field_given_several_times_has_one_value() {
    let twice = |name: &'static str, one: &'static str, other: &'static str| {
        read_create(&pairs(&[("message-body", "x"), (name, one), (name, other)])).1
    };
    for (name, value) in [("title", "a"), ("meta", "{}"), ("message-body", "x"), ("title", "")] {
        assert_eq!(twice(name, value, value), [], "{name}");
    }
    for (name, one, other) in [("title", "a", "b"), ("meta", "{}", r#"{"a":"1"}"#)] {
        let faults = twice(name, one, other);
        let codes: Vec<_> = faults.iter().map(|f| (f.parameter.as_str(), f.code)).collect();
        assert_eq!(codes, [(name, ErrorCode::ConflictingParameter)]);
    }
    let (_, faults) = read_edit(&pairs(&[("queue_id", "a"), ("queue-id", "a")]));
    assert_eq!(faults, []);
    let (_, faults) = read_edit(&pairs(&[("queue_id", "a"), ("queue-id", "b")]));
    assert_eq!(faults[0].code, ErrorCode::ConflictingParameter);
}

#[test]
fn an_empty_array_in_a_map_field_is_the_empty_map() {
    let issue = created(&[("message-body", "x"), ("meta", "[]"), ("custom_fields", "[]")]);
    assert_eq!((&shown(&issue)["meta"], &shown(&issue)["custom_fields"]), (&json!({}), &json!({})));
}

#[test]
fn unknown_fields_name_the_nearest_known_one() {
    for (read, field, nearest) in [
        (read_create(&pairs(&[("mesage-body", "x")])).1, "mesage-body", "message-body"),
        (read_message(&pairs(&[("agent_ids", "x")])).1, "agent_ids", "agent-id"),
        (read_note(&pairs(&[("note", "x")])).1, "note", "note-text"),
        (read_bulk_edit(&pairs(&[("issue_id", "x")])).1, "issue_id", "issue-ids"),
    ] {
        let fault = read.iter().find(|fault| fault.parameter == field).unwrap();
        assert_eq!(fault.code, ErrorCode::UnknownParameter);
        assert!(fault.detail.contains(&format!("did you mean {nearest}?")), "{}", fault.detail);
    }
}

#[test]
fn meta_nests_only_as_deep_as_an_import_accepts() {
    let nested = |levels| [r#"{"a":"#.repeat(levels), "1".to_owned(), "}".repeat(levels)].concat();
    let text = text(&created(&[("message-body", "x"), ("meta", &nested(99))]));
    assert!(caseload_model::json::parse(text.as_bytes()).is_ok());
    let deep = nested(100);
    let (_, of_create) = read_create(&pairs(&[("message-body", "x"), ("meta", &deep)]));
    let (_, of_edit) = read_edit(&pairs(&[("meta", &deep)]));
    for faults in [of_create, of_edit] {
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!((&*faults[0].parameter, faults[0].code), ("meta", ErrorCode::InvalidValue));
        assert!(faults[0].detail.contains("99 levels"), "{}", faults[0].detail);
    }
}

#[test]
fn the_title_from_a_long_body_is_short_enough_to_import() {
    let body = "ä".repeat(200_000);
    let issue = shown(&created(&[("message-body", &body)]));
    assert_eq!(issue["title"].as_str().unwrap().chars().count(), 100_000);
    assert_eq!(issue["messages"][0]["body"].as_str().unwrap().chars().count(), 200_000);
}

#[test]
fn parts_that_an_edit_does_not_name_keep_their_bytes() {
    let fields = [
        ("message-body", "x"),
        ("meta", r#"{"n":1.50}"#),
        ("custom_fields", r#"{"n":{"type":"number","value":12345678901234567890.10}}"#),
        ("cc", r#"["a","\u0000"]"#),
        ("title", "\"quoted\" \u{1F600}"),
    ];
    let issue = created(&fields);
    let (after, told) = edited(&issue, &[("tags", r#"["t"]"#)], &EditTargets::default());
    assert_eq!(told, json!({"updated-data": {"tags": ["t"]}}));
    let moved = text(&issue).replace("\"updated_at\":1000", "\"updated_at\":2000");
    assert_eq!(text(&after), moved.replace("\"tags\":[]", "\"tags\":[\"t\"]"));
    assert_eq!(after.columns.facts.changed_at, UnixMillis(1000), "the state stayed");
    let (after, _) = edited(&issue, &[("title", "")], &EditTargets::default());
    assert_eq!(shown(&after)["title"], "", "an empty title is a title");
}

#[test]
fn a_new_queue_and_assignee_are_rendered_and_reported() {
    let issue = created(&[("message-body", "x")]);
    let targets = EditTargets {
        assignee: Some(Some(eva())),
        queue: Some(IssueQueue { id: "q".to_owned(), name: "Q".to_owned() }),
    };
    let fields = [("assignee-id", "eva"), ("queue_id", "q")];
    let (after, told) = edited(&issue, &fields, &targets);
    assert_eq!(
        told["updated-data"],
        json!({"status": "new-for-agent", "assignee": "eva", "queue_id": "q"})
    );
    let issue = shown(&after);
    assert_eq!(issue["queue"], json!({"id": "q", "name": "Q"}));
    assert_eq!(issue["assignee_name"], "Eva");
    let (unchanged, again) = edited(&after, &fields, &targets);
    assert_eq!(again, json!({"updated-data": {}}), "nothing changed");
    assert_eq!(unchanged, after);
}

#[test]
fn a_move_to_another_queue_unassigns_unless_the_edit_names_an_assignee() {
    let queue = |id: &str| Some(IssueQueue { id: id.to_owned(), name: id.to_owned() });
    let issue = created(&[("message-body", "x")]);
    let both = EditTargets { assignee: Some(Some(eva())), queue: queue("a") };
    let (assigned, _) = edited(&issue, &[("assignee-id", "eva"), ("queue_id", "a")], &both);

    let moved = EditTargets { assignee: None, queue: queue("b") };
    let (after, told) = edited(&assigned, &[("queue_id", "b")], &moved);
    let expected = json!({"status": "new", "assignee": "unassigned", "queue_id": "b"});
    assert_eq!(told["updated-data"], expected);
    assert_eq!(shown(&after)["assignee_name"], json!(null));

    let (after, told) = edited(&assigned, &[("queue_id", "b"), ("status", "resolved")], &moved);
    assert_eq!(told["updated-data"]["status"], "resolved", "a status has the last word");
    let (closed, told) =
        edited(&after, &[("queue_id", "a")], &EditTargets { assignee: None, queue: queue("a") });
    assert_eq!(told["updated-data"], json!({"queue_id": "a"}), "the issue had no assignee");
    assert_eq!(shown(&closed)["state_data"]["state"], "resolved", "a closed issue stays closed");

    let same = EditTargets { assignee: None, queue: queue("a") };
    let (after, told) = edited(&assigned, &[("queue_id", "a")], &same);
    assert_eq!((after, told), (assigned.clone(), json!({"updated-data": {}})), "the same queue");
    let kept = EditTargets { assignee: Some(Some(eva())), queue: queue("b") };
    let fields = [("assignee-id", "eva"), ("queue_id", "b")];
    let (_, told) = edited(&assigned, &fields, &kept);
    assert_eq!(told["updated-data"], json!({"queue_id": "b"}), "the edit names the assignee");
}

#[test]
fn an_edit_with_the_values_that_an_issue_has_changes_no_byte() {
    let fields = [
        ("title", "t"),
        ("tags", r#"["b","a"]"#),
        ("meta", r#"{"n":1.50,"m":{"k":"v"}}"#),
        ("custom_fields", r#"{"n":{"type":"number","value":1.50}}"#),
    ];
    let issue = created(&[&[("message-body", "x")][..], &fields].concat());
    let nobody = EditTargets { assignee: Some(None), queue: None };
    let (after, told) = edited(&issue, &[&fields[..], &[("status", "New")][..]].concat(), &nobody);
    assert_eq!((after, told), (issue.clone(), json!({"updated-data": {}})));
    for gone in [("meta", r#"{"x":null}"#), ("custom_fields", r#"{"x":null}"#)] {
        let (after, told) = edited(&issue, &[gone], &EditTargets::default());
        assert_eq!((after, told), (issue.clone(), json!({"updated-data": {}})), "{gone:?}");
    }
    for changed in [
        ("title", ""),
        ("tags", r#"["a","b"]"#),
        ("meta", r#"{"n":"1.5"}"#),
        ("custom_fields", r#"{"n":{"type":"number","value":1.5}}"#),
    ] {
        let (after, _) = edited(&issue, &[changed], &EditTargets::default());
        assert_eq!(after.columns.facts.updated_at, UnixMillis(2000), "{changed:?}");
    }
    let draft = |targets: &EditTargets, message: Option<&NewMessage<'_>>| {
        let request = EditRequest::default();
        EditDraft::new(&issue, &request, targets, message).changes_issue()
    };
    let author = MessageAuthor::EndUser;
    let message = NewMessage { body: "m", author, attachments: &[] };
    assert!(draft(&nobody, Some(&message)), "a message is a change");
    assert!(!draft(&nobody, None));
}

#[test]
fn an_edit_applies_the_assignee_then_the_message_then_the_status() {
    let message = NewMessage { body: "m", author: MessageAuthor::Desk(eva()), attachments: &[] };
    let assigned = EditTargets { assignee: Some(Some(eva())), queue: None };
    let unassigned = EditTargets { assignee: Some(None), queue: None };
    for (targets, with_message, status, state) in [
        (&assigned, false, None, IssueState::NewForAgent),
        (&assigned, true, None, IssueState::AgentReplied),
        (&assigned, true, Some("Resolved"), IssueState::Resolved),
        (&unassigned, true, None, IssueState::AgentReplied),
        (&unassigned, false, Some("pending-reassignment"), IssueState::PendingReassignment),
    ] {
        let mut form = vec![("issue-ids", "[5]"), ("tags", "[]")];
        form.extend(status.map(|status| ("status", status)));
        let (request, faults) = read_bulk_edit(&pairs(&form));
        assert_eq!(faults, []);
        let message = with_message.then_some(&message);
        let issue = created(&[("message-body", "x")]);
        let draft = EditDraft::new(&issue, &request.edit, targets, message);
        let plan = draft.finish(&acme(), at(9)).unwrap();
        assert_eq!(plan.issue.columns.facts.state, state, "{form:?}");
        let answer: Value = serde_json::from_slice(&bulk_edit_answer(&request, targets)).unwrap();
        assert_eq!(answer["issue-count"], 1);
        let told = answer["edit-info"]["status"].as_str();
        assert_eq!(told, status.map(str::to_lowercase).as_deref());
    }
}

#[test]
fn a_desk_author_always_has_the_same_id() {
    let named = |name| Desk::default().author_named(&acme(), name);
    let (a, b) = (named("Robot"), named("robot"));
    assert_eq!(a.id, b.id);
    assert_ne!(a.id, named("Other").id);
    assert_eq!(a.name, "Robot");
}

#[test]
fn the_desk_has_a_default_name_and_always_an_address() {
    let desk = Desk::default();
    let author = desk.author(&acme());
    assert_eq!((&*author.name, &*author.email), ("Desk", "desk@acme.invalid"));
    let named = Desk { name: "Help".to_owned(), email: Some("help@acme.example".to_owned()) };
    let author = named.author(&acme());
    assert_eq!((&*author.name, &*author.email), ("Help", "help@acme.example"));
    assert_eq!(named.signed(&acme(), eva()), eva(), "the address of an agent stays");
    let unknown = AgentSummary { email: String::new(), ..eva() };
    assert_eq!(named.signed(&acme(), unknown).email, "help@acme.example");
}

#[test]
fn every_write_that_would_make_an_issue_too_long_is_rejected() {
    let issue = created(&[("message-body", "x")]);
    // Control characters take six bytes each in JSON.
    let long = "\u{1}".repeat(1 << 20);
    let author = MessageAuthor::EndUser;
    let message = NewMessage { body: &long, author, attachments: &[] };
    let longer = plan_message(&acme(), &issue, &message, at(2000)).unwrap();
    let refused = plan_message(&acme(), &longer, &message, at(3000));
    assert_eq!(refused, Err(IssueWriteError::TooLarge));
    let note = "\u{1}".repeat(100_000);
    let mut issue = issue;
    let mut added = 0;
    while let Ok(next) = plan_note(&issue, &note, &eva(), at(4000)) {
        issue = next;
        added += 1;
    }
    assert_eq!(added, 13, "8 MiB are full");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Head, columns and fragments agree after any sequence of writes, and times only increase.
    #[test]
    fn head_and_columns_agree_after_any_sequence_of_writes(
        steps in prop::collection::vec((0..5_u8, "\\PC{0,8}", 0..7_usize), 1..12)
    ) {
        let mut issue = created(&[("message-body", "x")]);
        for (n, (kind, word, state)) in steps.into_iter().enumerate() {
            let before = issue.clone();
            let moment = Moment { at: UnixMillis(2000 + n as i64), random: n as u64 };
            let desk = (state % 2 == 1).then(eva);
            let author = desk.map_or(MessageAuthor::EndUser, MessageAuthor::Desk);
            let file = Attachment {
                id: "a".to_owned(),
                file_name: word.clone(),
                content_type: "text/plain".to_owned(),
                size: 1,
            };
            let edit = |fields: Fields<'_>, assignee| {
                let request = read_edit(&pairs(fields)).0;
                let targets = EditTargets { assignee, queue: None };
                let draft = EditDraft::new(&before, &request, &targets, None);
                draft.finish(&acme(), moment).map(|plan| plan.issue)
            };
            let tags = json!([word]).to_string();
            issue = match kind {
                0 => {
                    let message = NewMessage { body: &word, author, attachments: &[file] };
                    plan_message(&acme(), &before, &message, moment)
                }
                1 => plan_note(&before, &word, &eva(), moment),
                2 => edit(&[("status", IssueState::ALL[state].as_str())], None),
                3 => edit(&[("tags", &tags)], None),
                _ => edit(&[], Some((state % 2 == 0).then(eva))),
            }.unwrap();
            let (facts, shown) = (&issue.columns.facts, shown(&issue));
            prop_assert_eq!(&shown["state_data"]["state"], facts.state.as_str());
            prop_assert_eq!(&shown["state_data"]["changed_at"], facts.changed_at.0);
            let updated = if issue == before { before.columns.facts.updated_at } else { moment.at };
            prop_assert_eq!(&shown["updated_at"], updated.0);
            prop_assert_eq!(&shown["tags"], &json!(facts.tags));
            let assignee = facts.assignee_id.as_deref().unwrap_or("unassigned");
            prop_assert_eq!(&shown["assignee_id"], assignee);
            let moved = facts.state != before.columns.facts.state;
            let changed = if moved { moment.at } else { before.columns.facts.changed_at };
            prop_assert_eq!(facts.changed_at, changed);
            prop_assert!(shown["messages"].as_array().is_some());
        }
    }
}
