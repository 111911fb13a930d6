//! Deleting issues: the others are listed and counted as in a naive store that never had the
//! others.

use std::sync::Arc;

use caseload_model::fold::fold;
use caseload_model::issue_query::{Paging, parse_list};
use caseload_model::task::Action;
use caseload_store::{CreateTask, Store, StoreError};
use caseload_testdata::SplitMix;
use futures_util::future::join;

use super::issue_writes::{bulk_edit, create, creation, staged};
use super::oracle::Oracle;
use super::people::answers;
use super::support::{
    NOW, apply_all, assert_sound, claim, domain, lines, results, run, run_command, task_of,
};

const DELETE: Action = Action::DeleteIssues;
/// Domains, each filled from its own seed.
const WORLDS: u64 = 4;
const ISSUES: u64 = 150;
/// Deletions of each domain, and queries after each.
const ROUNDS: usize = 3;
const QUERIES: usize = 50;

pub(crate) async fn random_deletions_leave_the_other_issues_and_their_index(store: Arc<dyn Store>) {
    for seed in 0..WORLDS {
        let domain = domain(&store, &format!("d{seed}")).await;
        let entries = caseload_testdata::issues(seed, ISSUES);
        let mut naive = Oracle::new(&store, &domain, &entries).await;
        run_command(&store, task_of(&domain, "t", Action::ImportIssues, &entries, 37), NOW).await;
        let agents = store.agents(domain.id).await.unwrap();
        naive.agent_emails =
            agents.into_iter().map(|agent| (agent.id, fold(&agent.email))).collect();
        let mut random = SplitMix::new(seed);
        let known = naive.ids();
        for round in 0..ROUNDS {
            let (mut texts, mut wanted) = (Vec::new(), Vec::new());
            let before = naive.ids();
            for _ in 0..=random.below(70) {
                let id = if random.once_in(9) { 8_888_888 } else { random.pick(&known) };
                let text = if random.once_in(2) { format!("\"{id}\"") } else { id.to_string() };
                texts.push(format!("{{\"id\":{text}}}"));
                let is_there = naive.ids().contains(&id);
                naive.remove(id);
                wanted.push(if is_there { "deleted" } else { "unchanged" });
            }
            assert!(naive.ids().len() < before.len());
            for dry_run in [true, false] {
                let task = format!("{round} {dry_run}");
                let per_block = if dry_run { texts.len() } else { 1 + random.below(40) };
                let command = task_of(&domain, &task, DELETE, &texts, per_block);
                run_command(&store, CreateTask { dry_run, ..command }, NOW).await;
                assert_eq!(answers(&store, &domain, &task).await, wanted, "seed {seed}, {task}");
            }
            for number in 0..QUERIES {
                let parameters = caseload_testdata::query(&mut random);
                let query = parse_list(&parameters).unwrap().query;
                let paging = Paging { page: 1, page_size: 1000 };
                let place = format!("seed {seed}, {number}: {parameters:?}");
                naive.agrees(&store, &domain, &query, paging, &place).await;
            }
        }
    }
    assert_sound(&store).await;
}

pub(crate) async fn a_deleted_issue_goes_with_its_files_and_can_be_imported_again(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let file = staged(&store, &acme, "a1", &[vec![1; 70], vec![2; 5]]).await;
    let mut command = creation(&acme, &[("message-body", "x")]);
    command.attachments = vec![file];
    drop(store.create_issue(command).await.unwrap());
    let other = create(&store, &acme, &[("message-body", "y")]).await;
    let faulty = lines(&[
        r#"{"id":1}"#,
        r#"{"id":1}"#,
        "{}",
        r#"{"id":1,"title":"t"}"#,
        r#"{"id":0}"#,
        r#"{"id":true}"#,
        "[]",
    ]);
    run(&store, &acme, "delete", DELETE, &faulty).await;
    let given = answers(&store, &acme, "delete").await;
    assert_eq!(given[..2], ["deleted", "unchanged"]);
    let faults = ["required /id", "unknown_field /title", "out_of_range /id", "wrong_type /id"];
    assert_eq!(given[2..6], faults);
    assert!(
        results(&store, acme.id, "delete").await[0].ends_with(r#""outcome":"deleted","id":1}"#)
    );
    assert_eq!(store.attachment(acme.id, "a1").await.unwrap(), None);
    assert_eq!(store.attachment_piece(acme.id, "a1", 1).await.unwrap(), None);
    let again = lines(&[r#"{"id":1,"created_at":1700000000000}"#]);
    run(&store, &acme, "again", Action::ImportIssues, &again).await;
    assert_eq!(answers(&store, &acme, "again").await, ["created"]);
    assert_eq!(
        create(&store, &acme, &[("message-body", "z")]).await,
        other + 1,
        "no id comes back"
    );
    assert_sound(&store).await;
}

pub(crate) async fn an_edit_meets_a_deletion_before_or_after_it(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for round in 0..12 {
        let mut ids = Vec::new();
        for _ in 0..6 {
            ids.push(create(&store, &acme, &[("message-body", "x")]).await);
        }
        let list = format!("{ids:?}");
        let texts: Vec<_> = ids.iter().rev().map(|id| format!("{{\"id\":{id}}}")).collect();
        let task = format!("t{round}");
        store.create_task(task_of(&acme, &task, DELETE, &texts, 2)).await.unwrap();
        let claimed = claim(&store, 1).await.remove(0);
        let edit = bulk_edit(&acme, &[("issue-ids", &list), ("tags", r#"["t"]"#)]);
        let (edited, deleted) =
            join(store.edit_issues(edit), apply_all(&store, &claimed, NOW)).await;
        assert_eq!(deleted.counts.succeeded, 6);
        let is_lawful = matches!(&edited, Ok(_) | Err(StoreError::Refused(_)));
        assert!(is_lawful, "an edit finds all of its issues or is refused: {edited:?}");
    }
    assert_sound(&store).await;
}
