//! `caseload distribute`: refusals of stores that cannot be distributed, and, on a cluster, all
//! commands on a store that is. Without a cluster (`scripts/with-postgres --distributed`) the tests
//! of the second kind do nothing.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use caseload_teststore::{Database, nodes, query};

use super::copy::filled;
use crate::common::{Server, Workdir, profiles, transcript_of};

/// Time limit for a distribution after one that was killed.
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// The words after `error:` and `hint:`.
fn refused(workdir: &Workdir, store: &str) -> String {
    let output = workdir.run(&["distribute", "--store", store]);
    assert_eq!(output.status.code(), Some(2), "{}", transcript_of(&output));
    assert!(output.stdout.is_empty(), "{}", transcript_of(&output));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_store_that_cannot_be_distributed_is_refused_with_a_hint() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let said = refused(&workdir, "sqlite:caseload-data/caseload.db");
    assert!(said.contains("is one file") && said.contains("`caseload copy`"), "{said}");
    let database = Database::empty();
    workdir.good(&["domain", "create", "acme", "--store", database.url()]);
    let said = refused(&workdir, database.url());
    assert!(said.contains("does not have the extension Citus"), "{said}");
    assert!(said.contains("hint: install it on each database server"), "{said}");
}

/// The export of a server on the store, which also completes a task.
fn served(workdir: &Workdir, key: &str, store: &str) -> String {
    let mut serve = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("CASELOAD_STORE", store);
    let server = Server::spawn(workdir, key.to_owned(), serve);
    workdir.write("one.jsonl", profiles(1, store.rsplit('/').next().unwrap()));
    server.good(&["bulk", "submit", "create_core_profiles", "one.jsonl", "--wait"]);
    let exported = server.good(&["issues", "export"]);
    assert!(server.terminate().0.success());
    exported
}

#[test]
fn a_copied_store_is_distributed_served_checked_copied_and_emptied() {
    if !nodes::is_distributed() {
        return;
    }
    let workdir = Workdir::new();
    let (exported, key) = filled(&workdir);
    let (first, second) = (Database::on_nodes(), Database::on_nodes());
    let from = "sqlite:caseload-data/caseload.db";
    workdir.good(&["copy", "--from", from, "--to", first.url()]);
    let shown = workdir.good(&["distribute", "--dry-run", "--store", first.url()]);
    assert!(shown.contains("issues\tnot distributed\tby domain\n"), "{shown}");
    let place =
        |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let done = workdir.run(&["distribute", "--store", first.url()]);
    assert!(done.status.success(), "{}", transcript_of(&done));
    assert!(place(&done).contains("32 tables placed; Citus "), "{}", transcript_of(&done));
    let again = workdir.run(&["distribute", "--store", first.url()]);
    assert!(place(&again).contains("0 tables placed"), "{}", transcript_of(&again));
    assert_eq!(served(&workdir, &key, first.url()), exported);
    workdir.good(&["check", "--store", first.url()]);
    workdir.good(&["domain", "create", "later", "--store", first.url()]);
    workdir.good(&["domain", "delete", "later", "--yes", "--store", first.url()]);

    // Into an empty store that is distributed already, and back into a file.
    workdir.good(&["domain", "create", "gone", "--store", second.url()]);
    workdir.good(&["domain", "delete", "gone", "--yes", "--store", second.url()]);
    workdir.good(&["distribute", "--store", second.url()]);
    workdir.good(&["copy", "--from", first.url(), "--to", second.url()]);
    assert_eq!(served(&workdir, &key, second.url()), exported);
    workdir.good(&["copy", "--from", second.url(), "--to", "sqlite:back/caseload.db"]);
    assert_eq!(served(&workdir, &key, "sqlite:back/caseload.db"), exported);

    workdir.good(&["domain", "delete", "acme", "--yes", "--store", second.url()]);
    workdir.good(&["check", "--store", second.url()]);
    let left = "SELECT (SELECT count(*) FROM issues) + (SELECT count(*) FROM core_profiles)
         + (SELECT count(*) FROM keys) + (SELECT count(*) FROM task_queue)";
    assert_eq!(query(second.url(), left), ["0"]);
}

#[test]
fn a_start_places_a_table_that_a_migration_made() {
    if !nodes::is_distributed() {
        return;
    }
    let workdir = Workdir::new();
    let database = Database::from_template();
    // As a new table is when its migration has just run.
    query(database.url(), "SELECT undistribute_table('agents')");
    let placed = "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = 'agents'::regclass";
    assert_eq!(query(database.url(), placed), ["0"]);
    workdir.good(&["domain", "create", "acme", "--store", database.url()]);
    assert_eq!(query(database.url(), placed), ["1"]);
    let found = workdir.run(&["distribute", "--dry-run", "--store", database.url()]);
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(said.contains("0 tables to place"), "{said}");
}

/// Distributes the store until the command succeeds: the sessions of a killed one may still end.
fn distributed_at_last(workdir: &Workdir, store: &str) {
    let begun = Instant::now();
    loop {
        let output = workdir.run(&["distribute", "--store", store]);
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.code(), Some(2), "{}", transcript_of(&output));
        assert!(begun.elapsed() < AGAIN_MAX, "{}", transcript_of(&output));
        thread::sleep(Duration::from_millis(100));
    }
    let found = workdir.run(&["distribute", "--dry-run", "--store", store]);
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(said.contains("0 tables to place"), "{said}");
    workdir.good(&["check", "--store", store]);
}

#[test]
fn a_distribution_that_was_killed_is_complete_or_undone_and_can_be_run_again() {
    if !nodes::is_distributed() {
        return;
    }
    let workdir = Workdir::new();
    for millis in [30, 100, 200, 400, 700] {
        let database = Database::on_nodes();
        workdir.good(&["domain", "create", "acme", "--store", database.url()]);
        let mut distribute = workdir.caseload(&["distribute", "--store", database.url()]);
        let mut process = distribute.stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(millis));
        process.kill().unwrap();
        process.wait().unwrap();
        let placed = "SELECT count(*) FROM pg_dist_partition";
        let placed = query(database.url(), placed).remove(0);
        assert!(placed == "0" || placed == "32", "{placed} tables are placed");
        distributed_at_last(&workdir, database.url());
    }
}

#[test]
fn of_two_distributions_at_once_none_does_harm() {
    if !nodes::is_distributed() {
        return;
    }
    let workdir = Workdir::new();
    let database = Database::on_nodes();
    workdir.good(&["domain", "create", "acme", "--store", database.url()]);
    let start = || workdir.caseload(&["distribute", "--store", database.url()]).spawn().unwrap();
    for mut process in [start(), start()] {
        let code = process.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 2)), "{code:?}");
    }
    distributed_at_last(&workdir, database.url());
}
