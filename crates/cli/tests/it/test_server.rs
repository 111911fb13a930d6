//! `caseload serve --ephemeral`, which other people's tests run against: how it starts and ends,
//! and each test endpoint, over plain sockets, because a client would hide how an answer ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{PATIENCE, Workdir, profiles, transcript_of};

const ISSUES: &str = "/v1/acme/issues";
const TASKS: &str = "/v2/acme/identity/bulk_actions";
const START: &str = "2026-01-31T12:00:00Z";

/// A test server, as a test runner starts it.
struct TestServer {
    child: Child,
    /// The server ends when it closes.
    input: Option<ChildStdin>,
    ready: Value,
}

/// The bytes of an answer.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &&str| line.to_ascii_lowercase().starts_with(&format!("{name}:"));
        self.head.lines().find(named).and_then(|line| line.split_once(": ")).map(|found| found.1)
    }

    /// Whether the body is as long as the head says.
    fn is_whole(&self) -> bool {
        self.header("content-length").is_some_and(|bytes| bytes == self.body.len().to_string())
    }
}

impl TestServer {
    fn start(workdir: &Workdir, flags: &[&str]) -> Self {
        let always = ["serve", "--ephemeral", "--listen", "127.0.0.1:0", "--ready-json"];
        let flags = [&always[..], &["--exit-with-parent", "--key", "secret"], flags].concat();
        let mut command = workdir.caseload(&flags);
        command.env_remove("CASELOAD_STORE").env("TMPDIR", workdir.path(""));
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line);
        let ready = ready.unwrap_or_else(|_| {
            let _ = child.wait();
            let mut said = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("the server printed {line:?} and {said}")
        });
        let input = child.stdin.take();
        Self { child, input, ready }
    }

    /// With test endpoints.
    fn with_endpoints(workdir: &Workdir, flags: &[&str]) -> Self {
        Self::start(workdir, &[&["--test-endpoints"], flags].concat())
    }

    /// The answer to a call with the key, or `None` if nothing was answered.
    fn send(&self, method: &str, path: &str, head: &str, body: &str) -> Option<Answer> {
        let url = format!("{}{path}", self.ready["url"].as_str().unwrap());
        ask(&url, (method, "secret"), head, body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, "", &body).unwrap_or_else(|| panic!("{method} {path}: no answer"))
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.call("GET", path, &Value::Null);
        assert_eq!(answer.status, 200, "{path}: {}", answer.head);
        answer.json()
    }

    /// A call that succeeds.
    fn done(&self, method: &str, path: &str, body: &Value) -> Answer {
        let answer = self.call(method, path, body);
        let said = String::from_utf8_lossy(&answer.body);
        assert!((200..300).contains(&answer.status), "{method} {path} {body}: {said}");
        answer
    }

    /// Asks for a fault; its id.
    fn fault(&self, fault: &Value) -> String {
        let answer = self.done("POST", "/_test/faults", fault).json();
        answer["id"].as_str().unwrap().to_owned()
    }

    fn issue(&self, title: &str) -> Answer {
        let form = json!({"title": title, "message-body": "hello", "email": "ada@example.org"});
        self.call("POST", ISSUES, &form)
    }

    fn issues(&self) -> u64 {
        self.get(ISSUES)["total-hits"].as_u64().unwrap()
    }

    fn task(&self, uid: &str) -> String {
        let entries = json!([{"identities": [{"uid": uid}]}, {"identities": [{"uid": "other"}]}]);
        let form = json!({"action": "create_core_profiles", "payload": entries});
        let task = self.done("POST", TASKS, &form).json();
        task["task_id"].as_str().unwrap().to_owned()
    }

    fn status(&self, task: &str) -> String {
        self.get(&format!("{TASKS}/{task}"))["status"].as_str().unwrap().to_owned()
    }

    /// Waits until a task has this status.
    fn until(&self, task: &str, status: &str) {
        let begun = Instant::now();
        while self.status(task) != status {
            assert!(begun.elapsed() < PATIENCE, "the task is {}", self.status(task));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Closes its standard input; its exit status.
    fn end(mut self) -> Option<i32> {
        self.input.take();
        self.child.wait().unwrap().code()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer to a call, or `None` if nothing was answered.
fn ask(url: &str, (method, key): (&str, &str), head: &str, body: &str) -> Option<Answer> {
    let (address, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nContent-Type: application/json\r\n{head}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head[9..12].parse().unwrap();
    Some(Answer { status, head, body: bytes[end + 4..].to_vec() })
}

/// The folders of temporary stores.
fn folders(workdir: &Workdir) -> usize {
    let entries = std::fs::read_dir(workdir.path("")).unwrap().flatten();
    entries.filter(|one| one.file_name().to_string_lossy().starts_with("caseload-")).count()
}

#[test]
fn a_test_server_says_its_address_ends_with_its_parent_and_leaves_nothing() {
    let workdir = Workdir::new();
    let server = TestServer::start(&workdir, &["--domain", "shop"]);
    assert_eq!(server.ready["domain"], "shop");
    assert_eq!(server.ready["key"], "secret");
    assert_eq!(server.ready["pid"], server.child.id());
    assert_eq!(server.get("/v1/shop/issues")["total-hits"], 0);
    assert_eq!(folders(&workdir), 1);
    assert_eq!(server.end(), Some(0));
    assert_eq!(folders(&workdir), 0);
}

#[test]
fn the_folder_of_a_killed_server_goes_with_the_next_start_and_no_other_does() {
    let workdir = Workdir::new();
    let mut killed = TestServer::with_endpoints(&workdir, &[]);
    let lives = TestServer::start(&workdir, &[]);
    assert_eq!(folders(&workdir), 2);
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    let next = TestServer::start(&workdir, &[]);
    let begun = Instant::now();
    while folders(&workdir) > 2 {
        assert!(begun.elapsed() < PATIENCE, "the folder of the killed server stays");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!((lives.issues(), next.issues()), (0, 0));
    assert_eq!((lives.end(), next.end()), (Some(0), Some(0)));
    assert_eq!(folders(&workdir), 0);
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let workdir = Workdir::new();
    workdir.write("bad.jsonl", "{\"title\":7}\n{\"title\":\"x\",\"state\":\"y\"}\n");
    workdir.write("none.jsonl", "title\nx\n");
    let ephemeral = ["--ephemeral", "--listen", "127.0.0.1:0"];
    let of = |flags: &[&'static str]| [&ephemeral[..], flags].concat();
    for (flags, reason) in [
        (vec!["--test-endpoints"], "--ephemeral"),
        (vec!["--clock", START], "--ephemeral"),
        (vec!["--key", "secret"], "--ephemeral"),
        (of(&["--store", "sqlite:x.db"]), "--store"),
        (of(&["--clock", "yesterday"]), "2026-01-31T12:00:00Z"),
        (of(&["--clock", "2026-01-31T12:00:00Z,x0"]), "x1 to x100000"),
        (of(&["--clock", "2026-01-31T12:00:00Z,fast"]), ",frozen"),
        (of(&["--key", "a:b"]), "without a colon"),
        (of(&["--seed", "missing.jsonl"]), "missing.jsonl"),
        (of(&["--seed", "none.jsonl"]), "one issue or one profile a line"),
        (of(&["--seed", "bad.jsonl"]), "title"),
        (
            vec!["--ephemeral", "--test-endpoints", "--insecure-http", "--listen", "0.0.0.0:0"],
            "other machines can reach",
        ),
    ] {
        let mut command = workdir.caseload(&[&["serve"], &flags[..]].concat());
        command.env_remove("CASELOAD_STORE").env("TMPDIR", workdir.path(""));
        let output = command.output().unwrap();
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(reason), "{flags:?}: {said}");
        assert_eq!(folders(&workdir), 0, "{flags:?}");
    }
}

#[test]
fn without_test_endpoints_nothing_of_them_answers() {
    let workdir = Workdir::new();
    let server = TestServer::start(&workdir, &[]);
    let other = workdir.serve();
    let real = |method: &str, path: &str, body: &str| {
        let url = format!("{}{path}", other.url);
        ask(&url, (method, &other.key), "", body).unwrap()
    };
    for path in ["reset", "clock", "faults", "faults/f1", "calls", "", "x"] {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let body = json!({"status": 503, "times": 100, "advance": "1d"});
            let path = format!("/_test/{path}");
            for answer in
                [server.call(method, &path, &body), real(method, &path, &body.to_string())]
            {
                assert_eq!(answer.status, 404, "{method} {path}");
                assert_eq!(answer.json()["code"], "not_found", "{method} {path}");
            }
        }
    }
    assert_eq!(server.issue("x").json()["id"], "1", "ids begin with 1");
    assert_eq!(server.issues(), 1);
}

#[test]
fn a_status_is_answered_as_often_as_asked_for_in_the_order_of_the_faults() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &[]);
    for (status, code, waits) in [
        (429, "rate_limited", true),
        (500, "internal", false),
        (503, "unavailable", true),
        (502, "", false),
    ] {
        server.fault(&json!({"method": "post", "path": ISSUES, "times": 2, "status": status}));
        assert_eq!(server.issues(), 0, "another method");
        for _ in 0..2 {
            let answer = server.issue("x");
            assert_eq!(answer.status, status);
            assert_eq!(answer.header("retry-after").is_some(), waits, "{status}");
            if code.is_empty() {
                assert_eq!(answer.body, b"Bad Gateway\n");
            } else {
                let problem = answer.json();
                assert_eq!(problem["code"], code);
                assert_eq!(
                    Some(problem["request_id"].as_str().unwrap()),
                    answer.header("x-request-id")
                );
            }
        }
        assert_eq!(server.get("/_test/faults"), json!({"faults": []}), "it is used up");
    }
    assert_eq!(server.issues(), 0, "no call reached the server");
    server.fault(&json!({"status": 503}));
    server.fault(&json!({"status": 429}));
    assert_eq!(server.call("GET", ISSUES, &Value::Null).status, 503);
    let limited = server.call("GET", ISSUES, &Value::Null);
    assert_eq!((limited.status, limited.header("x-rate-limit-remaining")), (429, Some("0")));
    assert_eq!(server.issues(), 0);
}

#[test]
fn a_share_is_exact_and_patterns_meet_their_paths_alone() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &[]);
    let id = server.fault(&json!({"path": "/v1/{domain}/issues", "share": 0.25, "status": 500}));
    let statuses: Vec<u16> =
        (0..8).map(|_| server.call("GET", ISSUES, &Value::Null).status).collect();
    assert_eq!(statuses, [200, 200, 200, 500, 200, 200, 200, 500]);
    for path in ["/v1/acme/issues/1/x", "/healthz", "/readyz", "/_test/faults"] {
        for _ in 0..4 {
            let status = server.call("GET", path, &Value::Null).status;
            assert_eq!(status, if path.ends_with('x') { 404 } else { 200 }, "{path}");
        }
    }
    server.done("DELETE", &format!("/_test/faults/{id}"), &Value::Null);
    assert_eq!(server.call("DELETE", &format!("/_test/faults/{id}"), &Value::Null).status, 404);
    server.fault(&json!({"path": "/v1/*", "times": 1000, "status": 500}));
    assert_eq!(server.call("GET", "/v1/acme/agents", &Value::Null).status, 500);
    server.done("DELETE", "/_test/faults", &Value::Null);
    assert_eq!(server.issues(), 0);
}

#[test]
fn an_answer_is_late_cut_or_lost_and_the_call_is_done() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &[]);
    server.fault(&json!({"delay_ms": 300}));
    let begun = Instant::now();
    assert_eq!(server.issue("late").status, 201);
    assert!(begun.elapsed() >= Duration::from_millis(300));

    server.fault(&json!({"cut_body": true, "path": ISSUES}));
    let cut = server.call("GET", ISSUES, &Value::Null);
    assert_eq!(cut.status, 200);
    assert!(!cut.is_whole() && !cut.body.is_empty(), "{}: {:?}", cut.head, cut.body);
    assert!(server.call("GET", ISSUES, &Value::Null).is_whole());

    server.fault(&json!({"lose_answer": true, "method": "POST"}));
    let form = json!({"title": "once", "message-body": "x", "email": "a@example.org"}).to_string();
    let key = "Idempotency-Key: one\r\n";
    assert!(server.send("POST", ISSUES, key, &form).is_none(), "nothing is answered");
    assert_eq!(server.issues(), 2, "the call was done");
    let again = server.send("POST", ISSUES, key, &form).unwrap();
    assert_eq!((again.status, again.json()["id"].as_str()), (201, Some("2")));
    assert_eq!(server.issues(), 2);
}

#[test]
fn tasks_are_held_in_their_state_until_released_also_over_turns_of_the_clock() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &["--clock", START]);
    for stage in ["queued", "processing"] {
        let id = server.fault(&json!({"hold": stage}));
        let task = server.task(stage);
        server.until(&task, stage);
        server.done("POST", "/_test/clock", &json!({"advance": "1h"}));
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(server.status(&task), stage);
        server.done("DELETE", &format!("/_test/faults/{id}"), &Value::Null);
        server.until(&task, "completed");
        server.done("POST", "/_test/reset", &Value::Null);
    }
    // A server that holds a task ends nevertheless.
    server.fault(&json!({"hold": "processing"}));
    server.until(&server.task("last"), "processing");
    let begun = Instant::now();
    assert_eq!(server.end(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[test]
fn a_task_completes_with_given_errors_and_applies_the_other_entries() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &[]);
    let error = json!({"code": "invalid_identity", "pointer": "/identities/0", "detail": "no box"});
    let record = json!({"index": 0, "errors": [error]});
    for fault in [
        json!([record]),
        json!([{"index": 0, "code": "invalid_identity",
        "pointer": "/identities/0", "detail": "no box"}]),
    ] {
        server.fault(&json!({"task_errors": fault}));
        let task = server.task("one");
        server.until(&task, "completed");
        let errors = server.get(&format!("{TASKS}/{task}/errors?format=json"));
        assert_eq!(errors.as_array().map(Vec::len), Some(1), "{errors}");
        assert_eq!(errors[0]["errors"][0], error);
        assert_eq!(errors[0]["entry"], json!({"identities": [{"uid": "one"}]}));
        let next = server.task("two");
        server.until(&next, "completed");
        assert_eq!(server.get(&format!("{TASKS}/{next}/results?format=json"))[0]["index"], 0);
        server.done("POST", "/_test/reset", &Value::Null);
    }
}

#[test]
fn a_fault_that_cannot_be_is_refused_with_all_that_is_wrong() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &[]);
    for (body, parameters) in [
        (json!({}), vec!["body"]),
        (json!({"status": 503, "cut_body": true}), vec!["body"]),
        (json!({"status": 404, "times": 0, "path": "issues"}), vec!["path", "times", "status"]),
        (json!({"status": 503, "times": 1, "share": 2}), vec!["share", "share"]),
        (json!({"hold": "done", "method": "GET"}), vec!["method", "hold"]),
        (json!({"lose_answer": false}), vec!["lose_answer"]),
        (json!({"task_errors": [{"code": "no"}]}), vec!["task_errors/0/code"]),
        (json!({"delay_ms": -1, "x": 1}), vec!["x", "delay_ms"]),
    ] {
        let answer = server.call("POST", "/_test/faults", &body);
        assert_eq!(answer.status, 400, "{body}");
        let problem = answer.json();
        let named = problem["errors"].as_array().unwrap().iter();
        let named: Vec<&str> = named.map(|one| one["parameter"].as_str().unwrap()).collect();
        assert_eq!(named, parameters, "{body}: {problem}");
    }
    for body in ["", "[]", "{"] {
        let answer = server.send("POST", "/_test/faults", "", body).unwrap();
        assert_eq!(answer.status, 400, "{body}");
    }
    assert_eq!(server.call("PUT", "/_test/reset", &Value::Null).status, 405);
    assert_eq!(server.call("GET", "/_test/nothing", &Value::Null).status, 404);
    assert_eq!(server.get("/_test/faults"), json!({"faults": []}));
}

#[test]
fn the_clock_is_frozen_runs_and_is_turned_and_expired_records_are_gone() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &["--clock", &format!("{START},frozen")]);
    let now = |server: &TestServer| server.get("/_test/clock")["now"].as_str().unwrap().to_owned();
    assert_eq!(now(&server), "2026-01-31T12:00:00.000Z");
    let times: Vec<i64> =
        (0..3).map(|_| server.issue("x").json()["created_at"].as_i64().unwrap()).collect();
    assert_eq!(times, [1_769_860_800_000, 1_769_860_800_001, 1_769_860_800_002]);
    let task = server.task("one");
    server.until(&task, "completed");
    let results = format!("{TASKS}/{task}/results");
    server.get(&results);
    let turned = server.done("POST", "/_test/clock", &json!({"advance": "31d"})).json();
    assert_eq!(turned, json!({"now": "2026-03-03T12:00:00.000Z", "frozen": true, "speed": 0}));
    let expired = server.call("GET", &results, &Value::Null);
    assert_eq!((expired.status, expired.json()["code"].as_str()), (404, Some("expired")));
    server.done("POST", "/_test/clock", &json!({"set": "2027-01-01T00:00:00Z"}));
    assert_eq!(server.issue("later").json()["created_at"], 1_798_761_600_000_i64);
    server.done("DELETE", "/_test/clock", &Value::Null);
    assert_eq!(now(&server), "2026-01-31T12:00:00.000Z");
    for body in [
        json!({}),
        json!({"set": 1}),
        json!({"advance": "1y"}),
        json!({"set": START,
        "advance": "1s"}),
        json!({"advance": "999999999d"}),
    ] {
        assert_eq!(server.call("POST", "/_test/clock", &body).status, 400, "{body}");
    }

    let fast = TestServer::with_endpoints(&workdir, &["--clock", &format!("{START},x60")]);
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(1));
    let minute = now(&fast);
    assert!(minute.as_str() >= "2026-01-31T12:01:00", "{minute}");
    assert!(begun.elapsed() > Duration::from_secs(30) || minute.as_str() < "2026-01-31T12:31");
}

#[test]
fn a_task_is_done_however_fast_the_clock_runs() {
    let workdir = Workdir::new();
    let entry = |n| json!({"identities": [{"uid": format!("fast-{n}")}]});
    let entries: Vec<Value> = (0..10_000).map(entry).collect();
    let form = json!({"action": "create_core_profiles", "payload": entries});
    for flags in [&["--test-endpoints"][..], &[]] {
        // A lease lasts 30 s, which is less than a millisecond here.
        let clock = format!("{START},x100000");
        let fast = TestServer::start(&workdir, &[flags, &["--clock", &clock]].concat());
        let task = fast.done("POST", TASKS, &form).json()["task_id"].as_str().unwrap().to_owned();
        fast.until(&task, "completed");
        assert_eq!(fast.get("/v2/acme/identity/core_profiles")["total-hits"], 10_000);
    }
}

#[test]
fn a_reset_returns_to_the_seed_and_to_the_time_of_the_start() {
    let workdir = Workdir::new();
    let issue = |n: u32| format!("{{\"title\":\"seed {n}\",\"created_at\":{}}}\n", n + 1);
    workdir.write("issues.jsonl", (0..20).map(issue).collect::<String>());
    workdir.write("people.jsonl", profiles(30, "seed"));
    let seeds = ["--seed", "issues.jsonl", "--seed", "people.jsonl"];
    let clock = format!("{START},frozen");
    let server = TestServer::with_endpoints(&workdir, &[&seeds[..], &["--clock", &clock]].concat());
    let people = "/v2/acme/identity/core_profiles";
    let at_start = |server: &TestServer| {
        assert_eq!(server.issues(), 20);
        assert_eq!(server.get(people)["total-hits"], 30);
        for family in ["identity", "issues"] {
            for list in ["bulk_actions", "imports"] {
                let tasks = server.get(&format!("/v2/acme/{family}/{list}"));
                assert_eq!(tasks["total-hits"], 0, "{tasks}");
            }
        }
        assert_eq!(server.get("/_test/clock")["now"], "2026-01-31T12:00:00.000Z");
    };
    at_start(&server);
    for _ in 0..4 {
        assert_eq!(server.issue("new").json()["id"], "21");
        let task = server.task("new");
        server.until(&task, "completed");
        server.fault(&json!({"status": 503, "times": 100, "path": "/v3/*"}));
        server.fault(&json!({"hold": "queued"}));
        server.done("POST", "/_test/clock", &json!({"advance": "2w"}));
        assert_eq!(server.issues(), 21);
        assert_eq!(server.done("POST", "/_test/reset", &Value::Null).status, 204);
        assert_eq!(server.get("/_test/calls")["calls"], json!([]));
        assert_eq!(server.get("/_test/faults")["faults"], json!([]));
        at_start(&server);
    }
    let folder = std::fs::read_dir(workdir.path("")).unwrap().flatten();
    let folder = folder.map(|one| one.path()).find(|path| path.join("first").is_dir()).unwrap();
    let first = format!("sqlite:{}", folder.join("first/caseload.db").display());
    assert!(workdir.good(&["check", "--store", &first]).contains("issues"));
}

#[test]
fn resets_under_calls_answer_each_call_and_end_their_stores() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &[]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..30 {
                    let answer = server.issue("x");
                    assert!(matches!(answer.status, 201 | 503), "{}", answer.head);
                }
            });
        }
        for _ in 0..20 {
            server.done("POST", "/_test/reset", &Value::Null);
            // A caller who leaves ends no reset in its middle.
            let address = server.ready["url"].as_str().unwrap().trim_start_matches("http://");
            let mut leaves = TcpStream::connect(address).unwrap();
            let reset = format!("POST /_test/reset HTTP/1.1\r\nHost: {address}\r\n\r\n");
            leaves.write_all(reset.as_bytes()).unwrap();
        }
    });
    server.done("POST", "/_test/reset", &Value::Null);
    assert_eq!(server.issues(), 0);
    let descriptors =
        || std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).map_or(0, Iterator::count);
    let begun = Instant::now();
    // The first, the one in use, and those that wait.
    while descriptors() > 120 {
        assert!(begun.elapsed() < PATIENCE, "{} descriptors stay open", descriptors());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn calls_are_recorded_without_keys_and_cut_at_64_kib() {
    let workdir = Workdir::new();
    let server = TestServer::with_endpoints(&workdir, &[]);
    let made = format!("caseload_{}", "ab".repeat(32));
    let form = json!({"title": format!("secret {made}"), "message-body": "y".repeat(100_000),
        "email": "a@example.org"});
    let header = format!("X-Own: {made}\r\nCookie: session=abc\r\n");
    let path = format!("{ISSUES}?key={made}");
    server.send("POST", &path, &header, &form.to_string()).unwrap();
    server.fault(&json!({"status": 503}));
    server.issue("refused");
    let calls = server.get("/_test/calls")["calls"].clone();
    let (first, second) = (&calls[0], &calls[1]);
    assert_eq!((&first["method"], &first["status"]), (&json!("POST"), &json!(400)));
    assert_eq!(first["path"], format!("{ISSUES}?key=[key]"));
    assert_eq!(first["headers"]["authorization"], "Bearer [key]");
    assert_eq!(first["headers"]["x-own"], "[key]");
    assert_eq!(first["headers"]["cookie"], "[key]");
    let body = first["body"].as_str().unwrap();
    assert!(body.contains("[key] [key]") && body.len() < 66_000, "{}", body.len());
    let whole = calls.to_string();
    assert!(!whole.contains("secret") && !whole.contains("caseload_ab"), "{whole:.2000}");
    assert_eq!(second["status"], 503);
    assert!(second["body"].as_str().unwrap().contains("refused"));
    server.done("DELETE", "/_test/calls", &Value::Null);
    assert_eq!(server.get("/_test/calls"), json!({"calls": [], "dropped": 0}));
}
