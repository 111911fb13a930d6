//! Files that are submitted again, as a whole or after an interruption: each entry takes effect
//! once. Files of any length and in compressed form, and the waits for a server at its limits.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Output};

use caseload_teststore::on_each_store;

use crate::common::{Server, Workdir, profiles, redacted, signal, transcript_of};

on_each_store!(blocking:
    a_file_that_is_imported_twice_makes_each_issue_once,
    an_import_that_was_interrupted_goes_on_and_makes_each_issue_once,
    an_import_goes_on_with_the_entries_of_a_task_that_was_cancelled,
    a_file_that_is_submitted_twice_is_one_task,
    a_file_of_more_than_10_000_entries_is_several_tasks,
);

/// The first issue's creation, in milliseconds.
const BEGUN: usize = 1_700_000_000_000;

/// Issues without ids: only the idempotency key distinguishes a repeat from new issues.
fn issues(count: usize) -> String {
    (0..count).fold(String::new(), |mut lines, n| {
        let _ = writeln!(lines, "{{\"title\":\"№ {n}\",\"created_at\":{}}}", BEGUN + n);
        lines
    })
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 1).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn issues_of(server: &Server<'_>) -> usize {
    server.good(&["issues", "export"]).lines().count()
}

fn a_file_that_is_imported_twice_makes_each_issue_once() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", issues(300));
    workdir.write("in.jsonl.gz", gzip(&issues(300)));
    workdir.write("in.jsonl.zst", zstd(&issues(300)));
    let said = server.good(&["issues", "import", "in.jsonl"]);
    assert_eq!(said, "created 300  unchanged 0  failed 0\n");
    for file in ["in.jsonl", "in.jsonl.gz", "in.jsonl.zst"] {
        let output = server.run(&["issues", "import", file]);
        assert_eq!(stdout(&output), "created 0  unchanged 300  failed 0\n", "{file}");
        assert!(stderr(&output).contains(", submitted before\n"), "{}", stderr(&output));
    }
    let from_input = server.run_with_input(&["issues", "import", "-"], &zstd(&issues(300)));
    assert_eq!(stdout(&from_input), "created 0  unchanged 300  failed 0\n");
    assert_eq!(issues_of(&server), 300);

    let said = server.good(&["issues", "import", "in.jsonl", "--again"]);
    assert_eq!(said, "created 300  unchanged 0  failed 0\n");
    assert_eq!(issues_of(&server), 600);
    let named = ["issues", "import", "in.jsonl", "--again=third"];
    for said in ["created 300  unchanged 0  failed 0\n", "created 0  unchanged 300  failed 0\n"] {
        assert_eq!(server.good(&named), said);
    }
    assert_eq!(issues_of(&server), 900);
    // Other bytes are another file.
    workdir.write("in.jsonl", issues(301));
    let said = server.good(&["issues", "import", "in.jsonl"]);
    assert_eq!(said, "created 301  unchanged 0  failed 0\n");
}

/// Reads standard error of a child up to the line with this text; the rest comes later.
fn read_until(child: &mut Child, text: &str) -> BufReader<std::process::ChildStderr> {
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the program never says {text}");
    }
    lines
}

fn an_import_that_was_interrupted_goes_on_and_makes_each_issue_once() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("my issues.jsonl", issues(20_500));
    let import = ["issues", "import", "my issues.jsonl"];
    for (signal_name, place) in [("INT", "entries 1 to 10,000"), ("KILL", "entries 10,001 to")] {
        let mut child = server.caseload(&import).spawn().unwrap();
        let mut rest = read_until(&mut child, place);
        signal(&child, signal_name);
        let status = child.wait().unwrap();
        if signal_name == "INT" {
            let mut said = String::new();
            rest.read_to_string(&mut said).unwrap();
            assert_eq!(status.code(), Some(130), "{said}");
            assert!(said.contains("error: interrupted after 1 task with 10,000 entries; task "));
            assert!(said.contains(" goes on at the server\n"), "{said}");
            let next = "hint: to go on, run: caseload issues import 'my issues.jsonl'\n";
            assert!(said.contains(next), "{said}");
        }
    }
    let output = server.run(&import);
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    assert_eq!(stderr(&output).matches(", submitted before\n").count(), 2, "{}", stderr(&output));
    assert_eq!(issues_of(&server), 20_500);
    let said = server.good(&import);
    assert_eq!(said, "created 0  unchanged 20500  failed 0\n");
    workdir.good(&["check"]);
}

fn an_import_goes_on_with_the_entries_of_a_task_that_was_cancelled() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", issues(10_000));
    // The next task waits for the long one, so that it can be cancelled before it begins.
    workdir.write("long.jsonl", issues(10_000).replace('№', "no"));
    server.good(&["bulk", "submit", "import_issues", "long.jsonl"]);
    let mut child = server.caseload(&["issues", "import", "in.jsonl"]).spawn().unwrap();
    let said = read_until(&mut child, "entries 1 to 10,000");
    drop(said);
    signal(&child, "INT");
    child.wait().unwrap();
    let task = server.good(&["bulk", "list", "--issues", "--page-size", "1"]);
    let task = task.split('\t').next().unwrap();
    // On a busy machine, a chunk of the long task may have its locks for longer than a write waits.
    let patiently = |args: &[&str]| {
        let is_answered = |output: &Output| !stderr(output).contains("the server answered 503");
        std::iter::repeat_with(|| server.run(args)).find(is_answered).unwrap()
    };
    let cancelled = patiently(&["bulk", "cancel", task]);
    assert_eq!(cancelled.status.code(), Some(0), "{}", transcript_of(&cancelled));
    let output = patiently(&["issues", "import", "in.jsonl"]);
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    assert!(stderr(&output).contains("retrying it"), "{}", stderr(&output));
    assert_eq!(issues_of(&server), 20_000);
    let output = server.run(&["issues", "import", "in.jsonl"]);
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    assert_eq!(issues_of(&server), 20_000);
}

fn a_file_that_is_submitted_twice_is_one_task() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let text = profiles(20, "twice");
    workdir.write("in.jsonl", &text);
    workdir.write("in.jsonl.gz", gzip(&text));
    let submit =
        |more: &[&str]| server.run(&[&["bulk", "submit", "create_core_profiles"], more].concat());
    let first = submit(&["in.jsonl", "--wait"]);
    assert_eq!(first.status.code(), Some(0), "{}", transcript_of(&first));
    for again in [&["in.jsonl"][..], &["in.jsonl", "--wait"], &["in.jsonl.gz"]] {
        let output = submit(again);
        assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
        assert_eq!(stdout(&output), stdout(&first));
        let said = stderr(&output);
        assert!(said.contains("was submitted before; --again submits it again\n"), "{said}");
    }
    let other = submit(&["in.jsonl", "--again", "--wait"]);
    assert_ne!(stdout(&other), stdout(&first));
    assert_eq!(other.status.code(), Some(1), "every identity is there already");
    // A dry run has a key of its own.
    assert_ne!(stdout(&submit(&["in.jsonl", "--dry-run", "--wait"])), stdout(&first));

    // A get or a dry run that is over does not say how things are now, so it runs again.
    let results = server.good(&["bulk", "results", stdout(&first).trim()]);
    let id = results.split("core-profile-id\":\"").nth(1).unwrap().split('"').next().unwrap();
    workdir.write("get.jsonl", format!("{{\"core-profile-id\":\"{id}\"}}\n"));
    workdir.write("age.jsonl", format!("{{\"core-profile-id\":\"{id}\",\"age\":77}}\n"));
    let get = || {
        let args = ["bulk", "submit", "get_core_profiles", "get.jsonl", "--wait"];
        let task = server.good(&args);
        server.good(&["bulk", "results", task.trim()])
    };
    assert!(!get().contains("\"age\":77"));
    server.good(&["bulk", "submit", "update_core_profiles", "age.jsonl", "--wait"]);
    assert!(get().contains("\"age\":77"));
}

fn a_file_of_more_than_10_000_entries_is_several_tasks() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    let text = format!("\n{}{{\"age\":\"30\"}}\n", profiles(10_002, "many"));
    workdir.write("many.jsonl", &text);
    let submit = ["bulk", "submit", "create_core_profiles", "many.jsonl", "--wait"];
    let output = server.run(&submit);
    insta::assert_snapshot!("bulk-many", transcript_of(&output));
    assert_eq!(stdout(&server.run(&submit)), stdout(&output), "the same two tasks");

    let elements: Vec<String> = profiles(10_001, "array").lines().map(str::to_owned).collect();
    workdir.write("array.json.zst", zstd(&format!("[{}]", elements.join(" ,\n"))));
    let array = ["bulk", "submit", "create_core_profiles", "array.json.zst", "--wait"];
    let output = server.run(&array);
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    assert_eq!(stdout(&output).lines().count(), 2);
    let last = stdout(&output).lines().last().unwrap().to_owned();
    assert_eq!(server.good(&["bulk", "results", &last]).lines().count(), 1);
}

/// A server that gives these answers, one on each connection; returns its address and the requests.
fn scripted(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            let ended = |request: &[u8]| {
                let text = String::from_utf8_lossy(request).to_lowercase();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
                let length = head.split("content-length: ").nth(1);
                let length = length.and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
                body.len() >= length.unwrap_or(0)
            };
            while !ended(&request) {
                let read = stream.read(&mut piece).unwrap();
                assert!(read > 0, "the request ends early");
                request.extend_from_slice(&piece[..read]);
            }
            requests.push(String::from_utf8_lossy(&request).into_owned());
            stream.write_all(answer.as_bytes()).unwrap();
        }
        requests
    });
    (url, requests)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

fn refusal(status: u16, code: &str, detail: &str) -> String {
    let body = format!(r#"{{"status":{status},"code":"{code}","detail":"{detail}"}}"#);
    answer(&format!("{status} X"), "Retry-After: 1\r\n", &body)
}

fn task(status: &str, more: &str) -> String {
    let outcome = if status == "completed" { "\"succeeded\"" } else { "null" };
    let done = u8::from(status == "completed");
    let head = r#""task_id":"t-1","action":"create_core_profiles","progress":0,"errors":false"#;
    let left = 1 - done;
    let counts = format!(r#"{{"total":1,"succeeded":{done},"failed":0,"unprocessed":{left}}}"#);
    let state = format!(r#""status":"{status}","results":true,"outcome":{outcome}"#);
    format!(r#"{{{head},{state},"counts":{counts},"created_at":1{more}}}"#)
}

#[test]
fn the_program_says_what_it_waits_for() {
    let workdir = Workdir::new();
    workdir.write("in.jsonl", profiles(1, "wait"));
    let (url, requests) = scripted(vec![
        refusal(429, "queue_full", "the domain has 1000 unfinished tasks"),
        refusal(409, "idempotency_in_progress", "the first request is still being answered"),
        refusal(503, "unavailable", "the server cannot reach its database now"),
        answer("201 Created", "", &task("created", "")),
        refusal(429, "rate_limited", "retry after 2026-01-01 00:00:00 UTC"),
        answer("200 OK", "", &task("queued", ",\"position\":3")),
        answer("200 OK", "", &task("completed", "")),
    ]);
    let mut submit = workdir.caseload(&["bulk", "submit", "create_core_profiles", "in.jsonl"]);
    submit.args(["--wait", "--url", &url, "--domain", "acme", "--api-key", "k"]);
    let output = submit.output().unwrap();
    assert_eq!(
        transcript_of(&output),
        "exit 0\n--- stdout\nt-1\n--- stderr\n\
         waiting 1 s: the server answered 429 queue_full: the domain has 1000 unfinished tasks\n\
         waiting 1 s: the server answered 409 idempotency_in_progress: the first request is still \
         being answered\n\
         waiting 1 s: the server answered 503 unavailable: the server cannot reach its database \
         now\n\
         waiting 1 s: the server answered 429 rate_limited: retry after 2026-01-01 00:00:00 UTC\n\
         task t-1 waits in the queue; tasks before it: 3\n\
         succeeded: 1 entry, 1 succeeded, 0 failed\n"
    );
    let requests = requests.join().unwrap();
    let key = |request: &String| {
        let lower = request.to_lowercase();
        lower.split("idempotency-key: ").nth(1).map(|rest| rest.lines().next().unwrap().to_owned())
    };
    let keys: Vec<_> = requests[..4].iter().map(key).collect();
    assert!(keys[0].is_some() && keys.iter().all(|other| *other == keys[0]), "{keys:?}");
}
