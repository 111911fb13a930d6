//! The rows that are left after a call that deletes a record are those after a task that deletes
//! it. Two stores begin with the same records; the same random records are deleted in both, in one
//! by calls and in the other by tasks of one entry.

use std::sync::Arc;

use caseload_model::profile_query::ProfileId;
use caseload_model::task::Action;
use caseload_store::{Domain, Store};
use caseload_testdata::SplitMix;
use rusqlite::Connection;
use serde_json::json;

use super::database::Database;
use super::suite::deletions::{Record, core_profiles};
use super::suite::issue_writes::{creation, staged};
use super::suite::support::{assert_sound, domain, later, results, run, run_command, task_of};
use super::{Column, columns_of, columns_there};

const WORLDS: u64 = 3;
const ISSUES: u64 = 60;
const PEOPLE: u64 = 40;
const DELETIONS: i64 = 45;

/// Tables that only tasks write; the log of changes, which names tasks; and those in which
/// PostgreSQL stores the changes of counters and sets until a background step merges them: the
/// check compares counters and sets with the records.
const LEFT_OUT: [&str; 11] = [
    "changes",
    "tasks",
    "task_queue",
    "payload_blocks",
    "record_blocks",
    "issue_count_deltas",
    "issue_counts",
    "issue_set_deltas",
    "issue_sets",
    "issue_values",
    "caseload_migrations",
];

fn is_compared(column: &Column, left_out: &[&str]) -> bool {
    let of_tasks = ["last_task_seq", "last_position", "stored_bytes"].contains(&&*column.name);
    !left_out.contains(&&*column.table) && !of_tasks
}

/// A query of all rows of each table, each as one text.
pub(super) fn queries(columns: &[Column], row: fn(&[&str]) -> String) -> Vec<(String, String)> {
    let tables = columns.chunk_by(|one, other| one.table == other.table);
    let query = |of: &[Column]| {
        let names: Vec<&str> = of.iter().map(|column| &*column.name).collect();
        let table = of[0].table.clone();
        let sql = format!("SELECT {} FROM {table} ORDER BY 1", row(&names));
        (table, sql)
    };
    tables.map(query).collect()
}

/// The place of a store.
pub(super) enum Place {
    Folder(tempfile::TempDir),
    Database(Database),
}

/// A store with its place.
struct World {
    place: Place,
    store: Arc<dyn Store>,
    acme: Domain,
    records: Vec<Record>,
}

impl World {
    async fn filled(place: Place, seed: u64) -> Self {
        let store = match &place {
            Place::Folder(folder) => {
                let mode = caseload_store::OpenMode::Server;
                caseload_location::open(&super::sqlite(folder.path()), mode).await.unwrap()
            }
            Place::Database(database) => database.server(),
        };
        let acme = domain(&store, "acme").await;
        let issues = caseload_testdata::issues(seed, ISSUES);
        run(&store, &acme, "import", Action::ImportIssues, &issues).await;
        let uids = (0..PEOPLE).map(|n| format!("u{n}"));
        let people = core_profiles(&store, &acme, "create", uids).await;
        let mut records: Vec<_> =
            people.into_iter().map(|id| Record::Profile(ProfileId::Core(id))).collect();
        for n in 0..5 {
            let file = staged(&store, &acme, &format!("file {n}"), &[vec![n; 90], vec![7]]).await;
            let author = format!("u{n}");
            let fields = [("message-body", "x"), ("identifier", &*author)];
            let mut command = creation(&acme, &fields);
            command.attachments = vec![file];
            let made = store.create_issue(command).await.unwrap().done().unwrap();
            let id = made.location.rsplit('/').next().unwrap().parse().unwrap();
            records.push(Record::Issue(id));
        }
        for line in results(&store, acme.id, "import").await {
            let (_, id) = line.rsplit_once("\"id\":").unwrap();
            let digits: String = id.chars().take_while(char::is_ascii_digit).collect();
            records.extend(digits.parse().ok().map(Record::Issue));
        }
        for line in &issues {
            // Some numbers of these issues are too large for a parser of ordinary numbers.
            let Some((_, pid)) = line.split_once("\"hs_user_id\":\"") else { continue };
            let pid = pid.split_once('"').unwrap().0.to_owned();
            records.push(Record::Profile(ProfileId::App(pid)));
        }
        Self { place, store, acme, records }
    }

    /// Each table that is compared, with its rows.
    async fn rows(&self) -> Vec<(String, Vec<String>)> {
        match &self.place {
            Place::Folder(folder) => {
                let raw = Connection::open(folder.path().join("caseload.db")).unwrap();
                let mut columns = columns_of(&raw);
                let left_out: Vec<_> =
                    LEFT_OUT.into_iter().filter(|table| !table.starts_with("issue")).collect();
                columns.retain(|column| is_compared(column, &left_out));
                let row = |names: &[&str]| format!("quote({})", names.join(")||' '||quote("));
                let rows = |sql: &str| -> Vec<String> {
                    let mut select = raw.prepare(sql).unwrap();
                    let rows = select.query_map([], |row| row.get(0)).unwrap();
                    rows.map(Result::unwrap).collect()
                };
                queries(&columns, row).into_iter().map(|(name, sql)| (name, rows(&sql))).collect()
            }
            Place::Database(database) => {
                let raw = database.client().await;
                let mut columns = columns_there(&raw).await;
                columns.retain(|column| is_compared(column, &LEFT_OUT));
                let mut all = Vec::new();
                let row = |names: &[&str]| format!("ROW(\"{}\")::text", names.join("\",\""));
                for (name, sql) in queries(&columns, row) {
                    let rows = raw.query(&sql, &[]).await.unwrap();
                    all.push((name, rows.iter().map(|row| row.get(0)).collect()));
                }
                all
            }
        }
    }

    /// Whether the record was there.
    async fn delete_by_call(&self, record: &Record, after: i64) -> bool {
        match record.delete_at(&self.store, &self.acme, after, None).await {
            Ok(_) => true,
            Err(caseload_store::StoreError::NotFound { .. }) => false,
            Err(error) => panic!("{record:?}: {error}"),
        }
    }

    async fn delete_by_task(&self, record: &Record, after: i64) -> bool {
        let (action, entry) = match record {
            Record::Issue(id) => (Action::DeleteIssues, json!({"id": id})),
            Record::Profile(ProfileId::Core(id)) => {
                (Action::DeleteCoreProfiles, json!({"core-profile-id": id.to_string()}))
            }
            Record::Profile(ProfileId::App(pid)) => {
                (Action::DeleteAppProfiles, json!({"pid": pid}))
            }
        };
        let task = format!("t{after}");
        let command = task_of(&self.acme, &task, action, &[entry.to_string()], 1);
        run_command(&self.store, command, later(after)).await;
        super::suite::people::answers(&self.store, &self.acme, &task).await == ["deleted"]
    }
}

async fn calls_leave_the_rows_that_tasks_leave(place: impl Fn() -> Place) {
    for seed in 0..WORLDS {
        let by_calls = World::filled(place(), seed).await;
        let by_tasks = World::filled(place(), seed).await;
        let before = by_calls.rows().await;
        assert_eq!(before, by_tasks.rows().await, "seed {seed}: both begin with the same rows");
        let mut random = SplitMix::new(seed);
        let mut deleted = 0;
        for n in 1..=DELETIONS {
            let record = random.pick(&by_calls.records.iter().collect::<Vec<_>>());
            let was_there = by_calls.delete_by_call(record, n).await;
            assert_eq!(by_tasks.delete_by_task(record, n).await, was_there, "{seed}: {record:?}");
            deleted += i64::from(was_there);
        }
        assert!(deleted > DELETIONS / 2, "most of them exist: {deleted}");
        let left = by_calls.rows().await;
        for (table, rows) in by_tasks.rows().await {
            let found = left.iter().find(|(name, _)| *name == table).map(|(_, rows)| rows);
            assert_eq!(found, Some(&rows), "seed {seed}, table {table}");
        }
        assert_ne!(left, before);
        for world in [by_calls, by_tasks] {
            assert_sound(&world.store).await;
            world.store.close().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_leave_the_rows_that_tasks_leave_in_sqlite() {
    let place = || Place::Folder(tempfile::tempdir().unwrap());
    calls_leave_the_rows_that_tasks_leave(place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_leave_the_rows_that_tasks_leave_in_postgresql() {
    calls_leave_the_rows_that_tasks_leave(|| Place::Database(Database::new())).await;
}
