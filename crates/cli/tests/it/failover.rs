//! A PostgreSQL that fails, under servers that have work: it is restarted, it crashes, and its
//! standby is promoted. Callers are told 503 and when to come back, never anything else; the
//! servers go on by themselves; whatever was acknowledged is there afterwards, and the store is
//! sound.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use caseload_teststore::{Cluster, Database, Stop};

use crate::common::{PATIENCE, Place, Server, picture_of, profiles};

const ISSUES: &str = "/v1/acme/issues";
const COMPLETED: &str = r#""status":"completed""#;
/// What the log says of an outage.
const WAIT: &str = "bulk action tasks wait";
const GO_ON: &str = "bulk action tasks go on";
/// Enough for the database to fail in the middle.
const TASKS: usize = 4;
const ENTRIES: usize = 10_000;

/// The whole answer of a server.
fn ask(server: &Server<'_>, method: &str, path: &str, form: &str) -> String {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        server.key,
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

/// Whether a server says that it cannot answer now, as it has to.
fn is_told_to_wait(answer: &str) -> bool {
    let told = is(answer, 503);
    let again = answer.to_lowercase().contains("\r\nretry-after: ");
    assert!(!told || again, "a 503 says when to come back: {answer}");
    told
}

/// A command of the program on a store.
fn on_store(place: &Place, store: &str, args: &[&str]) -> Command {
    let mut command = place.caseload(args);
    command.env("CASELOAD_STORE", store);
    command
}

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", picture_of(output));
    String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned()
}

fn serve<'p>(place: &'p Place, store: &str, key: &str) -> Server<'p> {
    let args = ["serve", "--listen", "127.0.0.1:0", "--lease", "2"];
    let mut command = on_store(place, store, &args);
    command.env("CASELOAD_RATE_LIMIT", "1000000");
    Server::spawn(place, key.to_owned(), command)
}

/// A domain on a store, and a key to it.
fn domain(place: &Place, store: &str) -> String {
    good(&on_store(place, store, &["domain", "create", "acme"]).output().unwrap());
    good(&on_store(place, store, &["key", "create", "--domain", "acme"]).output().unwrap())
}

/// Callers that create issues through servers, one each, while something else is done to them.
#[derive(Default)]
struct Callers {
    enough: AtomicBool,
    /// Ids of issues that were acknowledged.
    acknowledged: Mutex<Vec<String>>,
}

impl Callers {
    fn beside(servers: &[&Server<'_>], work: impl FnOnce(&Self)) -> Vec<String> {
        let callers = Self::default();
        std::thread::scope(|threads| {
            // However the work ends, the callers do.
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
                assert!(is_told_to_wait(&answer), "neither done nor told to wait: {answer}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until more was acknowledged than at the moment.
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
        assert!(begun.elapsed() < PATIENCE, "it takes too long: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// While the database is away each server says so, and lives.
fn all_are_told_to_wait(servers: &[&Server<'_>]) {
    for server in servers {
        for (method, path, form) in
            [("GET", ISSUES, ""), ("GET", "/readyz", ""), ("POST", ISSUES, "message-body=hello")]
        {
            let answer = ask(server, method, path, form);
            assert!(is_told_to_wait(&answer), "{method} {path}: {answer}");
        }
        assert!(is(&ask(server, "GET", "/healthz", ""), 200));
    }
}

/// Accepted tasks, whose entries are each other's business in nothing.
fn submitted(server: &Server<'_>) -> Vec<String> {
    let one = |number| {
        let file = format!("{number}.jsonl");
        server.place.write(&file, profiles(ENTRIES, &file));
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
            assert!(is(&answer, 200) || is_told_to_wait(&answer), "{answer}");
            answer.contains(COMPLETED)
        });
        assert!(answer.contains(&format!(r#""succeeded":{ENTRIES}"#)), "{answer}");
    }
}

/// The store is sound and has every issue that was acknowledged.
fn nothing_is_lost(server: &Server<'_>, store: &str, acknowledged: &[String]) {
    for id in acknowledged {
        let answer = ask(server, "GET", &format!("{ISSUES}/{id}"), "");
        assert!(is(&answer, 200), "the issue {id} was acknowledged: {answer}");
    }
    good(&on_store(server.place, store, &["check"]).output().unwrap());
}

#[test]
fn after_a_failover_servers_go_on_at_the_standby_and_nothing_acknowledged_is_lost() {
    let mut primary = Cluster::start();
    let standby = primary.standby();
    let parameters = "?target_session_attrs=read-write";
    let store = Cluster::url_with(&[&primary, &standby], parameters);
    let place = Place::new();
    let key = domain(&place, &store);
    // One meets the standby first while it takes no writes, the other the primary while it is dead.
    let first = serve(&place, &store, &key);
    let turned = Cluster::url_with(&[&standby, &primary], parameters);
    let second = serve(&place, &turned, &key);
    let servers = [&first, &second];
    let mut tasks = Vec::new();
    let acknowledged = Callers::beside(&servers, |callers| {
        callers.wait_for_more();
        tasks = submitted(&first);
        std::thread::sleep(Duration::from_millis(300));
        primary.stop(Stop::Immediate);
        all_are_told_to_wait(&servers);
        // The standby answers reads, and nobody asks it: it may be behind.
        std::thread::sleep(Duration::from_secs(1));
        all_are_told_to_wait(&servers);
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

/// How often the log has a line.
fn told(server: &Server<'_>, line: &str) -> usize {
    server.log().matches(line).count()
}

#[test]
fn a_database_that_restarts_or_crashes_under_load_is_waited_for() {
    let mut database = Cluster::start();
    let store = Cluster::url_with(&[&database], "");
    let place = Place::new();
    let key = domain(&place, &store);
    let (first, second) = (serve(&place, &store, &key), serve(&place, &store, &key));
    let servers = [&first, &second];
    let mut tasks = Vec::new();
    let acknowledged = Callers::beside(&servers, |callers| {
        tasks = submitted(&first);
        for (times, how) in [(1, Stop::Fast), (2, Stop::Immediate)] {
            callers.wait_for_more();
            database.stop(how);
            all_are_told_to_wait(&servers);
            std::thread::sleep(Duration::from_secs(2));
            database.start_again();
            for server in servers {
                until("its tasks go on", || told(server, GO_ON) == times);
                assert_eq!(told(server, WAIT), times, "told once, however often it was tried");
            }
        }
        callers.wait_for_more();
        have_completed(&second, &tasks);
    });
    nothing_is_lost(&first, &store, &acknowledged);
    for server in servers {
        assert!(!server.log().contains("could be claimed"), "told as a fault of its own");
    }
}

/// What is not at the standby is not acknowledged, and who waits for that is told so in time.
#[test]
fn a_standby_that_is_gone_keeps_callers_waiting_no_longer_than_a_lease() {
    let database = Cluster::start();
    let store = Cluster::url_with(&[&database], "");
    let place = Place::new();
    let key = domain(&place, &store);
    let server = serve(&place, &store, &key);
    let post = || ask(&server, "POST", ISSUES, "message-body=hello");
    let acknowledged = post();
    let id = acknowledged.split_once(r#""id":""#).unwrap().1.split('"').next().unwrap().to_owned();
    database.wait_for_missing_standby(true);
    for _ in 0..2 {
        let answer = post();
        assert!(is_told_to_wait(&answer), "{answer}");
    }
    assert!(is(&ask(&server, "GET", ISSUES, ""), 200), "reads go on");
    database.wait_for_missing_standby(false);
    until("it takes writes", || is(&post(), 201));
    nothing_is_lost(&server, &store, &[id]);
}

/// A host that was cut off: connections to it are made, and nothing is ever answered.
#[test]
fn a_host_that_never_answers_does_not_keep_servers_from_the_next_one() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = Database::from_template();
    let place = Place::new();
    let hosts = format!("@{},", silent.local_addr().unwrap());
    let store = database.url().replacen('@', &hosts, 1);
    let key = domain(&place, &store);
    let server = serve(&place, &store, &key);
    for _ in 0..3 {
        assert!(is(&ask(&server, "GET", ISSUES, ""), 200));
    }
}
