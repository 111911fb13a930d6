//! Values that the database itself refuses, although the model takes them: the entry that has one
//! fails, in the transaction of the real store, and its neighbours do not.

use caseload_model::task::{Action, Counts};
use caseload_store::RecordKind;
use caseload_teststore::{Backend, on_each_store};
use serde_json::{Value, json};

use crate::support::Fixture;

on_each_store!(threads 2:
    a_profile_that_the_database_refuses_fails_alone,
    an_issue_that_the_database_refuses_fails_alone,
    an_author_that_the_database_refuses_fails_with_the_issue_alone,
);

/// Entries of the task, and those that the database refuses.
const TOTAL: u32 = 600;
const REFUSED: [u32; 3] = [0, 300, 301];
/// The text `refused-` in hexadecimal digits.
const REFUSED_TEXT: &str = "726566757365642d";

async fn a_profile_that_the_database_refuses_fails_alone() {
    let entry = |uid| json!({"identities": [{"uid": uid}]});
    fails_alone(Action::CreateCoreProfiles, ("identities", "key"), "01726566757365642d", entry)
        .await;
}

async fn an_issue_that_the_database_refuses_fails_alone() {
    let entry = |email| json!({"created_at": 1, "hs_user_id": "ada", "author_email": email});
    fails_alone(Action::ImportIssues, ("issues", "author_email"), REFUSED_TEXT, entry).await;
}

async fn an_author_that_the_database_refuses_fails_with_the_issue_alone() {
    let entry = |pid| json!({"created_at": 1, "hs_user_id": pid});
    fails_alone(Action::ImportIssues, ("app_profiles", "pid"), REFUSED_TEXT, entry).await;
}

/// Runs a task whose `entry`s are made from texts. The database refuses rows of the table whose
/// column begins with these bytes, given in hexadecimal digits, as those of some texts do.
async fn fails_alone(
    action: Action,
    (table, column): (&str, &str),
    beginning: &str,
    entry: impl Fn(String) -> Value,
) {
    let fixture = Fixture::new().await;
    let domain = fixture.domain("acme").await;
    let length = beginning.len() / 2;
    fixture.place.execute(&match Backend::current() {
        Backend::Postgres => format!(
            r"ALTER TABLE {table}
              ADD CHECK (substring({column} FROM 1 FOR {length}) <> '\x{beginning}')"
        ),
        Backend::Sqlite => format!(
            "CREATE TRIGGER refused BEFORE INSERT ON {table}
             WHEN substr(CAST(NEW.{column} AS BLOB), 1, {length}) = x'{beginning}'
             BEGIN SELECT RAISE(ABORT, 'refused'); END"
        ),
    });
    let texts = (0..TOTAL).map(|n| {
        let word = if REFUSED.contains(&n) { "refused" } else { "taken" };
        entry(format!("{word}-{n}")).to_string()
    });
    let command = fixture.command_of(&domain, "t", action, texts);
    fixture.store.create_task(command).await.unwrap();
    let runner = fixture.run(fixture.store.clone());
    let task = fixture.completed_in(&domain, action.family(), "t").await;
    runner.stop().await;
    let failed = REFUSED.len() as u32;
    let succeeded = TOTAL - failed;
    assert_eq!(task.counts, Counts { total: TOTAL, succeeded, failed, unprocessed: 0 });
    let mut errors = Vec::new();
    let mut from = 0;
    let block = |from| fixture.store.record_block(domain.id, "t", RecordKind::Errors, from);
    while let Some(found) = block(from).await.unwrap() {
        let lines = String::from_utf8(found.lines).unwrap();
        errors.extend(lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        from = found.next_index;
    }
    assert_eq!(errors.len(), REFUSED.len());
    for (error, index) in errors.iter().zip(REFUSED) {
        assert_eq!(error["index"], index);
        assert_eq!(error["errors"][0]["code"], "not_processed");
    }
    assert_eq!(fixture.store.check().await.unwrap().faults, Vec::<String>::new());
}
