//! Query parameters of the issue list: their meaning, the error texts of wrong ones, and which
//! issues a query matches.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::cmp::Ordering;

use caseload_model::error_code::ErrorCode;
use caseload_model::issue::{IssueColumns, IssueFacts, IssueQueue, IssueState};
use caseload_model::issue_query::{
    IssueQuery, IssueView, ListRequest, Paging, ParameterFault, Sort, SortKey, SortOrder,
    TimeRange, parse_list, parse_single,
};
use caseload_model::time::UnixMillis;
use proptest::prelude::*;

fn pairs(text: &[(&str, &str)]) -> Vec<(String, String)> {
    text.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn list(text: &[(&str, &str)]) -> ListRequest {
    parse_list(&pairs(text)).unwrap_or_else(|faults| panic!("{text:?}: {faults:?}"))
}

fn faults(text: &[(&str, &str)]) -> Vec<ParameterFault> {
    parse_list(&pairs(text)).expect_err(&format!("{text:?}"))
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn q() -> IssueQuery {
    IssueQuery::default()
}

fn issue() -> IssueColumns {
    IssueColumns {
        id: 28,
        created_at: UnixMillis(1000),
        original_created_at: None,
        app_id: "app".to_owned(),
        app_publish_id: "1".to_owned(),
        facts: IssueFacts {
            updated_at: UnixMillis(3000),
            changed_at: UnixMillis(2000),
            state: IssueState::NewForAgent,
            assignee_id: None,
            assignee_name: None,
            queue: Some(IssueQueue { id: "q".to_owned(), name: "Queue".to_owned() }),
            hs_user_id: "eva".to_owned(),
            author_email: String::new(),
            rating: Some(3),
            language: None,
            platform_type: Some("ios".to_owned()),
            issue_mode: None,
            redacted: false,
            tags: Vec::new(),
        },
    }
}

#[test]
fn without_parameters_a_list_has_every_issue_newest_first() {
    let request = list(&[]);
    assert_eq!(request, ListRequest::default());
    assert_eq!(request.paging, Paging { page: 1, page_size: 100 });
    assert!(!request.explicit_paging);
    assert_eq!(request.query.sort.key, SortKey::CreationTime);
    assert_eq!(request.query.sort.order, SortOrder::Descending);
    assert!(request.query.matches_columns(&issue()));
}

#[test]
fn each_parameter_sets_its_filter_in_both_spellings() {
    let since = |ms| TimeRange { since: Some(UnixMillis(ms)), until: None };
    let until = |ms| TimeRange { since: None, until: Some(UnixMillis(ms)) };
    let by_update = || Sort { key: SortKey::UpdateTime, order: SortOrder::Descending };
    for (name, value, expected) in vec![
        ("created-since", "5", IssueQuery { created: since(5), ..q() }),
        ("created-until", "5", IssueQuery { created: until(5), ..q() }),
        ("updated-since", "5", IssueQuery { updated: since(5), sort: by_update(), ..q() }),
        ("updated-until", "0", IssueQuery { updated: until(0), sort: by_update(), ..q() }),
        ("state-since", "5", IssueQuery { changed: since(5), ..q() }),
        (
            "state-until",
            "2023-11-14T22:13:20Z",
            IssueQuery { changed: until(1_700_000_000_000), ..q() },
        ),
        ("state", "new", IssueQuery { states: Some(vec![IssueState::New]), ..q() }),
        (
            "state",
            "resolved,new,new",
            IssueQuery { states: Some(vec![IssueState::New, IssueState::Resolved]), ..q() },
        ),
        (
            "state",
            r#"["rejected", "new-for-agent"]"#,
            IssueQuery { states: Some(vec![IssueState::NewForAgent, IssueState::Rejected]), ..q() },
        ),
        ("ids", r#"["28",7, 28]"#, IssueQuery { ids: Some(vec![7, 28]), ..q() }),
        ("ids", "[]", IssueQuery { ids: Some(vec![]), ..q() }),
        (
            "ids",
            r#"[0,9007199254740992,"99999999999999999999999",7]"#,
            IssueQuery { ids: Some(vec![7]), ..q() },
        ),
        ("app-ids", r#"["b","a"]"#, IssueQuery { app_ids: Some(texts(&["a", "b"])), ..q() }),
        (
            "platform-types",
            r#"["ios"]"#,
            IssueQuery { platform_types: Some(texts(&["ios"])), ..q() },
        ),
        ("queue-ids", r#"["q","q"]"#, IssueQuery { queue_ids: Some(texts(&["q"])), ..q() }),
        ("end-user-ids", r#"["ü"]"#, IssueQuery { end_user_ids: Some(texts(&["ü"])), ..q() }),
        ("redacted", "true", IssueQuery { redacted: Some(true), ..q() }),
        ("feedback-rating", "{}", q()),
        (
            "sort-by",
            "state-change-time",
            IssueQuery { sort: Sort { key: SortKey::StateChangeTime, ..Sort::default() }, ..q() },
        ),
        (
            "sort-order",
            "asc",
            IssueQuery { sort: Sort { order: SortOrder::Ascending, ..Sort::default() }, ..q() },
        ),
    ] {
        assert_eq!(list(&[(name, value)]).query, expected, "{name}={value}");
        let underscored = name.replace('-', "_");
        assert_eq!(list(&[(&underscored, value)]).query, expected, "{underscored}={value}");
        assert_eq!(list(&[(name, value), (&underscored, value)]).query, expected);
    }
    let given = list(&[("updated_since", "5"), ("sort-by", "creation-time")]);
    assert_eq!(given.query.sort, Sort::default());
}

#[test]
fn includes_and_excludes_select_parts() {
    let none = IssueView::default();
    for (value, expected) in [
        ("[]", none),
        (r#"["meta"]"#, none),
        (r#"["feedback"]"#, IssueView { feedback: true, ..none }),
        (
            r#"["custom_fields","meta","feedback"]"#,
            IssueView { custom_fields: true, feedback: true, ..none },
        ),
        (
            r#"["predict_labels","queue","feedback","custom_fields","meta","sentiment_analysis",
                "private_notes","smart_intents"]"#,
            IssueView::FULL,
        ),
    ] {
        assert_eq!(list(&[("includes", value)]).view, expected, "{value}");
    }
    let excluded = IssueView { exclude_messages: true, ..none };
    assert_eq!(list(&[("excludes", r#"["messages"]"#)]).view, excluded);
    assert_eq!(list(&[("excludes", "[]"), ("timestamp-format", "unix")]).view, none);
    let single = parse_single(&pairs(&[("includes", r#"["queue"]"#)])).unwrap();
    assert_eq!(single, IssueView { custom_fields: true, queue: true, ..none });
}

#[test]
fn a_single_issue_takes_no_filters() {
    let faults = parse_single(&pairs(&[("state", "new"), ("include", "[]")])).unwrap_err();
    let codes: Vec<_> = faults.iter().map(|f| (f.parameter.as_str(), f.code)).collect();
    let unknown = ErrorCode::UnknownParameter;
    assert_eq!(codes, [("state", unknown), ("include", unknown)]);
    assert!(faults[1].detail.contains("includes"), "{}", faults[1].detail);
}

#[test]
fn each_bad_value_is_rejected_with_the_accepted_form() {
    use ErrorCode::{InvalidValue, OutOfRange, PageTooDeep, UnknownParameter};
    for (name, value, code, hint) in [
        ("creatd-since", "5", UnknownParameter, "created-since"),
        ("State", "new", UnknownParameter, "did you mean state?"),
        ("", "5", UnknownParameter, "leave it out"),
        ("page[]", "1", UnknownParameter, "page has one value"),
        ("tags[or][]", "a", UnknownParameter, "a map is sent as JSON: tags={"),
        ("custom_fields[number][and]", "a", UnknownParameter, "custom-fields={"),
        ("created-since", "", InvalidValue, "Unix milliseconds"),
        ("created-since", "5x", InvalidValue, "Unix milliseconds"),
        ("created_until", "-5", InvalidValue, "is before 1970"),
        ("created-until", "+5", InvalidValue, "Unix milliseconds"),
        ("updated_since", "5.5", InvalidValue, "Unix milliseconds"),
        ("updated_since", "253402300800000", OutOfRange, "after the year 9999"),
        ("created-since", "1700000000000000", OutOfRange, "looks like microseconds"),
        ("state-since", " 5", InvalidValue, "Unix milliseconds"),
        ("state", "", InvalidValue, "new, new-for-agent"),
        ("state", "open", InvalidValue, "new, new-for-agent"),
        ("state", "new,", InvalidValue, "new, new-for-agent"),
        ("state", "New", InvalidValue, "new, new-for-agent"),
        ("state", r#"["new"#, InvalidValue, "JSON array of strings"),
        ("state", "[5]", InvalidValue, "JSON array of strings"),
        ("ids", "", InvalidValue, "send [] to match nothing"),
        ("ids", "28,,29", InvalidValue, "send [] to match nothing"),
        ("ids", "28;29", InvalidValue, r#"["28",29]"#),
        ("ids", "x", InvalidValue, "whole numbers"),
        ("ids[]", "[28]", InvalidValue, "whole numbers"),
        ("ids", r#"["x"]"#, InvalidValue, "whole numbers"),
        ("ids", r#"[""]"#, InvalidValue, "whole numbers"),
        ("ids", "[1.0]", InvalidValue, "whole numbers"),
        ("ids", "[-1]", InvalidValue, "whole numbers"),
        ("ids", "[null]", InvalidValue, "whole numbers"),
        ("ids", r#"{"or":[1]}"#, InvalidValue, "a list of issue ids"),
        ("app-ids", "", InvalidValue, "send [] to match nothing"),
        ("app-ids", r#"["a"#, InvalidValue, "JSON array of strings"),
        ("tags", "", InvalidValue, "send [] to match nothing"),
        ("tags", "or", InvalidValue, "a key of a map"),
        ("queue_ids", "[1]", InvalidValue, "JSON array of strings"),
        ("redacted", "", InvalidValue, "true nor false"),
        ("redacted", "yes", InvalidValue, "true nor false"),
        ("trailer", "no", InvalidValue, "true nor false"),
        ("includes", "feedbak", InvalidValue, "feedback"),
        ("includes", "", InvalidValue, "feedback"),
        ("includes", r#"["feedbak"]"#, InvalidValue, "feedback"),
        ("excludes", r#"["meta"]"#, InvalidValue, "messages"),
        ("timestamp-format", "rfc3339", InvalidValue, "unix, iso-8601"),
        ("issue_modes", "", InvalidValue, "send [] to match nothing"),
        ("sort-by", "created", InvalidValue, "creation-time, state-change-time, update-time"),
        ("sort-order", "ASC", InvalidValue, "asc, desc"),
        ("page", "0", OutOfRange, "from 1"),
        ("page", "x", InvalidValue, "digits only"),
        ("page", "", InvalidValue, "digits only"),
        ("page", "-1", InvalidValue, "digits only"),
        ("page", "1e3", InvalidValue, "digits only"),
        ("page", "501", PageTooDeep, "created_since"),
        ("page", "99999999999999999999999", PageTooDeep, "created_since"),
        ("page-size", "0", OutOfRange, "1 to 1000"),
        ("page-size", "1001", OutOfRange, "1 to 1000"),
        ("page_size", "ten", InvalidValue, "digits only"),
    ] {
        let faults = faults(&[(name, value)]);
        let [fault] = faults.as_slice() else { panic!("{name}={value}: {faults:?}") };
        assert_eq!((fault.parameter.as_str(), fault.code), (name, code), "{name}={value}");
        assert!(fault.detail.contains(hint), "{name}={value}: {}", fault.detail);
    }
}

#[test]
fn all_faults_of_a_request_are_reported_at_once() {
    let faults = faults(&[
        ("stat", "new"),
        ("state", "open,shut"),
        ("page", "0"),
        ("page-size", "0"),
        ("feedback-rating", r#"{"nor":[],"and":[{"gt":"x"}]}"#),
    ]);
    let mut names: Vec<_> = faults.iter().map(|fault| fault.parameter.as_str()).collect();
    names.sort_unstable();
    let rating = "feedback-rating";
    assert_eq!(names, [rating, rating, rating, "page", "page-size", "stat", "state", "state"]);
}

#[test]
fn two_different_values_of_a_parameter_are_a_fault() {
    for (given, spelled) in [
        ([("created-since", "1"), ("created_since", "2")], "created_since"),
        ([("created_since", "1"), ("created_since", "2")], "created_since"),
        ([("page_size", "1"), ("page-size", "01")], "page-size"),
        ([("app-ids", "a"), ("app_ids", "b")], "app_ids"),
        ([("tags", r#"{"or":["a"]}"#), ("tags", r#"{"or":["b"]}"#)], "tags"),
        ([("tags", "a"), ("tags", "{}")], "tags"),
        ([("redacted", "true"), ("redacted", "false")], "redacted"),
    ] {
        let faults = faults(&given);
        let codes: Vec<_> = faults.iter().map(|f| (f.parameter.as_str(), f.code)).collect();
        assert_eq!(codes, [(spelled, ErrorCode::ConflictingParameter)], "{given:?}");
    }
    assert_eq!(list(&[("page", "2"), ("page", "2")]).paging.page, 2);
    let repeated =
        list(&[("state", "new"), ("state", "rejected,new"), ("state", r#"["resolved"]"#)]);
    let states = [IssueState::New, IssueState::Resolved, IssueState::Rejected];
    assert_eq!(repeated.query.states, Some(states.to_vec()));
}

/// The query of each spelling of one filter.
fn same(spellings: &[&[(&str, &str)]], expected: &IssueQuery) {
    for pairs in spellings {
        assert_eq!(list(pairs).query, *expected, "{pairs:?}");
    }
}

#[test]
fn a_list_comes_as_json_with_commas_by_repetition_or_in_brackets() {
    let states = Some(vec![IssueState::New, IssueState::Resolved]);
    same(
        &[
            &[("state", r#"["resolved","new"]"#)],
            &[("state", "new,resolved")],
            &[("state", " resolved , new ")],
            &[("state", "new"), ("state", "resolved")],
            &[("state[]", "new"), ("state[]", "resolved")],
            &[("state[0]", "new"), ("state[1]", "resolved")],
            &[("state", "new"), ("state[]", "resolved"), ("state", r#"["new"]"#)],
            &[("state[]", "new,resolved")],
        ],
        &IssueQuery { states, ..q() },
    );
    let ids = Some(vec![28, 29]);
    same(
        &[
            &[("ids", r#"["28",29]"#)],
            &[("ids", "29, 28")],
            &[("ids", "28"), ("ids", "29"), ("ids", "28")],
            &[("ids[]", "28"), ("ids[]", "29")],
            &[("ids", "[28]"), ("ids", "[29]")],
        ],
        &IssueQuery { ids, ..q() },
    );
    for name in ["app-ids", "platform_types", "queue-ids", "issue_modes"] {
        let expected = list(&[(name, r#"["a","b"]"#)]).query;
        let brackets = format!("{name}[]");
        same(
            &[
                &[(name, "a,b")],
                &[(name, "b , a")],
                &[(name, "a"), (name, "b")],
                &[(&brackets, "a"), (&brackets, "b")],
            ],
            &expected,
        );
    }
    let users = Some(texts(&["a,b", "c"]));
    same(
        &[
            &[("end-user-ids", r#"["a,b","c"]"#)],
            &[("end-user-ids", "a,b"), ("end-user-ids", "c")],
            &[("end_user_ids[]", "c"), ("end_user_ids[]", "a,b")],
        ],
        &IssueQuery { end_user_ids: users, ..q() },
    );
    let view =
        list(&[("includes", r#"["feedback","queue"]"#), ("excludes", r#"["messages"]"#)]).view;
    for pairs in [
        &[("includes", "feedback, queue"), ("excludes", "messages")][..],
        &[("includes", "feedback"), ("includes", "queue"), ("excludes", "messages")],
        &[("includes[]", "feedback"), ("includes[]", "queue"), ("excludes[]", "messages")],
    ] {
        assert_eq!(list(pairs).view, view, "{pairs:?}");
    }
    let single = parse_single(&pairs(&[("includes", "feedback,queue")])).unwrap();
    assert!(single.feedback && single.queue);
}

#[test]
fn a_bare_list_on_a_condition_means_or_and_an_empty_one_matches_nothing() {
    for name in [
        "tags",
        "languages",
        "assignee-ids",
        "assignee_emails",
        "author_emails",
        "title",
        "messages",
        "notes",
        "feedback-comment",
    ] {
        let brackets = format!("{name}[]");
        let any = list(&[(name, r#"["a","b"]"#)]).query;
        if name != "feedback-comment" {
            assert_eq!(any, list(&[(name, r#"{"or":["a","b"]}"#)]).query, "{name}");
        }
        same(
            &[
                &[(name, "a"), (name, "b")],
                &[(&brackets, "b"), (&brackets, "a")],
                &[(name, r#"["b"]"#), (name, "a")],
            ],
            &any,
        );
        let none = list(&[(name, "[]")]).query;
        same(&[&[(name, "[]"), (name, "[]")], &[(&brackets, "")]], &none);
        assert_ne!(none, q(), "{name}");
        let one = list(&[(name, r#"["a"]"#)]).query;
        same(&[&[(name, "a")], &[(name, "a"), (name, "a")], &[(&brackets, "a")]], &one);
        let comma = list(&[(name, "a, b")]).query;
        let splits = ["languages", "assignee-ids"].contains(&name);
        let whole = list(&[(name, r#"["a, b"]"#)]).query;
        assert_eq!(comma, if splits { any } else { whole }, "{name}");
    }
    assert_eq!(
        list(&[("feedback-rating", r#"[{"is":1},{"is":"5"}]"#)]).query,
        list(&[("feedback-rating", r#"{"or":[{"is":1},{"is":"5"}]}"#)]).query,
    );
    // A map may be repeated with equal values, like a scalar.
    let map = r#"{"and":["a"]}"#;
    same(&[&[("tags", map), ("tags", map)]], &list(&[("tags", map)]).query);
}

#[test]
fn booleans_are_read_in_any_case_and_as_digits() {
    for (word, redacted) in [
        ("true", true),
        ("True", true),
        ("TRUE", true),
        ("1", true),
        ("FALSE", false),
        ("0", false),
    ] {
        let expected = IssueQuery { redacted: Some(redacted), ..q() };
        assert_eq!(list(&[("redacted", word)]).query, expected, "{word}");
        assert_eq!(list(&[("trailer", word)]).without_trailer, !redacted, "{word}");
        assert_eq!(list(&[("cursor", "*"), ("count", word)]).cursor.unwrap().count, redacted);
        for form in [format!("\"{word}\""), word.to_owned()] {
            if form == "True" || form == "TRUE" || form == "FALSE" {
                continue;
            }
            let tags = list(&[("tags", &format!("{{\"exists\":{form}}}"))]).query.tags;
            assert_eq!(tags.exists, Some(redacted), "{form}");
        }
    }
}

#[test]
fn bounds_are_milliseconds_floats_or_iso_times() {
    let since = |text: &str| list(&[("created-since", text)]).query.created.since.unwrap().0;
    for text in
        ["1700000000000", "1700000000000.0", "2023-11-14T22:13:20.000Z", "2023-11-14 22:13:20"]
    {
        assert_eq!(since(text), 1_700_000_000_000, "{text}");
    }
    // A seconds value is a time in 1970.
    assert_eq!(since("1700000000"), 1_700_000_000);
    let between = "2023-11-14T22:13:20.1234Z";
    let query = list(&[("updated-since", between), ("updated-until", between)]).query;
    let (since, until) = (query.updated.since.unwrap().0, query.updated.until.unwrap().0);
    assert_eq!((since, until), (1_700_000_000_124, 1_700_000_000_123));
    let query = list(&[("state-until", "253402300799999")]).query;
    assert_eq!(query.changed.until.unwrap().0, 253_402_300_799_999);
}

#[test]
fn numbered_pages_reach_exactly_fifty_thousand_issues() {
    for (page, size, deep) in [
        ("50", "1000", false),
        ("51", "1000", true),
        ("500", "100", false),
        ("50000", "1", false),
        ("50001", "1", true),
        ("16667", "3", true),
        ("16666", "3", false),
    ] {
        let given = [("page", page), ("page-size", size)];
        if deep {
            let faults = faults(&given);
            assert_eq!(faults[0].code, ErrorCode::PageTooDeep, "{given:?}");
            assert_eq!(faults.len(), 1);
        } else {
            let request = list(&given);
            assert!(request.explicit_paging);
            assert_eq!(request.paging.page.to_string(), page);
            let size: u64 = size.parse().unwrap();
            assert_eq!(request.paging.offset(), (request.paging.page - 1) * size);
        }
    }
    assert!(!list(&[("page-size", "5")]).explicit_paging);
}

#[test]
fn each_filter_matches_by_its_own_column() {
    for (name, yes, no) in [
        ("created-since", "1000", "1001"),
        ("created-until", "1000", "999"),
        ("updated-since", "3000", "3001"),
        ("updated-until", "3000", "2999"),
        ("state-since", "2000", "2001"),
        ("state-until", "2000", "1999"),
        ("state", "new,new-for-agent", "new,resolved"),
        ("ids", "[28,1]", "[1]"),
        ("ids", "[28]", "[]"),
        ("app-ids", r#"["app"]"#, r#"["App","1"]"#),
        ("platform-types", r#"["ios","web"]"#, r#"["web"]"#),
        ("queue-ids", r#"["q"]"#, r#"["Queue"]"#),
        ("end-user-ids", r#"["eva"]"#, r#"["Eva"]"#),
        ("redacted", "false", "true"),
        ("feedback-rating", r#"{"and":[{"is":3}]}"#, r#"{"and":[{"is":4}]}"#),
    ] {
        assert!(list(&[(name, yes)]).query.matches_columns(&issue()), "{name}={yes}");
        assert!(!list(&[(name, no)]).query.matches_columns(&issue()), "{name}={no}");
    }
    let two = |created: &str, state: &str| {
        list(&[("created-since", created), ("state", state)]).query.matches_columns(&issue())
    };
    assert_eq!(
        [two("1", "new"), two("1001", "new-for-agent"), two("1", "new-for-agent")],
        [false, false, true]
    );
    let mut absent = issue();
    absent.facts.queue = None;
    absent.facts.platform_type = None;
    for (name, value) in [("queue-ids", r#"["q",""]"#), ("platform-types", r#"["ios",""]"#)] {
        assert!(!list(&[(name, value)]).query.matches_columns(&absent), "{name}");
    }
}

#[test]
fn ratings_are_compared_exactly_and_a_missing_one_matches_no_operator() {
    let matching = |filter: &str| -> Vec<u8> {
        let query = list(&[("feedback-rating", filter)]).query;
        let has = |rating: &u8| {
            let mut issue = issue();
            issue.facts.rating = Some(*rating).filter(|rating| *rating > 0);
            query.matches_columns(&issue)
        };
        (0..=5).filter(has).collect()
    };
    for (filter, expected) in [
        (r#"{"and":[{"is_greater_than":"3"}]}"#, &[4, 5][..]),
        (r#"{"and":[{"is_greater_than":2.9999999999999999999999}]}"#, &[3, 4, 5]),
        (r#"{"and":[{"is_greater_than":3.0000000000000000000001}]}"#, &[4, 5]),
        (r#"{"and":[{"is_smaller_than":"3e0"}]}"#, &[1, 2]),
        (r#"{"and":[{"is":"3.0"}]}"#, &[3]),
        (r#"{"and":[{"is":3.0000000000000000001}]}"#, &[]),
        (r#"{"and":[{"is_not":"3"}]}"#, &[1, 2, 4, 5]),
        (r#"{"and":[{"is_greater_than":-1}]}"#, &[1, 2, 3, 4, 5]),
        (r#"{"and":[{"is_greater_than":1},{"is_smaller_than":4}]}"#, &[2, 3]),
        (r#"{"and":[{"is_greater_than":1,"is_smaller_than":4}]}"#, &[2, 3]),
        (r#"{"or":[{"is":1},{"is":"5"}]}"#, &[1, 5]),
        (r#"{"or":[{"is":1},{"is":5}],"and":[{"is_greater_than":2}]}"#, &[5]),
        (r#"{"exists":"true"}"#, &[1, 2, 3, 4, 5]),
        (r#"{"exists":true}"#, &[1, 2, 3, 4, 5]),
        (r#"{"exists":"false"}"#, &[0]),
        (r#"{"exists":false,"and":[{"is_not":3}]}"#, &[]),
        ("{}", &[0, 1, 2, 3, 4, 5]),
        (r#"{"and":[]}"#, &[0, 1, 2, 3, 4, 5]),
        (r#"{"or":[]}"#, &[]),
    ] {
        assert_eq!(matching(filter), expected, "{filter}");
    }
}

#[test]
fn ties_are_sorted_by_id_in_the_direction_of_the_list() {
    let (a, b) = (IssueColumns { id: 1, ..issue() }, IssueColumns { id: 2, ..issue() });
    for key in SortKey::ALL {
        let sort = |order| Sort { key: *key, order };
        assert_eq!(sort(SortOrder::Ascending).compare(&a, &b), Ordering::Less);
        assert_eq!(sort(SortOrder::Descending).compare(&a, &b), Ordering::Greater);
        let mut later = a.clone();
        match key {
            SortKey::CreationTime => later.created_at.0 += 1,
            SortKey::StateChangeTime => later.facts.changed_at.0 += 1,
            SortKey::UpdateTime => later.facts.updated_at.0 += 1,
        }
        assert_eq!(sort(SortOrder::Ascending).compare(&later, &b), Ordering::Greater);
        assert_eq!(sort(SortOrder::Descending).compare(&later, &b), Ordering::Less);
    }
}

/// An operator and its value in thousandths.
fn test() -> impl Strategy<Value = (usize, i32)> {
    (0usize..4, prop_oneof![-500i32..6_500, (0i32..=6).prop_map(|n| n * 1000)])
}

proptest! {
    #[test]
    fn rating_filters_agree_with_arithmetic_in_thousandths(
        and in proptest::option::of(proptest::collection::vec(test(), 1..3)),
        or in proptest::option::of(proptest::collection::vec(test(), 1..3)),
        exists in proptest::option::of(any::<bool>()),
        quoted in any::<bool>(),
    ) {
        let names = ["is_greater_than", "is_smaller_than", "is", "is_not"];
        let json = |tests: &Vec<(usize, i32)>| {
            let one = |(op, value): &(usize, i32)| {
                let sign = if *value < 0 { "-" } else { "" };
                let (whole, rest) = (value.abs() / 1000, value.abs() % 1000);
                let quote = if quoted { "\"" } else { "" };
                format!("{{\"{}\":{quote}{sign}{whole}.{rest:03}{quote}}}", names[*op])
            };
            format!("[{}]", tests.iter().map(one).collect::<Vec<_>>().join(","))
        };
        let mut keys = Vec::new();
        keys.extend(and.as_ref().map(|tests| format!("\"and\":{}", json(tests))));
        keys.extend(or.as_ref().map(|tests| format!("\"or\":{}", json(tests))));
        keys.extend(exists.map(|exists| format!("\"exists\":\"{exists}\"")));
        let filter = format!("{{{}}}", keys.join(","));
        let query = list(&[("feedback-rating", &filter)]).query;
        for rating in [None, Some(1u8), Some(2), Some(3), Some(4), Some(5)] {
            let passes = |(op, value): &(usize, i32)| rating.is_some_and(|rating| {
                let rating = i32::from(rating) * 1000;
                match op {
                    0 => rating > *value,
                    1 => rating < *value,
                    2 => rating == *value,
                    _ => rating != *value,
                }
            });
            let expected = and.as_ref().is_none_or(|tests| tests.iter().all(passes))
                && or.as_ref().is_none_or(|tests| tests.iter().any(passes))
                && exists.is_none_or(|exists| exists == rating.is_some());
            let mut issue = issue();
            issue.facts.rating = rating;
            prop_assert_eq!(query.matches_columns(&issue), expected, "{} {:?}", filter, rating);
        }
    }

    #[test]
    fn no_parameter_text_makes_the_reader_panic(
        name in "(state|ids|page|page-size|feedback-rating|includes|created-since|x)",
        value in any::<String>(),
    ) {
        let _ = parse_list(&pairs(&[(&name, &value)]));
        let _ = parse_single(&pairs(&[(&name, &value)]));
    }
}
