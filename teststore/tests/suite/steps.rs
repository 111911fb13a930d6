//! Reading a list in steps. Concatenated, the steps are the whole list in the order of a naive
//! store, for any query and any size of step, even if many issues have equal times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use caseload_model::issue_query::{
    Condition, IssueQuery, IssueView, ListPosition, Paging, Sort, SortKey, SortOrder, TimeRange,
};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use caseload_store::{Domain, IssueStep, ListIssues, StepForm, StepIssues, Store, StoreError};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::oracle::{self, Oracle};
use super::queries;
use super::support::{NOW, domain, rounds, run, run_command, task_of};

const IMPORT: Action = Action::ImportIssues;
const BUDGET: Duration = Duration::from_secs(10);
/// More issues than any test imports.
const ALL: Paging = Paging { page: 1, page_size: 10_000 };

/// A request for the first step, limited only by its number of issues.
pub(crate) fn steps(domain: &Domain, query: &IssueQuery, issues_max: u64) -> StepIssues {
    StepIssues {
        domain: domain.id,
        query: query.clone(),
        view: IssueView::default(),
        after: None,
        issues_max,
        bytes_max: usize::MAX,
        form: StepForm::Commas,
        count: false,
        budget: BUDGET.into(),
    }
}

/// All steps of a list. Checks that none of them exceeds its number of issues.
async fn walk(
    store: &Arc<dyn Store>,
    mut request: StepIssues,
) -> Result<Vec<IssueStep>, TestCaseError> {
    let mut taken = Vec::new();
    loop {
        let step = store.step_issues(request.clone()).await.unwrap();
        prop_assert!(u64::from(step.count) <= request.issues_max);
        prop_assert_eq!(step.count == 0, step.last.is_none());
        prop_assert!(!step.more || step.count > 0, "an empty step promises more issues");
        request.after = step.last.or(request.after);
        let more = step.more;
        taken.push(step);
        if !more {
            return Ok(taken);
        }
    }
}

/// The bodies of all steps, joined as in a list.
fn joined(steps: &[IssueStep]) -> String {
    let bodies = steps.iter().filter(|step| step.count > 0).map(|step| &step.body[..]);
    let bodies: Vec<_> = bodies.collect();
    String::from_utf8(bodies.join(&b","[..])).unwrap()
}

pub(crate) async fn all_steps_together_are_the_whole_sorted_list(store: Arc<dyn Store>) {
    let tries = AtomicU32::new(0);
    let entries = proptest::collection::vec(oracle::entry(), 0..70);
    let sizes = prop_oneof![1..8u64, 8..80u64];
    let question = (queries::query(), oracle::view(), sizes, any::<bool>());
    let questions = proptest::collection::vec(question, 30);
    oracle::check(rounds(12) as u32, &(entries, questions), async |(entries, questions)| {
        let name = format!("s{}", tries.fetch_add(1, Ordering::Relaxed));
        let domain = domain(&store, &name).await;
        let naive = Oracle::new(&store, &domain, &entries).await;
        if !entries.is_empty() {
            run_command(&store, task_of(&domain, "t", IMPORT, &entries, 37), NOW).await;
        }
        for (query, view, issues_max, count) in questions {
            let request = StepIssues { view, count, ..steps(&domain, &query, issues_max) };
            let walked = walk(&store, request).await?;
            let (total, body) = naive.list(&query, view, ALL);
            prop_assert_eq!(joined(&walked), body, "{:?} by {}", query, issues_max);
            let counted: u64 = walked.iter().map(|step| u64::from(step.count)).sum();
            prop_assert_eq!(counted, total);
            prop_assert!(walked.iter().all(|s| s.total_hits == count.then_some(total)));
            // Every step but the last one is full.
            let (last, full) = walked.split_last().unwrap();
            prop_assert!(full.iter().all(|step| u64::from(step.count) == issues_max));
            prop_assert!(last.count > 0 || full.is_empty(), "an empty step after the last issue");
        }
        Ok(())
    });
}

/// Issues of which many have the same update time and state change time.
fn crowd(count: i64) -> Vec<String> {
    let entry = |n| {
        json!({"id": n * 7 % count + 1, "title": "x".repeat(n as usize % 50),
            "created_at": 9000 + n, "updated_at": 5000 + n / 100,
            "state_data": {"state": "new", "changed_at": 7}})
    };
    (0..count).map(|n| entry(n).to_string()).collect()
}

fn sorted(key: SortKey, order: SortOrder) -> IssueQuery {
    IssueQuery { sort: Sort { key, order }, ..IssueQuery::default() }
}

pub(crate) async fn a_position_among_equal_times_skips_and_repeats_nothing(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries = crowd(500);
    run(&store, &acme, "t", IMPORT, &entries).await;
    let naive = Oracle::new(&store, &acme, &entries).await;
    for key in SortKey::ALL {
        for order in SortOrder::ALL {
            let query = sorted(*key, *order);
            let view = IssueView::default();
            let (_, body) = naive.list(&query, view, ALL);
            let all: Vec<Value> = serde_json::from_str(&format!("[{body}]")).unwrap();
            // A step from any issue on begins with the next one.
            for n in (0..all.len()).step_by(17) {
                let at = match key {
                    SortKey::CreationTime => &all[n]["created_at"],
                    SortKey::StateChangeTime => &all[n]["state_data"]["changed_at"],
                    SortKey::UpdateTime => &all[n]["updated_at"],
                };
                let at = UnixMillis(at.as_i64().unwrap());
                let after = Some(ListPosition { at, id: all[n]["id"].as_u64().unwrap() });
                let request = StepIssues { after, ..steps(&acme, &query, 2) };
                let step = store.step_issues(request).await.unwrap();
                let next = serde_json::from_str::<Vec<Value>>(&format!("[{}]", joined(&[step])));
                let wanted = &all[n + 1..(n + 3).min(all.len())];
                assert_eq!(next.unwrap(), wanted, "{key:?} {order:?} {n}");
            }
        }
    }
}

pub(crate) async fn a_step_ends_at_its_byte_limit_and_the_next_one_continues(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let entries = crowd(200);
    run(&store, &acme, "t", IMPORT, &entries).await;
    let query = sorted(SortKey::UpdateTime, SortOrder::Ascending);
    let naive = Oracle::new(&store, &acme, &entries).await;
    for bytes_max in [0, 1, 5000, 20_000] {
        let request = StepIssues { bytes_max, ..steps(&acme, &query, 60) };
        let walked = walk(&store, request.clone()).await.unwrap();
        assert_eq!(joined(&walked), naive.list(&query, request.view, ALL).1);
        let lines = StepIssues { form: StepForm::Lines, ..request };
        let lines: Vec<u8> =
            walk(&store, lines).await.unwrap().into_iter().flat_map(|step| step.body).collect();
        let joined = joined(&walked);
        let lines = String::from_utf8(lines).unwrap();
        assert_eq!(lines.lines().count(), 200);
        assert_eq!(lines.trim_end().replace('\n', ","), joined);
        let longest = walked.iter().map(|step| step.count).max().unwrap();
        match bytes_max {
            0 | 1 => assert_eq!(longest, 1, "a step has at least one issue"),
            5000 => assert!((2..60).contains(&longest), "{longest}"),
            _ => assert!(longest <= 60),
        }
    }
}

pub(crate) async fn a_page_ends_before_its_byte_limit_and_a_step_continues_it(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let entry = |n: i64| {
        let message = json!({"body": "x".repeat(10_000), "created_at": n, "origin": "end-user"});
        let tags: &[&str] = if n % 2 == 0 { &["even"] } else { &[] };
        json!({"id": n, "created_at": n, "tags": tags, "messages": [message]}).to_string()
    };
    run(&store, &acme, "t", IMPORT, &(1..=12).map(entry).collect::<Vec<_>>()).await;
    for (query, hits) in [
        (sorted(SortKey::CreationTime, SortOrder::Ascending), 12),
        (sorted(SortKey::UpdateTime, SortOrder::Descending), 12),
        (
            IssueQuery {
                tags: Condition { or: Some(vec!["even".to_owned()]), ..Condition::default() },
                ..sorted(SortKey::CreationTime, SortOrder::Descending)
            },
            6,
        ),
    ] {
        let naive = steps(&acme, &query, 100);
        let whole = store.step_issues(naive.clone()).await.unwrap().body;
        for (bytes_max, fits) in [(1, 1), (25_000, 2), (35_000, 3), (usize::MAX, hits)] {
            let page = store
                .list_issues(ListIssues {
                    domain: acme.id,
                    query: query.clone(),
                    view: IssueView::default(),
                    paging: Paging { page: 1, page_size: 100 },
                    bytes_max,
                    budget: BUDGET.into(),
                })
                .await
                .unwrap();
            assert_eq!((page.total_hits, page.count), (hits, fits as u32), "{bytes_max}");
            assert_eq!(page.more, fits < hits, "{bytes_max}");
            assert!(page.count == 1 || page.body.len() <= bytes_max, "{}", page.body.len());
            let rest = StepIssues { after: page.last, ..naive.clone() };
            let rest = store.step_issues(rest).await.unwrap().body;
            let comma = if rest.is_empty() { &b""[..] } else { b"," };
            assert!([&page.body, comma, &rest].concat() == whole, "{bytes_max}");
        }
    }
}

pub(crate) async fn a_position_outside_the_filtered_range_is_moved_to_its_end(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let entry = |n: i64| json!({"id": n, "created_at": n * 10}).to_string();
    run(&store, &acme, "t", IMPORT, &(1..=9).map(entry).collect::<Vec<_>>()).await;
    let at = |ms: Option<i64>| ms.map(UnixMillis);
    for (order, after, range, expected) in [
        (SortOrder::Ascending, 5, (Some(30), Some(50)), &[3, 4, 5][..]),
        (SortOrder::Ascending, 30, (Some(30), Some(50)), &[4, 5]),
        (SortOrder::Ascending, 50, (Some(30), Some(50)), &[]),
        (SortOrder::Ascending, i64::MAX, (Some(30), None), &[]),
        (SortOrder::Ascending, i64::MIN, (None, Some(20)), &[1, 2]),
        (SortOrder::Descending, i64::MAX, (Some(30), Some(50)), &[5, 4, 3]),
        (SortOrder::Descending, 50, (Some(30), Some(50)), &[4, 3]),
        (SortOrder::Descending, 10, (None, None), &[]),
        (SortOrder::Descending, i64::MIN, (None, None), &[]),
    ] {
        let mut query = sorted(SortKey::CreationTime, order);
        query.created = TimeRange { since: at(range.0), until: at(range.1) };
        for key in [SortKey::CreationTime, SortKey::UpdateTime] {
            query.sort.key = key;
            query.updated = query.created;
            // An id that sorts after every issue of the same time.
            let id = if order == SortOrder::Ascending { 4711 } else { 0 };
            let after = Some(ListPosition { at: UnixMillis(after), id });
            let request = StepIssues { after, ..steps(&acme, &query, 100) };
            let step = store.step_issues(request).await.unwrap();
            let found: Vec<Value> =
                serde_json::from_str(&format!("[{}]", joined(std::slice::from_ref(&step))))
                    .unwrap();
            let ids: Vec<_> = found.iter().map(|issue| issue["id"].as_u64().unwrap()).collect();
            assert_eq!(ids, expected, "{order:?} {key:?} {after:?} {range:?}");
            assert!(!step.more);
        }
    }
}

pub(crate) async fn a_step_that_exceeds_its_budget_returns_deadline_passed(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "t", IMPORT, &crowd(1000)).await;
    // Texts have no index, so that the step has to read every issue.
    let words = Condition { or: Some(vec!["x".to_owned()]), ..Condition::default() };
    let query = IssueQuery { messages: words, ..IssueQuery::default() };
    let request = StepIssues { budget: Duration::ZERO.into(), ..steps(&acme, &query, 10) };
    let answer = store.step_issues(request).await;
    assert!(matches!(answer, Err(StoreError::DeadlinePassed)), "{answer:?}");
}
