//! A PostgreSQL that restarts, crashes or fails over to a standby while servers work. During the
//! outage callers get 503 with a time to retry after, and no other error. The servers recover by
//! themselves, every acknowledged write is there afterwards, and the store is consistent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use caseload_teststore::{Cluster, Database, Stop};

use crate::common::{PATIENCE, Server, Workdir, profiles, transcript_of};

const ISSUES: &str = "/v1/acme/issues";
const COMPLETED: &str = r#""status":"completed""#;
/// Log lines at the beginning and at the end of an outage.
const WAIT: &str = "bulk action tasks wait";
const GO_ON: &str = "bulk action tasks go on";
/// Enough entries for the database to fail in the middle of a task.
const TASKS: usize = 4;
const ENTRIES: usize = 10_000;

/// Sends a request; returns the whole answer.
fn ask(server: &Server<'_>, method: &str, path: &str, form: &str) -> String {
    ask_with(server, &server.key, method, path, form)
}

fn ask_with(server: &Server<'_>, key: &str, method: &str, path: &str, form: &str) -> String {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn is(answer: &str, status: u16) -> bool {
    answer.starts_with(&format!("HTTP/1.1 {status} "))
}

/// Whether the answer is 503 with a time to retry after.
fn is_unavailable(answer: &str) -> bool {
    let unavailable = is(answer, 503);
    let again = answer.to_lowercase().contains("\r\nretry-after: ");
    assert!(!unavailable || again, "a 503 without a time to retry after: {answer}");
    unavailable
}

/// A command of the program on a store.
fn on_store(workdir: &Workdir, store: &str, args: &[&str]) -> Command {
    let mut command = workdir.caseload(args);
    command.env("CASELOAD_STORE", store);
    command
}

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", transcript_of(output));
    String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned()
}

fn serve<'p>(workdir: &'p Workdir, store: &str, key: &str) -> Server<'p> {
    let args = ["serve", "--listen", "127.0.0.1:0", "--lease", "2"];
    let mut command = on_store(workdir, store, &args);
    command.env("CASELOAD_RATE_LIMIT", "1000000");
    Server::spawn(workdir, key.to_owned(), command)
}

/// Creates a domain on a store; returns a key for it.
fn domain(workdir: &Workdir, store: &str) -> String {
    good(&on_store(workdir, store, &["domain", "create", "acme"]).output().unwrap());
    good(&on_store(workdir, store, &["key", "create", "--domain", "acme"]).output().unwrap())
}

/// Callers that create issues in the background, one for each server.
#[derive(Default)]
struct Callers {
    enough: AtomicBool,
    /// Ids of acknowledged issues.
    acknowledged: Mutex<Vec<String>>,
}

impl Callers {
    fn during(servers: &[&Server<'_>], work: impl FnOnce(&Self)) -> Vec<String> {
        let callers = Self::default();
        std::thread::scope(|threads| {
            // The callers stop even if the work panics.
            let ended = Ended(&callers.enough);
            for server in servers {
                threads.spawn(|| callers.call(server));
            }
            work(&callers);
            drop(ended);
        });
        callers.acknowledged.into_inner().unwrap()
    }

    fn call(&self, server: &Server<'_>) {
        while !self.enough.load(Ordering::Relaxed) {
            let answer = ask(server, "POST", ISSUES, "message-body=hello");
            if is(&answer, 201) {
                let id = answer.split_once(r#""id":""#).unwrap().1.split('"').next().unwrap();
                self.acknowledged.lock().unwrap().push(id.to_owned());
            } else {
                assert!(is_unavailable(&answer), "neither 201 nor 503: {answer}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until more issues have been acknowledged than now.
    fn wait_for_more(&self) {
        let count = || self.acknowledged.lock().unwrap().len();
        let before = count();
        until("writes are acknowledged", || count() > before + 10);
    }
}

struct Ended<'e>(&'e AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// During an outage each server answers 503, and stays alive.
fn all_are_unavailable(servers: &[&Server<'_>]) {
    for server in servers {
        for (method, path, form) in
            [("GET", ISSUES, ""), ("GET", "/readyz", ""), ("POST", ISSUES, "message-body=hello")]
        {
            let answer = ask(server, method, path, form);
            assert!(is_unavailable(&answer), "{method} {path}: {answer}");
        }
        assert!(is(&ask(server, "GET", "/healthz", ""), 200));
    }
}

/// Submits tasks whose entries have nothing to do with each other.
fn submitted(server: &Server<'_>) -> Vec<String> {
    let one = |number| {
        let file = format!("{number}.jsonl");
        server.workdir.write(&file, profiles(ENTRIES, &file));
        server.good(&["bulk", "submit", "create_core_profiles", &file]).trim().to_owned()
    };
    (0..TASKS).map(one).collect()
}

fn have_completed(server: &Server<'_>, tasks: &[String]) {
    for task in tasks {
        let path = format!("/v2/acme/identity/bulk_actions/{task}");
        let mut answer = String::new();
        until("the task completes", || {
            answer = ask(server, "GET", &path, "");
            assert!(is(&answer, 200) || is_unavailable(&answer), "{answer}");
            answer.contains(COMPLETED)
        });
        assert!(answer.contains(&format!(r#""succeeded":{ENTRIES}"#)), "{answer}");
    }
}

/// The store must be consistent and have every acknowledged issue.
fn nothing_is_lost(server: &Server<'_>, store: &str, acknowledged: &[String]) {
    for id in acknowledged {
        let answer = ask(server, "GET", &format!("{ISSUES}/{id}"), "");
        assert!(is(&answer, 200), "the issue {id} was acknowledged: {answer}");
    }
    good(&on_store(server.workdir, store, &["check"]).output().unwrap());
}

#[test]
fn after_a_failover_servers_go_on_at_the_standby_and_nothing_acknowledged_is_lost() {
    let mut primary = Cluster::start();
    let standby = primary.standby();
    let parameters = "?target_session_attrs=read-write";
    let store = Cluster::url_with(&[&primary, &standby], parameters);
    let workdir = Workdir::new();
    let key = domain(&workdir, &store);
    // The second server tries the standby first, while that is read-only; the first server tries
    // the primary first, after that has died.
    let first = serve(&workdir, &store, &key);
    let turned = Cluster::url_with(&[&standby, &primary], parameters);
    let second = serve(&workdir, &turned, &key);
    let servers = [&first, &second];
    let mut tasks = Vec::new();
    let acknowledged = Callers::during(&servers, |callers| {
        callers.wait_for_more();
        tasks = submitted(&first);
        std::thread::sleep(Duration::from_millis(300));
        primary.stop(Stop::Immediate);
        all_are_unavailable(&servers);
        // No server reads from the standby, because its data may be old.
        std::thread::sleep(Duration::from_secs(1));
        all_are_unavailable(&servers);
        standby.promote();
        callers.wait_for_more();
        for server in servers {
            until("it is ready", || is(&ask(server, "GET", "/readyz", ""), 200));
            until("it takes writes", || {
                is(&ask(server, "POST", ISSUES, "message-body=after"), 201)
            });
        }
        have_completed(&second, &tasks);
    });
    nothing_is_lost(&first, &store, &acknowledged);
}

/// How often the log has this line.
fn logged(server: &Server<'_>, line: &str) -> usize {
    server.log().matches(line).count()
}

#[test]
fn a_database_that_restarts_or_crashes_under_load_is_waited_for() {
    let mut database = Cluster::start();
    let store = Cluster::url_with(&[&database], "");
    let workdir = Workdir::new();
    let key = domain(&workdir, &store);
    let (first, second) = (serve(&workdir, &store, &key), serve(&workdir, &store, &key));
    let servers = [&first, &second];
    // No server has read this key before the outage.
    let create = ["key", "create", "--domain", "acme"];
    let other_key = good(&on_store(&workdir, &store, &create).output().unwrap());
    let mut tasks = Vec::new();
    let acknowledged = Callers::during(&servers, |callers| {
        tasks = submitted(&first);
        for (times, how) in [(1, Stop::Fast), (2, Stop::Immediate)] {
            callers.wait_for_more();
            database.stop(how);
            all_are_unavailable(&servers);
            assert!(is_unavailable(&ask_with(&first, &other_key, "GET", ISSUES, "")));
            std::thread::sleep(Duration::from_secs(2));
            database.start_again();
            for server in servers {
                until("its tasks go on", || logged(server, GO_ON) == times);
                assert_eq!(logged(server, WAIT), times, "logged once for all attempts");
            }
        }
        callers.wait_for_more();
        have_completed(&second, &tasks);
    });
    nothing_is_lost(&first, &store, &acknowledged);
    for server in servers {
        assert!(
            !server.log().contains("could be claimed"),
            "the outage is logged as another fault, too"
        );
        assert!(!server.log().contains("one by one"), "the outages are taken for deaths");
        assert_eq!(
            logged(server, "did not authenticate"),
            0,
            "the outage is taken for a wrong key"
        );
    }
}

/// Without its standby the database confirms no commit; the waiting callers get 503 in time.
#[test]
fn with_its_standby_gone_a_server_answers_writes_within_a_lease() {
    let database = Cluster::start();
    let store = Cluster::url_with(&[&database], "");
    let workdir = Workdir::new();
    let key = domain(&workdir, &store);
    let server = serve(&workdir, &store, &key);
    let post = || ask(&server, "POST", ISSUES, "message-body=hello");
    let acknowledged = post();
    let id = acknowledged.split_once(r#""id":""#).unwrap().1.split('"').next().unwrap().to_owned();
    database.wait_for_missing_standby(true);
    // The database shows the setting before its commits follow it.
    until("its commits wait", || is_unavailable(&post()));
    let answer = post();
    assert!(is_unavailable(&answer), "{answer}");
    assert!(is(&ask(&server, "GET", ISSUES, ""), 200), "reads go on");
    database.wait_for_missing_standby(false);
    until("it takes writes", || is(&post(), 201));
    nothing_is_lost(&server, &store, &[id]);
}

/// The first host accepts connections and never answers, as after a network failure.
#[test]
fn a_host_that_never_answers_does_not_keep_servers_from_the_next_one() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = Database::from_template();
    let workdir = Workdir::new();
    let hosts = format!("@{},", silent.local_addr().unwrap());
    let store = database.url().replacen('@', &hosts, 1);
    let key = domain(&workdir, &store);
    let server = serve(&workdir, &store, &key);
    for _ in 0..3 {
        assert!(is(&ask(&server, "GET", ISSUES, ""), 200));
    }
}
