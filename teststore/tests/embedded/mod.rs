//! Features that only the embedded backend has: one file with one server, admin commands that run
//! at the same time, group commit, leases that end with their server, and the check of a damaged
//! file. The behaviour of every backend is in the suite.

mod app_identities;
mod backup;
#[cfg(debug_assertions)]
mod copy;
#[cfg(debug_assertions)]
mod deaths;
mod deleted;
#[cfg(debug_assertions)]
mod failpoints;
mod gets;
mod issues;
mod leased_blocks;
mod names;
#[cfg(debug_assertions)]
mod people;
mod profile_sets;
mod slot_leasing;
mod steps;
#[cfg(debug_assertions)]
mod texts;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use caseload_model::ids::DomainName;
use caseload_model::task::{Action, Counts};
use caseload_store::{
    Admin as _, ApplyChunk, ChunkEntries, CreateDomain, Domain, EntrySource, IdempotencyKey,
    Idempotent, NextEntries, OpenMode, StagePayload, Store, StoreError, StoredAnswer,
};
use caseload_store_sqlite::SqliteStore;
use caseload_testdata::SplitMix;
use futures_util::future::{join_all, poll_immediate};
use tokio::sync::Notify;

use crate::suite::imports::import_of;
use crate::suite::support::{
    NOW, apply_all, assert_sound, block, chunk, claim, claim_at, domain, later, next_block, run,
    run_command, take_over, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
/// How long a write may take on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn file(folder: &Path) -> PathBuf {
    folder.join("caseload.db")
}

fn open(file: &Path, mode: OpenMode) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(SqliteStore::open(file, mode)?))
}

fn server(folder: &Path) -> Result<Arc<dyn Store>, StoreError> {
    open(&file(folder), OpenMode::Server)
}

fn admin(folder: &Path) -> Arc<dyn Store> {
    open(&file(folder), OpenMode::Create).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_is_refused_until_the_first_has_closed() {
    let folder = tempfile::tempdir().unwrap();
    let first = server(folder.path()).unwrap();
    let refused = server(folder.path()).map(|_| ());
    assert!(matches!(refused, Err(StoreError::ServerRunning { .. })), "{refused:?}");
    first.close().await.unwrap();
    let second = server(folder.path()).unwrap();
    second.ready().await.unwrap();
    drop(second);
    server(folder.path()).unwrap().ready().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_command_works_while_a_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).unwrap();
    let command = admin(folder.path());
    let acme = domain(&command, "acme").await;
    assert_eq!(server.domains().await.unwrap(), std::slice::from_ref(&acme));
    server.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let claimed = claim(&server, 1).await.remove(0);
    command.close().await.unwrap();
    admin(folder.path()).check().await.unwrap();
    apply_all(&server, &claimed, NOW).await;
    assert_sound(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_concurrent_write_of_a_server_or_an_admin_command_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [server(folder.path()).unwrap(), admin(folder.path())];
    let creations = (0..60).map(|n| {
        let name = DomainName::parse(&format!("d{n}")).unwrap();
        stores[n % 2].create_domain(CreateDomain { name, origin: NOW.into(), random: 0 })
    });
    for made in join_all(creations).await {
        made.unwrap();
    }
    assert_eq!(stores[0].domains().await.unwrap().len(), 60);
    assert_eq!(stores[1].domains().await.unwrap().len(), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_stores_can_open_a_new_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| admin(folder.path()));
        }
        scope.spawn(|| server(folder.path()).unwrap());
    });
    assert_eq!(server(folder.path()).unwrap().domains().await.unwrap(), []);
}

/// A source that says that it was asked, and blocks until the test answers.
#[derive(Debug)]
struct Gate {
    asked: Notify,
    answers: Mutex<Receiver<NextEntries>>,
}

impl Gate {
    fn new() -> (Arc<Self>, SyncSender<NextEntries>) {
        let (answer, answers) = sync_channel(1);
        (Arc::new(Self { asked: Notify::new(), answers: Mutex::new(answers) }), answer)
    }
}

impl EntrySource for Gate {
    fn take(&self, _: Instant) -> NextEntries {
        self.asked.notify_one();
        self.answers.lock().unwrap().recv().unwrap_or(NextEntries::Ended)
    }

    fn give_back(&self, _: ChunkEntries) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_small_writes_share_commits() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Arc::new(SqliteStore::open(&file(folder.path()), OpenMode::Server).unwrap());
    let store: Arc<dyn Store> = sqlite.clone();
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let (gate, answer) = Gate::new();
    let first = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
    let applying = tokio::spawn({
        let (store, following) = (store.clone(), Some(gate.clone() as Arc<dyn EntrySource>));
        async move { store.apply_chunk(ApplyChunk { following, ..first }).await.unwrap() }
    });
    gate.asked.notified().await;
    // The chunk has the writer, so all of these wait for it.
    let mut creations: Vec<_> = (0..100)
        .map(|n| {
            let name = DomainName::parse(&format!("d{}", n / 2)).unwrap();
            sqlite.create_domain(CreateDomain { name, origin: NOW.into(), random: 0 })
        })
        .collect();
    for creation in &mut creations {
        assert!(poll_immediate(creation).await.is_none());
    }
    let before = sqlite.commits();
    answer.send(NextEntries::Ended).unwrap();
    assert_eq!(applying.await.unwrap().done, 1);
    let made = join_all(creations).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 50);
    let taken = |made: &&Result<_, _>| matches!(made, Err(StoreError::AlreadyExists { .. }));
    assert_eq!(made.iter().filter(taken).count(), 50, "each command fails alone");
    let commits = sqlite.commits() - before;
    assert!(commits <= 8, "{commits} commits for a chunk and 100 writes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_chunk_ends_early_when_another_write_waits() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let entries: Vec<_> = (0..3000).map(|n| uid(&n.to_string())).collect();
    store.create_task(task_of(&acme, "t", CREATE, &entries, 3000)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let (gate, answer) = Gate::new();
    let first = chunk(&claimed, block(&entries[..1], 0), NOW);
    let following = chunk(&claimed, block(&entries[1..], 1), NOW).entries;
    let command = ApplyChunk { following: Some(gate.clone()), ..first };
    let applying = tokio::spawn({
        let store = store.clone();
        async move { store.apply_chunk(command).await.unwrap() }
    });
    gate.asked.notified().await;
    // The chunk has the writer, so the other write waits, and most entries follow only now.
    let mut other = store.ready();
    assert!(poll_immediate(&mut other).await.is_none());
    answer.send(NextEntries::Ready(following)).unwrap();
    other.await.unwrap();
    let applied = applying.await.unwrap();
    assert_eq!(applied.task.counts.succeeded as usize, applied.done);
    assert!(applied.done < 3000, "the other write waited for the whole chunk");
    assert_sound(&store).await;
    let mut rest = claimed.clone();
    rest.next_index = applied.done as u32;
    rest.task = applied.task;
    let task = apply_all(&store, &rest, NOW).await;
    assert_eq!(task.counts.succeeded, 3000);
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_server_continues_after_the_last_whole_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let first = server(folder.path()).unwrap();
    let acme = domain(&first, "acme").await;
    let entries: Vec<_> = (0..30).map(|n| uid(&format!("u{n}"))).collect();
    first.create_task(task_of(&acme, "t", CREATE, &entries, 10)).await.unwrap();
    let claimed = claim_at(&first, "first", NOW, 1).await.remove(0);
    let block = next_block(&first, &claimed, 0).await;
    first.apply_chunk(chunk(&claimed, block, NOW)).await.unwrap();
    drop(first);

    let second = server(folder.path()).unwrap();
    let claimed = take_over(&second, "second", NOW).await;
    assert_eq!(claimed.next_index, 10, "the old lease has ended, and whole chunks are committed");
    let task = apply_all(&second, &claimed, NOW).await;
    assert_eq!(task.counts, Counts { total: 30, succeeded: 30, failed: 0, unprocessed: 0 });
    assert_sound(&second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_does_not_block_writers() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let mut command = task_of(&acme, "t", CREATE, &[uid("a"), uid("b")], 2);
    command.dry_run = true;
    store.create_task(command).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let (gate, answer) = Gate::new();
    let first = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
    let command = ApplyChunk { following: Some(gate.clone()), ..first };
    let running = tokio::spawn({
        let store = store.clone();
        async move { store.apply_chunk(command).await.unwrap() }
    });
    gate.asked.notified().await;
    // Until the answer, the dry run is at work.
    let other = tokio::time::timeout(PATIENCE, domain(&store, "other")).await;
    assert!(other.is_ok(), "another write waits for the dry run");
    answer.send(NextEntries::Ended).unwrap();
    assert_eq!(running.await.unwrap().done, 2);
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_lets_others_write_after_each_small_part() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let mut random = SplitMix::new(1);
    let mut digits = || format!("{:016x}", random.next());
    // Values that are too long: every entry fails, so that payload and errors remain. Random digits
    // do not compress well.
    let entries: Vec<_> =
        (0..800).map(|_| uid(&(0..1000).map(|_| digits()).collect::<String>())).collect();
    let task = run_command(&store, task_of(&acme, "t", CREATE, &entries, 50), NOW).await;
    assert_eq!(task.counts.failed, 800);
    let conn = rusqlite::Connection::open(file(folder.path())).unwrap();
    let bytes_of = |table: &str| {
        let sum = format!("SELECT coalesce(sum(length(bytes)), 0) FROM {table}");
        conn.query_row(&sum, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let bytes = || bytes_of("payload_blocks") + bytes_of("record_blocks");
    let whole = bytes();
    let mut left = whole;
    // Each step is a write of its own, and others may go before the next one.
    while store.purge_expired(later(1_000_000_000)).await.unwrap() {
        let removed = left - bytes();
        assert!(removed <= whole / 8, "one step removes {removed} of {whole} bytes");
        left -= removed;
    }
    assert_eq!(left, 0);
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_after_a_crash_gets_the_first_answer() {
    let folder = tempfile::tempdir().unwrap();
    let keyed = |domain: &Domain, id: &str| {
        let key = IdempotencyKey { text: "k".to_owned(), content: [7; 32], expires_at: later(1) };
        let answer = StoredAnswer { location: format!("/{id}"), body: id.as_bytes().to_vec() };
        let mut command = task_of(domain, id, CREATE, &[uid(id)], 1);
        command.idempotency = Some((key, answer.into()));
        command
    };
    let first = server(folder.path()).unwrap();
    let acme = domain(&first, "acme").await;
    first.create_task(keyed(&acme, "t1")).await.unwrap();
    drop(first);
    let second = server(folder.path()).unwrap();
    match second.create_task(keyed(&acme, "t2")).await.unwrap() {
        Idempotent::Replayed(answer) => assert_eq!(answer.body, b"t1"),
        Idempotent::Done(task) => panic!("a second task: {task:?}"),
    }
    assert_eq!(claim(&second, 9).await.len(), 1);
    assert_sound(&second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_server_purges_the_uploads_of_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let stage = |domain: &Domain, id: &str| StagePayload {
        key: None,
        domain: domain.id,
        task_id: id.to_owned(),
        blocks: task_of(domain, id, CREATE, &[uid("a")], 1).blocks,
        now: NOW,
    };
    let first = server(folder.path()).unwrap();
    let acme = domain(&first, "acme").await;
    first.stage_payload(stage(&acme, "old")).await.unwrap();
    // An admin command does not remove the uploads of a running server.
    admin(folder.path()).close().await.unwrap();
    assert!(!first.purge_expired(NOW).await.unwrap());
    drop(first);
    let second = server(folder.path()).unwrap();
    second.stage_payload(stage(&acme, "new")).await.unwrap();
    assert_sound(&second).await;
    while second.purge_expired(NOW).await.unwrap() {}
    assert_eq!(second.payload_block(acme.id, "old", 0).await.unwrap(), None);
    assert!(second.payload_block(acme.id, "new", 0).await.unwrap().is_some());
}

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("caseload.db"), "not a database at all ".repeat(999))
        .unwrap();
    let refused = server(folder.path()).map(|_| ());
    assert!(matches!(refused, Err(StoreError::NotOpened { .. })), "{refused:?}");
    let below = folder.path().join("caseload.db/below/x.db");
    let refused = open(&below, OpenMode::Create).map(|_| ());
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
}

#[test]
fn a_command_for_an_existing_store_refuses_what_is_none_and_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("empty.db"), "").unwrap();
    let other = rusqlite::Connection::open(path("other.db")).unwrap();
    other.execute_batch("CREATE TABLE invoices (id INTEGER)").unwrap();
    drop(other);
    // The remains of a first command that ended too early: a database without tables.
    let begun = rusqlite::Connection::open(path("begun.db")).unwrap();
    begun.execute_batch("CREATE TABLE t (x); DROP TABLE t").unwrap();
    drop(begun);
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let before = files();
    for name in ["missing.db", "no/folder/x.db", "empty.db/x.db", "empty.db", "other.db", "."] {
        let refused = open(&path(name), OpenMode::Admin).map(|_| ());
        assert!(matches!(refused, Err(StoreError::NoStore { .. })), "{name}: {refused:?}");
        assert_eq!(files(), before, "{name}");
    }
    let refused = open(&path("begun.db"), OpenMode::Admin).map(|_| ());
    assert!(matches!(refused, Err(StoreError::NoStore { .. })), "{refused:?}");
    assert_eq!(files(), before);
    open(&path("begun.db"), OpenMode::Create).unwrap();
    open(&path("begun.db"), OpenMode::Admin).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_names_each_kind_of_damage() {
    let cases: &[(&str, &str)] = &[
        ("UPDATE tasks SET succeeded = 1, failed = 1", "the counts say"),
        ("DELETE FROM record_blocks", "0 results are stored, the counts say 2"),
        ("UPDATE record_blocks SET lines = 5", "a block of records has"),
        ("UPDATE record_blocks SET bytes = x'00'", "cannot be read"),
        ("DELETE FROM identities WHERE rowid_of_first", "is not registered"),
        ("UPDATE identities SET core_profile_id = 1", "but it is not there"),
        ("UPDATE core_profiles SET fields = CAST('x' AS BLOB)", "its fields are not JSON"),
        ("UPDATE core_profiles SET domain_id = 99", "belong to no domain"),
        ("UPDATE domain_clocks SET last_core_profile_id = 0", "beyond the domain's clock"),
        ("DELETE FROM changes WHERE first_position = 1", "follows position 0"),
        ("UPDATE domain_clocks SET dropped_position = 1", "with position 1 follows position 1"),
        ("DELETE FROM changes", "the last change has position 0"),
        ("DELETE FROM apps", "has no default app"),
        ("UPDATE tasks SET status = 9, outcome = NULL, completed_at = NULL", "had to stop"),
        ("UPDATE tasks SET purge = 2", "2 results are stored, the counts say 0"),
        ("UPDATE tasks SET next_try_at = 7", "after the death of a server, and none died"),
        ("UPDATE record_blocks SET task_id = 'x'", "belong to no task"),
        ("UPDATE payload_blocks SET task_id = 'x'", "blocks of payload_blocks belong to no task"),
        ("INSERT INTO uploads SELECT domain_id, id, 1 FROM tasks; -- payload", "at the same time"),
        ("DELETE FROM imports", "its import is missing"),
        ("UPDATE tasks SET import_id = NULL -- imports", "import i: it has no task"),
        ("UPDATE imports SET run_by = 'i'", "import i: the import that retries or runs it"),
        ("DELETE FROM payload_blocks", "payload of its unprocessed entries is missing"),
    ];
    for (damage, fault) in cases {
        let folder = tempfile::tempdir().unwrap();
        let store = server(folder.path()).unwrap();
        let acme = domain(&store, "acme").await;
        run(&store, &acme, "t", CREATE, &[uid("a"), uid("b")]).await;
        if damage.contains("payload") {
            store.create_task(task_of(&acme, "open", CREATE, &[uid("c")], 1)).await.unwrap();
        }
        if damage.contains("imports") {
            store.create_import(import_of(&acme, "i", CREATE, &[&[uid("d")]])).await.unwrap();
        }
        assert_sound(&store).await;
        let conn = rusqlite::Connection::open(folder.path().join("caseload.db")).unwrap();
        let first = "key = (SELECT min(key) FROM identities)";
        conn.execute_batch(&damage.replace("rowid_of_first", first)).unwrap();
        let faults = store.check().await.unwrap().faults;
        assert!(faults.iter().any(|found| found.contains(fault)), "{damage}: {faults:?}");
    }
}
