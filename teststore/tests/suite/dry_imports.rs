//! A dry run of an import promises the outcomes of the import: a later task is planned on the state
//! that the earlier ones would have left, and nothing of that state remains.

use std::sync::Arc;

use caseload_model::task::{Action, TaskStatus};
use caseload_store::{CreateImport, Domain, Store};
use caseload_testdata::SplitMix;
use serde_json::Value;

use super::imports::{create, import_of, run_one};
use super::support::{NOW, assert_sound, domain, errors, later, results, run};

const TASKS: usize = 4;

/// The random entries of one action: few people and issues, so that they meet.
fn entry(action: Action, random: &mut SplitMix) -> String {
    let uid = format!(r#"{{"uid":"u{}"}}"#, random.below(12));
    let email = format!(r#"{{"email":"e{}@x.y"}}"#, random.below(9));
    let both = match random.below(4) {
        0 => format!("{uid},{email}"),
        1 => email,
        _ => uid,
    };
    match action {
        Action::DeleteCoreProfiles => format!(r#"{{"identities":[{both}]}}"#),
        Action::DeleteIssues => format!(r#"{{"id":{}}}"#, 1 + random.below(9)),
        Action::ImportIssues => {
            let id = match random.below(3) {
                0 => String::new(),
                _ => format!(r#""id":{},"#, 1 + random.below(9)),
            };
            let (at, title) = (1000 + random.below(5), random.below(2));
            format!(r#"{{{id}"created_at":{at},"title":"t{title}"}}"#)
        }
        _ => format!(r#"{{"identities":[{both}],"age":{}}}"#, random.below(3)),
    }
}

/// The outcome of each entry without the ids that a dry run cannot know, and without sentences.
async fn outcomes(store: &Arc<dyn Store>, of: &Domain, import: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for task in (0..TASKS).map(|n| format!("{import}-{n}")) {
        let records = [results(store, of.id, &task).await, errors(store, of.id, &task).await];
        let mut records: Vec<Value> =
            records.concat().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        records.sort_by_key(|record| record["index"].as_u64());
        all.append(&mut records);
    }
    for record in &mut all {
        let record = record.as_object_mut().unwrap();
        for unknown in ["core-profile-id", "id", "changes", "entry"] {
            record.remove(unknown);
        }
        for findings in ["errors", "warnings"] {
            let Some(Value::Array(findings)) = record.get_mut(findings) else { continue };
            for finding in findings {
                let finding = finding.as_object_mut().unwrap();
                finding.retain(|name, _| name == "code" || name == "pointer");
            }
        }
    }
    all
}

pub(crate) async fn a_dry_import_promises_the_outcomes_of_the_import(store: Arc<dyn Store>) {
    let actions = [
        Action::CreateCoreProfiles,
        Action::UpsertCoreProfiles,
        Action::UpdateCoreProfiles,
        Action::DeleteCoreProfiles,
        Action::ImportIssues,
        Action::DeleteIssues,
    ];
    for (n, action) in actions.into_iter().enumerate() {
        for upsert in [false, true] {
            if upsert && action != Action::ImportIssues {
                continue;
            }
            let mut random = SplitMix::new(n as u64);
            let of =
                domain(&store, &format!("{}-{upsert}", action.as_str().replace('_', "-"))).await;
            let before = |action: Action, random: &mut SplitMix| -> Vec<String> {
                (0..6).map(|_| entry(action, random)).collect()
            };
            let people = before(Action::UpsertCoreProfiles, &mut random);
            run(&store, &of, "people", Action::UpsertCoreProfiles, &people).await;
            let issues = before(Action::ImportIssues, &mut random);
            run(&store, &of, "issues", Action::ImportIssues, &issues).await;
            let parts: Vec<Vec<String>> =
                (0..TASKS).map(|_| (0..15).map(|_| entry(action, &mut random)).collect()).collect();
            let parts: Vec<&[String]> = parts.iter().map(Vec::as_slice).collect();
            for dry_run in [true, false] {
                let id = if dry_run { "dry" } else { "real" };
                let command = import_of(&of, id, action, &parts);
                create(&store, CreateImport { dry_run, upsert, ..command }).await;
                for _ in 0..TASKS {
                    run_one(&store).await;
                }
            }
            let (dry, real) =
                (outcomes(&store, &of, "dry").await, outcomes(&store, &of, "real").await);
            assert_eq!(dry.len(), 15 * TASKS);
            for (dry, real) in dry.iter().zip(&real) {
                assert_eq!(dry, real, "{action:?}, upsert {upsert}");
            }
        }
    }
    assert_sound(&store).await;
    // Its state goes with the next purge.
    while store.purge_expired(later(10)).await.unwrap() {}
    assert_sound(&store).await;
}

/// The indexes of the entries that are warned of a repeat, each with the place and the value.
async fn repeats(store: &Arc<dyn Store>, of: &Domain, import: &str) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    for task in (0..TASKS).map(|n| format!("{import}-{n}")) {
        for line in results(store, of.id, &task).await {
            let record: Value = serde_json::from_str(&line).unwrap();
            let warnings = record["warnings"].as_array().map_or(&[][..], Vec::as_slice);
            for warning in warnings.iter().filter(|warning| warning["code"] == "repeated_id") {
                let (at, value) = (warning["pointer"].as_str().unwrap(), &warning["value"]);
                found.push((record["index"].as_u64().unwrap(), format!("{at} {value}")));
            }
        }
    }
    found
}

pub(crate) async fn an_entry_is_warned_of_a_record_that_an_earlier_task_changed(
    store: Arc<dyn Store>,
) {
    let core = |uid: &str, age: u8| format!(r#"{{"identities":[{{"uid":"{uid}"}}],"age":{age}}}"#);
    let app = |pid: &str, age: u8| format!(r#"{{"pid":"{pid}","user_level":{age}}}"#);
    let issue =
        |id: &str, n: u8| format!(r#"{{"id":{id},"created_at":170000000000{n},"title":"t{n}"}}"#);
    let made = |pid: &str| format!(r#"{{"hs_user_id":"{pid}","created_at":1700000000000}}"#);
    // The greatest id that an issue may have has no neighbour that counts for the next one.
    let [a, b, c, d] = ["70001", "1", "9007199254740991", "2"];
    let record = |action: Action, name: &str, n: u8| match action {
        Action::UpdateAppProfiles => app(name, n),
        Action::ImportIssues => issue(name, n),
        _ => core(name, n),
    };
    for (action, upsert, [a, b, c, d], at) in [
        (Action::UpsertCoreProfiles, false, ["a", "b", "c", "d"], "/identities"),
        (Action::UpdateAppProfiles, false, ["a", "b", "c", "d"], "/pid"),
        (Action::ImportIssues, true, [a, b, c, d], "/id"),
        (Action::ImportIssues, false, [a, b, c, d], "/id"),
    ] {
        let name = format!("{}-{upsert}", action.as_str().replace('_', "-"));
        let acme = domain(&store, &name).await;
        let of = |name: &str, n: u8| record(action, name, n);
        if action == Action::UpdateAppProfiles {
            let people = [a, b, c, d].map(made);
            run(&store, &acme, "people", Action::ImportIssues, &people).await;
        }
        let before = [of(b, 1)];
        run(&store, &acme, "before", action, &before).await;
        // Only an upsert changes an issue again.
        let again = if action == Action::ImportIssues && !upsert { 2 } else { 3 };
        let parts = [
            vec![of(a, 2), of(b, 1), of(c, 2), of(a, again)],
            vec![of(b, 1)],
            vec![of(a, again), of(c, again)],
            vec![of(d, 1)],
        ];
        let parts: Vec<&[String]> = parts.iter().map(Vec::as_slice).collect();
        for dry_run in [true, false] {
            let id = if dry_run { "dry" } else { "real" };
            let command = import_of(&acme, id, action, &parts);
            create(&store, CreateImport { dry_run, upsert, now: NOW, ..command }).await;
            for _ in 0..TASKS {
                let task = run_one(&store).await;
                let errors = errors(&store, acme.id, &task.id).await;
                assert_eq!((task.status, &errors[..]), (TaskStatus::Completed, &[][..]));
            }
            let repeats = repeats(&store, &acme, id).await;
            assert_eq!(repeats.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [3, 5, 6]);
            assert!(repeats.iter().all(|(_, about)| about.starts_with(at)), "{repeats:?}");
            let import = store.import(acme.id, action.family(), id).await.unwrap().unwrap();
            assert_eq!(import.warnings(), 3, "{name}, {id}");
        }
    }
    assert_sound(&store).await;
    // The state of all of them goes with the next purge.
    while store.purge_expired(later(10)).await.unwrap() {}
    assert_sound(&store).await;
}

pub(crate) async fn only_a_file_is_warned_of_repeated_issues(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let issue = |id: u32| format!(r#"{{"id":{id},"created_at":17000000000{id:02}}}"#);
    let twice = [issue(1), issue(1)];
    assert_eq!(run(&store, &acme, "task", Action::ImportIssues, &twice).await.warnings, 0);
    // Ids that the store gave are repeated, too; those of another file are not.
    let part = [r#"{"created_at":1700000000005}"#.to_owned(), issue(1)];
    let again = [r#"{"id":2,"created_at":1700000000005}"#.to_owned(), issue(1)];
    let parts: [&[String]; 4] = [&part, &again, &[issue(9)], &[issue(10)]];
    let command = import_of(&acme, "file", Action::ImportIssues, &parts);
    create(&store, CreateImport { upsert: true, ..command }).await;
    for _ in 0..TASKS {
        assert_eq!(run_one(&store).await.counts.failed, 0);
    }
    assert_eq!(repeats(&store, &acme, "file").await, [(2, "/id 2".to_owned())]);
    assert_sound(&store).await;
}
