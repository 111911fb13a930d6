//! Two servers with runners over one database, which upsert the same people or the same issues at
//! once: there is one record for each, and it is the one that the tasks leave in the order of
//! acceptance.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_bulk::{Runner, RunnerConfig};
use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::task::{Action, Family, Outcome};
use caseload_model::time::Clock;
use caseload_store::{CreateTask, Domain, Store};

use super::Database;
use crate::suite::oracle::list;
use crate::suite::support::{NOW, assert_sound, domain, task_of};

const PATIENCE: Duration = Duration::from_mins(2);
const PEOPLE: usize = 400;
const TASKS: usize = 8;

/// Entries of one task. Every other task names the people in the opposite order.
fn entries(task: usize) -> Vec<String> {
    let entry = |n: usize| {
        let identities = format!(r#"[{{"psn_id":"{n}-{task}"}},{{"uid":"{n}"}}]"#);
        let fields = format!(r#""custom_fields":{{"t{task}":1}},"age":{task}"#);
        format!(r#"{{"identities":{identities},{fields}}}"#)
    };
    let forwards = (0..PEOPLE).map(entry);
    if task.is_multiple_of(2) { forwards.collect() } else { forwards.rev().collect() }
}

/// The fields of a person after all tasks.
fn expected(n: usize) -> String {
    let first = format!(r#"{{"psn_id":"{n}-0"}},{{"uid":"{n}"}}"#);
    let others = (1..TASKS).map(|task| format!(r#"{{"psn_id":"{n}-{task}"}}"#));
    let identities: Vec<_> = [first].into_iter().chain(others).collect();
    let fields: Vec<_> = (0..TASKS).map(|task| format!(r#""t{task}":1"#)).collect();
    format!(
        r#""identities":[{}],"custom_fields":{{{}}},"age":{}"#,
        identities.join(","),
        fields.join(","),
        TASKS - 1
    )
}

async fn completed(store: &Arc<dyn Store>, domain: &Domain, family: Family, id: &str) {
    let begun = Instant::now();
    loop {
        let task = store.task(domain.id, family, id).await.unwrap().unwrap();
        if task.outcome.is_some() {
            assert_eq!(task.outcome, Some(Outcome::Succeeded), "{id}");
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{id} does not complete");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs tasks that the two servers accept in turn and process together, to their ends.
async fn run_at_once(
    stores: &[Arc<dyn Store>; 2],
    domain: &Domain,
    task: impl Fn(&str, usize) -> CreateTask,
) {
    let runners = stores.each_ref().map(|store| {
        let name = format!("{:p}", Arc::as_ptr(store));
        let config = RunnerConfig::new(name);
        Runner::start(store.clone(), store.clone(), Clock::new(|| NOW), config)
    });
    let mut family = Family::Identity;
    for number in 0..TASKS {
        let command = task(&format!("t{number}"), number);
        family = command.action.family();
        stores[number % 2].create_task(command).await.unwrap();
    }
    for number in 0..TASKS {
        completed(&stores[number % 2], domain, family, &format!("t{number}")).await;
    }
    for runner in runners {
        runner.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_servers_that_upsert_the_same_people_make_each_person_once() {
    let database = Database::new();
    let stores = [database.server(), database.server()];
    let acme = domain(&stores[0], "acme").await;
    run_at_once(&stores, &acme, |id, task| {
        task_of(&acme, id, Action::UpsertCoreProfiles, &entries(task), 50)
    })
    .await;
    let client = database.client().await;
    let rows = client.query("SELECT fields FROM core_profiles", &[]).await.unwrap();
    let mut fields: Vec<String> =
        rows.iter().map(|row| String::from_utf8(row.get(0)).unwrap()).collect();
    let mut wanted: Vec<String> = (0..PEOPLE).map(expected).collect();
    fields.sort();
    wanted.sort();
    assert_eq!(fields, wanted);
    assert_sound(&stores[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_servers_that_upsert_the_same_issues_keep_the_last_text_of_each() {
    let database = Database::new();
    let stores = [database.server(), database.server()];
    let acme = domain(&stores[0], "acme").await;
    // Every other task names the issues in the opposite order; each has tags of its own, so that
    // the sets of all earlier tags must end empty.
    let entry = |n: usize, task: usize| {
        let texts = format!(r#""title":"{n} of t{task}","tags":["t{task}"]"#);
        format!(r#"{{"id":{n},{texts},"created_at":{n},"author_email":"p{n}@example.org"}}"#)
    };
    run_at_once(&stores, &acme, |id, task| {
        let mut entries: Vec<String> = (1..=PEOPLE).map(|n| entry(n, task)).collect();
        if !task.is_multiple_of(2) {
            entries.reverse();
        }
        CreateTask { upsert: true, ..task_of(&acme, id, Action::ImportIssues, &entries, 50) }
    })
    .await;
    for (task, hits) in (0..TASKS).map(|task| (task, if task == TASKS - 1 { PEOPLE } else { 0 })) {
        let tags = ("tags".to_owned(), format!(r#"{{"or":["t{task}"]}}"#));
        let query = parse_list(&[tags]).unwrap().query;
        let paging = Paging { page: 1, page_size: 1000 };
        for store in &stores {
            let page = list(store, &acme, &query, IssueView::FULL, paging).await;
            assert_eq!(page.total_hits, hits as u64, "t{task}");
            let text = String::from_utf8(page.body).unwrap();
            assert_eq!(text.matches(&format!(" of t{task}\"")).count(), hits, "t{task}");
        }
    }
    assert_eq!(database.count("issues").await, PEOPLE as i64);
    assert_sound(&stores[0]).await;
}
