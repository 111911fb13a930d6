//! Imports that replace issues: after random tasks, issues, lists and counts are those of a naive
//! store that applies one entry after the other and forgets the replaced issue.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::fold::fold;
use caseload_model::issue::{
    App, ImportContext, ImportMode, IssueBody, IssueColumns, StoredIssue, TakenTimestamps,
    TimeWindow, plan_imports, prepare_imports,
};
use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::json::{self, Json};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use caseload_store::{CreateTask, Domain, GetIssue, Store};
use caseload_testdata::SplitMix;
use futures_util::future::{join, join_all};

use super::issue_writes::{bulk_edit, create, creation, edit, staged};
use super::oracle::Oracle;
use super::people::answers;
use super::support::{
    NOW, apply_all, assert_sound, block, claim, domain, lines, results, run, run_command, task_of,
};

const IMPORT: Action = Action::ImportIssues;
/// Domains, each filled from its own seed.
const WORLDS: u64 = 3;
/// Tasks of each domain, their entries, and the ids that these name.
const TASKS: usize = 5;
const ENTRIES: u64 = 60;
const IDS: usize = 40;
/// Queries after each task.
const QUERIES: usize = 25;

fn upsert(domain: &Domain, id: &str, entries: &[String], per_block: usize) -> CreateTask {
    CreateTask { upsert: true, ..task_of(domain, id, IMPORT, entries, per_block) }
}

type Issue = (IssueColumns, Vec<u8>, IssueBody);

/// The issues of a domain, by id, and the rest that an import of one entry needs.
struct Naive {
    domain: Domain,
    default_app: App,
    apps: Vec<App>,
    next_publish_number: u64,
    last_issue_id: u64,
    issues: HashMap<u64, Issue>,
}

impl Naive {
    async fn new(store: &Arc<dyn Store>, domain: &Domain) -> Self {
        let web = store.apps(domain.id).await.unwrap().remove(0);
        let default_app = App { app_id: web.id, publish_id: web.publish_id };
        Self {
            domain: domain.clone(),
            apps: vec![default_app.clone()],
            default_app,
            next_publish_number: 2,
            last_issue_id: 0,
            issues: HashMap::new(),
        }
    }

    fn context(&self) -> ImportContext {
        let stored = self.issues.iter().map(|(id, (columns, head, body))| {
            let issue = StoredIssue {
                created_at: columns.created_at,
                original_created_at: columns.original_created_at,
                head: head.clone(),
                body: body.clone(),
            };
            (*id, issue)
        });
        let always = TimeWindow { from: UnixMillis(0), until: UnixMillis(i64::MAX - 1) };
        let mut taken_timestamps = TakenTimestamps::new(None);
        taken_timestamps.add_window(always, self.issues.values().map(|issue| issue.0.created_at));
        ImportContext {
            default_app: self.default_app.clone(),
            apps: self.apps.clone(),
            next_publish_number: self.next_publish_number,
            last_issue_id: self.last_issue_id,
            free_ids: Vec::new(),
            stored: stored.collect(),
            earlier: HashMap::new(),
            changed: None,
            taken_timestamps,
        }
    }

    /// The outcome of an entry, or its faults.
    fn apply(&mut self, entry: &str) -> String {
        let block = block(&[entry.to_owned()], 0);
        let prepared = prepare_imports(&self.domain.name, &block);
        let plan = |context: &ImportContext| {
            plan_imports(context, &block.bytes, &prepared, ImportMode::default()).unwrap()
        };
        let with_old = plan(&self.context());
        let errors = String::from_utf8(with_old.records.errors.clone()).unwrap();
        let is_conflict = errors.contains("\"id_conflict\"") && prepared[0].item.is_ok();
        if !is_conflict && !errors.is_empty() {
            return "an error".to_owned();
        }
        let old = match &prepared[0].item {
            Ok(issue) if is_conflict => issue.id.and_then(|id| self.issues.remove(&id)),
            _ => None,
        };
        let plan = if is_conflict { plan(&self.context()) } else { with_old };
        let Some(mut row) = plan.issues.into_iter().next() else { return "unchanged".to_owned() };
        let issue = prepared[0].item.as_ref().unwrap();
        if let Some((old, ..)) = &old
            && !errors.contains("(created_at")
        {
            // A replacement of the same instant leaves its place as it is.
            let at = old.created_at;
            let given = issue.original_created_at;
            let moved = given.or((issue.created_at != at).then_some(issue.created_at));
            let columns = &mut row.columns;
            (columns.created_at, columns.original_created_at) = (at, moved.filter(|m| *m != at));
            let apps = (columns.app_id.as_str(), columns.app_publish_id.as_str());
            row.head = issue.head.render(columns.id, apps, at, columns.original_created_at);
        }
        self.apps.extend(plan.apps);
        self.next_publish_number = plan.next_publish_number;
        self.last_issue_id = plan.last_issue_id;
        self.issues.insert(row.columns.id, (row.columns, row.head, issue.body.clone()));
        if old.is_some() { "updated" } else { "created" }.to_owned()
    }
}

/// Random issues, many with an id that others have, too; some twice, some with a fault.
fn entries(seed: u64, random: &mut SplitMix) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for text in caseload_testdata::issues(seed, ENTRIES) {
        let mut given = Vec::new();
        if !random.once_in(5) {
            given.push(format!("\"id\":{}", 1 + random.below(IDS)));
        }
        if random.once_in(3) {
            given.push(format!("\"created_at\":{}", 5000 + random.below(60)));
        }
        if random.once_in(12) {
            given.push("\"title\":7".to_owned());
        }
        // No number changes its digits.
        let Json::Object(mut members) = json::parse(text.as_bytes()).unwrap() else { panic!() };
        let is_given = |name: &str| given.iter().any(|one| one.starts_with(&format!("\"{name}\"")));
        members.retain(|(name, _)| name != "id" && !is_given(name));
        let mut rest = Vec::new();
        Json::Object(members).write_to(&mut rest);
        given.push(String::from_utf8(rest[1..].to_vec()).unwrap());
        entries.push(format!("{{{}", given.join(",")));
        if random.once_in(4) {
            entries.push(entries[random.below(entries.len())].clone());
        }
    }
    entries
}

pub(crate) async fn random_upserts_agree_with_a_naive_store_of_issues(store: Arc<dyn Store>) {
    for seed in 0..WORLDS {
        let domain = domain(&store, &format!("d{seed}")).await;
        let (mut naive, mut random) = (Naive::new(&store, &domain).await, SplitMix::new(seed));
        let mut replaced = 0;
        for n in 0..TASKS {
            let entries = entries(seed * 100 + n as u64, &mut random);
            let wanted: Vec<_> = entries.iter().map(|entry| naive.apply(entry)).collect();
            replaced += wanted.iter().filter(|outcome| *outcome == "updated").count();
            for dry_run in [true, false] {
                let task = format!("{n} {dry_run}");
                let per_block = if dry_run { entries.len() } else { 1 + random.below(50) };
                let command = upsert(&domain, &task, &entries, per_block);
                run_command(&store, CreateTask { dry_run, ..command }, NOW).await;
                let told = outcomes(&store, &domain, &task, wanted.len()).await;
                assert_eq!(told, wanted, "seed {seed}, {task}");
            }
            let agents = store.agents(domain.id).await.unwrap().into_iter();
            let emails = agents.map(|agent| (agent.id, fold(&agent.email))).collect();
            let oracle = Oracle::of(naive.issues.values().cloned().collect(), emails);
            agree(&store, &domain, &oracle, &mut random).await;
        }
        assert!(replaced > 50, "{replaced}");
    }
    assert_sound(&store).await;
}

/// The outcome of each entry, read without reading numbers, which may have any size.
async fn outcomes(
    store: &Arc<dyn Store>,
    domain: &Domain,
    task: &str,
    entries: usize,
) -> Vec<String> {
    let mut told = vec!["an error".to_owned(); entries];
    for line in results(store, domain.id, task).await {
        let after = |name: &str| line.split_once(name).unwrap().1;
        let index: usize = after("\"index\":").split_once(',').unwrap().0.parse().unwrap();
        let outcome = after("\"outcome\":\"").split_once('"').unwrap().0;
        outcome.clone_into(&mut told[index]);
    }
    told
}

/// Compares the lists of random queries.
async fn agree(store: &Arc<dyn Store>, domain: &Domain, oracle: &Oracle, random: &mut SplitMix) {
    for number in 0..QUERIES {
        let parameters = if number == 0 { Vec::new() } else { caseload_testdata::query(random) };
        let query = parse_list(&parameters).unwrap().query;
        let paging = Paging { page: 1, page_size: 1000 };
        let place = format!("{number}: {parameters:?}");
        oracle.agrees(store, domain, &query, paging, &place).await;
    }
}

async fn version(store: &Arc<dyn Store>, domain: &Domain, id: u64) -> [u8; 16] {
    let request = GetIssue {
        domain: domain.id,
        id,
        view: IssueView::default(),
        budget: Duration::from_secs(10).into(),
    };
    store.issue(request).await.unwrap().unwrap().version
}

pub(crate) async fn a_replaced_issue_loses_the_files_that_its_messages_do_not_show(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let mut command = creation(&acme, &[("message-body", "x")]);
    command.attachments = vec![
        staged(&store, &acme, "kept", &[vec![1; 70]]).await,
        staged(&store, &acme, "gone", &[vec![1; 70], vec![2; 5]]).await,
    ];
    drop(store.create_issue(command).await.unwrap());
    let before = version(&store, &acme, 1).await;
    let message =
        r#"{"created_at":1,"body":"x","attachments":[{"url":"/v1/acme/attachments/kept"}]}"#;
    let entry = |title: &str| {
        let times = format!(r#""created_at":{0},"updated_at":{0}"#, NOW.0);
        format!(r#"{{"id":1,"title":"{title}",{times},"messages":[{message}]}}"#)
    };
    let usage = store.usage(acme.id).await.unwrap().bytes;
    run_command(&store, upsert(&acme, "a", &lines(&[&entry("a"), &entry("b")]), 1), NOW).await;
    assert_eq!(answers(&store, &acme, "a").await, ["updated", "updated"]);
    assert!(store.attachment(acme.id, "kept").await.unwrap().is_some());
    assert_eq!(store.attachment(acme.id, "gone").await.unwrap(), None);
    assert_eq!(store.attachment_piece(acme.id, "gone", 1).await.unwrap(), None);
    assert_ne!(store.usage(acme.id).await.unwrap().bytes, usage);
    let second = version(&store, &acme, 1).await;
    // The same times, another title.
    run_command(&store, upsert(&acme, "b", &[entry("c")], 1), NOW).await;
    let third = version(&store, &acme, 1).await;
    assert!(before != second && second != third);
    run_command(&store, upsert(&acme, "c", &[entry("c")], 1), NOW).await;
    assert_eq!(answers(&store, &acme, "c").await, ["unchanged"]);
    assert_eq!(version(&store, &acme, 1).await, third);
    // Without upsert it is a conflict, as always.
    run(&store, &acme, "d", IMPORT, &[entry("d")]).await;
    assert_eq!(answers(&store, &acme, "d").await, ["id_conflict /id"]);
    assert_sound(&store).await;
}

pub(crate) async fn an_edit_meets_a_replacement_before_or_after_it(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for round in 0..12 {
        let mut ids = Vec::new();
        for _ in 0..6 {
            ids.push(create(&store, &acme, &[("message-body", "x")]).await);
        }
        let entry = |id: &u64| format!(r#"{{"id":{id},"title":"new","created_at":{}}}"#, 1000 + id);
        let texts: Vec<_> = ids.iter().rev().map(entry).collect();
        let task = format!("t{round}");
        store.create_task(upsert(&acme, &task, &texts, 2)).await.unwrap();
        let claimed = claim(&store, 1).await.remove(0);
        let list = format!("{ids:?}");
        let edit = bulk_edit(&acme, &[("issue-ids", &list), ("tags", r#"["t"]"#)]);
        let (edited, replaced) =
            join(store.edit_issues(edit), apply_all(&store, &claimed, NOW)).await;
        assert_eq!((replaced.counts.succeeded, edited.is_ok()), (6, true), "{edited:?}");
        assert!(results(&store, acme.id, &task).await[0].contains("\"updated\""));
    }
    assert_sound(&store).await;
}

/// Two edits that waited for the same replacement must not both change the same version.
pub(crate) async fn edits_that_wait_for_a_replacement_change_the_new_issue(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let id = create(&store, &acme, &[("message-body", "x")]).await;
    for round in 0..12 {
        let entry = format!(r#"{{"id":{id},"title":"{round}","created_at":1000}}"#);
        let task = format!("t{round}");
        store.create_task(upsert(&acme, &task, &[entry], 1)).await.unwrap();
        let claimed = claim(&store, 1).await.remove(0);
        let tags: Vec<_> = (0..6).map(|n| format!("[\"tag {n}\"]")).collect();
        let edits = tags.iter().map(|tag| store.edit_issue(edit(&acme, id, &[("add_tags", tag)])));
        let (edited, replaced) = join(join_all(edits), apply_all(&store, &claimed, NOW)).await;
        assert_eq!(replaced.counts.succeeded, 1);
        for edited in edited {
            assert!(edited.is_ok(), "{edited:?}");
        }
    }
    assert_sound(&store).await;
}
