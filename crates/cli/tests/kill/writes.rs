//! Every other writing action through kills: upserts, updates by identity, dry runs that are run,
//! deletions, and imports that replace. Each step builds on the end of the step before it, so that
//! a lost or doubled effect of one step shows in the outcomes of the next.

use std::fmt::Write as _;
use std::time::Duration;

use caseload_client::{Client, Payload, RecordList, SubmitOptions, Task};
use caseload_model::task::Action;
use caseload_teststore::on_each_store;

use crate::common::{Server, Workdir};
use crate::life::{Moment, finish, index_of, kill_at, records};

on_each_store!(threads 2:
    every_writing_action_goes_on_after_kill_9_and_applies_each_entry_once,
);

const ENTRIES: u64 = 3_000;

/// A task whose server is killed, and the outcome that each of its entries must have.
struct Step {
    action: Action,
    options: SubmitOptions,
    entry: fn(u64) -> String,
    outcome: &'static str,
}

const STEPS: [Step; 10] = [
    step(Action::UpsertCoreProfiles, |n| person(n, r#","age":1"#), "created"),
    step(Action::UpsertCoreProfiles, |n| person(n, r#","age":2"#), "updated"),
    step(Action::UpdateCoreProfiles, |n| person(n, r#","age":3,"tags":["x"]"#), "updated"),
    dry_run(step(Action::UpsertCoreProfiles, |n| person(n, r#","age":4"#), "updated")),
    step(Action::DeleteCoreProfiles, |n| person(n, ""), "deleted"),
    replacing(step(Action::ImportIssues, |n| issue(n, "first"), "created")),
    replacing(step(Action::ImportIssues, |n| issue(n, "second"), "updated")),
    step(Action::DeleteAppProfiles, |n| format!(r#"{{"pid":"author-{n}"}}"#), "deleted"),
    step(Action::DeleteIssues, |n| format!(r#"{{"id":{}}}"#, n + 1), "deleted"),
    step(Action::DeleteIssues, |n| format!(r#"{{"id":{}}}"#, n + 1), "unchanged"),
];

const fn step(action: Action, entry: fn(u64) -> String, outcome: &'static str) -> Step {
    let options =
        SubmitOptions { dry_run: false, upsert: false, file_name: None, idempotency_key: None };
    Step { action, options, entry, outcome }
}

const fn dry_run(mut step: Step) -> Step {
    step.options.dry_run = true;
    step
}

const fn replacing(mut step: Step) -> Step {
    step.options.upsert = true;
    step
}

fn person(n: u64, fields: &str) -> String {
    format!(r#"{{"identities":[{{"uid":"u{n}"}},{{"email":"u{n}@example.org"}}]{fields}}}"#)
}

fn issue(n: u64, title: &str) -> String {
    format!(
        r#"{{"id":{},"title":"{title} {n}","created_at":{},"messages":[{{"body":"{title}",
        "created_at":1,"author":{{"name":"A","id":"author-{n}"}}}}]}}"#,
        n + 1,
        1_000 + n
    )
    .replace('\n', "")
}

/// Kills the server of a task, starts another one, and checks that each entry has its outcome.
async fn through_a_kill<'w>(
    workdir: &'w Workdir,
    server: Server<'w>,
    moment: Moment,
    step: &Step,
    dry_run: Option<&str>,
) -> (Server<'w>, Task) {
    let key = server.key.clone();
    let client = Client::new(&server.url, "acme", &key).unwrap();
    let bulk = client.bulk(step.action.family());
    let task = if let Some(task) = dry_run {
        bulk.run(task, None).await.unwrap()
    } else {
        let lines = (0..ENTRIES).fold(String::new(), |mut lines, n| {
            let _ = writeln!(lines, "{}", (step.entry)(n));
            lines
        });
        bulk.submit_with(step.action, Payload::bytes(lines), &step.options).await.unwrap()
    };
    assert_eq!(task.counts.total, ENTRIES);
    let seen = kill_at(moment, server, bulk, task).await;
    let server = Server::start(workdir, key.clone());
    let client = Client::new(&server.url, "acme", &key).unwrap();
    let bulk = client.bulk(step.action.family());
    let task = finish(bulk, seen).await;
    let results = records(bulk, &task.task_id, RecordList::Results).await;
    let place = format!("{:?} {} {moment:?}: {}", step.action, step.outcome, task.record);
    assert_eq!(results.len() as u64, ENTRIES, "{place}");
    assert!((0..ENTRIES).eq(results.iter().map(index_of)), "{place}");
    for result in &results {
        assert_eq!(result["outcome"], step.outcome, "{place}: {result}");
    }
    (server, task)
}

async fn every_writing_action_goes_on_after_kill_9_and_applies_each_entry_once() {
    let workdir = Workdir::new();
    let mut server = workdir.serve();
    let moments = [Moment::SomeDone, Moment::Accepted, Moment::After(Duration::from_millis(40))];
    let moments = moments.into_iter().cycle();
    for (step, moment) in STEPS.iter().zip(moments) {
        let (next, task) = through_a_kill(&workdir, server, moment, step, None).await;
        server = next;
        if step.options.dry_run {
            let dry = Some(task.task_id.as_str());
            let (next, run) = through_a_kill(&workdir, server, moment, step, dry).await;
            server = next;
            let client = Client::new(&server.url, "acme", &server.key).unwrap();
            let dry = client.bulk(step.action.family()).status(&task.task_id).await.unwrap();
            assert_eq!(dry.run_by.as_deref(), Some(run.task_id.as_str()));
        }
        workdir.good(&["check"]);
    }
    assert_eq!(server.good(&["profiles", "export"]), "");
    assert_eq!(server.good(&["issues", "export"]), "");
}
