//! Which issues queries match. Tables of issues and filters test single rules; then random queries
//! over random issues compare the fast matchers with the naive evaluation.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;

use caseload_model::fold::fold;
use caseload_model::ids::DomainName;
use caseload_model::issue::{
    App, ImportContext, ImportMode, IssueBody, IssueColumns, IssueFragments, TakenTimestamps,
    plan_imports, prepare_imports,
};
use caseload_model::issue_query::{
    Condition, FieldMatcher, IssueQuery, SearchableIssue, TextMatcher, TextSource, parse_list,
};
use caseload_model::payload::{Block, Entry};
use caseload_testdata::{AGENTS, SplitMix, issues, query};

struct Issue {
    columns: IssueColumns,
    head: Vec<u8>,
    body: IssueBody,
}

impl Issue {
    fn fragments(&self) -> IssueFragments<'_> {
        IssueFragments::new(&self.head, &self.body)
    }
}

/// The issues that an import of the entries creates.
fn import(entries: &[String]) -> Vec<Issue> {
    let mut block = Block::default();
    for (n, entry) in entries.iter().enumerate() {
        let start = block.bytes.len();
        block.bytes.extend_from_slice(entry.as_bytes());
        let range = start..block.bytes.len();
        block.entries.push(Entry {
            index: n as u32,
            line: n as u32 + 1,
            range,
            oversize: None,
            of_row: false,
        });
    }
    let app = App { app_id: "web".to_owned(), publish_id: "1".to_owned() };
    let context = ImportContext {
        apps: vec![app.clone()],
        default_app: app,
        next_publish_number: 2,
        last_issue_id: 0,
        free_ids: Vec::new(),
        stored: HashMap::new(),
        earlier: HashMap::new(),
        changed: None,
        taken_timestamps: TakenTimestamps::new(None),
    };
    let mut prepared = prepare_imports(&DomainName::parse("acme").unwrap(), &block);
    let plan = plan_imports(&context, &block.bytes, &prepared, ImportMode::default()).unwrap();
    assert_eq!(
        plan.issues.len(),
        entries.len(),
        "{}",
        String::from_utf8_lossy(&plan.records.errors)
    );
    let mut issue = |row: caseload_model::issue::IssueRow| Issue {
        columns: row.columns,
        head: row.head,
        body: std::mem::take(&mut prepared[row.source].item.as_mut().unwrap().body),
    };
    plan.issues.into_iter().map(&mut issue).collect()
}

fn agents() -> HashMap<String, String> {
    AGENTS.iter().map(|(id, email)| ((*id).to_owned(), fold(email))).collect()
}

fn parsed(parameters: &[(&str, &str)]) -> IssueQuery {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let pairs: Vec<_> = parameters.iter().map(owned).collect();
    parse_list(&pairs).unwrap_or_else(|faults| panic!("{parameters:?}: {faults:?}")).query
}

/// Whether the query matches the one issue of this entry.
fn matches(entry: &str, name: &str, value: &str) -> bool {
    let entry = format!("{{\"created_at\":1{entry}}}");
    let issues = import(&[entry]);
    let (fragments, agents) = (issues[0].fragments(), agents());
    let columns = &issues[0].columns;
    parsed(&[(name, value)]).matches(&SearchableIssue { columns, fragments, agent_emails: &agents })
}

fn decided(name: &str, entry: &str, table: &[(&str, bool)]) {
    for (value, expected) in table {
        assert_eq!(matches(entry, name, value), *expected, "{entry} {name}={value}");
    }
}

#[test]
fn a_condition_matches_by_the_values_of_the_issue() {
    decided(
        "tags",
        r#","tags":["a","B","a"]"#,
        &[
            ("{}", true),
            (r#"{"and":["a","B"]}"#, true),
            (r#"{"and":["a","b"]}"#, false),
            (r#"{"and":[]}"#, true),
            (r#"{"or":["x","a"]}"#, true),
            (r#"{"or":["A"]}"#, false),
            (r#"{"or":[]}"#, false),
            (r#"{"nor":["x","b"]}"#, true),
            (r#"{"nor":["x","B"]}"#, false),
            (r#"{"nor":[]}"#, true),
            (r#"{"exists":"true"}"#, true),
            (r#"{"exists":false}"#, false),
            (r#"{"exists":true,"or":["x"]}"#, false),
            (r#"{"and":["a"],"or":["x","B"],"nor":["y"],"exists":true}"#, true),
            (r#"{"and":["a"],"or":["x","B"],"nor":["a"]}"#, false),
        ],
    );
    decided(
        "tags",
        r#","tags":[]"#,
        &[
            (r#"{"exists":true}"#, false),
            (r#"{"exists":"false"}"#, true),
            (r#"{"nor":["a"]}"#, true),
            (r#"{"or":["a",""]}"#, false),
            (r#"{"and":["a"]}"#, false),
            (r#"{"and":[]}"#, true),
        ],
    );
    decided(
        "languages",
        r#","language":"en""#,
        &[
            (r#"{"or":["EN","de"]}"#, false),
            (r#"{"and":["en"]}"#, true),
            (r#"{"exists":true}"#, true),
        ],
    );
    let unassigned = [
        (r#"{"exists":false}"#, true),
        (r#"{"or":["unassigned"]}"#, false),
        (r#"{"nor":["ann"]}"#, true),
    ];
    decided("assignee-ids", "", &unassigned);
    decided("assignee-ids", r#","assignee_id":"unassigned""#, &unassigned);
    decided(
        "assignee-ids",
        r#","assignee_id":"ann""#,
        &[(r#"{"or":["ann"]}"#, true), (r#"{"or":["Ann"]}"#, false), (r#"{"nor":["ann"]}"#, false)],
    );
}

#[test]
fn addresses_are_compared_without_case() {
    decided(
        "author_emails",
        r#","author_email":"Ünal@X.tr""#,
        &[
            (r#"{"or":["üNAL@x.TR"]}"#, true),
            (r#"{"or":["unal@x.tr"]}"#, false),
            (r#"{"or":["x"],"exists":"true"}"#, false),
            (r#"{"exists":"true"}"#, true),
        ],
    );
    for unknown in ["", r#","author_email":null"#, r#","author_email":"""#] {
        let table = [(r#"{"exists":false}"#, true), (r#"{"or":[""]}"#, false)];
        decided("author-emails", unknown, &table);
    }
    let of = |agent: &str| format!(",\"assignee_id\":\"{agent}\"");
    for (agent, value, expected) in [
        ("ann", r#"{"or":["ANN@DESK.X"]}"#, true),
        ("twin", r#"{"or":["ann@desk.x"]}"#, true),
        ("bob", r#"{"or":["ann@desk.x"]}"#, false),
        ("bob", r#"{"or":["ann@desk.x","bob@desk.x"]}"#, true),
        ("bob", r#"{"or":[]}"#, false),
        ("mute", r#"{"or":[""]}"#, false),
        ("stranger", r#"{"or":["bob@desk.x"]}"#, false),
        ("unassigned", r#"{"or":["bob@desk.x"]}"#, false),
        ("unassigned", "{}", true),
    ] {
        decided("assignee_emails", &of(agent), &[(value, expected)]);
    }
}

#[test]
fn texts_are_searched_literally_and_without_case_in_the_whole_issue() {
    let entry = r#","title":"Title","messages":[
        {"body":"The GAME\ncrashes \"often\" \\n","author":{"name":"Eva","id":"kiosk"}},
        {"body":"ΣΊΣΥΦΟΣ, Straße"}, {"body":"It’s 5\u00a0% „off”\u202fx"}]"#;
    decided(
        "messages",
        entry,
        &[
            (r#"{"and":["game","σίσυφος"]}"#, true),
            (r#"{"and":["the game\ncrash"]}"#, true),
            (r#"{"or":["x","STRAßE"]}"#, true),
            (r#"{"or":["strasse"]}"#, false),
            (r#"{"or":["game crash"]}"#, false),
            (r#"{"or":["\\n"]}"#, true),
            (r#"{"or":["\nc"]}"#, true),
            (r#"{"or":["nc"]}"#, false),
            (r#"{"or":["\"often\""]}"#, true),
            (r#"{"or":["title"]}"#, false),
            (r#"{"or":["eva"]}"#, false),
            (r#"{"or":["kiosk"]}"#, false),
            (r#"{"or":["body"]}"#, false),
            (r#"{"or":["often\" \\n\",\"author"]}"#, false),
            (r#"{"nor":["eva","body"]}"#, true),
            (r#"{"nor":["eva","GAME"]}"#, false),
            (r#"{"or":["crash%","crash.s","cras_es"]}"#, false),
            (r#"{"and":["it's 5 %","5\u2007% \"OFF“ x"]}"#, true),
            (r#"{"or":["it\"s","off' x","off\u2003"]}"#, false),
            (r#"{"and":[""]}"#, true),
        ],
    );
    for (name, absent) in [("messages", ""), ("notes", ""), ("notes", r#","private_notes":[]"#)] {
        let table =
            [(r#"{"nor":["x"]}"#, true), (r#"{"or":[""]}"#, false), (r#"{"and":["x"]}"#, false)];
        decided(name, absent, &table);
    }
    for (name, entry) in
        [("messages", r#","messages":[{"body":""}]"#), ("notes", r#","private_notes":[{}]"#)]
    {
        let table = [
            (r#"{"exists":true}"#, true),
            (r#"{"exists":"false"}"#, false),
            (r#"{"exists":true,"nor":["x"]}"#, true),
            (r#"{"exists":true,"or":["x"]}"#, false),
        ];
        decided(name, entry, &table);
        let none = [
            (r#"{"exists":true}"#, false),
            (r#"{"exists":false}"#, true),
            (r#"{"exists":false,"nor":["x"]}"#, true),
            (r#"{"exists":false,"and":["x"]}"#, false),
        ];
        decided(name, "", &none);
    }
    decided(
        "notes",
        r#","private_notes":[{"body":"Called"},{"body":"Back","author":{"name":"Bob"}}]"#,
        &[(r#"{"and":["CALLED","back"]}"#, true), (r#"{"or":["bob"]}"#, false)],
    );
    decided(
        "feedback-comment",
        r#","feedback_comment":"Great Help""#,
        &[
            (r#"{"and":["great","help"],"exists":true}"#, true),
            (r#"{"nor":["bad"]}"#, true),
            (r#"{"exists":"false"}"#, false),
        ],
    );
    for absent in ["", r#","feedback_rating":3"#, r#","feedback_comment":null"#] {
        decided("feedback-comment", absent, &[(r#"{"exists":true}"#, false)]);
        decided("feedback-comment", absent, &[(r#"{"nor":["x"],"exists":false}"#, true)]);
    }
}

#[test]
fn a_text_is_found_in_the_title_in_messages_in_notes_and_in_the_comment() {
    for (members, text, found) in [
        (r#","title":"Crash on Login""#, "h on L", true),
        (r#","title":"Crash","messages":[{"body":"STRA\u00dfE"}]"#, "straße", true),
        (r#","private_notes":[{"body":"a"},{"body":"called \"Bob\""}]"#, "d \"b", true),
        (r#","feedback_comment":"Great\nHelp""#, "t\nh", true),
        // One text has to contain all of it, and nothing else of an issue is searched.
        (r#","title":"Crash","messages":[{"body":"Login"}]"#, "crash login", false),
        (r#","title":"Crash","tags":["vip"]"#, "vip", false),
        (r#","title":"Crash""#, "title", false),
        (r#","title":"a""#, " ", false),
    ] {
        let text = text.replace("\\n", "\n").replace("\\\"", "\"");
        assert_eq!(matches(members, "text", &text), found, "{members} {text}");
    }
}

#[test]
fn conditions_on_the_title_read_the_title_alone() {
    for (title, condition, expected) in [
        ("Crash on Login", r#"{"and":["CRASH","login"]}"#, true),
        ("Crash on Login", r#"["refund","crash"]"#, true),
        ("Crash on Login", r#"{"nor":["refund"],"exists":true}"#, true),
        ("Crash on Login", r#"{"exists":false}"#, false),
        ("", r#"{"exists":false}"#, true),
        ("", r#"{"nor":[""]}"#, true),
        ("", r#"{"and":[""]}"#, false),
    ] {
        let members = format!(r#","title":"{title}","messages":[{{"body":"refund"}}]"#);
        assert_eq!(matches(&members, "title", condition), expected, "{title:?} {condition}");
    }
}

/// `{TYPE:{"and":{"f":TESTS}}}`
fn of_type(field_type: &str, tests: &str) -> String {
    format!("{{\"{field_type}\":{{\"and\":{{\"f\":{tests}}}}}}}")
}

#[test]
fn custom_fields_are_found_by_key_and_type() {
    for (field_type, value, tests, expected) in [
        ("checkbox", "true", r#""true""#, true),
        ("checkbox", r#""true""#, "true", true),
        ("checkbox", "true", "false", false),
        ("checkbox", "null", "false", false),
        ("singleline", r#""Scott Tiger""#, r#"{"contains":["scott"]}"#, true),
        ("singleline", r#""Scott Tiger""#, r#"{"contains":["x","TIGER"]}"#, true),
        ("singleline", r#""Scott Tiger""#, r#"{"contains":[]}"#, false),
        ("singleline", r#""Scott Tiger""#, r#"{"does_not_contain":["x","tiger"]}"#, false),
        ("multiline", r#""a\nb""#, r#"{"does_not_contain":["x","y"],"is_set":true}"#, true),
        ("singleline", "null", r#"{"does_not_contain":["x"]}"#, true),
        ("singleline", "null", r#"{"contains":[""]}"#, false),
        ("singleline", "null", r#"{"is_set":"false"}"#, true),
        ("singleline", r#""""#, r#"{"is_set":"true"}"#, true),
        ("number", "50", r#"{"is":"50.0"}"#, true),
        ("number", "5e1", r#"{"is_not":50}"#, false),
        ("number", "9007199254740993", r#"{"is":9007199254740992}"#, false),
        ("number", "9007199254740993", r#"{"is_greater_than":9007199254740992}"#, true),
        ("number", "0.30000000000000000001", r#"{"is_smaller_than":0.3}"#, false),
        ("number", "60", r#"{"is_smaller_than":80,"is_not":60}"#, false),
        ("number", "null", r#"{"is_not":60}"#, true),
        ("number", "null", r#"{"is_smaller_than":60}"#, false),
        ("date", "1507248000000", r#"{"is":"1507248000000"}"#, true),
        ("date", "1507248000000", r#"{"is_after":1507247999999,"is_before":1507248000001}"#, true),
        ("date", "1507248000000", r#"{"is_after":1507248000000}"#, false),
        ("dropdown", r#""Gold""#, r#"{"is":"Gold","is_set":true}"#, true),
        ("dropdown", r#""Gold""#, r#"{"is":"gold"}"#, false),
        ("dropdown", r#""Gold""#, r#"{"is_one_of":["Silver","Gold"]}"#, true),
        ("dropdown", r#""Gold""#, r#"{"is_none_of":["Silver"]}"#, true),
        ("dropdown", r#""Gold""#, r#"{"is_not":"Gold"}"#, false),
        ("dropdown", "null", r#"{"is_none_of":["Gold"]}"#, true),
        ("dropdown", "null", r#"{"is_one_of":["Gold"]}"#, false),
    ] {
        let field = |key: &str, field_type: &str| {
            format!(
                ",\"custom_fields\":{{\"{key}\":{{\"type\":\"{field_type}\",\"value\":{value}}}}}"
            )
        };
        let filter = of_type(field_type, tests);
        let given = matches(&field("f", field_type), "custom_fields", &filter);
        assert_eq!(given, expected, "{field_type} {value} {tests}");
        // A field with another key or type is absent.
        let absent = matches("", "custom_fields", &filter);
        assert_eq!(matches(&field("F", field_type), "custom_fields", &filter), absent, "{tests}");
        let other = if field_type == "multiline" { "singleline" } else { "multiline" };
        if value.starts_with('"') || value == "null" {
            assert_eq!(matches(&field("f", other), "custom_fields", &filter), absent, "{tests}");
        }
    }
}

#[test]
fn groups_keys_and_types_of_custom_fields_combine() {
    let with = |quantity: &str| {
        format!(
            r#","custom_fields":{{"quantity":{{"type":"number","value":{quantity}}},
            "customer":{{"type":"number","value":15}},"gift":{{"type":"checkbox","value":true}}}}"#
        )
    };
    let filter = r#"{"number":{
        "and":{"customer":{"is_set":"true"},
               "quantity":{"is_set":"true","is_not":"60","is_smaller_than":"80"}},
        "or":{"quantity":{"is":"50","is_greater_than":"50"}}}}"#;
    for (quantity, expected) in
        [("49", false), ("50", true), ("51", true), ("60", false), ("79", true), ("80", false)]
    {
        assert_eq!(matches(&with(quantity), "custom_fields", filter), expected, "{quantity}");
    }
    for (filter, expected) in [
        (r#"{"number":{"or":{"x":{"is":1},"customer":{"is":15}}}}"#, true),
        (r#"{"number":{"or":{"x":{"is":1},"customer":{"is":16,"is_set":true}}}}"#, true),
        (r#"{"number":{"or":{}}}"#, false),
        (r#"{"number":{"and":{}}}"#, true),
        (r#"{"number":{"and":{"customer":{"is":15}}},"checkbox":{"and":{"gift":true}}}"#, true),
        (r#"{"number":{"and":{"customer":{"is":15}}},"checkbox":{"and":{"gift":false}}}"#, false),
    ] {
        assert_eq!(matches(&with("1"), "custom-fields", filter), expected, "{filter}");
    }
}

/// Whether the matchers, together with the columns, agree with the naive evaluation.
fn fast(query: &IssueQuery, issue: &Issue, agents: &HashMap<String, String>) -> bool {
    let fragments = issue.fragments();
    let assignee = issue.columns.facts.assignee_id.as_deref().unwrap_or_default();
    let email = agents.get(assignee).map_or("", String::as_str);
    let text = |place, condition: &Condition, fragment: Option<&[u8]>| {
        TextMatcher::new(place, condition).holds(fragment)
    };
    query.matches_columns(&issue.columns)
        && query.assignee_emails.holds(!email.is_empty(), |e| !e.is_empty() && e == email)
        && text(TextSource::Title, &query.title, Some(fragments.head))
        && query.text.as_ref().is_none_or(|wanted| {
            let condition = Condition { and: vec![wanted.clone()], ..Condition::default() };
            [
                (TextSource::Title, Some(fragments.head)),
                (TextSource::Messages, Some(fragments.messages)),
                (TextSource::Notes, fragments.private_notes),
                (TextSource::FeedbackComment, fragments.feedback),
            ]
            .into_iter()
            .any(|(place, fragment)| text(place, &condition, fragment))
        })
        && text(TextSource::Messages, &query.messages, Some(fragments.messages))
        && text(TextSource::Notes, &query.notes, fragments.private_notes)
        && text(TextSource::FeedbackComment, &query.feedback_comment, fragments.feedback)
        && FieldMatcher::new(&query.custom_fields).holds(fragments.custom_fields)
}

#[test]
fn the_fast_matchers_agree_with_the_naive_evaluation_of_random_queries() {
    let (mut yes, mut no) = (0, 0);
    let agents = agents();
    for seed in 0..40 {
        let issues = import(&issues(seed, 30));
        let mut random = SplitMix::new(seed);
        for _ in 0..100 {
            let parameters = query(&mut random);
            let query = parse_list(&parameters).unwrap_or_else(|f| panic!("{parameters:?} {f:?}"));
            for issue in &issues {
                let searched = SearchableIssue {
                    columns: &issue.columns,
                    fragments: issue.fragments(),
                    agent_emails: &agents,
                };
                let naive = query.query.matches(&searched);
                assert_eq!(
                    naive,
                    fast(&query.query, issue, &agents),
                    "{parameters:?} {}",
                    String::from_utf8_lossy(&issue.body.messages)
                );
                if naive { yes += 1 } else { no += 1 }
            }
        }
    }
    // Both outcomes must be common, or the data test too little.
    assert!(yes > no / 10 && no > yes / 10, "{yes} {no}");
}
