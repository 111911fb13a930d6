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

pub(crate) async fn an_entry_is_warned_of_a_profile_that_an_earlier_task_changed(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let entry = |uid: &str, age: u8| format!(r#"{{"identities":[{{"uid":"{uid}"}}],"age":{age}}}"#);
    run(&store, &acme, "before", Action::UpsertCoreProfiles, &[entry("a", 1), entry("b", 1)]).await;
    let parts = [
        vec![entry("a", 2), entry("b", 1), entry("c", 1)],
        vec![entry("b", 2)],
        vec![entry("a", 2), entry("c", 5)],
        vec![entry("d", 1)],
    ];
    let parts: Vec<&[String]> = parts.iter().map(Vec::as_slice).collect();
    for dry_run in [true, false] {
        let id = if dry_run { "dry" } else { "real" };
        let command = import_of(&acme, id, Action::UpsertCoreProfiles, &parts);
        create(&store, CreateImport { dry_run, now: NOW, ..command }).await;
        for _ in 0..TASKS {
            assert_eq!(run_one(&store).await.status, TaskStatus::Completed);
        }
        let warned: Vec<(u64, String)> = outcomes(&store, &acme, id)
            .await
            .iter()
            .filter_map(|record| {
                let code = record["warnings"][0]["code"].as_str()?;
                Some((record["index"].as_u64()?, code.to_owned()))
            })
            .collect();
        let wanted = [4, 5].map(|index| (index, "repeated_id".to_owned()));
        assert_eq!(warned, wanted, "{id}");
        let import = store.import(acme.id, Action::UpsertCoreProfiles.family(), id).await.unwrap();
        assert_eq!(import.unwrap().warnings(), 2);
    }
    assert_sound(&store).await;
}
