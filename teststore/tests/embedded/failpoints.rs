//! A child process runs a scenario and kills itself at a failpoint. Further children continue until
//! one of them finishes. Every row of every table, apart from leases, must then equal a run without
//! kills. The scenario sets its own clock and ids, so that dumps of two runs can be compared
//! directly.

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

use crate::suite::imports::{import_of, stage_part};
use crate::suite::support::{NOW, apply_all, assert_sound, claim_at, later, task_of, uid};

const FOLDER: &str = "CASELOAD_TEST_KILL_FOLDER";
const PLACE: &str = "CASELOAD_TEST_KILL_PLACE";
const NTH: &str = "CASELOAD_TEST_KILL_NTH";
/// Each failpoint is tried at its first, second… visit, up to this one.
const NTH_MAX: u32 = 4;

async fn the_domain(store: &Arc<dyn Store>) -> Domain {
    let name = DomainName::parse("acme").unwrap();
    match store.domain(&name).await.unwrap() {
        Some(domain) => domain,
        None => {
            store.create_domain(CreateDomain { name, origin: NOW.into(), random: 7 }).await.unwrap()
        }
    }
}

/// Accepts a task under an idempotency key, like a client that repeats until it has an answer.
pub(super) async fn accept(store: &Arc<dyn Store>, mut command: CreateTask) {
    let answer =
        StoredAnswer { location: command.id.clone(), body: command.id.clone().into_bytes() };
    let text = command.id.clone();
    let key = IdempotencyKey { text, content: [1; 32], expires_at: later(2_000_000) };
    command.idempotency = Some((key, answer.clone().into()));
    match store.create_task(command).await.unwrap() {
        Idempotent::Done(_) => {}
        Idempotent::Replayed(first) => assert_eq!(first, answer),
    }
}

pub(super) async fn run_all(store: &Arc<dyn Store>) {
    loop {
        let claimed = claim_at(store, "server", NOW, 1).await;
        let Some(claimed) = claimed.first() else { return };
        apply_all(store, claimed, NOW).await;
    }
}

/// Stages one payload and accepts its task, and stages another one that is abandoned.
async fn upload(store: &Arc<dyn Store>, acme: &Domain) {
    // Purges the uploads of an earlier process, as a server does.
    while store.purge_expired(NOW).await.unwrap() {}
    let stage = |task_id: &str, blocks| {
        let task_id = task_id.to_owned();
        store.stage_payload(StagePayload { key: None, domain: acme.id, task_id, blocks, now: NOW })
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

/// Imports a file whose first part is staged.
async fn import_file(store: &Arc<dyn Store>, acme: &Domain) {
    if store.import(acme.id, Family::Identity, "file").await.unwrap().is_some() {
        return;
    }
    // An earlier process may have staged the part.
    store.discard_staged(acme.id, "file-0").await.unwrap();
    let entries: Vec<_> = (200..205).map(|n| uid(&format!("u{n}"))).collect();
    let parts: [&[String]; 2] = [&entries[..3], &entries[3..]];
    let mut file = import_of(acme, "file", Action::CreateCoreProfiles, &parts);
    stage_part(store, &mut file, 0).await;
    store.create_import(file).await.unwrap();
}

/// Every step may run again after a kill. A step that is done already changes nothing.
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
    let cancel = CancelTask { key: None, domain: acme.id, family, task_id, now: NOW };
    match store.cancel_task(cancel).await {
        Ok(_) | Err(StoreError::TaskCompleted) => {}
        Err(error) => panic!("{error}"),
    }
    import_file(store, &acme).await;
    run_all(store).await;
    let parent = store.task(acme.id, Family::Identity, "create").await.unwrap().unwrap();
    if store.stored_answer(acme.id, "retry").await.unwrap().is_none() {
        let retry = CreateTask {
            blocks: store.retry_payload(acme.id, "create").await.unwrap(),
            total: parent.retryable_entries(),
            parent_id: Some(parent.id),
            expires_at: later(100_000_000),
            ..task_of(&acme, "retry", Action::CreateCoreProfiles, &[], 1)
        };
        accept(store, retry).await;
    }
    run_all(store).await;
    for id in ["upload", "file-0", "file-1", "create", "dry", "get", "stop", "retry"] {
        let task = store.task(acme.id, Family::Identity, id).await.unwrap().unwrap();
        assert_eq!(task.status, TaskStatus::Completed, "{id}");
    }
    assert_sound(store).await;
}

/// Purges expired data. It is not part of the scenario, because the scenario could not run again
/// after it.
async fn expire(store: &Arc<dyn Store>) {
    // One step of the log, which comes first so that the first kill hits it.
    while store.purge_changes(later(10_000_000)).await.unwrap() {}
    while store.purge_expired(later(10_000_000)).await.unwrap() {}
    assert_sound(store).await;
}

/// Not a test by itself: other tests start it as a child process.
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

/// Starts a child process. Returns whether it finished.
fn child(folder: &Path, kill: Option<(Failpoint, u32)>) -> bool {
    came_to_its_end("embedded::failpoints::child_process_runs_the_scenario", folder, kill)
}

/// In a child process: arms the failpoint that the parent chose and returns the folder.
pub(super) fn planned(places: impl IntoIterator<Item = Failpoint>) -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER)?;
    let wanted = std::env::var(PLACE).unwrap_or_default();
    if let Some(place) = places.into_iter().find(|place| format!("{place:?}") == wanted) {
        plan(place, std::env::var(NTH).unwrap().parse().unwrap());
    }
    Some(folder.into())
}

/// Runs a test in a child process that may kill itself at a failpoint. Returns whether it finished.
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

/// Every row of every table, without the columns of leases and of servers that died.
pub(super) fn dump(folder: &Path) -> String {
    let of_servers = ["deaths", "next_try_at", "not_before"];
    dump_but(folder, |_, column| column.starts_with("lease_") || of_servers.contains(&column))
}

/// Every row of every table, without the columns that `is_left_out` selects.
pub(super) fn dump_but(folder: &Path, is_left_out: impl Fn(&str, &str) -> bool) -> String {
    let conn = Connection::open(folder.join("caseload.db")).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = conn.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.collect::<Result<_, _>>().unwrap()
    };
    let tables = names(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
         AND name <> 'caseload_migrations' ORDER BY name",
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

/// The contents of the store before and after expired data was purged.
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
            // The process that continues is killed at the same failpoint; the one after it
            // finishes.
            child(folder.path(), Some((place, 1)));
            assert!(child(folder.path(), None));
            let found = whole(folder.path());
            assert!(found == expected, "{place:?} {nth}:\n{}", difference(&expected, &found));
        }
    }
    println!("{kills} kills");
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
