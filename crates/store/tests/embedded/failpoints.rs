//! The matrix of planned kills: a child process works through a scenario and ends on the spot at a
//! named place; further children take up where it was cut off, until one comes to the end. The
//! whole store must then be what it is without any kill: every row of every table, leases aside.
//! Clock and ids are the scenario's own, so that nothing has to be made comparable.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use caseload_model::ids::DomainName;
use caseload_model::task::{Action, Family, TaskStatus};
use caseload_store::failpoint::{Failpoint, plan};
use caseload_store::{
    CancelTask, CreateDomain, CreateTask, Domain, IdempotencyKey, Idempotent, StagePayload, Store,
    StoreError, StoredAnswer,
};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::suite::support::{NOW, apply_all, assert_sound, claim_at, later, task_of, uid};

const FOLDER: &str = "CASELOAD_TEST_KILL_FOLDER";
const PLACE: &str = "CASELOAD_TEST_KILL_PLACE";
const NTH: &str = "CASELOAD_TEST_KILL_NTH";
/// How often each place is tried, at its first, second… time.
const NTH_MAX: u32 = 4;

async fn the_domain(store: &Arc<dyn Store>) -> Domain {
    let name = DomainName::parse("acme").unwrap();
    match store.domain(&name).await.unwrap() {
        Some(domain) => domain,
        None => store.create_domain(CreateDomain { name, now: NOW, random: 7 }).await.unwrap(),
    }
}

/// Accepts a task under a key of its own, as a client does that repeats until it has an answer.
async fn accept(store: &Arc<dyn Store>, mut command: CreateTask) {
    let answer =
        StoredAnswer { location: command.id.clone(), body: command.id.clone().into_bytes() };
    let text = command.id.clone();
    let key = IdempotencyKey { text, content: [1; 32], expires_at: later(2_000_000) };
    command.idempotency = Some((key, answer.clone()));
    match store.create_task(command).await.unwrap() {
        Idempotent::Done(_) => {}
        Idempotent::Replayed(first) => assert_eq!(first, answer),
    }
}

async fn run_all(store: &Arc<dyn Store>) {
    loop {
        let claimed = claim_at(store, "server", NOW, 1).await;
        let Some(claimed) = claimed.first() else { return };
        apply_all(store, claimed, NOW).await;
    }
}

/// Sends a payload in parts, and a second one that breaks off.
async fn upload(store: &Arc<dyn Store>, acme: &Domain) {
    // What an earlier process left behind goes, as it does when a server starts.
    while store.purge_expired(NOW).await.unwrap() {}
    let stage = |task_id: &str, blocks| {
        let task_id = task_id.to_owned();
        store.stage_payload(StagePayload { domain: acme.id, task_id, blocks, now: NOW })
    };
    let entries: Vec<_> = (100..130).map(|n| uid(&format!("u{n}"))).collect();
    let mut whole = task_of(acme, "upload", Action::CreateCoreProfiles, &entries, 10);
    stage("broken", whole.blocks[..2].to_vec()).await.unwrap();
    stage("broken", whole.blocks[2..].to_vec()).await.unwrap();
    store.discard_staged(acme.id, "broken").await.unwrap();
    if store.task(acme.id, Family::Identity, "upload").await.unwrap().is_none() {
        for _ in 0..2 {
            stage("upload", vec![whole.blocks.remove(0)]).await.unwrap();
            whole.staged += 1;
        }
        accept(store, whole).await;
    }
}

/// Each step may be done again after a cut; what is done already stays as it is.
async fn scenario(store: &Arc<dyn Store>) {
    let acme = the_domain(store).await;
    upload(store, &acme).await;
    // Every seventh entry fails; four chunks.
    let value = |n: usize| if n.is_multiple_of(7) { "same".to_owned() } else { format!("u{n}") };
    let entries: Vec<_> = (0..40).map(|n| uid(&value(n))).collect();
    accept(store, task_of(&acme, "create", Action::CreateCoreProfiles, &entries, 10)).await;
    let dry = task_of(&acme, "dry", Action::CreateCoreProfiles, &entries, 40);
    accept(store, CreateTask { dry_run: true, ..dry }).await;
    let lookups: Vec<_> = (0..4).map(|n| format!("{{\"core-profile-id\":\"{n}\"}}")).collect();
    accept(store, task_of(&acme, "get", Action::GetCoreProfiles, &lookups, 2)).await;
    accept(store, task_of(&acme, "stop", Action::CreateCoreProfiles, &entries[1..5], 2)).await;
    let (task_id, family) = ("stop".to_owned(), Family::Identity);
    let cancel = CancelTask { domain: acme.id, family, task_id, now: NOW };
    match store.cancel_task(cancel).await {
        Ok(_) | Err(StoreError::TaskCompleted) => {}
        Err(error) => panic!("{error}"),
    }
    run_all(store).await;
    let parent = store.task(acme.id, Family::Identity, "create").await.unwrap().unwrap();
    if store.stored_answer(acme.id, "retry", NOW).await.unwrap().is_none() {
        let retry = CreateTask {
            blocks: store.entries_left(acme.id, "create").await.unwrap(),
            total: parent.retryable_entries(),
            parent_id: Some(parent.id),
            expires_at: later(100_000_000),
            ..task_of(&acme, "retry", Action::CreateCoreProfiles, &[], 1)
        };
        accept(store, retry).await;
    }
    run_all(store).await;
    for id in ["upload", "create", "dry", "get", "stop", "retry"] {
        let task = store.task(acme.id, Family::Identity, id).await.unwrap().unwrap();
        assert_eq!(task.status, TaskStatus::Completed, "{id}");
    }
    assert_sound(store).await;
}

/// What expires: not part of what a later child would do again, so it is its own end.
async fn expire(store: &Arc<dyn Store>) {
    while store.purge_expired(later(10_000_000)).await.unwrap() {}
    assert_sound(store).await;
}

/// Not a test of its own: what the others start as a process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process_runs_the_scenario() {
    let Some(folder) = planned(Failpoint::OF_A_SERVER) else { return };
    let store = super::server(&folder).unwrap();
    let done = folder.join("done");
    if !done.exists() {
        scenario(&store).await;
        std::fs::write(&done, dump(&folder)).unwrap();
    }
    expire(&store).await;
    store.close().await.unwrap();
}

/// Starts a child; whether it came to its end.
fn child(folder: &Path, kill: Option<(Failpoint, u32)>) -> bool {
    came_to_its_end("embedded::failpoints::child_process_runs_the_scenario", folder, kill)
}

/// In such a process: its folder, once the kill that it was started with is planned.
pub(super) fn planned(places: impl IntoIterator<Item = Failpoint>) -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER)?;
    let wanted = std::env::var(PLACE).unwrap_or_default();
    if let Some(place) = places.into_iter().find(|place| format!("{place:?}") == wanted) {
        plan(place, std::env::var(NTH).unwrap().parse().unwrap());
    }
    Some(folder.into())
}

/// Starts the test of that name as a process of its own, to be killed at a place; whether it came
/// to its end.
pub(super) fn came_to_its_end(test: &str, folder: &Path, kill: Option<(Failpoint, u32)>) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(FOLDER, folder);
    if let Some((place, nth)) = kill {
        command.env(PLACE, format!("{place:?}")).env(NTH, nth.to_string());
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let killed = output.status.code().is_none();
    assert!(output.status.success() || (killed && kill.is_some()), "{kill:?}: {said}");
    !killed
}

/// Every row of every table, leases aside.
fn dump(folder: &Path) -> String {
    dump_but(folder, |_, column| column.starts_with("lease_"))
}

/// Every row of every table without the columns that `is_left_out` names.
pub(super) fn dump_but(folder: &Path, is_left_out: impl Fn(&str, &str) -> bool) -> String {
    let conn = Connection::open(folder.join("caseload.db")).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = conn.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    };
    let tables = names(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
         AND name NOT LIKE 'refinery%' ORDER BY name",
    );
    let mut dump = String::new();
    for table in tables {
        let mut columns = names(&format!("SELECT name FROM pragma_table_info('{table}')"));
        columns.retain(|column| !is_left_out(&table, column));
        if columns.is_empty() {
            continue;
        }
        let list = columns.join(", ");
        let mut statement =
            conn.prepare(&format!("SELECT {list} FROM {table} ORDER BY {list}")).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let _ = write!(dump, "{table}:");
            for column in 0..columns.len() {
                let _ = write!(dump, " {:?}", row.get::<_, Value>(column).unwrap());
            }
            dump.push('\n');
        }
    }
    dump
}

/// The store before and after what expired was removed.
fn whole(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("done")).unwrap() + &dump(folder)
}

#[test]
fn a_process_killed_at_any_failpoint_ends_with_the_same_store() {
    let untouched = tempfile::tempdir().unwrap();
    assert!(child(untouched.path(), None));
    let expected = whole(untouched.path());
    assert!(expected.lines().count() > 150, "{expected}");
    let mut kills = 0;
    for place in Failpoint::OF_A_SERVER {
        for nth in 1..=NTH_MAX {
            let folder = tempfile::tempdir().unwrap();
            let ended = child(folder.path(), Some((place, nth)));
            assert!(!ended || nth > 1, "{place:?} is never reached");
            if ended {
                break;
            }
            kills += 1;
            // The same place again, in the process that takes over; then to the end.
            child(folder.path(), Some((place, 1)));
            assert!(child(folder.path(), None));
            let found = whole(folder.path());
            assert!(found == expected, "{place:?} {nth}:\n{}", difference(&expected, &found));
        }
    }
    println!("{kills} places and times");
    assert!(kills > 20, "{kills}");
}

/// The rows that only one of two dumps has.
pub(super) fn difference(expected: &str, found: &str) -> String {
    let only = |sign: &str, these: &str, those: &str| -> Vec<String> {
        let others: std::collections::HashSet<_> = those.lines().collect();
        let rows = these.lines().filter(|row| !others.contains(row));
        rows.map(|row| format!("{sign} {row}")).collect()
    };
    [only("-", expected, found), only("+", found, expected)].concat().join("\n")
}
