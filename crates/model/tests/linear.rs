//! The law that work is linear: an entry, a form or a filter with four times the bytes takes about
//! four times the work, in every field. Work is the time that the thread has the processor, which
//! other processes do not change. Linear work is measured as linear sooner or later, however busy
//! the machine is; quadratic work takes sixteen times as long at every attempt.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use caseload_model::ids::DomainName;
use caseload_model::issue::write::{
    AgentSummary, CreateContext, EditDraft, EditTargets, IssueRecord, MessageAuthor, Moment,
    NewMessage, author_pid, plan_create, read_bulk_edit, read_create, read_edit,
};
use caseload_model::issue::{
    App, ImportContext, ImportMode, StoredIssue, TakenTimestamps, counter_keys, plan_imports,
    prepare_imports, visit_terms,
};
use caseload_model::issue_query::parse_list;
use caseload_model::json::parse;
use caseload_model::payload::{Block, Entry};
use caseload_model::profile::{
    Placeholders, prepare_app_updates, prepare_core_patches, prepare_creates,
};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;

/// Elements of the smallest of the three inputs.
const ELEMENTS: usize = 600;
/// How much longer four times the bytes may take. Larger inputs miss the processor's caches more
/// often, so this is more than four, and far less than sixteen.
const FACTOR_MAX: f64 = 7.0;
/// An attempt measures each size for about this long.
const MEASURED: Duration = Duration::from_millis(20);
const ATTEMPTS: usize = 25;

/// The processor time of this thread, or the time of day if the system does not have it.
fn worked() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = text.and_then(|text| text.split(' ').next()?.parse().ok());
    match nanos {
        Some(nanos) => Duration::from_nanos(nanos),
        None => std::time::UNIX_EPOCH.elapsed().unwrap_or_default(),
    }
}

/// Seconds of work that `run` takes.
fn seconds(run: &mut dyn FnMut()) -> f64 {
    let (begun, mut runs) = (worked(), 0_u32);
    loop {
        run();
        runs += 1;
        let took = worked().saturating_sub(begun);
        if took >= MEASURED {
            return took.as_secs_f64() / f64::from(runs);
        }
    }
}

/// Fails unless the work on an input of `n` elements grows as `n` does.
fn assert_linear(name: &str, make: impl Fn(usize) -> Box<dyn FnMut()>) {
    let mut runs = [1, 4, 16].map(|times| make(ELEMENTS * times));
    let mut least = [f64::MAX; 3];
    for _ in 0..ATTEMPTS {
        for (least, run) in least.iter_mut().zip(&mut runs) {
            *least = least.min(seconds(run));
        }
        if least[1] / least[0] <= FACTOR_MAX && least[2] / least[1] <= FACTOR_MAX {
            return;
        }
    }
    panic!("{name}: 1, 4 and 16 times the bytes take {least:?} s");
}

fn acme() -> DomainName {
    DomainName::parse("acme").unwrap()
}

fn block(entry: &str) -> Block {
    let entries =
        vec![Entry { index: 0, line: 1, range: 0..entry.len(), oversize: None, of_row: false }];
    Block { bytes: entry.as_bytes().to_vec(), entries, ..Block::default() }
}

/// `count` texts of `each`, with commas between them; `#` is the number of each.
fn list(count: usize, each: &str) -> String {
    let texts: Vec<String> = (0..count).map(|n| each.replace('#', &n.to_string())).collect();
    texts.join(",")
}

/// An issue's members, each with `count` elements.
fn issue_members(count: usize) -> Vec<(&'static str, String)> {
    let long = "x".repeat(count * 16);
    let field = r#""k#":{"type":"dropdown","value":"v#"}"#;
    let people = r#"{"author":{"name":"n#","emails":["e#@example.org"]}}"#;
    vec![
        ("tags", format!(r#""tags":[{}]"#, list(count, r#""t#""#))),
        ("same tags", format!(r#""tags":[{}]"#, list(count, r#""t""#))),
        ("meta", format!(r#""meta":{{{}}}"#, list(count, r#""k#":"v""#))),
        ("nested meta", format!(r#""meta":{{"a":[{}]}}"#, list(count, r#"{"k":#}"#))),
        ("custom fields", format!(r#""custom_fields":{{{}}}"#, list(count, field))),
        ("cc", format!(r#""cc":[{}]"#, list(count, r#""c#@example.org""#))),
        ("messages", format!(r#""messages":[{}]"#, list(count, r#"{"body":"b#"}"#))),
        ("people", format!(r#""messages":[{}]"#, list(count, people))),
        (
            "long address and people",
            format!(r#""author_email":"{long}","messages":[{}]"#, list(count, people)),
        ),
        (
            "addresses",
            format!(
                r#""messages":[{{"author":{{"emails":[{}]}}}}]"#,
                list(count, r#""e#@example.org""#)
            ),
        ),
        (
            "attachments",
            format!(
                r#""messages":[{{"attachments":[{}]}}]"#,
                list(count, r#"{"url":"/f/#","file_name":"f#"}"#)
            ),
        ),
        ("labels", format!(r#""messages":[{{"intent_labels":[{}]}}]"#, list(count, r#"["l#"]"#))),
        ("notes", format!(r#""private_notes":[{}]"#, list(count, r#"{"body":"n#"}"#))),
        ("intents", format!(r#""smart_intents":{{{}}}"#, list(count, r#""k#":[#]"#))),
        ("title", format!(r#""title":"{long}""#)),
        ("unknown fields", list(count, r#""u#":1"#)),
        ("faults", format!(r#""tags":[{}]"#, list(count, "1"))),
        ("repeated keys", format!(r#""meta":{{{}}}"#, list(count, r#""k":1"#))),
    ]
}

fn context(stored: HashMap<u64, StoredIssue>) -> ImportContext {
    let default_app = App { app_id: "web".to_owned(), publish_id: "1".to_owned() };
    ImportContext {
        default_app: default_app.clone(),
        apps: vec![default_app],
        next_publish_number: 2,
        last_issue_id: u64::from(!stored.is_empty()),
        free_ids: Vec::new(),
        stored,
        earlier: HashMap::new(),
        changed: None,
        taken_timestamps: TakenTimestamps::new(Some(UnixMillis(5))),
    }
}

/// Imports an entry, indexes it, and compares it with itself as it is stored.
fn import(entry: &str) {
    let block = block(entry);
    let prepared = prepare_imports(&acme(), &block);
    let plan =
        plan_imports(&context(HashMap::new()), &block.bytes, &prepared, ImportMode::default())
            .unwrap();
    let (Some(row), Ok(new)) = (plan.issues.first(), &prepared[0].item) else { return };
    let stored = StoredIssue {
        created_at: row.columns.created_at,
        original_created_at: None,
        head: row.head.clone(),
        body: new.body.clone(),
    };
    let record = IssueRecord {
        columns: row.columns.clone(),
        head: row.head.clone(),
        body: new.body.clone(),
    };
    index(&record);
    let again = context(HashMap::from([(1, stored)]));
    black_box(plan_imports(&again, &block.bytes, &prepared, ImportMode::default()).unwrap());
}

fn index(record: &IssueRecord) {
    black_box(counter_keys(&record.columns));
    let mut terms = 0;
    visit_terms(&record.columns, &record.fragments(), &mut |_, value| terms += value.len());
    black_box(terms);
}

#[test]
fn the_work_of_an_imported_issue_grows_as_its_bytes_do() {
    for (at, (name, _)) in issue_members(1).iter().enumerate() {
        assert_linear(name, |count| {
            let member = issue_members(count).swap_remove(at).1;
            let entry = format!(r#"{{"id":1,"created_at":200000000000,{member}}}"#);
            Box::new(move || import(&entry))
        });
    }
}

#[test]
fn the_work_of_a_map_grows_as_its_keys_do() {
    let map = |keys: Vec<usize>| {
        let members: Vec<String> = keys.iter().map(|key| format!("\"k{key}\":{key}")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert_linear("the same keys in another order", |count| {
        let (forth, back) = (map((0..count).collect()), map((0..count).rev().collect()));
        Box::new(move || {
            let (a, b) = (parse(forth.as_bytes()).unwrap(), parse(back.as_bytes()).unwrap());
            assert!(a.same(&b) && b.same(&a));
        })
    });
    assert_linear("one repeated key", |count| {
        let twice = map((0..count).chain([count / 2]).collect());
        Box::new(move || drop(black_box(parse(twice.as_bytes()).unwrap_err())))
    });
}

#[test]
fn the_work_of_a_profile_grows_as_its_bytes_do() {
    let members: [(&str, &str, &str); 6] = [
        ("identities", r#"{"uid":"u#"}"#, r#"{"identities":[@]}"#),
        ("same identities", r#"{"uid":"u"}"#, r#"{"identities":[@]}"#),
        ("metadata", r#""k#":"v""#, r#"{"identities":[{"uid":"u",@}]}"#),
        ("tags", r#""t#""#, r#"{"tags":[@]}"#),
        ("custom fields", r#""k#":#"#, r#"{"custom_fields":{@}}"#),
        ("unknown fields", r#""k#":#"#, r"{@}"),
    ];
    for (name, each, entry) in members {
        assert_linear(name, |count| {
            let block = block(&entry.replace('@', &list(count, each)));
            Box::new(move || {
                black_box(prepare_creates(&block, &Placeholders::default()));
                black_box(prepare_core_patches(
                    Action::UpdateCoreProfiles,
                    &block,
                    &Placeholders::default(),
                ));
                black_box(prepare_app_updates(&block));
            })
        });
    }
}

fn created() -> IssueRecord {
    let (request, _) = read_create(&[("message-body".to_owned(), "x".to_owned())]);
    let context = CreateContext {
        domain: &acme(),
        id: 1,
        created_at: UnixMillis(1),
        moment: Moment::default(),
        app: App { app_id: "web".to_owned(), publish_id: "1".to_owned() },
        pid: author_pid(&acme(), &request, None, 1),
        profile: None,
        attachments: &[],
    };
    plan_create(&context, &request).unwrap().issue
}

/// The fields of a form, each with `count` elements.
fn form_fields(count: usize) -> Vec<(&'static str, String)> {
    let field = r#""k#":{"type":"number","value":#}"#;
    vec![
        ("tags", format!("[{}]", list(count, r#""t#""#))),
        ("meta", format!("{{{}}}", list(count, r#""k#":"v""#))),
        ("meta", format!(r#"{{"a":{{{}}}}}"#, list(count, r#""k#":null"#))),
        ("custom_fields", format!("{{{}}}", list(count, field))),
        ("custom_fields", format!("{{{}}}", list(count, r#""k#":null"#))),
        ("cc", format!("[{}]", list(count, r#""c#""#))),
        ("issue-ids", list(count, "#")),
        ("issue-ids", list(count, "x")),
        ("unknown", "x".repeat(count * 16)),
    ]
}

#[test]
fn the_work_of_a_form_grows_as_its_bytes_do() {
    for (at, (name, _)) in form_fields(1).iter().enumerate() {
        assert_linear(name, |count| {
            let field = ((*name).to_owned(), form_fields(count).swap_remove(at).1);
            let ids = ("issue-ids".to_owned(), "1".to_owned());
            let forms = [vec![field.clone()], vec![field, ids]];
            Box::new(move || {
                for form in &forms {
                    black_box(read_create(form));
                    black_box(read_edit(form));
                    black_box(read_bulk_edit(form));
                }
            })
        });
    }
    assert_linear("the same field again and again", |count| {
        let again = vec![("tags[]".to_owned(), "t".to_owned()); count];
        Box::new(move || drop(black_box(read_edit(&again))))
    });
}

/// A stored issue from before the limits: nothing bounds the number of its parts.
fn large(count: usize) -> IssueRecord {
    let mut issue = created();
    let field = r#""k#":{"type":"number","value":#}"#;
    issue.body.meta = format!("{{{}}}", list(count, r#""k#":"v""#)).into_bytes();
    issue.body.custom_fields = format!("{{{}}}", list(count, field)).into_bytes();
    issue.body.messages =
        format!("[{}]", list(count, r#"{"id":"m#","body":"a body that is not short"}"#))
            .into_bytes();
    let facts = &mut issue.columns.facts;
    facts.tags = (0..count).map(|n| format!("t{n}")).collect();
    issue
}

#[test]
fn the_work_of_a_write_grows_as_the_issue_and_the_patch_do() {
    let patches: [(&str, &str, &str); 5] = [
        ("meta", r#""k#":"w""#, "{@}"),
        ("meta", r#""k#":null"#, "{@}"),
        ("custom_fields", r#""k#":{"type":"number","value":1}"#, "{@}"),
        ("custom_fields", r#""k#":null"#, "{@}"),
        ("tags", r#""u#""#, "[@]"),
    ];
    for (field, each, whole) in patches {
        assert_linear(field, |count| {
            let stored = large(count);
            // A patch that sets is within the limits, however many parts the issue has.
            let keys = if each.ends_with("null") { count } else { count.min(1000) };
            let patch = whole.replace('@', &list(keys, each));
            let (edit, faults) = read_edit(&[(field.to_owned(), patch)]);
            assert_eq!(faults, []);
            Box::new(move || {
                let draft = EditDraft::new(&stored, &edit, &EditTargets::default(), None);
                let plan = draft.finish(&acme(), Moment::default()).unwrap();
                index(&plan.issue);
            })
        });
    }
    assert_linear("a message", |count| {
        let stored = large(count);
        let (edit, _) = read_edit(&[("status".to_owned(), "resolved".to_owned())]);
        Box::new(move || {
            let author =
                AgentSummary { id: "a".to_owned(), name: "A".to_owned(), email: "a@b".to_owned() };
            let author = MessageAuthor::Desk(author);
            let message = NewMessage { body: "x", author, attachments: &[] };
            let draft = EditDraft::new(&stored, &edit, &EditTargets::default(), Some(&message));
            drop(black_box(draft.finish(&acme(), Moment::default())));
        })
    });
}

#[test]
fn the_work_of_a_query_grows_as_its_bytes_do() {
    let filters: [(&str, &str, &str); 8] = [
        ("state", "x", "@"),
        ("ids", "#", "@"),
        ("tags", r#""t#""#, "[@]"),
        ("tags", r#""t#""#, r#"{"or":[@]}"#),
        ("tags", r#""u#":1"#, r"{@}"),
        ("messages", r#""m#""#, "[@]"),
        ("assignee-ids", "a#", "@"),
        ("custom-fields", r#"{"k#":{"type":"number","value":#}}"#, r#"{"and":[@]}"#),
    ];
    for (name, each, whole) in filters {
        assert_linear(name, |count| {
            let pairs = vec![(name.to_owned(), whole.replace('@', &list(count, each)))];
            Box::new(move || drop(black_box(parse_list(&pairs))))
        });
    }
}

/// The law itself is watched: quadratic work is not taken for linear.
#[test]
fn quadratic_work_is_seen() {
    let quadratic = std::panic::catch_unwind(|| {
        let make = |count: usize| -> Box<dyn FnMut()> {
            let numbers: Vec<usize> = (0..count).collect();
            let all_pairs = move || {
                let later = |n: usize| numbers[n..].iter().filter(|m| **m == n).count();
                black_box(numbers.iter().map(|n| later(*n)).sum::<usize>());
            };
            Box::new(all_pairs)
        };
        let mut runs = [4, 16].map(|times| make(ELEMENTS * times));
        let took: Vec<f64> = runs.iter_mut().map(|run| seconds(run)).collect();
        assert!(took[1] / took[0] <= FACTOR_MAX, "{took:?}");
    });
    assert!(quadratic.is_err());
}
