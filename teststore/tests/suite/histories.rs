//! The history of one record, against a reading of the whole log: large batches and small ones,
//! several changes of a record in one batch, and pages of any size.

use std::sync::Arc;

use caseload_model::change::{Change, ChangeAction, RecordId, Resource};
use caseload_model::task::Action;
use caseload_store::{CreateTask, DeleteIssue, Domain, HistoryPage, ReadHistory, Store};
use serde_json::json;

use super::changes::follow;
use super::deletions::core_profiles;
use super::issue_writes::{bulk_edit, create, edit, origin};
use super::support::{NOW, assert_not_found, assert_sound, domain, run, run_command, task_of};

/// Records whose histories are compared after each test that writes.
const SAMPLE: usize = 6;

fn reading(domain: &Domain, resource: Resource, id: u64, changes_max: usize) -> ReadHistory {
    ReadHistory { domain: domain.id, resource, id, before: None, changes_max }
}

/// A history, read page by page.
async fn history(store: &Arc<dyn Store>, mut request: ReadHistory) -> Vec<Change> {
    let mut found = Vec::new();
    loop {
        let page = store.history(request.clone()).await.unwrap();
        assert!(page.changes.len() <= request.changes_max);
        found.extend(page.changes);
        if page.next.is_none() {
            return found;
        }
        assert!(page.next < request.before.or(Some(u64::MAX)), "the reading does not proceed");
        request.before = page.next;
    }
}

/// The histories of some records of a domain are those that its log has.
pub(super) async fn assert_histories(store: &Arc<dyn Store>, domain: &Domain, log: &[Change]) {
    let mut records: Vec<_> = log
        .iter()
        .filter(|one| matches!(one.effect.resource, Resource::Issue | Resource::CoreProfile))
        .filter_map(|one| Some((one.effect.resource, one.effect.id.number()?)))
        .collect();
    records.sort_unstable();
    records.dedup();
    let step = records.len().div_ceil(SAMPLE).max(1);
    for (n, (resource, id)) in records.into_iter().step_by(step).enumerate() {
        let request = reading(domain, resource, id, [1000, 1, 3][n % 3]);
        let wanted = naive(log, resource, id);
        assert_eq!(history(store, request).await, wanted, "{resource:?} {id}");
    }
}

fn naive(log: &[Change], resource: Resource, id: u64) -> Vec<Change> {
    let id = RecordId::from(id);
    let of_record =
        log.iter().rev().filter(|one| one.effect.resource == resource && one.effect.id == id);
    of_record.cloned().collect()
}

pub(crate) async fn the_history_of_a_record_is_what_a_reading_of_the_log_finds(
    store: Arc<dyn Store>,
) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    // Batches of many records and of few, of overlapping and of distant ids.
    let entries: Vec<_> =
        (1..=80).map(|n| json!({"id": n * 3, "created_at": n}).to_string()).collect();
    let import = task_of(&acme, "import", Action::ImportIssues, &entries, 40);
    run_command(&store, import, NOW).await;
    let replaced: Vec<_> = [3, 120, 240]
        .map(|id| json!({"id": id, "created_at": id / 3, "title": "new"}).to_string())
        .to_vec();
    let upsert = task_of(&acme, "upsert", Action::ImportIssues, &replaced, 2);
    run_command(&store, CreateTask { upsert: true, ..upsert }, NOW).await;
    let live = create(&store, &acme, &[("message-body", "x")]).await;
    for (title, tags) in [("a", r#"["x"]"#), ("b", r#"["y"]"#)] {
        drop(store.edit_issue(edit(&acme, 120, &[("title", title)])).await.unwrap());
        let ids = format!("[120,{live},3]");
        let fields = [("issue-ids", ids.as_str()), ("tags", tags)];
        drop(store.edit_issues(bulk_edit(&acme, &fields)).await.unwrap());
    }
    // A batch in which one profile changes many times.
    let people = core_profiles(&store, &acme, "people", (0..50).map(|n| format!("u{n}"))).await;
    let ages: Vec<_> = (0..90)
        .map(|n| {
            json!({"core-profile-id": people[n % 45 / 15].0.to_string(), "age": n}).to_string()
        })
        .collect();
    run(&store, &acme, "ages", Action::UpdateCoreProfiles, &ages).await;
    let delete = DeleteIssue { origin: origin(&acme, NOW), issue_id: 120 };
    drop(store.delete_issue(delete).await.unwrap());

    let log = follow(&store, &acme, 0, 1000).await;
    let issues = [3, 6, 120, 237, 240, live].map(|id| (Resource::Issue, id));
    let people = [0, 1, 2, 49].map(|n| (Resource::CoreProfile, people[n].0));
    for (resource, id) in issues.into_iter().chain(people) {
        let wanted = naive(&log, resource, id);
        assert!(!wanted.is_empty());
        for changes_max in [1, 2, 7, 1000] {
            let found = history(&store, reading(&acme, resource, id, changes_max)).await;
            assert_eq!(found, wanted, "{resource:?} {id} by {changes_max}");
        }
        for before in [0, 1, wanted[0].position, log.len() as u64 / 2, u64::MAX] {
            let request = reading(&acme, resource, id, 1000);
            let request = ReadHistory { before: Some(before), ..request };
            let left = wanted.iter().filter(|change| change.position < before).cloned();
            assert_eq!(history(&store, request).await, left.collect::<Vec<_>>(), "{before}");
        }
        let theirs = store.history(reading(&other, resource, id, 10)).await.unwrap();
        assert_eq!(theirs, HistoryPage::default());
    }
    let deleted = store.history(reading(&acme, Resource::Issue, 120, 1)).await.unwrap();
    assert_eq!(deleted.changes[0].effect.action, ChangeAction::Deleted);
    let of_profile = naive(&log, Resource::CoreProfile, people[0].1);
    assert!(of_profile.len() > 20, "{}", of_profile.len());
    for id in [1, 7, 10_000, u64::MAX] {
        let unknown = store.history(reading(&acme, Resource::Issue, id, 10)).await.unwrap();
        assert_eq!(unknown, HistoryPage::default(), "{id}");
    }
    assert_sound(&store).await;
    store.delete_domain(acme.id).await.unwrap();
    assert_not_found(&store.history(reading(&acme, Resource::Issue, 3, 10)).await);
    assert_sound(&store).await;
}
