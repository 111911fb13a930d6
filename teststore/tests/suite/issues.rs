//! Imported issues: lists, totals and single issues agree with the imported entries, and the cursor
//! procedure of the specification delivers every issue exactly once. The rules of issues are in the
//! model and are tested there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use caseload_bulk::{EntryQueue, QueueLimits};
use caseload_model::issue_query::{
    IssueQuery, IssueView, Paging, Sort, SortKey, SortOrder, TimeRange, parse_list,
};
use caseload_model::task::{Action, Outcome};
use caseload_model::time::{DAY_MS, UnixMillis};
use caseload_store::{ApplyChunk, Domain, GetIssue, IssuePage, ListIssues, Store, StoreError};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::oracle::{self, Oracle, list};
use super::queries::{self, FIRST_DAY};
use super::support::{
    NOW, assert_sound, block, chunk, claim, domain, errors, import_of_authors, lines, results, run,
    run_command, task_of,
};

const IMPORT: Action = Action::ImportIssues;
/// The time budget of a read.
const BUDGET: Duration = Duration::from_secs(10);
/// More issues than any test imports.
const ALL: Paging = Paging { page: 1, page_size: 1000 };

/// The issues on a page, parsed.
fn issues_of(page: &IssuePage) -> Vec<Value> {
    let text = [b"[".as_slice(), &page.body, b"]"].concat();
    let issues: Vec<Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(issues.len(), page.count as usize);
    let last = issues.last().and_then(|issue| issue["id"].as_u64());
    assert_eq!(page.last.map(|position| position.id), last);
    issues
}

/// Every issue in every detail, newest first.
async fn all(store: &Arc<dyn Store>, domain: &Domain) -> Vec<Value> {
    issues_of(&list(store, domain, &IssueQuery::default(), IssueView::FULL, ALL).await)
}

async fn get(store: &Arc<dyn Store>, domain: &Domain, id: u64, view: IssueView) -> Option<Value> {
    let request = GetIssue { domain: domain.id, id, view, budget: BUDGET.into() };
    let found = store.issue(request).await.unwrap()?;
    Some(serde_json::from_slice(&found.body).unwrap())
}

fn texts(issues: &[Value]) -> Vec<String> {
    issues.iter().map(Value::to_string).collect()
}

/// The outcome of each record, with the rest of its line except for warnings: the times of these
/// tests are small.
fn outcomes(records: &[String]) -> Vec<String> {
    let outcome = |line: &String| {
        let (_, rest) = line.split_once("\"outcome\":").unwrap();
        match rest.split_once(",\"warnings\":") {
            Some((before, _)) => format!("{before}}}"),
            None => rest.to_owned(),
        }
    };
    records.iter().map(outcome).collect()
}

/// The query with these request parameters.
fn query_of(parameters: &[(&str, &str)]) -> IssueQuery {
    let pairs: Vec<_> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    parse_list(&pairs).unwrap().query
}

pub(crate) async fn imported_issues_have_the_ids_and_times_of_their_entries(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries = texts(&[
        json!({"id": 7, "title": "seven", "created_at": 5000, "updated_at": 4000, "tags": ["b"]}),
        json!({"id": 3, "title": "three", "created_at": 9000, "hs_user_id": "eva"}),
        json!({"title": "next", "created_at": 1000, "feedback_rating": 5}),
    ]);
    run(&store, &acme, "t", IMPORT, &entries).await;
    assert_eq!(errors(&store, acme.id, "t").await, Vec::<String>::new());
    let created = results(&store, acme.id, "t").await;
    let expected = [7, 3, 8].map(|id| format!(r#""created","id":{id}}}"#));
    assert_eq!(outcomes(&created), expected);
    let found = all(&store, &acme).await;
    let brief: Vec<_> =
        found.iter().map(|i| json!([i["id"], i["created_at"], i["title"]])).collect();
    let expected = [json!([3, 9000, "three"]), json!([7, 5000, "seven"]), json!([8, 1000, "next"])];
    assert_eq!(brief, expected);
    assert_eq!(found[1]["updated_at"], 4000);
    assert_sound(&store).await;
}

pub(crate) async fn a_single_issue_has_the_fields_that_the_view_selects(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let entry = json!({"id": 7, "title": "a", "created_at": 5000, "feedback_rating": 5,
        "queue": {"id": "q", "name": "Queue"},
        "messages": [{"body": "hello", "created_at": 5000, "origin": "end-user"}]});
    run(&store, &acme, "t", IMPORT, &texts(&[entry])).await;
    let full = get(&store, &acme, 7, IssueView::FULL).await.unwrap();
    assert_eq!(full, all(&store, &acme).await[0]);
    assert_eq!((&full["feedback_rating"], &full["queue"]["name"]), (&json!(5), &json!("Queue")));
    let plain = get(&store, &acme, 7, IssueView::default()).await.unwrap();
    assert_eq!(plain["messages"][0]["body"], "hello");
    let brief = IssueView { exclude_messages: true, ..IssueView::default() };
    let brief = get(&store, &acme, 7, brief).await.unwrap();
    for hidden in ["queue", "feedback_rating", "custom_fields"] {
        assert_eq!(plain.get(hidden), None);
        assert_eq!(brief.get(hidden), None);
    }
    assert_eq!(brief.get("messages"), None);
    for (domain, id) in [(&acme, 8), (&acme, 0), (&acme, u64::MAX), (&other, 7)] {
        assert_eq!(get(&store, domain, id, IssueView::FULL).await, None, "{} {id}", domain.name);
    }
}

pub(crate) async fn importing_a_known_id_is_unchanged_or_a_conflict(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let one = json!({"id": 1, "title": "one", "created_at": 5000});
    let moved = json!({"id": 2, "title": "two", "created_at": 5000});
    let other = json!({"id": 1, "title": "another", "created_at": 5000});
    let entries = texts(&[one.clone(), moved, other, one]);
    let shift = r#","created_at":5001,"original_created_at":5000"#;
    for (id, outcome) in [("first", "created"), ("again", "unchanged")] {
        let task = run(&store, &acme, id, IMPORT, &entries).await;
        assert_eq!((task.counts.succeeded, task.counts.failed), (3, 1));
        let records = results(&store, acme.id, id).await;
        let expected = [
            format!(r#""{outcome}","id":1}}"#),
            format!(r#""{outcome}","id":2{shift}}}"#),
            r#""unchanged","id":1}"#.to_owned(),
        ];
        assert_eq!(outcomes(&records), expected);
        let failed = errors(&store, acme.id, id).await;
        assert!(failed[0].starts_with(r#"{"index":2,"line":3,"id":1,"#), "{}", failed[0]);
        assert!(failed[0].contains(r#""code":"id_conflict","pointer":"/id""#), "{}", failed[0]);
    }
    assert_eq!(all(&store, &acme).await.len(), 2);
    assert_sound(&store).await;
}

pub(crate) async fn later_blocks_of_a_chunk_see_the_issues_of_earlier_blocks(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let issue = |id: u64, title: &str, at: i64| json!({"id": id, "title": title, "created_at": at});
    let entries = texts(&[
        issue(1, "one", 5000),
        issue(2, "two", 6000),
        // The first issue again, another issue with a known id, and a known creation time.
        issue(1, "one", 5000),
        issue(2, "other", 6000),
        issue(7, "seven", 5000),
        // An issue of an earlier block again, and an issue that gets the next id.
        issue(7, "seven", 5000),
        json!({"title": "eight", "created_at": 4000}),
    ]);
    let parts = [0..2, 2..5, 5..7];
    store.create_task(task_of(&acme, "t", IMPORT, &entries, 7)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let mut parts = parts.map(|part| {
        let first = part.start as u32;
        chunk(&claimed, block(&entries[part], first), NOW)
    });
    let feed = EntryQueue::new(QueueLimits::new(1 << 20, 1 << 20, 1 << 20));
    parts[1..].iter().for_each(|later| feed.push(later.entries.clone()));
    feed.end();
    let feed = Arc::new(feed);
    parts[0].following = Some(feed.clone());
    let mut applied = store.apply_chunk(parts[0].clone()).await.unwrap();
    // On a slow machine, one chunk may not have had time for all blocks.
    while applied.task.outcome.is_none() {
        let part = match applied.rest.take() {
            Some(part) => part,
            None => feed.next().await.unwrap(),
        };
        let command =
            ApplyChunk { entries: part, following: Some(feed.clone()), ..parts[0].clone() };
        applied = store.apply_chunk(command).await.unwrap();
    }
    let expected = [
        r#""created","id":1}"#,
        r#""created","id":2}"#,
        r#""unchanged","id":1}"#,
        r#""created","id":7,"created_at":5001,"original_created_at":5000}"#,
        r#""unchanged","id":7,"created_at":5001,"original_created_at":5000}"#,
        r#""created","id":8}"#,
    ];
    assert_eq!(outcomes(&results(&store, acme.id, "t").await), expected);
    let failed = errors(&store, acme.id, "t").await;
    assert_eq!(failed.len(), 1);
    assert!(failed[0].starts_with(r#"{"index":3,"line":4,"id":2,"#), "{}", failed[0]);
    assert!(failed[0].contains(r#""code":"id_conflict""#), "{}", failed[0]);
    assert_eq!(all(&store, &acme).await.len(), 4);
    assert_sound(&store).await;
}

pub(crate) async fn equal_creation_times_are_shifted_across_slices_and_tasks(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    // More than a slice, and the newest first: later slices have to read the times of earlier ones.
    let entries: Vec<Value> =
        (0..1300).map(|n| json!({"title": "x", "created_at": 9_000_000 - n / 4 * 2})).collect();
    run(&store, &acme, "t1", IMPORT, &texts(&entries[..1000])).await;
    run(&store, &acme, "t2", IMPORT, &texts(&entries[1000..])).await;
    let expected = Oracle::new(&store, &acme, &texts(&entries)).await;
    let query = query_of(&[("sort-order", "asc")]);
    let mut instants = BTreeSet::new();
    for page_number in 1..=2 {
        let paging = Paging { page: page_number, page_size: 1000 };
        let found = list(&store, &acme, &query, IssueView::FULL, paging).await;
        let body = String::from_utf8(found.body.clone()).unwrap();
        assert_eq!((found.total_hits, body), expected.list(&query, IssueView::FULL, paging));
        instants.extend(issues_of(&found).iter().map(|issue| issue["created_at"].as_i64()));
    }
    assert_eq!(instants.len(), 1300, "no two issues share an instant");
    assert_sound(&store).await;
}

pub(crate) async fn an_import_creates_the_apps_agents_and_app_profiles_it_names(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let entries = texts(&[
        json!({"created_at": 1, "app_id": "ios", "app_publish_id": "7", "hs_user_id": "eva",
            "author_name": "Eva", "author_email": "Eva@example.com", "assignee_id": "ada",
            "assignee_name": "Ada", "queue": {"id": "q", "name": "Queue"}}),
        json!({"created_at": 2, "app_id": "web", "hs_user_id": "eva", "author_name": "Other",
            "assignee_id": "ada", "assignee_name": "Another"}),
        json!({"created_at": 3, "hs_user_id": "max"}),
    ]);
    run(&store, &acme, "t", IMPORT, &entries).await;
    assert_eq!(errors(&store, acme.id, "t").await, Vec::<String>::new());
    let apps = store.apps(acme.id).await.unwrap();
    let apps: Vec<_> = apps.iter().map(|a| (a.id.as_str(), a.publish_id.as_str())).collect();
    assert_eq!(apps[1..], [("ios", "7"), ("web", "2")]);
    assert_eq!(apps[0].1, "1");
    let agents = store.agents(acme.id).await.unwrap();
    let agents: Vec<_> = agents.iter().map(|a| (a.id.as_str(), a.name.as_str())).collect();
    assert_eq!(agents, [("ada", "Ada")], "the first name of an agent stays");
    let gets = lines(&[r#"{"pid":"eva"}"#, r#"{"pid":"max"}"#]);
    run(&store, &acme, "g", Action::GetAppProfiles, &gets).await;
    let found = results(&store, acme.id, "g").await;
    let eva = r#"{"pid":"eva","app_id":"ios","name":"Eva","emails":["Eva@example.com"],"#;
    assert!(found[0].starts_with(eva), "{}", found[0]);
    assert!(found[1].contains(&format!(r#""app_id":"{}""#, apps[0].0)), "{}", found[1]);
    // The next app gets the next number; publish ids from imports do not count.
    let more = texts(&[json!({"created_at": 4, "app_id": "tv"})]);
    run(&store, &acme, "t2", IMPORT, &more).await;
    assert_eq!(store.apps(acme.id).await.unwrap()[3].publish_id, "3");
    assert_sound(&store).await;
}

pub(crate) async fn large_imports_index_every_issue_under_its_author(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let of_two =
        query_of(&[("author-emails", r#"{"or":["ada@example.org","user-7@example.org"]}"#)]);
    for (n, instants) in [0..1100, 1100..2200, 2200..2205].into_iter().enumerate() {
        import_of_authors(&store, &acme, instants).await;
        let found = list(&store, &acme, &of_two, IssueView::default(), ALL).await;
        assert_eq!(found.total_hits, [2, 4, 5][n]);
    }
    assert_sound(&store).await;
}

pub(crate) async fn a_dry_import_changes_nothing_and_sees_its_own_entries(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    // The last entry is in another slice than the first: a dry run has to remember both.
    let mut entries: Vec<Value> =
        (0..700).map(|n| json!({"id": n + 1, "title": "x", "created_at": 5000 + n})).collect();
    entries.push(json!({"id": 1, "title": "another", "created_at": 5000}));
    entries.push(json!({"title": "new", "created_at": 5000, "app_id": "ios"}));
    let mut command = task_of(&acme, "dry", IMPORT, &texts(&entries), 1000);
    command.dry_run = true;
    let task = run_command(&store, command, NOW).await;
    assert_eq!(task.outcome, Some(Outcome::CompletedWithErrors));
    let failed = errors(&store, acme.id, "dry").await;
    assert_eq!(failed.len(), 1);
    assert!(failed[0].contains("the entry with index 0 has this id"), "{}", failed[0]);
    let records = results(&store, acme.id, "dry").await;
    let last = r#""created","created_at":5700,"original_created_at":5000}"#;
    assert_eq!(outcomes(&records)[700], last, "a dry run does not promise an id");
    assert_eq!(all(&store, &acme).await.len(), 0);
    assert_eq!(store.apps(acme.id).await.unwrap().len(), 1);
    assert_sound(&store).await;
    let task = run(&store, &acme, "real", IMPORT, &texts(&entries)).await;
    assert_eq!((task.counts.succeeded, task.counts.failed), (701, 1));
    assert_sound(&store).await;
}

pub(crate) async fn issues_are_visible_in_one_domain_and_deleted_with_it(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let entries: Vec<Value> = (0..2100)
        .map(|n| json!({"id": n + 1, "created_at": n * 60_000, "tags": [format!("t{}", n % 7)]}))
        .collect();
    for domain in [&acme, &other] {
        let task = run(&store, domain, "t", IMPORT, &texts(&entries)).await;
        assert_eq!(task.counts.failed, 0);
    }
    store.delete_domain(acme.id).await.unwrap();
    let gone = list(&store, &acme, &IssueQuery::default(), IssueView::FULL, ALL).await;
    assert_eq!(gone, IssuePage::default());
    assert_eq!(get(&store, &acme, 1, IssueView::FULL).await, None);
    assert!(get(&store, &other, 1, IssueView::FULL).await.is_some());
    let left = list(&store, &other, &IssueQuery::default(), IssueView::FULL, ALL).await;
    assert_eq!((left.total_hits, left.count), (2100, 1000));
    assert_sound(&store).await;
}

pub(crate) async fn deep_pages_equal_those_of_a_naive_store(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let states = ["new", "resolved", "rejected"];
    let entries: Vec<Value> = (0..2600i64)
        .map(|n| {
            let at = FIRST_DAY + n * n % 40 * DAY_MS / 4 + n % 977;
            json!({"id": n + 1, "created_at": at, "updated_at": at / 1000 * 1000,
                "state_data": {"state": states[n as usize % 3], "changed_at": at / 7 * 7},
                "feedback_rating": if n % 2 == 0 { json!(n % 5 + 1) } else { Value::Null },
                "app_id": if n % 3 == 0 { "a" } else { "b" }})
        })
        .map(|mut entry| {
            entry.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            entry
        })
        .collect();
    let entries = texts(&entries);
    run(&store, &acme, "t", IMPORT, &entries).await;
    let naive = Oracle::new(&store, &acme, &entries).await;
    let since = (FIRST_DAY + 3 * DAY_MS / 2).to_string();
    let until = (FIRST_DAY + 9 * DAY_MS - 77).to_string();
    for filters in [
        &[][..],
        &[("state", "new,rejected")],
        &[("created-since", &since)],
        &[("created-until", &until), ("state", "resolved,new")],
        &[("created-since", &since), ("created-until", &until)],
        &[("feedback-rating", r#"{"exists":"false"}"#)],
        &[("feedback-rating", r#"{"and":[{"is_greater_than":"1"}]}"#)],
        &[("app-ids", r#"["b"]"#), ("created-since", &since)],
        &[("updated-since", &since)],
        &[("state-since", &since), ("state", "new,resolved"), ("sort-by", "state-change-time")],
        &[("state-since", &since), ("app-ids", r#"["b"]"#), ("sort-by", "update-time")],
    ] {
        for order in ["asc", "desc"] {
            let query = query_of(&[filters, &[("sort-order", order)]].concat());
            for (number, page_size) in [(2, 1000), (3, 1000), (11, 100), (9, 150), (1200, 1)] {
                let paging = Paging { page: number, page_size };
                let view = IssueView::default();
                let found = list(&store, &acme, &query, view, paging).await;
                let body = String::from_utf8(found.body).unwrap();
                let expected = naive.list(&query, view, paging);
                assert!((found.total_hits, body) == expected, "{filters:?} {order} {paging:?}");
            }
        }
    }
    assert_sound(&store).await;
}

pub(crate) async fn a_list_that_exceeds_its_budget_returns_deadline_passed(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries: Vec<Value> = (0..1000).map(|n| json!({"created_at": n})).collect();
    run(&store, &acme, "t", IMPORT, &texts(&entries)).await;
    let request = ListIssues {
        domain: acme.id,
        // Neither a counter nor an index covers this filter.
        query: query_of(&[("messages", r#"{"or":["x"]}"#)]),
        view: IssueView::default(),
        paging: Paging::default(),
        bytes_max: usize::MAX,
        budget: Duration::ZERO.into(),
    };
    let answer = store.list_issues(request).await;
    assert!(matches!(answer, Err(StoreError::DeadlinePassed)), "{answer:?}");
}

/// A new domain for each case of a property test.
async fn next_domain(store: &Arc<dyn Store>, tries: &AtomicU32) -> Domain {
    domain(store, &format!("d{}", tries.fetch_add(1, Ordering::Relaxed))).await
}

pub(crate) async fn lists_and_records_equal_those_of_a_naive_store(store: Arc<dyn Store>) {
    let tries = AtomicU32::new(0);
    let entries = proptest::collection::vec(oracle::entry(), 0..90);
    let question = (queries::query(), oracle::view(), oracle::paging());
    let questions = proptest::collection::vec(question, 40);
    oracle::check(12, &(entries, questions), async |(entries, questions)| {
        let domain = next_domain(&store, &tries).await;
        let naive = Oracle::new(&store, &domain, &entries).await;
        if !entries.is_empty() {
            // Several blocks make several chunks.
            run_command(&store, task_of(&domain, "t", IMPORT, &entries, 37), NOW).await;
        }
        prop_assert_eq!(&results(&store, domain.id, "t").await, &naive.results);
        prop_assert_eq!(&errors(&store, domain.id, "t").await, &naive.errors);
        for (query, view, paging) in questions {
            let found = list(&store, &domain, &query, view, paging).await;
            let (total, body) = naive.list(&query, view, paging);
            prop_assert_eq!(found.total_hits, total, "{:?}", query);
            prop_assert_eq!(String::from_utf8_lossy(&found.body), body, "{:?}", query);
        }
        Ok(())
    });
    // The check also recomputes counters.
    assert_sound(&store).await;
}

/// A procedure that takes more steps is considered endless.
const STEPS_MAX: usize = 2000;

/// The retrieval of historic issues, literally as the specification describes it. Returns ids in
/// the order of processing.
async fn retrieve(store: &Arc<dyn Store>, domain: &Domain, page_size: u64) -> Vec<u64> {
    let mut processed = Vec::new();
    let mut since = 0;
    for _ in 0..STEPS_MAX {
        let range = TimeRange {
            since: Some(UnixMillis(since)),
            until: Some(UnixMillis(FIRST_DAY + 100 * DAY_MS)),
        };
        let sort = Sort { key: SortKey::CreationTime, order: SortOrder::Ascending };
        let query = IssueQuery { created: range, sort, ..IssueQuery::default() };
        let view = IssueView::default();
        let found = list(store, domain, &query, view, Paging { page: 1, page_size }).await;
        let issues = issues_of(&found);
        let id = |issue: &Value| issue["id"].as_u64().unwrap();
        match issues.as_slice() {
            [] => return processed,
            [only] => {
                processed.push(id(only));
                return processed;
            }
            [all_but_last @ .., last] => {
                processed.extend(all_but_last.iter().map(id));
                since = last["created_at"].as_i64().unwrap();
            }
        }
    }
    panic!("the procedure does not end");
}

pub(crate) async fn the_cursor_procedure_delivers_each_issue_once(store: Arc<dyn Store>) {
    let tries = AtomicU32::new(0);
    // Few creation times for many issues, so that most of them collide.
    let crowded = (0..6i64, 0..2i64)
        .prop_map(|(hour, ms)| json!({"created_at": FIRST_DAY + hour * 3_600_000 + ms}));
    let crowd = proptest::collection::vec(crowded, 0..330);
    oracle::check(8, &(crowd, 2..7u64), async |(entries, small)| {
        let domain = next_domain(&store, &tries).await;
        let entries = texts(&entries);
        if !entries.is_empty() {
            run(&store, &domain, "t", IMPORT, &entries).await;
        }
        let mut expected = Oracle::new(&store, &domain, &entries).await.ids();
        expected.sort_unstable();
        for page_size in [100, small] {
            let mut processed = retrieve(&store, &domain, page_size).await;
            processed.sort_unstable();
            prop_assert_eq!(&processed, &expected, "page size {}", page_size);
        }
        Ok(())
    });
}
