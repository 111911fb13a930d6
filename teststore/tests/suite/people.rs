//! Writing by identity: random upserts, updates and deletions of people, compared with a naive
//! store of people.

use std::sync::Arc;

use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use caseload_store::{CreateTask, Domain, Store};
use caseload_testdata::{People, SplitMix};
use serde_json::Value;

use super::oracle::list;
use super::support::{
    NOW, assert_sound, domain, errors, later, lines, profile_id, results, run, run_command, task_of,
};

const UPSERT: Action = Action::UpsertCoreProfiles;
const UPDATE: Action = Action::UpdateCoreProfiles;
const DELETE: Action = Action::DeleteCoreProfiles;
/// Domains, each with its own seed.
const WORLDS: u64 = 5;
/// Tasks of each domain.
const TASKS: usize = 7;
/// Entries of one task in each domain: more than a dry run plans at a time.
const MANY: usize = 1100;

/// The outcome of each entry, or the codes and pointers of its faults.
pub(crate) async fn answers(store: &Arc<dyn Store>, domain: &Domain, task: &str) -> Vec<String> {
    let mut all: Vec<(u64, String)> = Vec::new();
    for line in results(store, domain.id, task).await {
        let line: Value = serde_json::from_str(&line).unwrap();
        let outcome = line["outcome"].as_str().unwrap().to_owned();
        all.push((line["index"].as_u64().unwrap(), outcome));
    }
    for line in errors(store, domain.id, task).await {
        let line: Value = serde_json::from_str(&line).unwrap();
        let text = |fault: &Value, name: &str| fault[name].as_str().unwrap_or_default().to_owned();
        let faults = line["errors"].as_array().unwrap().iter();
        let faults =
            faults.map(|fault| format!("{} {}", text(fault, "code"), text(fault, "pointer")));
        let faults: Vec<_> = faults.collect();
        all.push((line["index"].as_u64().unwrap(), faults.join(", ")));
    }
    all.sort();
    all.into_iter().map(|(_, answer)| answer).collect()
}

/// Each profile that exists, as a get action returns it; the times are taken out.
async fn stored(
    store: &Arc<dyn Store>,
    domain: &Domain,
    task: &str,
    people: &People,
) -> Vec<Value> {
    let ids = people.people().iter().filter_map(|one| one.id.as_ref());
    let gets: Vec<_> = ids.map(|id| format!(r#"{{"core-profile-id":"{id}"}}"#)).collect();
    if gets.is_empty() {
        return Vec::new();
    }
    run(store, domain, task, Action::GetCoreProfiles, &gets).await;
    let records = results(store, domain.id, task).await;
    records
        .iter()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            for time in ["created_at", "updated_at"] {
                assert!(record.as_object_mut().unwrap().shift_remove(time).is_some());
            }
            record
        })
        .collect()
}

pub(crate) async fn random_tasks_agree_with_a_naive_store_of_people(store: Arc<dyn Store>) {
    for seed in 0..WORLDS {
        let acme = domain(&store, &format!("d{seed}")).await;
        let (mut random, mut people) = (SplitMix::new(seed), People::default());
        for n in 0..TASKS {
            let action = random.pick(&[UPSERT, UPSERT, UPDATE, DELETE]);
            let entry = if action == DELETE { People::deletion } else { People::entry };
            let count = if n == 3 { MANY } else { 1 + random.below(40) };
            let entries: Vec<Value> = (0..count).map(|_| entry(&people, &mut random)).collect();
            let texts: Vec<String> = entries.iter().map(ToString::to_string).collect();
            let apply = |entry| people.apply(action.as_str(), entry);
            let wanted: Vec<_> = entries.iter().map(apply).collect();
            let outcomes: Vec<_> = wanted.iter().map(|(outcome, _)| outcome.clone()).collect();
            let per_block = 1 + random.below(300);
            for dry_run in [true, false] {
                let task = format!("{n} {dry_run}");
                // A dry run is one chunk.
                let per_block = if dry_run { MANY } else { per_block };
                let command = task_of(&acme, &task, action, &texts, per_block);
                run_command(&store, CreateTask { dry_run, ..command }, NOW).await;
                let given = answers(&store, &acme, &task).await;
                for (at, (given, wanted)) in given.iter().zip(&outcomes).enumerate() {
                    assert_eq!(given, wanted, "seed {seed}, {task}, entry {at}: {}", texts[at]);
                }
                assert_eq!(given.len(), outcomes.len());
            }
            for line in results(&store, acme.id, &format!("{n} false")).await {
                let record: Value = serde_json::from_str(&line).unwrap();
                if let Some(number) = wanted[record["index"].as_u64().unwrap() as usize].1 {
                    people.name(number, &profile_id(&line));
                }
            }
            let found = stored(&store, &acme, &format!("get {n}"), &people).await;
            let known = people.people().iter().filter_map(|one| {
                let mut record = one.record.clone()?;
                record["core-profile-id"] = Value::from(one.id.clone()?);
                Some(record)
            });
            assert_eq!(found, known.collect::<Vec<_>>(), "seed {seed}, task {n}");
        }
    }
    assert_sound(&store).await;
}

pub(crate) async fn the_same_upserts_again_write_nothing(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries: Vec<_> = (0..3000)
        .map(|n| {
            let (n, age) = (n % 2500, n % 100);
            let email = format!(r#"{{"email":"U{n}@x.y","m":"1"}}"#);
            format!(r#"{{"identities":[{{"uid":"u{n}"}},{email}],"age":{age}}}"#)
        })
        .collect();
    let first = run(&store, &acme, "first", UPSERT, &entries).await;
    assert_eq!((first.counts.succeeded, first.counts.failed), (3000, 0));
    let outcomes = answers(&store, &acme, "first").await;
    let count = |wanted: &str| outcomes.iter().filter(|outcome| *outcome == wanted).count();
    assert_eq!((count("created"), count("unchanged")), (2500, 500));
    let id = profile_id(&results(&store, acme.id, "first").await[0]);
    let get = lines(&[&format!(r#"{{"core-profile-id":"{id}"}}"#)]);
    run(&store, &acme, "get", Action::GetCoreProfiles, &get).await;
    let before = results(&store, acme.id, "get").await;

    run_command(&store, task_of(&acme, "again", UPSERT, &entries, 700), later(5000)).await;
    let again = answers(&store, &acme, "again").await;
    assert!(again.iter().all(|outcome| outcome == "unchanged"), "{again:?}");
    run(&store, &acme, "get again", Action::GetCoreProfiles, &get).await;
    assert_eq!(results(&store, acme.id, "get again").await, before, "updated_at stays");

    let change = lines(&[r#"{"identities":[{"uid":"u0"},{"psn_id":"new"}]}"#]);
    run_command(&store, task_of(&acme, "change", UPSERT, &change, 1), later(9000)).await;
    assert_eq!(answers(&store, &acme, "change").await, ["updated"]);
    run(&store, &acme, "get third", Action::GetCoreProfiles, &get).await;
    let third = results(&store, acme.id, "get third").await;
    let updated_at = UnixMillis(NOW.0 + 9000).0.to_string();
    assert!(third[0].contains(r#""psn_id":"new""#) && third[0].contains(&updated_at), "{third:?}");
    assert_sound(&store).await;
}

pub(crate) async fn deleted_profiles_leave_issues_and_the_profiles_of_the_other_kind(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let issue = lines(&[r#"{"created_at":1700000000000,"author_email":"ada@x.y"}"#]);
    run(&store, &acme, "import", Action::ImportIssues, &issue).await;
    run(&store, &acme, "make", UPSERT, &lines(&[r#"{"identities":[{"email":"ada@x.y"}]}"#])).await;
    let listed = all_issues(&store, &acme).await;
    let pid = listed.split_once(r#""hs_user_id":""#).unwrap().1.split_once('"').unwrap().0;

    let by_identity = lines(&[
        r#"{"identities":[{"email":"ADA@x.y"}]}"#,
        r#"{"identities":[{"email":"ada@x.y"}]}"#,
        r#"{"core-profile-id":"17"}"#,
    ]);
    run(&store, &acme, "delete", DELETE, &by_identity).await;
    assert_eq!(answers(&store, &acme, "delete").await, ["deleted", "unchanged", "unchanged"]);
    let get = vec![format!(r#"{{"pid":"{pid}"}}"#)];
    let got = run(&store, &acme, "get", Action::GetAppProfiles, &get).await;
    assert_eq!(got.counts.succeeded, 1, "the app profile stays");

    let pids = [get[0].clone(), get[0].clone(), r#"{"pid":"absent"}"#.to_owned()];
    for dry_run in [true, false] {
        let task = format!("pids {dry_run}");
        let command = task_of(&acme, &task, Action::DeleteAppProfiles, &pids, 2);
        run_command(&store, CreateTask { dry_run, ..command }, NOW).await;
        let given = answers(&store, &acme, &task).await;
        assert_eq!(given, ["deleted", "unchanged", "unchanged"], "{task}");
    }
    let gone = run(&store, &acme, "gone", Action::GetAppProfiles, &get).await;
    assert_eq!(gone.counts.failed, 1);
    assert_eq!(all_issues(&store, &acme).await, listed, "the issue stays");
    assert_sound(&store).await;
}

/// All issues of a domain as text.
async fn all_issues(store: &Arc<dyn Store>, domain: &Domain) -> String {
    let query = parse_list(&[]).unwrap().query;
    let paging = Paging { page: 1, page_size: 100 };
    let page = list(store, domain, &query, IssueView::FULL, paging).await;
    String::from_utf8(page.body).unwrap()
}
