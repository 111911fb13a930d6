//! A naive store of issues as the reference for lists and records. It plans all entries at once in
//! an empty domain and answers every list by looking at each issue. The random entries use few
//! creation times and ids, so that times are shifted and ids collide.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::issue::{
    App, ImportContext, ImportMode, IssueBody, IssueColumns, IssueFragments, IssueState,
    TakenTimestamps, plan_imports, prepare_imports, write_issue,
};
use caseload_model::issue_query::{IssueQuery, IssueView, Paging, SearchableIssue};
use caseload_store::{Domain, IssuePage, ListIssues, Store};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use super::queries;
use super::support::block;

pub(crate) struct Oracle {
    issues: Vec<(IssueColumns, Vec<u8>, IssueBody)>,
    /// The case-folded email addresses of agents, by agent id.
    pub(crate) agent_emails: HashMap<String, String>,
    /// Result and error records as lines.
    pub(crate) results: Vec<String>,
    pub(crate) errors: Vec<String>,
}

/// A page of the store, which it has plenty of time for.
pub(crate) async fn list(
    store: &Arc<dyn Store>,
    domain: &Domain,
    query: &IssueQuery,
    view: IssueView,
    paging: Paging,
) -> IssuePage {
    let request = ListIssues {
        domain: domain.id,
        query: query.clone(),
        view,
        paging,
        bytes_max: usize::MAX,
        budget: Duration::from_secs(30).into(),
    };
    store.list_issues(request).await.unwrap()
}

impl Oracle {
    /// The expected state after these entries were imported into `domain`, which has no issues yet.
    pub(crate) async fn new(store: &Arc<dyn Store>, domain: &Domain, entries: &[String]) -> Self {
        let web = store.apps(domain.id).await.unwrap().remove(0);
        let default_app = App { app_id: web.id, publish_id: web.publish_id };
        let context = ImportContext {
            apps: vec![default_app.clone()],
            default_app,
            next_publish_number: 2,
            last_issue_id: 0,
            free_ids: Vec::new(),
            stored: HashMap::new(),
            earlier: HashMap::new(),
            changed: None,
            taken_timestamps: TakenTimestamps::new(None),
        };
        let block = block(entries, 0);
        let mut prepared = prepare_imports(&domain.name, &block);
        let plan = plan_imports(&context, &block.bytes, &prepared, ImportMode::default()).unwrap();
        let issues = plan.issues.into_iter().map(|row| {
            let body = std::mem::take(&mut prepared[row.source].item.as_mut().unwrap().body);
            (row.columns, row.head, body)
        });
        let lines = |bytes: Vec<u8>| {
            String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        };
        Self {
            issues: issues.collect(),
            agent_emails: HashMap::new(),
            results: lines(plan.records.results),
            errors: lines(plan.records.errors),
        }
    }

    /// Of a domain with these issues.
    pub(crate) const fn of(
        issues: Vec<(IssueColumns, Vec<u8>, IssueBody)>,
        agent_emails: HashMap<String, String>,
    ) -> Self {
        Self { issues, agent_emails, results: Vec::new(), errors: Vec::new() }
    }

    /// The total and the bytes of a page.
    pub(crate) fn list(
        &self,
        query: &IssueQuery,
        view: IssueView,
        paging: Paging,
    ) -> (u64, String) {
        let matches = |(columns, head, body): &&(IssueColumns, Vec<u8>, IssueBody)| {
            let fragments = IssueFragments::new(head, body);
            let agent_emails = &self.agent_emails;
            query.matches(&SearchableIssue { columns, fragments, agent_emails })
        };
        let mut found: Vec<_> = self.issues.iter().filter(matches).collect();
        found.sort_by(|a, b| query.sort.compare(&a.0, &b.0));
        let mut body = Vec::new();
        let skipped = found.iter().skip(paging.offset() as usize);
        for (_, head, rest) in skipped.take(paging.page_size as usize) {
            if !body.is_empty() {
                body.push(b',');
            }
            write_issue(&IssueFragments::new(head, rest), &view, &mut body);
        }
        (found.len() as u64, String::from_utf8(body).unwrap())
    }

    /// Compares a list of the store, in every detail, and returns its total.
    pub(crate) async fn agrees(
        &self,
        store: &Arc<dyn Store>,
        domain: &Domain,
        query: &IssueQuery,
        paging: Paging,
        place: &str,
    ) -> u64 {
        let found = list(store, domain, query, IssueView::FULL, paging).await;
        let (total, body) = self.list(query, IssueView::FULL, paging);
        assert_eq!(found.total_hits, total, "{place}");
        assert_eq!(String::from_utf8_lossy(&found.body), body, "{place}");
        total
    }

    /// Forgets an issue.
    pub(crate) fn remove(&mut self, id: u64) {
        self.issues.retain(|issue| issue.0.id != id);
    }

    /// The issues that match.
    pub(crate) fn matches<'o>(
        &'o self,
        query: &'o IssueQuery,
    ) -> impl Iterator<Item = &'o IssueColumns> {
        let agent_emails = &self.agent_emails;
        let found = self.issues.iter().filter(move |(columns, head, body)| {
            let fragments = IssueFragments::new(head, body);
            query.matches(&SearchableIssue { columns, fragments, agent_emails })
        });
        found.map(|issue| &issue.0)
    }

    pub(crate) fn ids(&self) -> Vec<u64> {
        self.issues.iter().map(|issue| issue.0.id).collect()
    }
}

/// An entry with values that [`queries`] uses too.
pub(crate) fn entry() -> impl Strategy<Value = String> {
    let name = || proptest::option::of(proptest::sample::select(&queries::NAMES[..3]));
    let times = (
        queries::instant(),
        proptest::option::of(queries::instant()),
        queries::instant(),
        proptest::option::weighted(0.1, queries::instant()),
    );
    let words = (name(), name(), name(), name(), name());
    let others = (
        proptest::option::of(1..60u64),
        proptest::sample::select(IssueState::ALL),
        proptest::option::of(1..=5u8),
        any::<bool>(),
        proptest::collection::vec(proptest::sample::select(&queries::NAMES[..3]), 0..3),
    );
    (times, words, others).prop_map(|(times, words, others)| {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| {
            if value != Value::Null {
                entry.insert(key.to_owned(), value);
            }
        };
        put("id", json!(others.0));
        put("title", json!("a title"));
        put("tags", json!(others.4));
        put("app_id", json!(words.0));
        put("platform_type", json!(words.1));
        put("hs_user_id", json!(words.2));
        put("assignee_id", json!(words.3));
        put("created_at", json!(times.0));
        put("updated_at", json!(times.1));
        put("original_created_at", json!(times.3));
        put("state_data", json!({"state": others.1.as_str(), "changed_at": times.2}));
        put("feedback_rating", json!(others.2));
        put("redacted", json!(others.3));
        put("custom_fields", json!({"n": {"type": "number", "value": 1}}));
        if let Some(queue) = words.4 {
            put("queue", json!({"id": queue, "name": "a queue"}));
        }
        Value::Object(entry).to_string()
    })
}

pub(crate) fn view() -> impl Strategy<Value = IssueView> {
    let brief = IssueView { exclude_messages: true, ..IssueView::default() };
    proptest::sample::select(vec![IssueView::default(), IssueView::FULL, brief])
}

pub(crate) fn paging() -> impl Strategy<Value = Paging> {
    let (page, page_size) = (1..6u64, prop_oneof![1..8u64, Just(100), Just(1000)]);
    (page, page_size).prop_map(|(page, page_size)| Paging { page, page_size })
}

/// Checks an asynchronous property on random inputs. All cases share one store, and each creates a
/// domain of its own.
pub(crate) fn check<S, F>(cases: u32, strategy: &S, law: impl Fn(S::Value) -> F)
where
    S: Strategy,
    F: Future<Output = Result<(), TestCaseError>>,
{
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 50, ..Config::default() };
    let handle = tokio::runtime::Handle::current();
    let run = || TestRunner::new(config).run(strategy, |input| handle.block_on(law(input)));
    if let Err(broken) = tokio::task::block_in_place(run) {
        panic!("{broken}");
    }
}
