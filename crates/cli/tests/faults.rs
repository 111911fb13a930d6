//! The built binary on a disk that is full or fails: a task is acknowledged or it is not, it is
//! completed or it is not, and it is never wrong. While the fault lasts the server says so, reading
//! goes on, and nothing that was acknowledged is lost; when it ends, or after kill -9 and a new
//! start, the work goes on and every entry has been applied once.
//!
//! Faults are made in three ways. A shim between the program and the system's library
//! (`shim/faults.c`, built here, preloaded into the server) fails writes and fsyncs on command, and
//! has a failed fsync lose what it should have kept. A limit on the size of files needs no rights.
//! A small file system in memory needs user namespaces; where they are not permitted, its test says
//! loudly that it did not run.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stderr, reason = "what a server logs belongs to a failed test's output")]
#![expect(dead_code, reason = "the other tests use the rest of what is shared")]

mod common;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use common::{PATIENCE, Place, Server, exists, profiles};
use serde_json::Value;

/// Error numbers of Linux.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

const PATH: &str = "/v2/acme/identity/bulk_actions";
const ENTRIES: usize = 4000;

/// One fault of the disk: which calls fail, how, and on which of the store's files.
#[derive(Debug, Clone, Copy)]
struct Fault {
    class: &'static str,
    number: i32,
    suffix: &'static str,
}

/// All that stop commits.
const FAULTS: [Fault; 3] = [
    Fault { class: "write", number: ENOSPC, suffix: ".db-wal" },
    Fault { class: "write", number: EIO, suffix: ".db-wal" },
    Fault { class: "sync", number: EIO, suffix: ".db-wal" },
];

impl Fault {
    fn begin(self, place: &Place) {
        let _ = std::fs::remove_file(place.path("fault.count"));
        place.write("fault.new", format!("{} {} {}\n", self.class, self.number, self.suffix));
        std::fs::rename(place.path("fault.new"), place.path("fault")).unwrap();
    }

    /// Ends the fault; it must have struck.
    fn end(self, place: &Place) {
        std::fs::remove_file(place.path("fault")).unwrap();
        assert!(exists(&place.path("fault.count")), "{self:?} never struck: is the shim loaded?");
    }
}

/// The shim, built once.
fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("store_faults.so");
        let own = built.with_extension(format!("{}.so", std::process::id()));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shim/faults.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = Command::new(&compiler);
        command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&own).arg(source);
        let output = command.args(["-ldl", "-lpthread"]).output();
        let output = output.unwrap_or_else(|error| {
            panic!("the faults cannot be made without the C compiler {compiler}: {error}")
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::rename(own, &built).unwrap();
        built
    })
}

/// A server whose files can be made to fail.
fn fragile(place: &Place, key: String) -> Server<'_> {
    let mut command = place.caseload(&["serve", "--rate-limit", "0", "--listen", "127.0.0.1:0"]);
    command.env("LD_PRELOAD", shim()).env("STORE_FAULT", place.path("fault"));
    Server::spawn(place, key, command)
}

/// Makes the store and a key, without any fault.
fn prepared(place: &Place) -> String {
    place.good(&["domain", "create", "acme"]);
    place.good(&["key", "create", "--domain", "acme"]).trim().to_owned()
}

/// Status, head and body of one plain request.
fn http(server: &Server<'_>, method: &str, path: &str, head: &str, body: &[u8]) -> Answer {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n{head}\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        server.key,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    // A server that refuses early may close before it has read everything.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Hands in creations of `count` profiles under an idempotency key.
fn submit(server: &Server<'_>, tag: &str, count: usize) -> Answer {
    hand_in(server, tag, "create_core_profiles", &profiles(count, tag))
}

/// Hands in a task under an idempotency key.
fn hand_in(server: &Server<'_>, key: &str, action: &str, payload: &str) -> Answer {
    let part = |name, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let body = part("action", action) + &part("payload", payload) + "--b--\r\n";
    let head =
        format!("Idempotency-Key: {key}\r\nContent-Type: multipart/form-data; boundary=b\r\n");
    http(server, "POST", PATH, &head, body.as_bytes())
}

/// The id of a task that has to be accepted.
fn accepted(server: &Server<'_>, tag: &str, count: usize) -> String {
    task_id(&submit(server, tag, count))
}

/// The id of the task that was accepted by this answer.
fn task_id(answer: &Answer) -> String {
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["task_id"].as_str().unwrap().to_owned()
}

fn assert_unavailable(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.json()["code"], "unavailable");
    assert!(answer.head.contains("retry-after:"), "{answer:?}");
    for secret in ["sqlite", "disk i/o", ".db", "errno"] {
        assert!(!answer.body.to_ascii_lowercase().contains(secret), "{answer:?}");
    }
}

/// The task as it is now; its counts add up.
fn look(server: &Server<'_>, id: &str) -> Value {
    let answer = http(server, "GET", &format!("{PATH}/{id}"), "", b"");
    assert_eq!(answer.status, 200, "{answer:?}");
    let task = answer.json();
    let count = |name: &str| task["counts"][name].as_u64().unwrap();
    assert_eq!(
        count("succeeded") + count("failed") + count("unprocessed"),
        count("total"),
        "{task}"
    );
    assert_ne!(task["outcome"], "failed", "a fault of the disk's ends no task: {task}");
    task
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never comes that {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn until_ready(server: &Server<'_>, status: u16) {
    until(&format!("/readyz answers {status}"), || {
        http(server, "GET", "/readyz", "", b"").status == status
    });
}

/// Waits for the end of a task; each of its entries has succeeded once.
fn completed(server: &Server<'_>, id: &str, count: usize) {
    until("the task completes", || look(server, id)["status"] == "completed");
    assert_eq!(look(server, id)["outcome"], "succeeded");
    let indexes: Vec<_> = results(server, id).map(|record| record["index"].as_u64()).collect();
    assert!(indexes.into_iter().eq((0..count as u64).map(Some)), "each entry has one record");
}

/// The results of a task, wherever the chunks of the body are cut.
fn results(server: &Server<'_>, id: &str) -> impl Iterator<Item = Value> {
    let answer = http(server, "GET", &format!("{PATH}/{id}/results?format=jsonl"), "", b"");
    let joined = unchunked(&answer.body);
    let lines: Vec<Value> =
        joined.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.into_iter()
}

/// A body that came in chunks, put together.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size, 16) else { return body.to_owned() };
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    if whole.is_empty() { body.to_owned() } else { whole }
}

/// The store is sound and holds just these tasks, and a profile for each of their entries.
fn sound(place: &Place, tasks: usize, entries: usize) {
    let report = place.good(&["check"]);
    let counted = |what: &str| -> usize {
        let line = report.lines().find(|line| line.ends_with(&format!("\t{what}")));
        let number = line.unwrap_or_else(|| panic!("{report}")).split('\t').next().unwrap();
        number.replace(',', "").parse().unwrap()
    };
    assert_eq!((counted("tasks"), counted("core profiles")), (tasks, entries), "{report}");
}

#[test]
fn while_writes_fail_nothing_is_acknowledged_and_everything_goes_on_afterwards() {
    for fault in FAULTS {
        let place = Place::new();
        let server = fragile(&place, prepared(&place));
        until_ready(&server, 200);
        let done = accepted(&server, "done", ENTRIES);
        completed(&server, &done, ENTRIES);
        // Accepted and not completed when the fault begins, or soon after.
        let running = accepted(&server, "running", ENTRIES);
        fault.begin(&place);
        until_ready(&server, 503);
        assert_unavailable(&submit(&server, "refused", 10));
        assert_eq!(look(&server, &done)["outcome"], "succeeded", "reading goes on");
        let stuck = look(&server, &running);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(look(&server, &running)["counts"], stuck["counts"], "{fault:?}");
        fault.end(&place);
        until_ready(&server, 200);
        completed(&server, &running, ENTRIES);
        // The repeat of what was refused: once, like everything else.
        let again = accepted(&server, "refused", 10);
        completed(&server, &again, 10);
        let (status, _) = server.terminate();
        assert!(status.success(), "{status}");
        sound(&place, 3, 2 * ENTRIES + 10);
    }
}

/// The ids in the results of a task, in their order.
fn shown_ids(server: &Server<'_>, id: &str) -> Vec<String> {
    let id_of = |record: Value| record["core-profile-id"].as_str().unwrap().to_owned();
    results(server, id).map(id_of).collect()
}

#[test]
fn gets_that_run_when_writes_fail_show_each_profile_once_afterwards() {
    for fault in FAULTS {
        let place = Place::new();
        let key = prepared(&place);
        let server = fragile(&place, key.clone());
        let made = accepted(&server, "made", ENTRIES);
        completed(&server, &made, ENTRIES);
        let ids = shown_ids(&server, &made);
        let entry = |id: &String| format!("{{\"core-profile-id\":\"{id}\"}}");
        let entries = ids.iter().map(entry).collect::<Vec<_>>().join("\n");
        let get = |key: &str| hand_in(&server, key, "get_core_profiles", &entries);
        let gets = ["a", "b", "c"].map(|key| task_id(&get(key)));
        fault.begin(&place);
        assert_unavailable(&get("d"));
        std::thread::sleep(Duration::from_millis(300));
        let seen = gets.each_ref().map(|id| look(&server, id)["counts"].clone());
        assert_eq!(shown_ids(&server, &made), ids, "reading goes on");
        fault.end(&place);
        // The last is ended while it may still go on, and begun anew.
        until_ready(&server, 200);
        server.kill();
        let server = fragile(&place, key);
        for (id, seen) in gets.iter().zip(seen) {
            let done = |counts: &Value| counts["succeeded"].as_u64().unwrap();
            assert!(done(&look(&server, id)["counts"]) >= done(&seen), "nothing is taken back");
            until("the task completes", || look(&server, id)["status"] == "completed");
            assert_eq!(shown_ids(&server, id), ids, "each profile once, in order");
        }
        server.kill();
        sound(&place, 4, ENTRIES);
    }
}

#[test]
fn a_kill_while_writes_fail_loses_nothing_that_was_acknowledged() {
    for fault in FAULTS {
        let place = Place::new();
        let key = prepared(&place);
        let server = fragile(&place, key.clone());
        let tags = ["a", "b", "c"];
        let ids: Vec<_> = tags.iter().map(|tag| accepted(&server, tag, ENTRIES)).collect();
        fault.begin(&place);
        assert_unavailable(&submit(&server, "refused", 10));
        let seen: Vec<_> = ids.iter().map(|id| look(&server, id)).collect();
        server.kill();
        fault.end(&place);
        place.good(&["check"]);
        let server = fragile(&place, key);
        for (id, seen) in ids.iter().zip(seen) {
            let done = |task: &Value| task["counts"]["succeeded"].as_u64().unwrap();
            assert!(done(&look(&server, id)) >= done(&seen), "what was seen is not taken back");
            completed(&server, id, ENTRIES);
        }
        let answers: BTreeSet<_> = tags.iter().map(|tag| accepted(&server, tag, ENTRIES)).collect();
        assert_eq!(answers, ids.into_iter().collect(), "repeats get the first answers");
        server.kill();
        sound(&place, 3, 3 * ENTRIES);
    }
}

#[test]
fn one_failed_fsync_fails_its_commits_and_no_other() {
    let place = Place::new();
    let key = prepared(&place);
    let server = fragile(&place, key.clone());
    let fault = FAULTS[2];
    let mut kept = 0;
    for round in 0..8 {
        // What comes after the fault is shorter or longer than what failed.
        let size = if round % 2 == 0 { 10 } else { ENTRIES };
        fault.begin(&place);
        assert_unavailable(&submit(&server, &format!("lost{round}"), size));
        fault.end(&place);
        let id = accepted(&server, &format!("kept{round}"), ENTRIES + 10 - size);
        completed(&server, &id, ENTRIES + 10 - size);
        kept += ENTRIES + 10 - size;
    }
    server.kill();
    sound(&place, 8, kept);
    let server = fragile(&place, key);
    let id = accepted(&server, "after", 10);
    completed(&server, &id, 10);
}

#[test]
fn a_database_file_that_cannot_be_written_is_told_of_and_commits_go_on() {
    for (class, number) in [("write", ENOSPC), ("write", EIO), ("sync", EIO)] {
        let fault = Fault { class, number, suffix: "caseload.db" };
        let place = Place::new();
        let key = prepared(&place);
        let server = fragile(&place, key.clone());
        until_ready(&server, 200);
        fault.begin(&place);
        let first = accepted(&server, "first", ENTRIES);
        completed(&server, &first, ENTRIES);
        // The log is moved into the database when writers pause, and that fails.
        until_ready(&server, 503);
        let second = accepted(&server, "second", ENTRIES);
        completed(&server, &second, ENTRIES);
        server.kill();
        fault.end(&place);
        sound(&place, 2, 2 * ENTRIES);
        let server = fragile(&place, key);
        completed(&server, &second, ENTRIES);
        until_ready(&server, 200);
        let (status, _) = server.terminate();
        assert!(status.success(), "{status}");
        sound(&place, 2, 2 * ENTRIES);
    }
}

/// Submits until the server refuses; the accepted tasks with their sizes.
fn fill(server: &Server<'_>) -> Vec<(String, usize)> {
    let mut tasks = Vec::new();
    loop {
        let answer = submit(server, &format!("t{}", tasks.len()), ENTRIES);
        if answer.status != 201 {
            assert_unavailable(&answer);
            return tasks;
        }
        tasks.push((answer.json()["task_id"].as_str().unwrap().to_owned(), ENTRIES));
        assert!(tasks.len() < 1000, "the disk is never full");
    }
}

#[test]
fn files_that_may_not_grow_refuse_new_tasks_and_lose_none() {
    let place = Place::new();
    let key = prepared(&place);
    let program = env!("CARGO_BIN_EXE_caseload");
    // In blocks of 512 or 1024 bytes, as the shell has it: 4 or 8 MiB.
    let script = "trap '' XFSZ; ulimit -f 8192; \
                  exec \"$0\" serve --rate-limit 0 --listen 127.0.0.1:0";
    let mut command = Command::new("sh");
    let plain = place.caseload(&[]);
    command.current_dir(plain.get_current_dir().unwrap()).args(["-c", script, program]);
    command.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let server = Server::spawn(&place, key.clone(), command);
    until_ready(&server, 200);
    let tasks = fill(&server);
    assert!(!tasks.is_empty());
    until_ready(&server, 503);
    for (id, _) in &tasks {
        look(&server, id);
    }
    server.kill();
    place.good(&["check"]);
    let server = Server::start(&place, key);
    for (id, count) in &tasks {
        completed(&server, id, *count);
    }
    server.kill();
    sound(&place, tasks.len(), tasks.len() * ENTRIES);
}

/// The shell that starts servers, until this is dropped.
struct Shell<'p> {
    place: &'p Place,
    child: Child,
}

impl Shell<'_> {
    /// Sends a signal to the server that runs now.
    fn signal(&self, signal: &str) {
        let pid = self.place.read("pid").trim().to_owned();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            self.place.write("end", "");
            let _ = self.child.kill();
            self.signal("-KILL");
            let _ = self.child.wait();
        }
    }
}

/// Runs the server on a file system of 12 MiB, or of a large one when `free` is there, and starts
/// it again each time it ends; when `end` is there, a check is the last.
const ON_A_SMALL_DISK: &str = r#"
mkdir -p disk && mount -t tmpfs -o size=12m tmpfs disk || exit 9
export CASELOAD_STORE=sqlite:disk/caseload.db
"$0" domain create acme >&2 && "$0" key create --domain acme > key.new || exit 8
mv key.new key
while [ ! -e end ]; do
  if [ -e free ]; then mount -o remount,size=900m disk; fi
  "$0" serve --rate-limit 0 --listen 127.0.0.1:0 2> log & echo $! > pid
  wait $!
done
"$0" check > report
"#;

#[test]
fn a_full_file_system_refuses_new_tasks_and_loses_none() {
    let probe = Command::new("unshare").args(["-Urm", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "NOT RUN: a full file system needs `unshare -Urm` (user namespaces), which this \
             machine does not permit; the other tests of this file make full disks without it"
        );
        return;
    }
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_caseload");
    let plain = place.caseload(&[]);
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", ON_A_SMALL_DISK, program]);
    let child = command.current_dir(plain.get_current_dir().unwrap()).spawn().unwrap();
    let mut shell = Shell { place: &place, child };
    let log = |place: &Place| std::fs::read_to_string(place.path("log")).unwrap_or_default();
    let url = |log: &str| -> Option<String> {
        let line = log.lines().find_map(|line| line.strip_prefix("listening on "));
        line.map(str::to_owned)
    };
    until("the server listens", || url(&log(&place)).is_some());
    let key = place.read("key").trim().to_owned();
    let server = Server {
        place: &place,
        child: None,
        url: url(&log(&place)).unwrap(),
        key: key.clone(),
        log: Arc::default(),
    };
    let tasks = fill(&server);
    assert!(!tasks.is_empty());
    until_ready(&server, 503);
    for (id, _) in &tasks {
        look(&server, id);
    }
    // Killed on a full disk, and started again with room.
    place.write("free", "");
    let old = url(&log(&place));
    shell.signal("-KILL");
    until("the server listens again", || {
        let new = url(&log(&place));
        new.is_some() && new != old
    });
    let server = Server {
        place: &place,
        child: None,
        url: url(&log(&place)).unwrap(),
        key,
        log: Arc::default(),
    };
    for (id, count) in &tasks {
        completed(&server, id, *count);
    }
    place.write("end", "");
    shell.signal("-TERM");
    let status = shell.child.wait().unwrap();
    assert!(status.success(), "{status}: {}", log(&place));
    let report = place.read("report");
    let expected = format!("{}\ttasks", tasks.len());
    assert!(report.contains(&expected), "{report}");
}
