//! Behaviour of issues as far as the store has a part in it: what an import leaves behind, and
//! that lists and counts agree with it. The rules of issues are the model's and are tested there.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::issue_query::{IssueQuery, IssueView, Paging};
use caseload_model::task::Action;
use caseload_store::{Domain, GetIssue, IssuePage, ListIssues, Store};
use serde_json::{Value, json};

use super::payloads::{assert_sound, domain, errors, results, run};

const IMPORT: Action = Action::ImportIssues;
/// Time that reads of the suite may take.
const BUDGET: Duration = Duration::from_secs(10);

pub(crate) async fn list(
    store: &Arc<dyn Store>,
    domain: &Domain,
    query: IssueQuery,
    paging: Paging,
) -> IssuePage {
    let view = IssueView::FULL;
    let request = ListIssues { domain: domain.id, query, view, paging, budget: BUDGET };
    store.list_issues(request).await.unwrap()
}

pub(crate) async fn all(store: &Arc<dyn Store>, domain: &Domain, query: IssueQuery) -> Vec<Value> {
    let paging = Paging { page: 1, page_size: 1000 };
    issues_of(&list(store, domain, query, paging).await)
}

/// The issues on a page, parsed.
pub(crate) fn issues_of(page: &IssuePage) -> Vec<Value> {
    let text = [b"[".as_slice(), &page.body, b"]"].concat();
    let issues: Vec<Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(issues.len(), page.count as usize);
    issues
}

fn texts(issues: &[Value]) -> Vec<String> {
    issues.iter().map(Value::to_string).collect()
}

pub(crate) async fn an_import_keeps_ids_and_times(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries = texts(&[
        json!({"id": 7, "title": "seven", "created_at": 5000, "updated_at": 4000, "tags": ["b"]}),
        json!({"id": 3, "title": "three", "created_at": 9000, "hs_user_id": "eva"}),
        json!({"title": "next", "created_at": 1000, "feedback_rating": 5}),
    ]);
    run(&store, &acme, "t", IMPORT, &entries).await;
    assert_eq!(errors(&store, acme.id, "t").await, Vec::<String>::new());
    let created = [7, 3, 8].map(|id| format!(r#","outcome":"created","id":{id}}}"#));
    for (line, end) in results(&store, acme.id, "t").await.iter().zip(created) {
        assert!(line.ends_with(&end), "{line}");
    }
    let found = all(&store, &acme, IssueQuery::default()).await;
    let brief: Vec<_> =
        found.iter().map(|i| json!([i["id"], i["created_at"], i["title"]])).collect();
    assert_eq!(
        brief,
        [json!([3, 9000, "three"]), json!([7, 5000, "seven"]), json!([8, 1000, "next"])]
    );
    assert_eq!(found[1]["updated_at"], 4000);
    let request = GetIssue { domain: acme.id, id: 7, view: IssueView::FULL, budget: BUDGET };
    let single = store.issue(request).await.unwrap().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&single).unwrap(), found[1]);
    assert_sound(&store).await;
}
