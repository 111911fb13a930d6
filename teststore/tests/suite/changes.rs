//! The log of changes: a reader that follows it knows which records exist, and the last action of
//! each. The positions of a domain have no gap, and no reader misses one if many write at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use caseload_model::change::{Author, Change, ChangeAction, ChangeFilter, RecordId, Resource};
use caseload_model::issue::write::read_note;
use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::json::{elements_at, members_at};
use caseload_model::key::Access;
use caseload_model::profile_query::{ProfileKind, ProfileQuery, ProfileView};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use caseload_store::{
    AddNote, ChangePage, CreateKey, CreateTask, Domain, IdempotencyKey, ListProfiles, ReadChanges,
    Store, StoreError, WriteOrigin,
};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use super::histories::assert_histories;
use super::issue_writes::{bulk_edit, create, creation, edit, message};
use super::oracle::list;
use super::support::{
    NOW, assert_not_found, assert_sound, domain, later, profile_id, results, rounds, run,
    run_command, task_of, uid,
};

/// Records on one page of a list.
const PAGE: u64 = 1000;

pub(super) fn reading(domain: &Domain, after: u64, changes_max: usize) -> ReadChanges {
    ReadChanges { domain: domain.id, after, changes_max, filter: ChangeFilter::default() }
}

/// The log after a position, read page by page.
pub(crate) async fn follow(
    store: &Arc<dyn Store>,
    domain: &Domain,
    mut after: u64,
    changes_max: usize,
) -> Vec<Change> {
    let mut found = Vec::new();
    loop {
        let page = store.read_changes(reading(domain, after, changes_max)).await.unwrap();
        assert!(page.changes.len() <= changes_max);
        if page.next == after {
            assert_eq!(page.changes, []);
            return found;
        }
        after = page.next;
        found.extend(page.changes);
    }
}

/// The log as maps of JSON.
pub(super) async fn shown(store: &Arc<dyn Store>, domain: &Domain, after: u64) -> Vec<Value> {
    let changes = follow(store, domain, after, 1000).await;
    let shown = changes.iter().map(|change| {
        let mut text = Vec::new();
        change.write_json(&mut text);
        serde_json::from_slice(&text).unwrap()
    });
    shown.collect()
}

/// The ids of the records in a list.
fn ids_in(body: &[u8], member: &str) -> Vec<RecordId> {
    let list = [b"[", body, b"]"].concat();
    let ids = elements_at(&list, 0).map(|record| {
        let id = members_at(&list, record.start).find(|(key, _)| *key == member.as_bytes());
        let id: Value = serde_json::from_slice(&list[id.unwrap().1]).unwrap();
        id.as_u64().map_or_else(|| RecordId::from(id.as_str().unwrap()), RecordId::from)
    });
    ids.collect()
}

/// The ids of all profiles of a kind.
async fn profiles(store: &Arc<dyn Store>, domain: &Domain, kind: ProfileKind) -> Vec<RecordId> {
    let mut found = Vec::new();
    loop {
        let paging = Paging { page: found.len() as u64 / PAGE + 1, page_size: PAGE };
        let request = ListProfiles {
            domain: domain.id,
            domain_name: domain.name.clone(),
            query: ProfileQuery::of(kind),
            view: ProfileView::default(),
            paging,
            bytes_max: usize::MAX,
            budget: Duration::from_secs(30).into(),
        };
        let page = store.list_profiles(request).await.unwrap();
        let id = if kind == ProfileKind::Core { "core-profile-id" } else { "pid" };
        found.extend(ids_in(&page.body, id));
        if u64::from(page.count) < PAGE {
            return found;
        }
    }
}

/// The ids of all issues.
async fn issues(store: &Arc<dyn Store>, domain: &Domain) -> Vec<RecordId> {
    let (mut found, query) = (Vec::new(), parse_list(&[]).unwrap().query);
    loop {
        let paging = Paging { page: found.len() as u64 / PAGE + 1, page_size: PAGE };
        let page = list(store, domain, &query, IssueView::default(), paging).await;
        found.extend(ids_in(&page.body, "id"));
        if u64::from(page.count) < PAGE {
            return found;
        }
    }
}

/// The records of a domain that lists show.
async fn stored(store: &Arc<dyn Store>, domain: &Domain) -> Vec<(Resource, RecordId)> {
    let texts = |ids: Vec<String>| ids.iter().map(|id| RecordId::from(&**id)).collect();
    let apps = store.apps(domain.id).await.unwrap();
    let agents = store.agents(domain.id).await.unwrap();
    let keys = store.keys(domain.id).await.unwrap();
    let found: [(Resource, Vec<RecordId>); 6] = [
        (Resource::Issue, issues(store, domain).await),
        (Resource::CoreProfile, profiles(store, domain, ProfileKind::Core).await),
        (Resource::AppProfile, profiles(store, domain, ProfileKind::App).await),
        (Resource::App, texts(apps.into_iter().map(|app| app.id).collect())),
        (Resource::Agent, texts(agents.into_iter().map(|agent| agent.id).collect())),
        (Resource::Key, texts(keys.into_iter().map(|key| key.id).collect())),
    ];
    let each = found.into_iter().flat_map(|(of, ids)| ids.into_iter().map(move |id| (of, id)));
    let mut found: Vec<_> = each.collect();
    found.sort();
    found
}

/// Whether the record is gone after this.
fn is_end(action: ChangeAction) -> bool {
    matches!(action, ChangeAction::Deleted | ChangeAction::Erased)
}

/// The log of each domain leads to the records that it has. Of a log whose beginning was purged
/// only the positions are looked at.
pub(super) async fn assert_logged(store: &Arc<dyn Store>) {
    for domain in store.domains().await.unwrap() {
        let oldest = store.position_before(domain.id, UnixMillis(i64::MIN)).await.unwrap();
        let changes = follow(store, &domain, oldest, 700).await;
        assert_histories(store, &domain, &changes).await;
        let mut last: BTreeMap<(Resource, RecordId), ChangeAction> = BTreeMap::new();
        for (change, position) in changes.into_iter().zip(oldest + 1..) {
            assert_eq!(change.position, position, "a gap in the log");
            let effect = change.effect;
            let record = (effect.resource, effect.id);
            let before = last.insert(record.clone(), effect.action);
            let exists = before.is_some_and(|before| !is_end(before));
            let is_new = effect.action == ChangeAction::Created;
            if oldest == 0 {
                assert_eq!(exists, !is_new, "{record:?} is {:?} after {before:?}", effect.action);
            }
        }
        let is_listed = |resource| {
            !matches!(
                resource,
                Resource::Domain | Resource::Queue | Resource::Task | Resource::Webhook
            )
        };
        let left = last.into_iter().filter(|(_, action)| !is_end(*action));
        let left = left.map(|(record, _)| record).filter(|(resource, _)| is_listed(*resource));
        if oldest == 0 {
            assert_eq!(left.collect::<Vec<_>>(), stored(store, &domain).await, "{}", domain.name);
        }
    }
}

pub(crate) async fn a_single_call_is_logged_with_its_caller_and_its_values(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let key = CreateKey {
        domain: acme.id,
        id: "k1".to_owned(),
        hash: [7; 32],
        name: "the desk".to_owned(),
        access: Access::Write,
        origin: NOW.into(),
        expires_at: None,
    };
    store.create_key(key).await.unwrap();
    let by_key = |origin: &mut WriteOrigin, request: &str| {
        origin.key = Some("k1".to_owned());
        origin.request_id = Some(request.to_owned());
    };
    let mut command = creation(&acme, &[("message-body", "x"), ("email", "ada@example.org")]);
    by_key(&mut command.origin, "r-1");
    drop(store.create_issue(command).await.unwrap());
    let mut command = edit(&acme, 1, &[("status", "resolved"), ("tags", r#"["a"]"#)]);
    by_key(&mut command.origin, "r-2");
    drop(store.edit_issue(command.clone()).await.unwrap());
    // It has these values now.
    drop(store.edit_issue(command).await.unwrap());
    drop(store.add_message(message(&acme, 1, &[("message-body", "y")])).await.unwrap());
    let origin = message(&acme, 1, &[("message-body", "z")]).origin;
    let (request, faults) = read_note(&[("note-text".to_owned(), "z".to_owned())]);
    assert_eq!(faults, []);
    drop(store.add_note(AddNote { origin, issue_id: 1, request }).await.unwrap());
    let missing = edit(&acme, 9, &[("status", "resolved")]);
    assert_not_found(&store.edit_issue(missing).await);
    // The domain, its app and the key come first.
    let found = shown(&store, &acme, 3).await;
    let by = json!({"key_id": "k1", "key_name": "the desk"});
    let [created, profile, edited, answered, noted] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(created["position"], "4");
    assert_eq!(created["at"], NOW.0);
    assert_eq!((&created["by"], &created["request_id"]), (&by, &json!("r-1")));
    let what = |change: &Value| {
        let text = |name: &str| change[name].as_str().unwrap().to_owned();
        [text("resource"), text("id"), text("action")]
    };
    assert_eq!(what(created), ["issue", "1", "created"]);
    assert_eq!(what(profile)[0], "app_profile");
    assert_eq!(what(edited), ["issue", "1", "updated"]);
    assert_eq!(edited["fields"], json!(["state", "tags"]));
    assert_eq!(
        edited["changes"],
        json!({"state": {"from": "new", "to": "resolved"}, "tags": {"from": [], "to": ["a"]}})
    );
    assert_eq!((&edited["by"], &edited["request_id"]), (&by, &json!("r-2")));
    assert!(answered["fields"].as_array().unwrap().contains(&json!("messages")));
    assert_eq!(answered["changes"]["messages.added"].as_array().unwrap().len(), 1);
    assert_eq!((answered.get("by"), answered.get("request_id")), (None, None));
    assert_eq!(noted["fields"], json!(["private_notes"]));
    assert_eq!(noted["changes"], json!({"private_notes.added": 1}));
    assert_sound(&store).await;
}

pub(crate) async fn a_task_is_logged_with_the_entries_that_had_an_effect(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let people = [uid("a"), uid("a"), uid("b")];
    run(&store, &acme, "create", Action::CreateCoreProfiles, &people).await;
    let id = profile_id(&results(&store, acme.id, "create").await[1]);
    let update = json!({"core-profile-id": id, "age": 5, "tags": []}).to_string();
    let updates = [update.clone(), update];
    let dry = task_of(&acme, "dry", Action::UpdateCoreProfiles, &updates, 2);
    run_command(&store, CreateTask { dry_run: true, ..dry }, NOW).await;
    run(&store, &acme, "update", Action::UpdateCoreProfiles, &updates).await;
    let told: Vec<_> = shown(&store, &acme, 2)
        .await
        .into_iter()
        .map(|change| {
            let text = |name: &str| change[name].as_str().unwrap();
            let (by, fields) = (&change["by"], &change["fields"]);
            let task = by["task_id"].as_str().unwrap_or("-");
            let index = by.get("index").map_or(String::new(), |index| format!(" {index}"));
            format!("{} {} {fields} {task}{index}", text("resource"), text("action"))
        })
        .collect();
    assert_eq!(
        told,
        [
            "task created [] -",
            "core_profile created [] create 0",
            "core_profile created [] create 2",
            "task completed [] create",
            "task created [] -",
            "task completed [] dry",
            "task created [] -",
            r#"core_profile updated ["tags","age"] update 0"#,
            "task completed [] update",
        ]
    );
    assert_sound(&store).await;
}

pub(crate) async fn a_filter_finds_the_changes_that_a_naive_reading_finds(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let issues = caseload_testdata::issues(3, 30);
    run(&store, &acme, "import", Action::ImportIssues, &issues).await;
    let people: Vec<_> = (0..40).map(|n| uid(&format!("u{n}"))).collect();
    run(&store, &acme, "create", Action::CreateCoreProfiles, &people).await;
    for n in 0..10 {
        let id = create(&store, &acme, &[("message-body", "x")]).await;
        if n % 2 == 0 {
            drop(store.edit_issue(edit(&acme, id, &[("title", "t")])).await.unwrap());
        }
    }
    let all = follow(&store, &acme, 0, 1000).await;
    let id = |n: usize| all[n].effect.id.clone();
    let none = ChangeFilter::default;
    let filters = [
        ChangeFilter { resources: Some(vec![Resource::Issue]), ..none() },
        ChangeFilter { resources: Some(vec![Resource::Task, Resource::CoreProfile]), ..none() },
        ChangeFilter { actions: Some(vec![ChangeAction::Updated]), ..none() },
        ChangeFilter { ids: Some(vec![id(3), id(50), RecordId::from("import")]), ..none() },
        ChangeFilter { by_task: Some(vec!["create".to_owned()]), ..none() },
        ChangeFilter { by_key: Some(vec!["create".to_owned()]), ..none() },
        ChangeFilter {
            resources: Some(vec![Resource::Issue]),
            actions: Some(vec![ChangeAction::Created]),
            ids: Some(vec![id(3)]),
            ..none()
        },
    ];
    for (filter, changes_max) in filters.into_iter().zip([1, 2, 3, 5, 7, 100, 1000]) {
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let request =
                ReadChanges { filter: filter.clone(), ..reading(&acme, after, changes_max) };
            let page = store.read_changes(request).await.unwrap();
            if page.next == after {
                break;
            }
            after = page.next;
            found.extend(page.changes);
        }
        let wanted = all.iter().filter(|change| filter.matches(change)).cloned();
        assert_eq!(found, wanted.collect::<Vec<_>>(), "{filter:?}");
        assert_eq!(after, all.len() as u64);
    }
    assert_eq!(store.last_position(acme.id).await.unwrap(), all.len() as u64);
    let beyond = store.read_changes(reading(&acme, u64::MAX, 5)).await.unwrap();
    assert_eq!(beyond, ChangePage { changes: Vec::new(), next: u64::MAX });
    store.delete_domain(acme.id).await.unwrap();
    assert_not_found(&store.read_changes(reading(&acme, 0, 5)).await);
}

/// Writers of single calls and of a task work at once while a reader follows.
pub(crate) async fn a_follower_of_concurrent_writers_misses_no_change(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let first = create(&store, &acme, &[("message-body", "x")]).await;
    let is_over = AtomicBool::new(false);
    let following = async {
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let was_over = is_over.load(Ordering::SeqCst);
            let more = follow(&store, &acme, after, 3).await;
            after = more.last().map_or(after, |change| change.position);
            found.extend(more);
            if was_over {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let writer = async |n: usize| {
        for round in 0..rounds(12) {
            let text = format!("{n} {round}");
            let mut command = message(&acme, first, &[("message-body", &text)]);
            command.origin.random = (n * 1000 + round) as u64;
            match round % 3 {
                0 => drop(store.add_message(command).await.unwrap()),
                1 => drop(create(&store, &acme, &[("message-body", &text)]).await),
                _ => {
                    let tags = format!(r#"["{n}"]"#);
                    let fields = [("issue-ids", format!("[{first}]")), ("tags", tags)];
                    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
                    drop(store.edit_issues(bulk_edit(&acme, &fields)).await.unwrap());
                }
            }
        }
    };
    let task = async {
        let issues = caseload_testdata::issues(5, 40);
        let command = task_of(&acme, "import", Action::ImportIssues, &issues, 10);
        run_command(&store, command, later(1)).await;
    };
    let writing = async {
        join(join_all((0..6).map(writer)), task).await;
        is_over.store(true, Ordering::SeqCst);
    };
    let (found, ()) = join(following, writing).await;
    let last = store.last_position(acme.id).await.unwrap();
    let positions: Vec<u64> = found.iter().map(|change| change.position).collect();
    assert_eq!(positions, (1..=last).collect::<Vec<_>>());
    assert_eq!(found, follow(&store, &acme, 0, 1000).await, "a change stays as it was read");
    assert_sound(&store).await;
}

pub(crate) async fn a_repeated_or_refused_call_is_not_logged_again(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut command = creation(&acme, &[("message-body", "x")]);
    command.origin.idempotency =
        Some(IdempotencyKey { text: "key".into(), content: [7; 32], expires_at: later(1_000_000) });
    for _ in 0..2 {
        drop(store.create_issue(command.clone()).await.unwrap());
    }
    let refused = store.edit_issues(bulk_edit(&acme, &[("issue-ids", "[1,77]"), ("tags", "[]")]));
    assert!(matches!(refused.await, Err(StoreError::Refused(_))));
    let found = follow(&store, &acme, 0, 10).await;
    let issues = found.iter().filter(|change| change.effect.resource == Resource::Issue);
    assert_eq!(issues.count(), 1);
    assert!(found.iter().all(|change| *change.by == Author::Unknown));
    assert_sound(&store).await;
}
