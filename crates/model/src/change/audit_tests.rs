//! Tests of the audit log: the entries of changes of each kind, and the parameters with their
//! faults. Pages of a stored log are not tested here.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use super::super::{Effect, Resource};
use super::*;

fn parse(query: &[(&str, &str)]) -> Result<AuditRequest, Vec<ParameterFault>> {
    let pairs: Vec<_> =
        query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    parse_audit(&pairs)
}

fn change(action: ChangeAction, fields: &'static [&'static str], values: &str) -> Change {
    let effect = Effect::new(Resource::Issue, 7, action);
    let effect = effect.of_fields(fields.iter().map(|name| (*name).into()));
    Change {
        position: 3,
        at: UnixMillis(50),
        effect: Effect { values: values.as_bytes().to_vec(), ..effect },
        by: Author::Unknown.into(),
        request_id: None,
    }
}

/// The actions and the data of the entries of a change.
fn shown(change: &Change) -> Vec<String> {
    let entries = parse(&[]).unwrap().entries(change).into_iter();
    let texts = entries.map(|entry| String::from_utf8(entry).unwrap());
    let begin = r#"{"action_taken_at":50,"action":"#;
    let owner = r#","action_owner":null,"data":"#;
    texts.map(|text| text.strip_prefix(begin).unwrap().replace(owner, " ")).collect()
}

#[test]
fn a_change_has_an_entry_for_each_thing_that_it_changed() {
    let values = concat!(
        r#""state":{"from":"new","to":"resolved"},"tags":{"from":["a","b"],"to":["b","c"]},"#,
        r#""messages.added":["m1"],"private_notes.added":2"#
    );
    let fields = &["state", "tags", "meta", "messages", "private_notes", "custom_fields"];
    assert_eq!(
        shown(&change(ChangeAction::Updated, fields, values)),
        [
            r#""update-state" {"from":"new","to":"resolved"}}"#,
            r#""add-tags" {"tags":["c"]}}"#,
            r#""remove-tags" {"tags":["a"]}}"#,
            r#""add-messages" {"message_ids":["m1"]}}"#,
            r#""add-private-notes" {"count":2}}"#,
            r#""update-issue" {"fields":["meta","custom_fields"]}}"#,
        ]
    );
    // An import names fields without their values.
    assert_eq!(
        shown(&change(ChangeAction::Updated, &["state", "tags", "messages"], "")),
        [r#""update-issue" {"fields":["state","tags","messages"]}}"#]
    );
    assert_eq!(
        shown(&change(ChangeAction::Updated, &[], "")),
        [r#""update-issue" {"fields":[]}}"#]
    );
    for (action, name) in [
        (ChangeAction::Created, "create-issue"),
        (ChangeAction::Deleted, "delete-issue"),
        (ChangeAction::Redacted, "redact-issue"),
        (ChangeAction::Erased, "erase-issue"),
    ] {
        assert_eq!(shown(&change(action, &[], "")), [format!("\"{name}\" {{}}}}")]);
        assert!(AUDIT_ACTIONS.contains(&name));
    }
    let named = VALUES.iter().map(|(_, action)| action).chain(ADDED.iter().map(|(.., a)| a));
    assert!(named.into_iter().all(|action| AUDIT_ACTIONS.contains(action)));
}

#[test]
fn an_entry_names_who_did_it() {
    let by = Author::Task { id: "t1".to_owned() };
    let mut change = Change { by: by.into(), ..change(ChangeAction::Created, &[], "") };
    change.effect.index = Some(4);
    let entry = parse(&[]).unwrap().entries(&change).pop().unwrap();
    assert_eq!(
        String::from_utf8(entry).unwrap(),
        concat!(
            r#"{"action_taken_at":50,"action":"create-issue","#,
            r#""action_owner":{"task_id":"t1","index":4},"data":{}}"#
        )
    );
}

#[test]
fn entries_are_chosen_by_action_and_time() {
    let values = r#""state":{"from":"new","to":"agent-replied"},"tags":{"from":[],"to":["c"]}"#;
    let change = change(ChangeAction::Updated, &["state", "tags"], values);
    for (query, count) in [
        (&[("actions", r#"["add-tags","create-issue"]"#)][..], 1),
        (&[("actions", "add-tags,update-state")], 2),
        (&[("actions", "[]")], 0),
        (&[("since", "50"), ("until", "50")], 2),
        (&[("since", "51")], 0),
        (&[("until", "49")], 0),
    ] {
        assert_eq!(parse(query).unwrap().entries(&change).len(), count, "{query:?}");
    }
}

#[test]
fn a_page_size_out_of_range_is_the_default() {
    for (size, read) in [("1", 1), ("500", 500), ("0", 200), ("501", 200), ("99999999999", 200)] {
        assert_eq!(parse(&[("page_size", size)]).unwrap().page_size, read, "{size}");
    }
    let request = parse(&[]).unwrap();
    assert_eq!((request.page, request.page_size), (1, 200));
    assert_eq!(request.order, SortOrder::Descending);
}

#[test]
fn all_faults_are_found_at_once() {
    let faults = parse(&[
        ("page", "0"),
        ("page-size", "x"),
        ("actions", "add-tag"),
        ("since", "yesterday"),
        ("sort-order", "up"),
        ("cursor", ""),
    ]);
    let mut found: Vec<String> = faults.unwrap_err().into_iter().map(|f| f.parameter).collect();
    found.sort_unstable();
    assert_eq!(found, ["actions", "cursor", "page", "page-size", "since", "sort-order"]);
}
