//! `caseload distribute`: refusals of stores that cannot be distributed, and, on a cluster, all
//! commands on a store that is. Without a cluster (`scripts/with-postgres --distributed`) the tests
//! of the second kind do nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use caseload_teststore::{Database, nodes, query};

use super::copy::filled;
use crate::common::{PATIENCE, Server, Workdir, profiles, transcript_of};

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
    let tables = shown.matches("\tnot distributed\t").count();
    let place =
        |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let done = workdir.run(&["distribute", "--store", first.url()]);
    assert!(done.status.success(), "{}", transcript_of(&done));
    let placed = format!("{tables} tables placed; Citus ");
    assert!(place(&done).contains(&placed), "{}", transcript_of(&done));
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
fn the_address_of_a_worker_is_refused_as_such() {
    if !nodes::is_distributed() {
        return;
    }
    let workdir = Workdir::new();
    // One with the tables that a worker has of a store, and one without tables.
    for database in [Database::from_template(), Database::on_nodes()] {
        let (before, path) = database.url().rsplit_once('/').unwrap();
        let (host, _) = before.rsplit_once(':').unwrap();
        let worker = format!("{host}:{}/{path}", nodes::ports()[0]);
        for command in [["domain", "create", "acme"].as_slice(), &["serve"], &["distribute"]] {
            let output = workdir.run(&[command, &["--store", &worker]].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success(), "{}", transcript_of(&output));
            assert!(said.contains("is that of a worker node"), "{said}");
            assert!(said.contains("hint: give the address of the coordinator"), "{said}");
        }
    }
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
        let shown = workdir.good(&["distribute", "--dry-run", "--store", database.url()]);
        let tables = shown.matches("\tnot distributed\t").count().to_string();
        let mut distribute = workdir.caseload(&["distribute", "--store", database.url()]);
        let mut process = distribute.stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(millis));
        process.kill().unwrap();
        process.wait().unwrap();
        let placed = "SELECT count(*) FROM pg_dist_partition";
        let placed = query(database.url(), placed).remove(0);
        assert!(placed == "0" || placed == tables, "{placed} of {tables} tables are placed");
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

/// The status of the answer to a request of a domain.
fn status(server: &Server<'_>, domain: &str, key: &str, method: &str) -> u16 {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let form = if method == "POST" { "message-body=hello" } else { "" };
    let request = format!(
        "{method} /v1/{domain}/issues HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{form}",
        form.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// How often the log has these words.
fn logged(server: &Server<'_>, words: &str) -> usize {
    server.log().matches(words).count()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "timed out: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_outage_of_a_node_is_a_line_at_its_beginning_and_one_at_its_end() {
    if !nodes::is_distributed() {
        return;
    }
    let workdir = Workdir::new();
    let database = Database::from_template();
    // Of so many domains, each worker has some.
    let domains: Vec<(String, String)> = (0..6)
        .map(|n| {
            let name = format!("acme-{n}");
            workdir.good(&["domain", "create", &name, "--store", database.url()]);
            let create = ["key", "create", "--domain", &name, "--store", database.url()];
            let key = workdir.good(&create).trim().to_owned();
            (name, key)
        })
        .collect();
    let mut serve = workdir.caseload(&["serve", "--listen", "127.0.0.1:0", "--lease", "2"]);
    serve.env("CASELOAD_STORE", database.url());
    let server = Server::spawn(&workdir, domains[0].1.clone(), serve);
    let answers = |method| -> Vec<u16> {
        domains.iter().map(|(name, key)| status(&server, name, key, method)).collect()
    };
    assert_eq!(answers("POST"), [201; 6]);
    database.without_a_worker(|port| {
        let during = answers("POST");
        assert!(during.contains(&201) && during.contains(&503), "{during:?}");
        let waits = |statuses: &[u16]| -> Vec<bool> {
            statuses.iter().map(|status| *status == 503).collect()
        };
        assert_eq!(waits(&during), waits(&answers("GET")));
        until("the outage is logged", || logged(&server, "is away") > 0);
        // Each second, the runner asks all nodes for texts.
        thread::sleep(Duration::from_secs(6));
        let log = server.log();
        let line = log.lines().find(|line| line.contains("is away")).unwrap();
        assert!(line.contains(&format!("127.0.0.1:{port}")), "{line}");
        for ((name, _), status) in domains.iter().zip(&during) {
            assert_eq!(line.contains(name.as_str()), *status == 503, "{name}: {line}");
        }
    });
    until("its end is logged", || logged(&server, "answer again") > 0);
    assert_eq!(answers("POST"), [201; 6]);
    let log = server.log();
    let background: Vec<&str> = log
        .lines()
        .filter(|line| [" WARN ", " ERROR "].iter().any(|level| line.contains(level)))
        .filter(|line| !line.contains("caseload_api::"))
        .collect();
    assert_eq!(background.len(), 2, "{background:#?}");
}
