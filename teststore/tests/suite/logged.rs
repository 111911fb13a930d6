//! The log of the changes that operators and imports make, and the purge of old changes.

use std::sync::Arc;

use caseload_model::change::Author;
use caseload_model::issue::write::Desk;
use caseload_model::key::Access;
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use caseload_store::{
    AdminOrigin, CreateAgent, CreateApp, CreateKey, CreateQueue, CreateTask, Domain, DomainLimits,
    RotateKey, Store, StoreError,
};
use serde_json::{Value, json};

use super::changes::{follow, reading, shown};
use super::support::{NOW, assert_sound, domain, later, run, run_command, task_of};

/// What changes are about: resource, id, action and fields.
fn told(changes: &[Value]) -> Vec<String> {
    let one = |change: &Value| {
        let text = |name: &str| change[name].as_str().unwrap();
        let fields = change["fields"].as_array().unwrap();
        let fields: Vec<_> = fields.iter().map(|field| field.as_str().unwrap()).collect();
        let what = [text("resource"), text("id"), text("action"), &fields.join(" ")].join(" ");
        what.trim_end().to_owned()
    };
    changes.iter().map(one).collect()
}

/// The desk of a domain gets this name.
async fn set_desk(store: &Arc<dyn Store>, domain: &Domain, name: &str, at: UnixMillis) {
    let desk = Desk { name: name.to_owned(), email: None };
    store.set_desk(domain.id, desk, at.into()).await.unwrap();
}

pub(crate) async fn administration_is_logged_with_its_author(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let by = Author::Command { line: "caseload key create".to_owned() };
    let by_command = AdminOrigin { now: later(1), by, request_id: None };
    let by = Author::Key { id: "k1".to_owned(), name: "first".to_owned() };
    let by_key = AdminOrigin { now: later(2), by, request_id: Some("r-1".to_owned()) };
    let key = |id: &str, hash: u8, origin: &AdminOrigin| CreateKey {
        domain: acme.id,
        id: id.to_owned(),
        hash: [hash; 32],
        name: String::new(),
        access: Access::Admin,
        origin: origin.clone(),
        expires_at: Some(later(5000)),
    };
    store.create_key(key("k1", 1, &by_command)).await.unwrap();
    store.create_key(key("k2", 2, &by_key)).await.unwrap();
    let rotate = |id: &str, n: u8, old_expires_at| RotateKey {
        domain: acme.id,
        id: id.to_owned(),
        new_id: format!("k{n}"),
        new_hash: [n; 32],
        origin: by_key.clone(),
        old_expires_at,
    };
    store.rotate_key(rotate("k2", 3, Some(later(100)))).await.unwrap();
    store.rotate_key(rotate("k3", 4, None)).await.unwrap();
    // The old key ends before that anyway.
    store.rotate_key(rotate("k4", 5, Some(later(9000)))).await.unwrap();
    for _ in 0..2 {
        assert!(store.revoke_key(acme.id, "k5", by_key.clone()).await.unwrap());
    }
    store.touch_key(acme.id, "k1", later(3)).await.unwrap();
    let (id, title) = ("a1".to_owned(), "App".to_owned());
    let app = CreateApp { domain: acme.id, id, title, origin: by_key.clone() };
    store.create_app(app.clone()).await.unwrap();
    store.create_app(app).await.unwrap_err();
    let [id, name, email] = ["g1", "Ann", "ann@desk.example"].map(str::to_owned);
    let agent = CreateAgent { domain: acme.id, id, name, email, origin: by_key.clone() };
    store.create_agent(agent).await.unwrap();
    let [id, name] = ["q1", "Returns"].map(str::to_owned);
    let queue = CreateQueue { domain: acme.id, id, name, origin: by_key };
    store.create_queue(queue).await.unwrap();
    let found = shown(&store, &acme, 0).await;
    assert_eq!(
        told(&found),
        [
            "domain acme created",
            "app acme_app_20231114221320000-000000000000007 created",
            "key k1 created",
            "key k2 created",
            "key k2 updated expires_at",
            "key k3 created",
            "key k3 revoked",
            "key k4 created",
            "key k5 created",
            "key k5 revoked",
            "app a1 created",
            "agent g1 created",
            "queue q1 created",
        ]
    );
    assert_eq!(found[0].get("by"), None);
    assert_eq!(found[2]["by"], json!({"command": "caseload key create"}));
    assert_eq!((&found[2]["at"], found[2].get("request_id")), (&json!(later(1).0), None));
    for change in &found[3..] {
        assert_eq!(change["by"], json!({"key_id": "k1", "key_name": "first"}));
        assert_eq!((&change["at"], &change["request_id"]), (&json!(later(2).0), &json!("r-1")));
    }
    assert_sound(&store).await;
}

pub(crate) async fn an_edit_of_a_domain_that_changes_nothing_is_not_logged(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let email = Some("aid@acme.example".to_owned());
    let limits = DomainLimits { quota_bytes: None, quota_tasks: Some(7), rate_limit: Some(9) };
    for _ in 0..2 {
        let desk = Desk { email: email.clone(), ..Desk::default() };
        store.set_desk(acme.id, desk, NOW.into()).await.unwrap();
        store.set_limits(acme.id, limits, NOW.into()).await.unwrap();
        let list = Some("n/a".to_owned());
        store.set_placeholders(acme.id, list, NOW.into()).await.unwrap();
    }
    let edited = store.domain(&acme.name).await.unwrap().unwrap();
    assert_eq!((edited.desk.email, edited.limits), (email, limits));
    assert_eq!(edited.placeholders.as_deref(), Some("n/a"));
    assert_eq!(
        told(&shown(&store, &acme, 2).await),
        [
            "domain acme updated desk_email",
            "domain acme updated quota_tasks rate_limit",
            "domain acme updated placeholders",
        ]
    );
    assert_sound(&store).await;
}

/// More than one step of the purge drops.
const BATCHES: i64 = 520;

pub(crate) async fn old_changes_are_dropped_and_a_late_reader_gets_an_error(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    for n in 1..=BATCHES {
        set_desk(&store, &acme, &n.to_string(), later(n)).await;
    }
    set_desk(&store, &other, "later", later(BATCHES)).await;
    let all = follow(&store, &acme, 0, 1000).await;
    let old_until = |n: i64| later(n + 1);
    assert!(!store.purge_changes(NOW).await.unwrap(), "they remain until they are older");
    let purge = async |before| {
        let mut steps = 0;
        while store.purge_changes(before).await.unwrap() {
            steps += 1;
        }
        steps
    };
    // The first batch is that of the domain, with two changes; that of the other domain goes, too.
    assert_eq!(purge(old_until(BATCHES - 10)).await, 3);
    let dropped = BATCHES.unsigned_abs() - 10 + 2;
    assert_eq!(follow(&store, &acme, dropped, 7).await, all[dropped as usize..]);
    let oldest = store.position_before(acme.id, UnixMillis(i64::MIN)).await.unwrap();
    assert_eq!(oldest, dropped);
    let page = store.read_changes(reading(&acme, oldest, 3)).await.unwrap();
    assert_eq!(page.changes, all[dropped as usize..][..3]);
    for late in [0, dropped - 1] {
        let fault = store.read_changes(reading(&acme, late, 3)).await;
        assert!(
            matches!(fault, Err(StoreError::ChangesDropped { dropped: at }) if at == dropped),
            "{fault:?}"
        );
    }
    let kept = follow(&store, &other, 2, 9).await;
    assert_eq!(kept.len(), 1, "those of another domain remain");
    assert_sound(&store).await;
    assert_eq!(purge(old_until(BATCHES)).await, 2);
    let last = store.last_position(acme.id).await.unwrap();
    assert_eq!(last, all.len() as u64, "no position is given out again");
    assert_eq!(store.position_before(acme.id, UnixMillis(i64::MIN)).await.unwrap(), last);
    let page = store.read_changes(reading(&acme, last, 3)).await.unwrap();
    assert_eq!((page.changes, page.next), (Vec::new(), last));
    assert_sound(&store).await;
    set_desk(&store, &acme, "again", later(BATCHES)).await;
    assert_eq!(follow(&store, &acme, last, 9).await[0].position, last + 1);
    assert_sound(&store).await;
}

pub(crate) async fn a_batch_from_the_future_holds_those_that_follow_it(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for (name, at) in [("a", later(1)), ("b", later(1_000_000)), ("c", later(2))] {
        set_desk(&store, &acme, name, at).await;
    }
    assert!(store.purge_changes(later(10)).await.unwrap());
    assert!(!store.purge_changes(later(10)).await.unwrap());
    assert_eq!(follow(&store, &acme, 3, 9).await.len(), 2);
    assert!(store.purge_changes(later(1_000_001)).await.unwrap());
    assert_sound(&store).await;
}

/// An issue of an import with these members.
fn issue(id: u64, members: &Value) -> String {
    let base = json!({"id": id, "created_at": 1_600_000_000_000 + id, "title": "t"});
    let mut issue = base.as_object().unwrap().clone();
    issue.extend(members.as_object().unwrap().clone());
    Value::from(issue).to_string()
}

pub(crate) async fn an_import_logs_the_records_that_it_creates_by_their_names(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let [id, name] = ["q1", "Returns"].map(str::to_owned);
    let queue = CreateQueue { domain: acme.id, id, name, origin: NOW.into() };
    store.create_queue(queue).await.unwrap();
    let names = json!({
        "app_id": "shop", "assignee_id": "ann", "assignee_name": "Ann",
        "queue": {"id": "q2", "name": "Second"},
        "author_name": "Ada", "author_email": "ada@example.org",
    });
    let old = json!({"queue": {"id": "q1", "name": "Returns"}, "author_email": "ada@example.org"});
    let entries = [issue(1, &names), issue(2, &names), issue(3, &old)];
    let command = task_of(&acme, "dry", Action::ImportIssues, &entries, 1);
    run_command(&store, CreateTask { dry_run: true, ..command }, NOW).await;
    let before = store.last_position(acme.id).await.unwrap();
    run(&store, &acme, "import", Action::ImportIssues, &entries).await;
    run(&store, &acme, "again", Action::ImportIssues, &entries).await;
    let found = shown(&store, &acme, before).await;
    let by_name: Vec<&Value> = found
        .iter()
        .filter(|change| !["issue", "task"].contains(&change["resource"].as_str().unwrap()))
        .collect();
    let mut named = told(&by_name.iter().map(|change| (*change).clone()).collect::<Vec<_>>());
    let people = named.iter().filter(|line| line.starts_with("app_profile ")).count();
    named.retain(|line| !line.starts_with("app_profile "));
    assert_eq!(named, ["app shop created", "queue q2 created", "agent ann created"]);
    assert!(people > 0);
    for change in by_name {
        assert_eq!(change["by"], json!({"task_id": "import"}));
    }
    assert_sound(&store).await;
}

pub(crate) async fn a_replaced_issue_is_logged_with_its_old_and_new_values(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let resolved = json!({"state": "resolved", "changed_at": 1_600_000_000_900_i64});
    let first = json!({"tags": ["a"]});
    let second = json!({"tags": ["b"], "state_data": resolved, "title": "second"});
    let third = json!({"tags": ["b"], "state_data": resolved, "feedback_rating": 5});
    run(&store, &acme, "import", Action::ImportIssues, &[issue(1, &first)]).await;
    let before = store.last_position(acme.id).await.unwrap();
    // A stored issue is replaced twice, and one of the same file once.
    let entries = [
        issue(1, &second),
        issue(2, &first),
        issue(1, &third),
        issue(1, &third),
        issue(2, &second),
    ];
    let command = task_of(&acme, "upsert", Action::ImportIssues, &entries, entries.len());
    run_command(&store, CreateTask { upsert: true, ..command }, NOW).await;
    let found = shown(&store, &acme, before + 1).await;
    let found: Vec<Value> = found.into_iter().filter(|one| one["resource"] == "issue").collect();
    assert_eq!(
        told(&found),
        [
            "issue 1 updated state tags title hs_user_id state_data updated_at",
            "issue 2 created",
            "issue 1 updated title hs_user_id feedback_rating",
            "issue 2 updated state tags title hs_user_id state_data updated_at",
        ]
    );
    let edited = json!({
        "state": {"from": "new", "to": "resolved"}, "tags": {"from": ["a"], "to": ["b"]},
        "title": {"from": "t", "to": "second"},
    });
    assert_eq!((&found[0]["changes"], &found[3]["changes"]), (&edited, &edited));
    assert_eq!(found[2]["changes"], json!({"title": {"from": "second", "to": "t"}}));
    assert_eq!(found[2]["by"], json!({"task_id": "upsert", "index": 2}));
    assert_sound(&store).await;
}
