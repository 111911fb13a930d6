//! Plans of imports, compared with a naive store in memory: ids, instants, apps, counters, records,
//! and the two laws of a plan.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use caseload_model::ids::DomainName;
use caseload_model::issue::{
    App, CounterKey, Facet, ImportContext, ImportMode, ImportPlan, IssueColumns, IssueFragments,
    NewIssue, StoredIssue, TakenTimestamps, counted_days, counter_keys, free_ids_needed,
    named_issue_ids, plan_imports, prepare_imports, span_of_day, write_issue,
};
use caseload_model::issue_query::IssueView;
use caseload_model::payload::{Block, Entry};
use caseload_model::record::PreparedEntry;
use caseload_model::time::UnixMillis;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A store that keeps everything in maps and searches them linearly.
#[derive(Debug, Clone, PartialEq)]
struct Naive {
    apps: Vec<App>,
    next_publish_number: u64,
    last_issue_id: u64,
    issues: BTreeMap<u64, (StoredIssue, IssueColumns)>,
    counters: BTreeMap<CounterKey, i64>,
    agents: BTreeMap<String, String>,
    queues: BTreeMap<String, String>,
    app_profiles: BTreeMap<String, String>,
    results: String,
    errors: String,
}

fn app(app_id: &str, publish_id: &str) -> App {
    App { app_id: app_id.to_owned(), publish_id: publish_id.to_owned() }
}

fn block(entries: &[String], first: usize) -> Block {
    let mut block = Block::default();
    for (n, entry) in entries.iter().enumerate() {
        let start = block.bytes.len();
        block.bytes.extend_from_slice(entry.as_bytes());
        let index = (first + n) as u32;
        let range = start..block.bytes.len();
        block.entries.push(Entry { index, line: index + 1, range, oversize: None, of_row: false });
    }
    block
}

impl Naive {
    fn new() -> Self {
        Self {
            apps: vec![app("web", "1")],
            next_publish_number: 2,
            last_issue_id: 0,
            issues: BTreeMap::new(),
            counters: BTreeMap::new(),
            agents: BTreeMap::new(),
            queues: BTreeMap::new(),
            app_profiles: BTreeMap::new(),
            results: String::new(),
            errors: String::new(),
        }
    }

    fn taken(&self) -> BTreeSet<i64> {
        self.issues.values().map(|(_, columns)| columns.created_at.0).collect()
    }

    /// Plans, adding missing windows until none is missing. Also returns the number of plans made.
    fn plan(&self, entries: &[String], first: usize, dry_run: bool) -> (ImportPlan, u32) {
        let block = block(entries, first);
        let prepared = prepare_imports(&DomainName::parse("acme").unwrap(), &block);
        self.plan_on(&mut self.context(&prepared), &block, &prepared, dry_run)
    }

    /// The stored state that a plan of these entries needs.
    fn context(&self, prepared: &[PreparedEntry<NewIssue>]) -> ImportContext {
        let taken = self.taken();
        let stored = named_issue_ids(prepared)
            .into_iter()
            .filter_map(|id| Some((id, self.issues.get(&id)?.0.clone())))
            .collect::<HashMap<_, _>>();
        let needed = free_ids_needed(self.last_issue_id, prepared.len());
        let free = (self.last_issue_id + 1..).filter(|id| !self.issues.contains_key(id));
        let free_ids = free.take(needed).collect();
        ImportContext {
            default_app: self.apps[0].clone(),
            apps: self.apps.clone(),
            next_publish_number: self.next_publish_number,
            last_issue_id: self.last_issue_id,
            free_ids,
            stored,
            earlier: HashMap::new(),
            changed: None,
            taken_timestamps: TakenTimestamps::new(taken.last().copied().map(UnixMillis)),
        }
    }

    fn plan_on(
        &self,
        context: &mut ImportContext,
        block: &Block,
        prepared: &[PreparedEntry<NewIssue>],
        dry_run: bool,
    ) -> (ImportPlan, u32) {
        let taken = self.taken();
        for round in 1..100 {
            match plan_imports(
                context,
                &block.bytes,
                prepared,
                ImportMode { dry_run, upsert: false },
            ) {
                Ok(plan) => return (plan, round),
                Err(need) => {
                    for window in need.windows() {
                        let within = taken.range(window.from.0..=window.until.0);
                        let within = within.copied().map(UnixMillis);
                        context.taken_timestamps.add_window(window, within);
                    }
                }
            }
        }
        panic!("the plan never stops asking");
    }

    fn import(&mut self, entries: &[String], first: usize) -> u32 {
        let (plan, rounds) = self.plan(entries, first, false);
        let domain = DomainName::parse("acme").unwrap();
        let block = block(entries, first);
        let prepared = prepare_imports(&domain, &block);
        for key in plan.issues.iter().flat_map(|row| counter_keys(&row.columns)) {
            *self.counters.entry(key).or_default() += 1;
        }
        for row in plan.issues {
            let body = prepared[row.source].item.as_ref().unwrap().body.clone();
            let stored = StoredIssue {
                created_at: row.columns.created_at,
                original_created_at: row.columns.original_created_at,
                head: row.head,
                body,
            };
            assert!(!self.taken().contains(&row.columns.created_at.0));
            let before = self.issues.insert(row.columns.id, (stored, row.columns));
            assert!(before.is_none(), "an issue was overwritten");
        }
        self.apps.extend(plan.apps);
        for agent in plan.agents {
            self.agents.entry(agent.id).or_insert(agent.name);
        }
        for queue in plan.queues {
            self.queues.entry(queue.id).or_insert(queue.name);
        }
        for profile in plan.app_profiles {
            self.app_profiles.entry(profile.pid).or_insert(profile.app_id);
        }
        self.next_publish_number = plan.next_publish_number;
        self.last_issue_id = plan.last_issue_id;
        self.results.push_str(std::str::from_utf8(&plan.records.results).unwrap());
        self.errors.push_str(std::str::from_utf8(&plan.records.errors).unwrap());
        assert_eq!(plan.max_created_at, self.taken().last().copied().map(UnixMillis));
        assert_eq!(
            (plan.records.succeeded + plan.records.failed) as usize,
            entries.len(),
            "each entry has one record"
        );
        rounds
    }

    fn export(&self) -> Vec<String> {
        let all = self.issues.values().map(|(stored, _)| {
            let mut out = Vec::new();
            let fragments = IssueFragments::new(&stored.head, &stored.body);
            write_issue(&fragments, &IssueView::FULL, &mut out);
            String::from_utf8(out).unwrap()
        });
        all.collect()
    }

    /// The result records without warnings: the times of these tests are small.
    fn results(&self) -> Vec<Value> {
        let without_warnings = |line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            record.as_object_mut().unwrap().remove("warnings");
            record
        };
        self.results.lines().map(without_warnings).collect()
    }

    fn errors(&self) -> Vec<Value> {
        self.errors.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn imported(entries: &[&str]) -> Naive {
    let mut store = Naive::new();
    store.import(&entries.iter().map(|e| (*e).to_owned()).collect::<Vec<_>>(), 0);
    store
}

#[test]
fn a_free_id_is_kept_and_a_missing_one_is_assigned() {
    let store = imported(&[
        r#"{"created_at":1}"#,
        r#"{"id":10,"created_at":2}"#,
        r#"{"id":"7","created_at":3}"#,
        r#"{"created_at":4}"#,
    ]);
    assert_eq!(store.issues.keys().copied().collect::<Vec<_>>(), [1, 7, 10, 11]);
    assert_eq!(store.last_issue_id, 11);
    assert_eq!(
        store.results(),
        [
            json!({"index": 0, "line": 1, "outcome": "created", "id": 1}),
            json!({"index": 1, "line": 2, "outcome": "created", "id": 10}),
            json!({"index": 2, "line": 3, "outcome": "created", "id": 7}),
            json!({"index": 3, "line": 4, "outcome": "created", "id": 11}),
        ]
    );
}

#[test]
fn an_import_of_any_id_leaves_ids_for_later_issues() {
    let entries = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let mut store = imported(&[
        r#"{"id":9007199254740991,"created_at":1}"#,
        r#"{"created_at":2}"#,
        r#"{"id":9000000000000000,"created_at":3}"#,
        r#"{"id":4,"created_at":4}"#,
    ]);
    store.import(&entries(&[r#"{"created_at":5}"#]), 4);
    assert_eq!(
        store.issues.keys().copied().collect::<Vec<u64>>(),
        [1, 4, 5, 9_000_000_000_000_000, 9_007_199_254_740_991]
    );
    let taken = |id: u64, at: u32| format!(r#"{{"id":{id},"created_at":{at}}}"#);
    let last = 8_000_000_000_000_000;
    store.import(&[taken(last, 6), taken(last + 2, 7), taken(last + 3, 8)], 5);
    store.import(&entries(&[r#"{"created_at":9}"#, r#"{"created_at":10}"#]), 8);
    store.import(&[taken(last + 5, 11), r#"{"created_at":12}"#.to_owned()], 10);
    let ids: Vec<u64> = store.issues.keys().copied().filter(|id| *id >= last).collect();
    let beyond = [9_000_000_000_000_000, 9_007_199_254_740_991];
    assert_eq!(ids, [[0, 1, 2, 3, 4, 5, 6].map(|n| last + n).as_slice(), &beyond].concat());
    assert!(store.errors().is_empty());
}

#[test]
fn an_existing_issue_is_unchanged_or_a_conflict() {
    let stored = r#"{"id":5,"created_at":10,"title":"a","meta":{"x":"1","y":"2"},
        "custom_fields":{"n":{"type":"number","value":1.0}},"hs_user_id":"u"}"#;
    for (again, conflict) in [
        (stored.to_owned(), None),
        (stored.replace(r#""x":"1","y":"2""#, r#""y":2,"x":1"#), None),
        (stored.replace(r#"{"id":5"#, r#"{"domain":"elsewhere","id":"5""#), None),
        (stored.replace(r#""title":"a""#, r#""title":"b""#), Some("(title)")),
        (stored.replace("10", "11"), Some("(created_at")),
        (stored.replace("1.0", "1.00"), Some("(custom_fields)")),
        (stored.replace(r#""x":"1","#, ""), Some("(meta)")),
        (stored.replace(r#""title""#, r#""feedback_rating":3,"title""#), Some("(feedback_rating)")),
        (stored.replace(r#""title""#, r#""language":"de","title""#), Some("(language)")),
        (stored.replace(r#""title""#, r#""original_created_at":9,"title""#), Some("(created_at)")),
        (
            stored.replace(r#""title":"a""#, r#""title":"b","messages":[{"created_at":1}]"#),
            Some("(title, messages)"),
        ),
    ] {
        for separately in [true, false] {
            let mut store = Naive::new();
            let both = [stored.to_owned(), again.clone()];
            if separately {
                store.import(&both[..1], 0);
                store.import(&both[1..], 1);
            } else {
                store.import(&both, 0);
            }
            assert_eq!(store.issues.len(), 1);
            let Some(differing) = conflict else {
                let unchanged = json!({"index": 1, "line": 2, "outcome": "unchanged", "id": 5});
                assert_eq!(store.results()[1], unchanged, "{again}");
                continue;
            };
            let error = &store.errors()[0];
            assert_eq!(error["id"], 5);
            assert_eq!(error["errors"][0]["code"], "id_conflict", "{again}");
            assert_eq!(error["errors"][0]["pointer"], "/id");
            assert_eq!(error["errors"][0]["value"], 5);
            let detail = error["errors"][0]["detail"].as_str().unwrap();
            assert!(detail.contains(differing), "{detail}");
        }
    }
}

#[test]
fn an_occupied_created_at_moves_to_the_next_free_one_and_is_reported() {
    let entry = |id: u64, at: i64| format!(r#"{{"id":{id},"created_at":{at},"hs_user_id":"u"}}"#);
    let mut store = Naive::new();
    let entries = [entry(1, 100), entry(2, 101), entry(3, 100), entry(4, 100)];
    store.import(&entries, 0);
    let moved = |index: u32, id: u64, at: i64, outcome: &str| {
        json!({
            "index": index, "line": index + 1, "outcome": outcome, "id": id, "created_at": at,
            "original_created_at": 100,
        })
    };
    assert_eq!(store.results()[2], moved(2, 3, 102, "created"));
    assert_eq!(store.results()[3], moved(3, 4, 103, "created"));
    let export = store.export();
    assert!(export[2].contains(r#""created_at":102,"original_created_at":100"#), "{}", export[2]);
    assert!(export[2].contains(r#""updated_at":100"#), "only created_at moves: {}", export[2]);
    // Importing the same entries or their export again changes nothing.
    store.import(&entries, 4);
    assert_eq!(store.results()[6], moved(6, 3, 102, "unchanged"));
    store.import(&export, 8);
    assert_eq!(store.results()[10], moved(10, 3, 102, "unchanged"));
    assert_eq!((store.export(), store.errors().len()), (export, 0));
}

#[test]
fn an_issue_moved_twice_keeps_its_original_instant_and_can_be_imported_again() {
    let mut store = Naive::new();
    let entries = [
        r#"{"id":1,"created_at":101}"#.to_owned(),
        r#"{"id":2,"created_at":101,"original_created_at":100}"#.to_owned(),
    ];
    store.import(&entries, 0);
    store.import(&entries, 2);
    for (result, outcome) in [(1, "created"), (3, "unchanged")] {
        let result = &store.results()[result];
        assert_eq!(result["outcome"], outcome);
        assert_eq!(result["created_at"], 102);
        assert_eq!(result["original_created_at"], 100);
    }
}

#[test]
fn ten_thousand_equal_instants_imported_twice_need_few_rounds_of_windows() {
    let entries: Vec<String> = (0..10_000).map(|_| r#"{"created_at":1000}"#.to_owned()).collect();
    let mut store = Naive::new();
    let domain = DomainName::parse("acme").unwrap();
    // A later issue, so that windows in the past are needed.
    store.import(&[r#"{"id":90000,"created_at":99999999}"#.to_owned()], 0);
    for first in [1, 10_001] {
        let block = block(&entries, first);
        let prepared = prepare_imports(&domain, &block);
        assert_eq!(prepared.len(), 10_000);
        let (plan, rounds) = store.plan(&entries, first, false);
        assert!(rounds <= 8, "{rounds} plans were made");
        let last = 1000 + (first as i64 - 1) + 10_000 - 1;
        assert_eq!(plan.issues.last().unwrap().columns.created_at, UnixMillis(last));
        for row in plan.issues {
            let body = prepared[row.source].item.as_ref().unwrap().body.clone();
            let stored = StoredIssue {
                created_at: row.columns.created_at,
                original_created_at: row.columns.original_created_at,
                head: row.head,
                body,
            };
            store.issues.insert(row.columns.id, (stored, row.columns));
        }
        store.last_issue_id = plan.last_issue_id;
    }
    assert_eq!(store.taken().len(), 20_001);
}

#[test]
fn a_dry_run_has_the_same_records_and_promises_no_id() {
    let entries = [
        r#"{"id":5,"created_at":100000000010,"title":"a","app_id":"new"}"#.to_owned(),
        r#"{"created_at":100000000010}"#.to_owned(),
        r#"{"id":5,"created_at":100000000010,"title":"b"}"#.to_owned(),
        r#"{"title":1}"#.to_owned(),
    ];
    let store = Naive::new();
    let (plan, _) = store.plan(&entries, 0, true);
    let results: Vec<Value> = std::str::from_utf8(&plan.records.results)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        results,
        [
            json!({"index": 0, "line": 1, "outcome": "created", "id": 5}),
            json!({
                "index": 1, "line": 2, "outcome": "created", "created_at": 100_000_000_011_i64,
                "original_created_at": 100_000_000_010_i64,
            }),
        ]
    );
    let errors = String::from_utf8(plan.records.errors.clone()).unwrap();
    assert!(errors.contains("the entry with index 0 has this id"), "{errors}");
    assert_eq!((plan.records.succeeded, plan.records.failed), (2, 2));
}

#[test]
fn apps_are_found_or_created_with_the_ids_of_the_entry() {
    let store = imported(&[
        r#"{"created_at":1}"#,
        r#"{"created_at":2,"app_id":"a","app_publish_id":"3"}"#,
        r#"{"created_at":3,"app_id":"b"}"#,
        r#"{"created_at":4,"app_id":"c"}"#,
        r#"{"created_at":5,"app_id":"b"}"#,
        r#"{"created_at":6,"app_id":"d","app_publish_id":"1"}"#,
        r#"{"created_at":7,"app_publish_id":"3"}"#,
        r#"{"created_at":8,"app_publish_id":"1"}"#,
        r#"{"created_at":9,"app_id":"a","app_publish_id":"99"}"#,
        r#"{"created_at":10,"app_publish_id":"77"}"#,
    ]);
    let of_issues: Vec<_> = store
        .issues
        .values()
        .map(|(_, c)| (c.app_id.as_str(), c.app_publish_id.as_str()))
        .collect();
    assert_eq!(
        of_issues,
        [
            ("web", "1"),
            ("a", "3"),
            ("b", "2"),
            ("c", "4"),
            ("b", "2"),
            ("d", "1"),
            ("a", "3"),
            ("web", "1"),
            ("a", "99"),
            ("web", "77"),
        ]
    );
    let apps = [app("web", "1"), app("a", "3"), app("b", "2"), app("c", "4"), app("d", "1")];
    assert_eq!(store.apps, apps);
    assert_eq!(store.next_publish_number, 5);
}

#[test]
fn created_issues_create_their_queues_agents_and_app_profiles_once() {
    let entry = |id: u64, name: &str, title: &str| {
        json!({
            "id": id, "created_at": id, "title": title, "hs_user_id": "eva", "author_name": name,
            "assignee_id": "ada", "assignee_name": name, "queue": {"id": "q", "name": name},
        })
        .to_string()
    };
    let mut store = Naive::new();
    let other = entry(1, "z", "other").replace("eva", "tom").replace("ada", "bea");
    store.import(&[entry(1, "x", ""), entry(2, "y", ""), other], 0);
    assert_eq!(store.errors().len(), 1);
    let map = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    assert_eq!(store.agents, map("ada", "x"));
    assert_eq!(store.queues, map("q", "x"));
    assert_eq!(store.app_profiles, map("eva", "web"));
}

#[test]
fn an_issue_counts_in_these_counters() {
    const DAY: i64 = 86_400_000;
    let entry = json!({
        "created_at": DAY, "updated_at": 3 * DAY, "tags": ["b", "a", "b"], "app_id": "app",
        "state_data": {"state": "resolved", "changed_at": 2 * DAY}, "assignee_id": "ada",
        "queue": {"id": "q"}, "feedback_rating": 4, "language": "de", "platform_type": "ios",
    });
    let full = imported(&[&entry.to_string()]);
    let named = |store: &Naive| -> Vec<String> {
        let all = store.counters.iter().filter_map(|(key, count)| {
            assert_eq!(*count, 1);
            let value = std::str::from_utf8(&key.value).unwrap();
            let (first, last) = counted_days(key.day);
            (first == last).then(|| format!("{} {value} {first}", key.facet.as_str()))
        });
        all.collect()
    };
    // For each counter of a day there is one of its span.
    for key in full.counters.keys() {
        let (first, last) = counted_days(key.day);
        let span = CounterKey { day: span_of_day(first), ..key.clone() };
        assert!(full.counters.contains_key(&span), "{key:?}");
        assert!(last - first == 0 || (first, last) == (0, 31), "{key:?}");
    }
    assert_eq!(
        named(&full),
        [
            "all  1",
            "state resolved 1",
            "app app 1",
            "assignee ada 1",
            "queue q 1",
            "tag a 1",
            "tag b 1",
            "rating 4 1",
            "language de 1",
            "platform ios 1",
            "updated  3",
            "state-changed resolved 2",
        ]
    );
    assert_eq!(
        named(&imported(&[r#"{"created_at":5}"#])),
        ["all  0", "state new 0", "app web 0", "assignee  0", "updated  0", "state-changed new 0"]
    );
    for facet in Facet::ALL {
        assert!(full.counters.keys().any(|key| key.facet == *facet), "{facet:?}");
    }
}

fn small_entry() -> impl Strategy<Value = String> {
    let parts = (
        proptest::option::weighted(0.7, 1u64..12),
        prop_oneof![0i64..30, Just(1_000_000i64)],
        proptest::option::weighted(0.2, 0i64..30),
        0u8..3,
        proptest::option::of(0u8..4),
        proptest::collection::vec(0u8..3, 0..3),
    );
    parts.prop_map(|(id, at, original, title, app, tags)| {
        json!({
            "id": id, "created_at": at, "original_created_at": original,
            "title": if title == 2 { json!(5) } else { json!(title.to_string()) },
            "app_id": app.map(|app| format!("app{app}")),
            "tags": tags.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "messages": [{"created_at": 3, "body": "x"}],
        })
        .to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn planning_at_once_equals_planning_in_parts(
        before in proptest::collection::vec(small_entry(), 0..6),
        entries in proptest::collection::vec(small_entry(), 1..16),
        cut in 0usize..16,
    ) {
        let mut whole = Naive::new();
        whole.import(&before, 0);
        let mut parts = whole.clone();
        whole.import(&entries, before.len());
        let cut = cut.min(entries.len());
        parts.import(&entries[..cut], before.len());
        parts.import(&entries[cut..], before.len() + cut);
        prop_assert_eq!(&whole, &parts);

        let mut counted = BTreeMap::new();
        for key in whole.issues.values().flat_map(|(_, columns)| counter_keys(columns)) {
            *counted.entry(key).or_insert(0) += 1;
        }
        prop_assert_eq!(counted, whole.counters);
    }

    #[test]
    fn a_dry_run_planned_entry_by_entry_has_the_records_of_one_plan(
        before in proptest::collection::vec(small_entry(), 0..6),
        entries in proptest::collection::vec(small_entry(), 1..16),
    ) {
        let mut store = Naive::new();
        store.import(&before, 0);
        let (whole, _) = store.plan(&entries, before.len(), true);
        let prepared = |block: &_| prepare_imports(&DomainName::parse("acme").unwrap(), block);
        let mut context = store.context(&prepared(&block(&entries, before.len())));
        let (mut results, mut errors) = (Vec::new(), Vec::new());
        for (n, entry) in entries.iter().enumerate() {
            let block = block(std::slice::from_ref(entry), before.len() + n);
            let prepared = prepared(&block);
            let (plan, _) = store.plan_on(&mut context, &block, &prepared, true);
            results.extend_from_slice(&plan.records.results);
            errors.extend_from_slice(&plan.records.errors);
            let planned = context.go_on(&prepared, plan);
            context.earlier.extend(planned);
        }
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        prop_assert_eq!(text(results), text(whole.records.results));
        prop_assert_eq!(text(errors), text(whole.records.errors));
    }

    #[test]
    fn an_export_is_unchanged_where_it_came_from_and_equal_in_another_domain(
        entries in proptest::collection::vec(small_entry(), 1..16),
    ) {
        let mut store = Naive::new();
        store.import(&entries, 0);
        let export = store.export();
        store.import(&export, entries.len());
        let results = store.results();
        prop_assert!(
            results[results.len() - export.len()..].iter().all(|r| r["outcome"] == "unchanged")
        );
        prop_assert_eq!(store.export(), export.clone());
        let mut elsewhere = Naive::new();
        elsewhere.import(&export, 0);
        prop_assert_eq!(elsewhere.export(), export);
    }

    #[test]
    fn moved_instants_equal_those_of_a_linear_search(
        before in proptest::collection::btree_set(0i64..60, 0..40),
        asked in proptest::collection::vec(0i64..60, 1..40),
    ) {
        let entry = |at: &i64| format!(r#"{{"created_at":{at}}}"#);
        let mut store = Naive::new();
        store.import(&before.iter().map(entry).collect::<Vec<_>>(), 0);
        store.import(&asked.iter().map(entry).collect::<Vec<_>>(), before.len());
        let mut taken = before.clone();
        for (n, at) in asked.iter().enumerate() {
            let mut probe = *at;
            while !taken.insert(probe) {
                probe += 1;
            }
            let id = (before.len() + n + 1) as u64;
            let (_, columns) = &store.issues[&id];
            prop_assert_eq!(columns.created_at, UnixMillis(probe));
            let original = Some(UnixMillis(*at)).filter(|_| probe != *at);
            prop_assert_eq!(columns.original_created_at, original);
        }
    }
}
