//! Several servers on one database, as processes. A task that one server accepted can run on, be
//! followed, cancelled and repeated through another. A task goes on after its server was killed. If
//! the database is down for a while, servers answer 503 and reconnect by themselves.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use caseload_teststore::{Backend, Database};

use crate::common::{PATIENCE, Server, Workdir, profiles};

const COMPLETED: &str = r#""status":"completed""#;

/// Sends a request; returns the whole answer.
fn ask(server: &Server<'_>, method: &str, path: &str, more: &str) -> String {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let key = &server.key;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\n{more}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Two servers on one database.
fn two(workdir: &Workdir) -> (Server<'_>, Server<'_>) {
    let first = workdir.serve();
    let second = Server::start(workdir, first.key.clone());
    (first, second)
}

fn submitted(server: &Server<'_>, more: &[&str]) -> String {
    let args = [&["bulk", "submit", "create_core_profiles", "many.jsonl"], more].concat();
    server.good(&args).trim().to_owned()
}

fn task_path(task: &str) -> String {
    format!("/v2/acme/identity/bulk_actions/{task}")
}

fn each_does_for_the_other() {
    let workdir = Workdir::new();
    workdir.write("many.jsonl", profiles(5000, "many"));
    workdir.write("long.jsonl", profiles(10_000, "long"));
    let (first, second) = two(&workdir);
    for (key, one, other) in [("one", &first, &second), ("two", &second, &first)] {
        // A repeat through another server returns the same task.
        let task = submitted(one, &["--idempotency-key", key]);
        assert_eq!(submitted(other, &["--idempotency-key", key]), task);
        // Any server can wait for its completion and stream its events.
        let events = ask(other, "GET", &task_path(&task), "Accept: text/event-stream\r\n");
        assert!(events.contains(COMPLETED), "{events}");
        let begun = Instant::now();
        while !ask(other, "GET", &format!("{}?wait=5", task_path(&task)), "").contains(COMPLETED) {
            assert!(begun.elapsed() < PATIENCE, "the task does not complete");
        }
        // No server can cancel a completed task; every server can cancel a waiting one.
        let late =
            ask(other, "POST", &format!("{}/cancel", task_path(&task)), "Content-Length: 0\r\n");
        assert!(late.starts_with("HTTP/1.1 409"), "{late}");
        cancelled_through_another(one, other);
    }
    assert!(workdir.run(&["check"]).status.success());
}

/// A domain runs one writing task at a time, so tasks after long ones certainly wait. Cancelling
/// such a task completes it in the answer; the last one is cancelled first.
fn cancelled_through_another(one: &Server<'_>, other: &Server<'_>) {
    let long = ["bulk", "submit", "create_core_profiles", "long.jsonl", "--again"];
    let before: Vec<_> = (0..4).map(|_| one.good(&long)).collect();
    for task in [submitted(one, &["--again"]), submitted(one, &["--again"])].iter().rev() {
        let path = format!("{}/cancel", task_path(task));
        let cancelled = ask(other, "POST", &path, "Content-Length: 0\r\n");
        assert!(cancelled.starts_with("HTTP/1.1 200"), "{cancelled}");
        for said in [COMPLETED, r#""outcome":"cancelled""#, r#""unprocessed":5000"#] {
            assert!(cancelled.contains(said), "{said}: {cancelled}");
        }
    }
    for task in before {
        let begun = Instant::now();
        while !ask(other, "GET", &task_path(task.trim()), "").contains(COMPLETED) {
            assert!(
                begun.elapsed() < PATIENCE,
                "a task does not end after the ones that waited for it were cancelled"
            );
        }
    }
}

#[test]
fn every_server_follows_cancels_and_repeats_what_another_accepted() {
    Backend::Postgres.under_blocking(each_does_for_the_other);
}

/// Waits until `server` has completed the tasks.
fn taken_over_by(server: &Server, tasks: &[String]) {
    let begun = Instant::now();
    for task in tasks {
        loop {
            let record = ask(server, "GET", &format!("{}?wait=5", task_path(task)), "");
            if record.contains(COMPLETED) {
                // The first task takes all identities; the entries of the others fail.
                assert!(record.contains(r#""unprocessed":0"#), "{record}");
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "no server takes the task over: {record}");
        }
    }
}

#[test]
fn tasks_of_a_killed_server_are_taken_over_within_the_lease() {
    Backend::Postgres.under_blocking(|| {
        let workdir = Workdir::new();
        workdir.write("many.jsonl", profiles(10_000, "over"));
        let (first, second) = two(&workdir);
        let tasks: Vec<_> = (0..5).map(|_| submitted(&first, &["--again"])).collect();
        first.kill();
        taken_over_by(&second, &tasks);
        assert!(workdir.run(&["check"]).status.success());
    });
}

/// Freezes a process with SIGSTOP, or lets it continue.
fn signal(pid: u32, signal: &str) {
    let done = Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(done.success());
}

#[test]
fn tasks_of_a_frozen_server_are_taken_over_within_the_lease() {
    Backend::Postgres.under_blocking(|| {
        let workdir = Workdir::new();
        workdir.write("many.jsonl", profiles(10_000, "over"));
        let first = workdir.serve();
        let tasks: Vec<_> = (0..5).map(|_| submitted(&first, &["--again"])).collect();
        let pid = first.child.as_ref().unwrap().id();
        // Its connections stay open, and it still has its locks in the database.
        signal(pid, "-STOP");
        let second = Server::start(&workdir, first.key.clone());
        let begun = Instant::now();
        taken_over_by(&second, &tasks);
        // It finds that another server has its task.
        signal(pid, "-CONT");
        let late = submitted(&first, &["--again"]);
        while !ask(&first, "GET", &format!("{}?wait=5", task_path(&late)), "").contains(COMPLETED) {
            assert!(begun.elapsed() < 2 * PATIENCE, "it does not go on");
        }
        assert!(workdir.run(&["check"]).status.success());
    });
}

/// A proxy between servers and their database, which can cut and then refuse connections.
struct Wire {
    port: u16,
    open: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Wire {
    fn to(database: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let open = Arc::new(Mutex::new(Some(Vec::new())));
        let shared = Arc::clone(&open);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let mut open = shared.lock().unwrap();
                let Some(streams) = open.as_mut() else { continue };
                let far = TcpStream::connect(&database).unwrap();
                streams.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (mut from, mut to) in
                    [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
                {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { port, open }
    }

    /// Cuts every connection and refuses new ones.
    fn cut(&self) {
        for stream in self.open.lock().unwrap().take().unwrap() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        *self.open.lock().unwrap() = Some(Vec::new());
    }
}

#[test]
fn a_database_that_is_gone_is_503_and_is_found_again() {
    let database = Database::from_template();
    let (user, rest) = database.url().split_once('@').unwrap();
    let (host, name) = rest.split_once('/').unwrap();
    let wire = Wire::to(host.to_owned());
    let workdir = Workdir::new();
    let run = |args: &[&str]| {
        let output = workdir.caseload(args).env("CASELOAD_STORE", database.url()).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run(&["domain", "create", "acme"]);
    let key = run(&["key", "create", "--domain", "acme"]);
    let mut command = workdir.caseload(&["serve", "--listen", "127.0.0.1:0", "--lease", "2"]);
    command.env("CASELOAD_STORE", format!("{user}@127.0.0.1:{}/{name}", wire.port));
    let server = Server::spawn(&workdir, key, command);
    let issues = "/v1/acme/issues";
    assert!(ask(&server, "GET", issues, "").starts_with("HTTP/1.1 200"));
    workdir.write("many.jsonl", profiles(10_000, "cut"));
    let task = submitted(&server, &["--again"]);
    wire.cut();
    for path in [issues, "/readyz"] {
        let answer = ask(&server, "GET", path, "");
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.to_lowercase().contains("retry-after: "), "{answer}");
        assert!(!answer.contains("postgres"), "the answer names the database: {answer}");
    }
    assert!(ask(&server, "GET", "/healthz", "").starts_with("HTTP/1.1 200"));
    std::thread::sleep(Duration::from_secs(1));
    wire.mend();
    let begun = Instant::now();
    for (path, wanted) in
        [("/readyz", "HTTP/1.1 200"), (issues, "HTTP/1.1 200"), (&task_path(&task), COMPLETED)]
    {
        while !ask(&server, "GET", path, "").contains(wanted) {
            assert!(begun.elapsed() < PATIENCE, "{path} does not come back");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    assert!(ask(&server, "GET", &task_path(&task), "").contains(r#""succeeded":10000"#));
}
