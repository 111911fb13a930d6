//! Copies between the backends. A store that is copied from SQLite to PostgreSQL and back has the
//! same contents, although each backend assigns its own row numbers, and a copy that was killed
//! resumes.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[expect(dead_code, reason = "these tests open stores by themselves")]
#[path = "replicas/database.rs"]
mod database;
#[expect(dead_code, clippy::unused_async, reason = "the suite has more than the data of a store")]
mod suite;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use caseload_location::{CopyStore, StoreLocation, copy, open};
use caseload_store::copy::{CopyBatch, CopyReport, CopyStage, CopyStep};
use caseload_store::failpoint::{Failpoint, plan};
use caseload_store::{OpenMode, Store, StoreError};
use database::Database;
use rusqlite::Connection;
use rusqlite::types::Value;
use suite::filled::fill;
use suite::support::{assert_sound, domain, import_of_authors};
use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

const FROM: &str = "CASELOAD_TEST_COPY_FROM";
const TO: &str = "CASELOAD_TEST_COPY_TO";
const PLACE: &str = "CASELOAD_TEST_COPY_PLACE";
const NTH: &str = "CASELOAD_TEST_COPY_NTH";

fn location(database: &Database) -> StoreLocation {
    database.url().parse().unwrap()
}

/// The rows that a database returns, one line each.
async fn select(url: &str, sql: &str) -> String {
    let (client, connection) = url.parse::<Config>().unwrap().connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut answer = String::new();
    for message in client.simple_query(sql).await.unwrap() {
        if let SimpleQueryMessage::Row(row) = message {
            let values = (0..row.len()).map(|at| row.get(at).unwrap_or("null"));
            answer += &(values.collect::<Vec<_>>().join("|") + "\n");
        }
    }
    answer
}

fn sqlite(folder: &Path) -> StoreLocation {
    StoreLocation::Sqlite(folder.join("caseload.db"))
}

async fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = open(&sqlite(folder.path()), OpenMode::Server).await.unwrap();
    fill(&store).await;
    store.close().await.unwrap();
    folder
}

async fn copied(
    from: &StoreLocation,
    to: &StoreLocation,
    rows: usize,
) -> Result<CopyReport, StoreError> {
    let batch = CopyBatch { rows, ..CopyBatch::default() };
    let command = CopyStore { from: from.clone(), to: to.clone(), restart: false, batch };
    copy(&command, &|_| {}).await
}

/// Every row of a file, without the columns that depend on the history of the file.
fn rows(folder: &Path) -> String {
    let conn = Connection::open(folder.join("caseload.db")).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = conn.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let mut dump = String::new();
    for table in names(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
         AND name NOT IN ('caseload_migrations', 'copy_progress', 'issue_sets', 'issue_values',
             'profile_sets')
         AND name NOT LIKE 'issue_text_%'
         ORDER BY name",
    ) {
        let columns = names(&format!(
            "SELECT name FROM pragma_table_info('{table}')
             WHERE name NOT LIKE 'lease_%' AND name NOT IN ('seq', 'row')"
        ))
        .join(", ");
        let mut statement =
            conn.prepare(&format!("SELECT {columns} FROM {table} ORDER BY {columns}")).unwrap();
        let width = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let _ = write!(dump, "{table}:");
            for column in 0..width {
                let _ = write!(dump, " {:?}", row.get::<_, Value>(column).unwrap());
            }
            dump.push('\n');
        }
    }
    dump
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_copied_to_postgres_and_back_is_identical() {
    let source = filled().await;
    for batch in [50_000, 9] {
        let (middle, other) = (Database::new(), Database::new());
        let there = copied(&sqlite(source.path()), &location(&middle), batch).await.unwrap();
        let onward = copied(&location(&middle), &location(&other), batch).await.unwrap();
        assert_eq!(there.tables, onward.tables);
        let target = tempfile::tempdir().unwrap();
        let back = copied(&location(&other), &sqlite(target.path()), batch).await.unwrap();
        assert_eq!(back.check.faults, Vec::<String>::new());
        assert!(rows(source.path()) == rows(target.path()));
        let store: Arc<dyn Store> = open(&sqlite(target.path()), OpenMode::Server).await.unwrap();
        assert_sound(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_postgres_can_be_copied_to_a_file_or_another_database() {
    let (source, other, file) = (Database::new(), Database::new(), tempfile::tempdir().unwrap());
    let store = open(&location(&source), OpenMode::Server).await.unwrap();
    let domains = fill(&store).await;
    store.close().await.unwrap();
    drop(store);
    let (from, to) = (location(&source), sqlite(file.path()));
    let on_file = copied(&from, &to, 60).await.unwrap();
    let in_postgres = copied(&from, &location(&other), 60).await.unwrap();
    for report in [&on_file, &in_postgres] {
        let count = |name| report.tables.iter().find(|(table, _)| *table == name).unwrap().1.rows;
        assert_eq!((count("domains"), count("issues"), count("attachments")), (2, 524, 4));
    }
    for moved in [to, location(&other)] {
        let store = open(&moved, OpenMode::Server).await.unwrap();
        assert_sound(&store).await;
        assert_eq!(store.domains().await.unwrap().len(), domains.len());
        store.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn term_sets_in_parts_are_merged_before_they_are_copied() {
    const EACH: usize = 1100;
    const OF_ADA: &str = "issue_values WHERE value = 'ada@example.org'::bytea";
    let (source, other, file) = (Database::new(), Database::new(), tempfile::tempdir().unwrap());
    let store = open(&location(&source), OpenMode::Server).await.unwrap();
    let acme = domain(&store, "acme").await;
    for n in 0..3 {
        import_of_authors(&store, &acme, n * EACH..(n + 1) * EACH).await;
    }
    store.close().await.unwrap();
    drop(store);
    assert_eq!(source.count(OF_ADA).await, 3);
    let (from, to) = (location(&source), sqlite(file.path()));
    for to in [to, location(&other)] {
        let report = copied(&from, &to, 5000).await.unwrap();
        assert_eq!(report.check.faults, Vec::<String>::new());
        let store = open(&to, OpenMode::Server).await.unwrap();
        assert_sound(&store).await;
        store.close().await.unwrap();
    }
    assert_eq!(other.count(OF_ADA).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_into_postgres_fills_the_columns_that_only_postgres_has() {
    let (source, middle) = (filled().await, Database::new());
    copied(&sqlite(source.path()), &location(&middle), 100).await.unwrap();
    let served: Arc<dyn Store> = open(&location(&middle), OpenMode::Server).await.unwrap();
    assert_sound(&served).await;
    served.close().await.unwrap();
    for (sql, expected) in [
        (
            "SELECT task_id, queued FROM task_queue ORDER BY domain_id, seq",
            "\\x68616c66|t\n\\x77616974696e67|t\n\\x66696c652d30|t\n\\x66696c652d31|t\n\
             \\x68616c66|t\n\\x77616974696e67|f\n\\x66696c652d30|f\n\\x66696c652d31|f\n",
        ),
        (
            "SELECT count(*) FROM domain_clocks c WHERE last_task_seq =
          (SELECT max(seq) FROM tasks t WHERE t.domain_id = c.domain_id)",
            "2\n",
        ),
        (
            "SELECT count(*) FROM domain_clocks c WHERE last_issue_row =
          (SELECT max(\"row\") FROM issues t WHERE t.domain_id = c.domain_id)",
            "2\n",
        ),
        (
            "SELECT count(*) FROM domain_clocks WHERE last_profile_change_at <> last_change_at",
            "0\n",
        ),
        ("SELECT nextval(pg_get_serial_sequence('domains', 'id'))", "5\n"),
        ("SELECT count(*) FROM copy_progress", "0\n"),
    ] {
        assert_eq!(select(&middle.url(), sql).await, expected, "{sql}");
    }
}

/// Not a test by itself: other tests start it as a child process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process_makes_a_copy() {
    let Ok(from) = std::env::var(FROM) else { return };
    let wanted = std::env::var(PLACE).unwrap_or_default();
    if let Some(place) = Failpoint::OF_A_COPY.into_iter().find(|at| format!("{at:?}") == wanted) {
        plan(place, std::env::var(NTH).unwrap().parse().unwrap());
    }
    let to: StoreLocation = std::env::var(TO).unwrap().parse().unwrap();
    copied(&from.parse().unwrap(), &to, 40).await.unwrap();
}

/// Starts a child process that copies. Returns whether it finished.
fn child(from: &str, to: &str, kill: Option<(Failpoint, u32)>) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["child_process_makes_a_copy", "--exact", "--nocapture"])
        .env(FROM, from)
        .env(TO, to);
    if let Some((place, nth)) = kill {
        command.env(PLACE, format!("{place:?}")).env(NTH, nth.to_string());
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let killed = output.status.code().is_none();
    assert!(output.status.success() || (killed && kill.is_some()), "{kill:?}: {said}");
    !killed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_killed_at_any_failpoint_resumes_and_ends_the_same() {
    let source = filled().await;
    let expected = rows(source.path());
    let from = sqlite(source.path()).to_string();
    for (place, nth) in [
        (Failpoint::CopyBeforeCommit, 1),
        (Failpoint::CopyBeforeCommit, 60),
        (Failpoint::CopyAfterCommit, 33),
        (Failpoint::CopyBeforeFinish, 1),
    ] {
        let middle = Database::new();
        assert!(!child(&from, &middle.url(), Some((place, nth))), "{place:?} {nth}");
        let opened = open(&location(&middle), OpenMode::Admin).await.map(|_| ());
        assert!(matches!(opened, Err(StoreError::CopyUnfinished { .. })), "{opened:?}");
        child(&from, &middle.url(), Some((place, 1)));
        assert!(child(&from, &middle.url(), None));
        let target = tempfile::tempdir().unwrap();
        let to = sqlite(target.path()).to_string();
        assert!(!child(&middle.url(), &to, Some((place, nth))), "{place:?} {nth}");
        assert!(child(&middle.url(), &to, None));
        assert!(rows(target.path()) == expected, "{place:?} {nth}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_discards_an_unfinished_copy() {
    let (source, other, middle) = (filled().await, filled().await, Database::new());
    let from = sqlite(source.path());
    assert!(!child(&from.to_string(), &middle.url(), Some((Failpoint::CopyAfterCommit, 60))));
    let store = open(&sqlite(other.path()), OpenMode::Admin).await.unwrap();
    let beta = store.domains().await.unwrap().pop().unwrap();
    store.delete_domain(beta.id).await.unwrap();
    store.close().await.unwrap();
    let changed = copied(&sqlite(other.path()), &location(&middle), 100).await;
    let Err(StoreError::CopyRefused(reason)) = changed else { panic!("{changed:?}") };
    assert!(reason.contains("it is another store, or it has changed since"), "{reason}");
    let command = CopyStore {
        from: sqlite(other.path()),
        to: location(&middle),
        restart: true,
        batch: CopyBatch::default(),
    };
    assert_eq!(copy(&command, &|_| {}).await.unwrap().attempts, 1);
    let names = select(&middle.url(), "SELECT name FROM domains ORDER BY id").await;
    assert_eq!(names, "acme\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_run_stops_when_a_newer_one_takes_over() {
    let (source, middle) = (filled().await, Database::new());
    let from = sqlite(source.path());
    assert!(!child(&from.to_string(), &middle.url(), Some((Failpoint::CopyAfterCommit, 10))));
    let batch = CopyBatch { rows: 20, ..CopyBatch::default() };
    let command = CopyStore { from, to: location(&middle), restart: false, batch };
    let url = middle.url();
    // As soon as this run copies, a newer run takes over.
    let taken = std::sync::Once::new();
    let report = |step: CopyStep| {
        if step.stage == CopyStage::Copying {
            taken.call_once(|| {
                let newer = "UPDATE copy_progress SET attempt = attempt + 1";
                let runtime = tokio::runtime::Handle::current();
                tokio::task::block_in_place(|| runtime.block_on(select(&url, newer)));
            });
        }
    };
    let overtaken = copy(&command, &report).await;
    let Err(StoreError::CopyRefused(reason)) = overtaken else { panic!("{overtaken:?}") };
    assert_eq!(reason, "another run of this copy has taken it up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_into_a_database_in_use_is_refused() {
    let (source, middle) = (filled().await, Database::new());
    let (from, to) = (sqlite(source.path()), location(&middle));
    let server = open(&location(&middle), OpenMode::Server).await.unwrap();
    server.ready().await.unwrap();
    let refused = copied(&from, &to, 100).await;
    let Err(StoreError::CopyRefused(reason)) = refused else { panic!("{refused:?}") };
    assert!(reason.starts_with("servers or commands use postgres:"), "{reason}");
    server.close().await.unwrap();
    drop(server);
    copied(&from, &to, 100).await.unwrap();
    let again = copied(&from, &to, 100).await;
    let Err(StoreError::CopyRefused(reason)) = again else { panic!("{again:?}") };
    assert!(reason.contains("is not empty"), "{reason}");
}
