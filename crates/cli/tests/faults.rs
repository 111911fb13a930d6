//! The built binary on a disk that is full or fails. During the fault the server refuses writes
//! with 503, still answers reads, and loses no acknowledged task. After the fault, or after kill -9
//! and a new start, the tasks go on and every entry has been applied once.
//!
//! Faults come from three sources. A shim between the program and the C library (`shim/faults.c`,
//! built here, preloaded into the server) fails writes and fsyncs on command; a failed fsync also
//! loses the written bytes. A limit on the size of files needs no privileges. A small file system
//! in memory needs user namespaces; if they are not permitted, its test prints that it did not run.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stderr, reason = "a failed test's output includes the server's log")]
#![expect(dead_code, reason = "the other tests use the rest of the shared code")]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use common::{PATIENCE, Server, Workdir, exists, profiles};
use serde_json::Value;

/// Error numbers of Linux.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

const PATH: &str = "/v2/acme/identity/bulk_actions";
const ERASURES: &str = "/v1/acme/erasures";
const ENTRIES: usize = 4000;

/// A disk fault: which calls fail, with which error, and on which file of the store.
#[derive(Debug, Clone, Copy)]
struct Fault {
    class: &'static str,
    number: i32,
    suffix: &'static str,
}

/// The faults that stop commits.
const FAULTS: [Fault; 3] = [
    Fault { class: "write", number: ENOSPC, suffix: ".db-wal" },
    Fault { class: "write", number: EIO, suffix: ".db-wal" },
    Fault { class: "sync", number: EIO, suffix: ".db-wal" },
];

impl Fault {
    fn begin(self, workdir: &Workdir) {
        let _ = std::fs::remove_file(workdir.path("fault.count"));
        workdir.write("fault.new", format!("{} {} {}\n", self.class, self.number, self.suffix));
        std::fs::rename(workdir.path("fault.new"), workdir.path("fault")).unwrap();
    }

    /// Ends the fault, which must have failed a call.
    fn end(self, workdir: &Workdir) {
        std::fs::remove_file(workdir.path("fault")).unwrap();
        assert!(
            exists(&workdir.path("fault.count")),
            "{self:?} failed no call: is the shim loaded?"
        );
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

/// A server with the shim preloaded.
fn fragile(workdir: &Workdir, key: String) -> Server<'_> {
    let args = ["serve", "--rate-limit", "0", "--listen", "127.0.0.1:0", "--webhook-allow-private"];
    let mut command = workdir.caseload(&args);
    command.env("LD_PRELOAD", shim()).env("STORE_FAULT", workdir.path("fault"));
    Server::spawn(workdir, key, command)
}

/// Creates the store and a key, without a fault.
fn prepared(workdir: &Workdir) -> String {
    workdir.good(&["domain", "create", "acme"]);
    workdir.good(&["key", "create", "--domain", "acme"]).trim().to_owned()
}

/// The status, head and body of the answer to a plain request.
fn http(server: &Server<'_>, method: &str, path: &str, head: &str, body: &[u8]) -> Answer {
    let mut stream = begun(server, method, path, head, body.len());
    // A server that refuses early may close before it has read everything.
    let _ = stream.write_all(body);
    answer(stream)
}

/// A request without its body.
fn begun(
    server: &Server<'_>,
    method: &str,
    path: &str,
    head: &str,
    body_bytes: usize,
) -> TcpStream {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n{head}\
         Content-Length: {body_bytes}\r\nConnection: close\r\n\r\n",
        server.key,
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> Answer {
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

/// Submits creations of `count` profiles with an idempotency key.
fn submit(server: &Server<'_>, tag: &str, count: usize) -> Answer {
    hand_in(server, tag, "create_core_profiles", &profiles(count, tag))
}

/// Submits a task with an idempotency key.
fn hand_in(server: &Server<'_>, key: &str, action: &str, payload: &str) -> Answer {
    let part = |name, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let body = part("action", action) + &part("payload", payload) + "--b--\r\n";
    let head =
        format!("Idempotency-Key: {key}\r\nContent-Type: multipart/form-data; boundary=b\r\n");
    http(server, "POST", PATH, &head, body.as_bytes())
}

/// Submits a task, which must be accepted; returns its id.
fn accepted(server: &Server<'_>, tag: &str, count: usize) -> String {
    task_id(&submit(server, tag, count))
}

/// The id of the task in an answer that accepts it.
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

/// Reads the task; its counts must add up.
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
    assert_ne!(task["outcome"], "failed", "a disk fault must not fail a task: {task}");
    task
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn until_ready(server: &Server<'_>, status: u16) {
    until(&format!("/readyz answers {status}"), || {
        http(server, "GET", "/readyz", "", b"").status == status
    });
}

/// Waits until a task completes; each of its entries must have succeeded once.
fn completed(server: &Server<'_>, id: &str, count: usize) {
    until("the task completes", || look(server, id)["status"] == "completed");
    assert_eq!(look(server, id)["outcome"], "succeeded");
    let indexes: Vec<_> = results(server, id).map(|record| record["index"].as_u64()).collect();
    assert!(indexes.into_iter().eq((0..count as u64).map(Some)), "each entry has one record");
}

/// The result records of a task, put together from the chunks of the body.
fn results(server: &Server<'_>, id: &str) -> impl Iterator<Item = Value> {
    let answer = http(server, "GET", &format!("{PATH}/{id}/results?format=jsonl"), "", b"");
    let joined = unchunked(&answer.body);
    let lines: Vec<Value> =
        joined.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.into_iter()
}

/// Decodes a chunked body.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size, 16) else { return body.to_owned() };
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    if whole.is_empty() { body.to_owned() } else { whole }
}

/// The store must be consistent and have these tasks only, with one profile for each entry.
fn sound(workdir: &Workdir, tasks: usize, entries: usize) {
    let report = workdir.good(&["check"]);
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
        let workdir = Workdir::new();
        let server = fragile(&workdir, prepared(&workdir));
        until_ready(&server, 200);
        let done = accepted(&server, "done", ENTRIES);
        completed(&server, &done, ENTRIES);
        // Not yet completed when the fault begins, or shortly after.
        let running = accepted(&server, "running", ENTRIES);
        fault.begin(&workdir);
        until_ready(&server, 503);
        assert_unavailable(&submit(&server, "refused", 10));
        assert_eq!(look(&server, &done)["outcome"], "succeeded", "reading goes on");
        let stuck = look(&server, &running);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(look(&server, &running)["counts"], stuck["counts"], "{fault:?}");
        fault.end(&workdir);
        until_ready(&server, 200);
        completed(&server, &running, ENTRIES);
        // The repeat of the refused task is applied once, too.
        let again = accepted(&server, "refused", 10);
        completed(&server, &again, 10);
        let (status, _) = server.terminate();
        assert!(status.success(), "{status}");
        sound(&workdir, 3, 2 * ENTRIES + 10);
    }
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_an_upload_refuses_it_and_no_import_is_made() {
    const IMPORTS: &str = "/v2/acme/identity/imports";
    let workdir = Workdir::new();
    let key = prepared(&workdir);
    let server = fragile(&workdir, key.clone());
    // Rows that hardly compress.
    let mut number = 1_u64;
    let mut digits = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{number:016x}")
    };
    let mut name = || (0..12).map(|_| digits()).collect::<String>();
    let rows: Vec<_> = (0..60_000).map(|n| format!("u{n},{}\n", name())).collect();
    let body = format!(
        "--b\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\ncreate_core_profiles\r\n\
         --b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n\
         uid,full_name\n{}\r\n--b--\r\n",
        rows.concat()
    );
    let head = "Content-Type: multipart/form-data; boundary=b\r\n";
    let usage = || workdir.good(&["domain", "list", "--usage"]);
    let nothing = usage();
    let mut stream = begun(&server, "POST", IMPORTS, head, body.len());
    let (first, rest) = body.as_bytes().split_at(body.len() * 2 / 3);
    stream.write_all(first).unwrap();
    until("blocks are staged", || usage() != nothing);
    FAULTS[0].begin(&workdir);
    let _ = stream.write_all(rest);
    assert_unavailable(&answer(stream));
    FAULTS[0].end(&workdir);
    until_ready(&server, 200);
    // The blocks could not be discarded while the disk was full. They wait for a purge.
    server.kill();
    workdir.good(&["check"]);
    let server = fragile(&workdir, key);
    let list = http(&server, "GET", IMPORTS, "", b"");
    assert_eq!(list.json()["total-hits"], 0, "{list:?}");
    let again = http(&server, "POST", IMPORTS, head, body.as_bytes());
    assert_eq!((again.status, &again.json()["counts"]["total"]), (201, &60_000.into()));
    server.kill();
    workdir.good(&["check"]);
}

/// Asks for the erasure of the person with this uid.
fn erase(server: &Server<'_>, uid: &str, more: &str) -> Answer {
    let head = "Content-Type: application/x-www-form-urlencoded\r\n";
    http(server, "POST", ERASURES, head, format!("identity=uid:{uid}{more}").as_bytes())
}

/// The task of an erasure.
fn erasure(server: &Server<'_>, id: &str) -> Value {
    let answer = http(server, "GET", &format!("/v2/acme/issues/bulk_actions/{id}"), "", b"");
    assert_eq!(answer.status, 200, "{answer:?}");
    let task = answer.json();
    assert_ne!(task["outcome"], "failed", "a disk fault must not fail an erasure: {task}");
    task
}

/// An erasure that meets a disk fault: in its middle, or, if it waits for another task, before its
/// first step. The server is killed while the fault lasts, or goes on after it.
fn erase_under(fault: Fault, waits: bool, is_killed: bool) {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme", "--access", "admin"]);
    let key = key.trim().to_owned();
    let mut server = fragile(&workdir, key.clone());
    until_ready(&server, 200);
    let made = accepted(&server, "made", ENTRIES);
    completed(&server, &made, ENTRIES);
    // No other uid begins with it.
    let uid = format!("made-{}", ENTRIES - 1);
    let promised = erase(&server, &uid, "&dry_run=true").json()["counts"].clone();
    assert_eq!((&promised["core_profiles"], &promised["records"]), (&1.into(), &1.into()));
    if waits {
        accepted(&server, "running", ENTRIES);
    }
    let begun = erase(&server, &uid, "");
    fault.begin(&workdir);
    let id = task_id(&begun);
    until_ready(&server, 503);
    if fault.suffix == ".db-wal" {
        assert_unavailable(&erase(&server, "made-1", ""));
    }
    assert_eq!(erase(&server, "made-1", "&dry_run=true").status, 200, "reading goes on");
    std::thread::sleep(Duration::from_millis(300));
    let is_done = erasure(&server, &id)["counts"]["succeeded"] == 1;
    assert!(!(is_done && waits), "{fault:?}: it waits");
    if is_killed {
        server.kill();
        fault.end(&workdir);
        workdir.good(&["check"]);
        server = fragile(&workdir, key);
    } else {
        fault.end(&workdir);
    }
    until_ready(&server, 200);
    until("the erasure completes", || erasure(&server, &id)["status"] == "completed");
    let path = format!("/v2/acme/issues/bulk_actions/{id}/results?format=jsonl");
    let receipts = unchunked(&http(&server, "GET", &path, "", b"").body);
    let receipts: Vec<Value> =
        receipts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [receipt] = &receipts[..] else { panic!("one receipt: {receipts:?}") };
    assert_eq!(receipt["counts"], promised, "{fault:?}: everything is counted once");
    let lines = results(&server, &made).filter(|record| record["erased"] == true).count();
    assert_eq!(lines, 1);
    assert_eq!(erase(&server, &uid, "&dry_run=true").status, 404);
    let (status, _) = server.terminate();
    assert!(status.success(), "{status}");
    let others = usize::from(waits);
    sound(&workdir, 2 + others, ENTRIES * (1 + others) - 1);
}

#[test]
fn an_erasure_waits_while_the_disk_fails_and_goes_on_afterwards() {
    let database = Fault { suffix: "caseload.db", ..FAULTS[0] };
    for fault in FAULTS.into_iter().chain([database]) {
        for (waits, is_killed) in [(true, false), (false, true)] {
            erase_under(fault, waits, is_killed);
        }
    }
}

/// The id of a delivery and the positions of its changes.
type Taken = (String, Vec<u64>);

/// A receiver of webhooks: its address, and the deliveries that it took.
fn receiver() -> (String, Arc<Mutex<Vec<Taken>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let taken: Arc<Mutex<Vec<Taken>>> = Arc::default();
    let all = taken.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut id, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                match line.trim().split_once(": ") {
                    Some(("webhook-id", value)) => value.clone_into(&mut id),
                    Some(("content-length", value)) => length = value.parse().unwrap(),
                    None if line.trim().is_empty() => break,
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let changes = body["changes"].as_array().unwrap().iter();
            let position = |change: &Value| change["position"].as_str().unwrap().parse().unwrap();
            all.lock().unwrap().push((id, changes.map(position).collect()));
            let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
            stream.get_mut().write_all(answer).unwrap();
        }
    });
    (url, taken)
}

#[test]
fn a_webhook_waits_while_the_disk_is_full_and_gets_each_change_in_order_afterwards() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme", "--access", "admin"]);
    let server = fragile(&workdir, key.trim().to_owned());
    until_ready(&server, 200);
    let (url, taken) = receiver();
    server.good(&["webhook", "create", &url, "--resource", "core_profile"]);
    let made = accepted(&server, "made", ENTRIES);
    until("a delivery comes", || !taken.lock().unwrap().is_empty());
    FAULTS[0].begin(&workdir);
    until_ready(&server, 503);
    // A delivery may have been under way. No other one begins: no lease can be stored.
    std::thread::sleep(Duration::from_millis(500));
    let before = taken.lock().unwrap().len();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(taken.lock().unwrap().len(), before, "a delivery without a lease");
    FAULTS[0].end(&workdir);
    until_ready(&server, 200);
    completed(&server, &made, ENTRIES);
    let last = || taken.lock().unwrap().last().unwrap().1.last().copied();
    let log = server.good(&["changes", "--resource", "core_profile", "--json"]);
    let line = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let position = |change: Value| change["position"].as_str().unwrap().parse().unwrap();
    let logged: Vec<u64> = log.lines().map(line).map(position).collect();
    assert_eq!(logged.len(), ENTRIES);
    until("the last change comes", || last() == logged.last().copied());
    let mut got: Vec<Taken> = Vec::new();
    for (id, positions) in taken.lock().unwrap().clone() {
        // A repeat may have further changes, and is then another message.
        if let Some((first, old)) = got.pop_if(|(_, old)| old[0] == positions[0]) {
            assert_eq!(first == id, old == positions, "the same changes have the same id");
        }
        got.push((id, positions));
    }
    let got: Vec<u64> = got.into_iter().flat_map(|(_, positions)| positions).collect();
    assert!(got == logged, "{} changes of {}, each once and in order", got.len(), logged.len());
    let (status, _) = server.terminate();
    assert!(status.success(), "{status}");
    sound(&workdir, 1, ENTRIES);
}

/// The ids in the results of a task, in order.
fn shown_ids(server: &Server<'_>, id: &str) -> Vec<String> {
    let id_of = |record: Value| record["core-profile-id"].as_str().unwrap().to_owned();
    results(server, id).map(id_of).collect()
}

#[test]
fn gets_that_run_when_writes_fail_show_each_profile_once_afterwards() {
    for fault in FAULTS {
        let workdir = Workdir::new();
        let key = prepared(&workdir);
        let server = fragile(&workdir, key.clone());
        let made = accepted(&server, "made", ENTRIES);
        completed(&server, &made, ENTRIES);
        let ids = shown_ids(&server, &made);
        let entry = |id: &String| format!("{{\"core-profile-id\":\"{id}\"}}");
        let entries = ids.iter().map(entry).collect::<Vec<_>>().join("\n");
        let get = |key: &str| hand_in(&server, key, "get_core_profiles", &entries);
        let gets = ["a", "b", "c"].map(|key| task_id(&get(key)));
        fault.begin(&workdir);
        assert_unavailable(&get("d"));
        std::thread::sleep(Duration::from_millis(300));
        let seen = gets.each_ref().map(|id| look(&server, id)["counts"].clone());
        assert_eq!(shown_ids(&server, &made), ids, "reading goes on");
        fault.end(&workdir);
        // The last server is killed in the middle of the task and started again.
        until_ready(&server, 200);
        server.kill();
        let server = fragile(&workdir, key);
        for (id, seen) in gets.iter().zip(seen) {
            let done = |counts: &Value| counts["succeeded"].as_u64().unwrap();
            assert!(done(&look(&server, id)["counts"]) >= done(&seen), "no progress is taken back");
            until("the task completes", || look(&server, id)["status"] == "completed");
            assert_eq!(shown_ids(&server, id), ids, "each profile once, in order");
        }
        server.kill();
        sound(&workdir, 4, ENTRIES);
    }
}

#[test]
fn a_kill_while_writes_fail_loses_nothing_that_was_acknowledged() {
    for fault in FAULTS {
        let workdir = Workdir::new();
        let key = prepared(&workdir);
        let server = fragile(&workdir, key.clone());
        let tags = ["a", "b", "c"];
        let ids: Vec<_> = tags.iter().map(|tag| accepted(&server, tag, ENTRIES)).collect();
        fault.begin(&workdir);
        assert_unavailable(&submit(&server, "refused", 10));
        let seen: Vec<_> = ids.iter().map(|id| look(&server, id)).collect();
        server.kill();
        fault.end(&workdir);
        workdir.good(&["check"]);
        let server = fragile(&workdir, key);
        for (id, seen) in ids.iter().zip(seen) {
            let done = |task: &Value| task["counts"]["succeeded"].as_u64().unwrap();
            assert!(done(&look(&server, id)) >= done(&seen), "no progress is taken back");
            completed(&server, id, ENTRIES);
        }
        let answers: BTreeSet<_> = tags.iter().map(|tag| accepted(&server, tag, ENTRIES)).collect();
        assert_eq!(answers, ids.into_iter().collect(), "repeats get the first answers");
        server.kill();
        sound(&workdir, 3, 3 * ENTRIES);
    }
}

#[test]
fn one_failed_fsync_fails_its_commits_and_no_other() {
    let workdir = Workdir::new();
    let key = prepared(&workdir);
    let server = fragile(&workdir, key.clone());
    let fault = FAULTS[2];
    let mut kept = 0;
    for round in 0..8 {
        // The commit after the fault is shorter or longer than the one that failed.
        let size = if round % 2 == 0 { 10 } else { ENTRIES };
        fault.begin(&workdir);
        assert_unavailable(&submit(&server, &format!("lost{round}"), size));
        fault.end(&workdir);
        let id = accepted(&server, &format!("kept{round}"), ENTRIES + 10 - size);
        completed(&server, &id, ENTRIES + 10 - size);
        kept += ENTRIES + 10 - size;
    }
    server.kill();
    sound(&workdir, 8, kept);
    let server = fragile(&workdir, key);
    let id = accepted(&server, "after", 10);
    completed(&server, &id, 10);
}

#[test]
fn a_database_file_that_cannot_be_written_is_logged_and_commits_go_on() {
    for (class, number) in [("write", ENOSPC), ("write", EIO), ("sync", EIO)] {
        let fault = Fault { class, number, suffix: "caseload.db" };
        let workdir = Workdir::new();
        let key = prepared(&workdir);
        let server = fragile(&workdir, key.clone());
        until_ready(&server, 200);
        fault.begin(&workdir);
        let first = accepted(&server, "first", ENTRIES);
        completed(&server, &first, ENTRIES);
        // A checkpoint runs when writers pause, and fails.
        until_ready(&server, 503);
        let second = accepted(&server, "second", ENTRIES);
        completed(&server, &second, ENTRIES);
        server.kill();
        fault.end(&workdir);
        sound(&workdir, 2, 2 * ENTRIES);
        let server = fragile(&workdir, key);
        completed(&server, &second, ENTRIES);
        until_ready(&server, 200);
        let (status, _) = server.terminate();
        assert!(status.success(), "{status}");
        sound(&workdir, 2, 2 * ENTRIES);
    }
}

/// Submits tasks until the server refuses one; returns the accepted ones with their sizes.
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
    let workdir = Workdir::new();
    let key = prepared(&workdir);
    let program = env!("CARGO_BIN_EXE_caseload");
    // The shell's unit is 512 or 1024 bytes: 4 or 8 MiB.
    let script = "trap '' XFSZ; ulimit -f 8192; \
                  exec \"$0\" serve --rate-limit 0 --listen 127.0.0.1:0";
    let mut command = Command::new("sh");
    let plain = workdir.caseload(&[]);
    command.current_dir(plain.get_current_dir().unwrap()).args(["-c", script, program]);
    command.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    let server = Server::spawn(&workdir, key.clone(), command);
    until_ready(&server, 200);
    let tasks = fill(&server);
    assert!(!tasks.is_empty());
    until_ready(&server, 503);
    for (id, _) in &tasks {
        look(&server, id);
    }
    server.kill();
    workdir.good(&["check"]);
    let server = Server::start(&workdir, key);
    for (id, count) in &tasks {
        completed(&server, id, *count);
    }
    server.kill();
    sound(&workdir, tasks.len(), tasks.len() * ENTRIES);
}

/// A shell that starts servers. Dropping this ends it.
struct Shell<'p> {
    workdir: &'p Workdir,
    child: Child,
}

impl Shell<'_> {
    /// Sends a signal to the running server.
    fn signal(&self, signal: &str) {
        let pid = self.workdir.read("pid").trim().to_owned();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            self.workdir.write("end", "");
            let _ = self.child.kill();
            self.signal("-KILL");
            let _ = self.child.wait();
        }
    }
}

/// Runs the server on a file system of 12 MiB, or on a large one if the file `free` exists, and
/// starts it again each time it ends. Once the file `end` exists, it runs a check and stops.
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
    let workdir = Workdir::new();
    let program = env!("CARGO_BIN_EXE_caseload");
    let plain = workdir.caseload(&[]);
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", ON_A_SMALL_DISK, program]);
    let child = command.current_dir(plain.get_current_dir().unwrap()).spawn().unwrap();
    let mut shell = Shell { workdir: &workdir, child };
    let log = |workdir: &Workdir| std::fs::read_to_string(workdir.path("log")).unwrap_or_default();
    let url = |log: &str| -> Option<String> {
        let line = log.lines().find_map(|line| line.strip_prefix("listening on "));
        line.map(str::to_owned)
    };
    until("the server listens", || url(&log(&workdir)).is_some());
    let key = workdir.read("key").trim().to_owned();
    let server = Server {
        workdir: &workdir,
        child: None,
        url: url(&log(&workdir)).unwrap(),
        key: key.clone(),
        log: Arc::default(),
    };
    let tasks = fill(&server);
    assert!(!tasks.is_empty());
    until_ready(&server, 503);
    for (id, _) in &tasks {
        look(&server, id);
    }
    // Kill on a full disk, and start with free space.
    workdir.write("free", "");
    let old = url(&log(&workdir));
    shell.signal("-KILL");
    until("the server listens again", || {
        let new = url(&log(&workdir));
        new.is_some() && new != old
    });
    let server = Server {
        workdir: &workdir,
        child: None,
        url: url(&log(&workdir)).unwrap(),
        key,
        log: Arc::default(),
    };
    for (id, count) in &tasks {
        completed(&server, id, *count);
    }
    workdir.write("end", "");
    shell.signal("-TERM");
    let status = shell.child.wait().unwrap();
    assert!(status.success(), "{status}: {}", log(&workdir));
    let report = workdir.read("report");
    let expected = format!("{}\ttasks", tasks.len());
    assert!(report.contains(&expected), "{report}");
}
