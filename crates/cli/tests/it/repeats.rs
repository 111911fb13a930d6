//! Files that are submitted again, as a whole or after an interruption: each entry takes effect
//! once. Files of any length and in compressed form, uploads and imports that break off, and the
//! waits for a server at its limits.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::process::{Child, Output, Stdio};

use caseload_teststore::on_each_store;

use crate::common::{Server, Workdir, profiles, redacted, signal, transcript_of};

on_each_store!(blocking:
    a_file_that_is_imported_twice_makes_each_issue_once,
    an_import_that_was_interrupted_continues_and_makes_each_issue_once,
    an_upload_that_is_interrupted_imports_nothing,
    an_upload_whose_server_dies_imports_nothing,
    an_import_whose_server_is_killed_is_followed_to_its_end,
    an_import_that_was_cancelled_is_retried,
    a_file_that_is_submitted_twice_is_one_task,
    a_file_of_more_than_10_000_entries_is_one_import,
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

fn imports_of(server: &Server<'_>) -> Vec<String> {
    let list = server.good(&["bulk", "list", "--imports", "--issues"]);
    list.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

fn a_file_that_is_imported_twice_makes_each_issue_once() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", issues(300));
    workdir.write("in.jsonl.gz", gzip(&issues(300)));
    workdir.write("in.jsonl.zst", zstd(&issues(300)));
    let created = "created 300  unchanged 0  failed 0\n";
    assert_eq!(server.good(&["issues", "import", "in.jsonl"]), created);
    let [first] = &*imports_of(&server) else { panic!("one import") };
    let is_repeat = |output: &Output| {
        assert_eq!(output.status.code(), Some(0), "{}", transcript_of(output));
        let said = stderr(output);
        assert!(said.starts_with("this file was imported before, on 20"), "{said}");
        let end =
            format!("as import {first}; nothing was imported again. To import it again: --again\n");
        assert!(said.contains(&end), "{said}");
        assert_eq!(stdout(output), created, "the sums of the first import");
    };
    for file in ["in.jsonl", "in.jsonl.gz", "in.jsonl.zst"] {
        is_repeat(&server.run(&["issues", "import", file]));
    }
    is_repeat(&server.run_with_input(&["issues", "import", "-"], &zstd(&issues(300))));
    assert_eq!(issues_of(&server), 300);

    let output = server.run(&["issues", "import", "in.jsonl", "--again"]);
    assert_eq!(stdout(&output), created, "{}", transcript_of(&output));
    let said = stderr(&output);
    assert!(said.contains("the same file was imported on 20"), "{said}");
    let end = format!("before, as import {first}; this is another import of it\n");
    assert!(said.contains(&end), "{said}");
    assert_eq!(issues_of(&server), 600);
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

fn rest_of(child: &mut Child, mut rest: BufReader<std::process::ChildStderr>) -> (i32, String) {
    let mut said = String::new();
    rest.read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code().unwrap(), said)
}

fn an_import_that_was_interrupted_continues_and_makes_each_issue_once() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("my issues.jsonl", issues(20_500));
    let import = ["issues", "import", "my issues.jsonl"];
    let mut child = server.caseload(&import).spawn().unwrap();
    let rest = read_until(&mut child, "import ");
    signal(&child, "INT");
    let (code, said) = rest_of(&mut child, rest);
    assert_eq!(code, 130, "{said}");
    let [id] = &*imports_of(&server) else { panic!("one import") };
    let text = format!(
        "error: interrupted; import {id} continues at the server\nhint: `caseload bulk follow \
         {id}` follows it, `caseload bulk cancel {id}` stops it\n"
    );
    assert!(said.ends_with(&text), "{said}");
    let followed = server.run(&["bulk", "follow", id]);
    assert_eq!(followed.status.code(), Some(0), "{}", transcript_of(&followed));
    assert!(stderr(&followed).contains("succeeded: 20,500 entries"), "{}", stderr(&followed));
    let output = server.run(&import);
    assert_eq!(stdout(&output), "created 20500  unchanged 0  failed 0\n");
    assert!(stderr(&output).contains("nothing was imported again"), "{}", stderr(&output));
    assert_eq!(issues_of(&server), 20_500);
    workdir.good(&["check"]);
}

/// A child that has sent half of a file from its standard input and waits for the rest.
fn half_sent(server: &Server<'_>) -> (Child, std::process::ChildStdin) {
    let mut command = server.caseload(&["issues", "import", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // More than the program and the sockets hold, so that the server has the beginning.
    input.write_all(issues(40_000).as_bytes()).unwrap();
    (child, input)
}

fn an_upload_that_is_interrupted_imports_nothing() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let (child, input) = half_sent(&server);
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(
        transcript_of(&output),
        "exit 130\n--- stderr\nerror: interrupted before the whole file was sent: nothing was \
         imported\n"
    );
    assert_eq!(imports_of(&server), [""; 0]);
    server.terminate();
    workdir.good(&["check"]);
}

fn an_upload_whose_server_dies_imports_nothing() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let (child, mut input) = half_sent(&server);
    let key = server.key.clone();
    server.kill();
    let _ = input.write_all(issues(40_000).as_bytes());
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", transcript_of(&output));
    assert!(stderr(&output).contains("\nnothing was imported\n"), "{}", stderr(&output));
    let server = Server::start(&workdir, key);
    assert_eq!(imports_of(&server), [""; 0]);
    assert_eq!(issues_of(&server), 0);
    server.terminate();
    workdir.good(&["check"]);
}

fn an_import_whose_server_is_killed_is_followed_to_its_end() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", issues(60_000));
    let mut child = server.caseload(&["issues", "import", "in.jsonl"]).spawn().unwrap();
    let rest = read_until(&mut child, "import ");
    let (key, url) = (server.key.clone(), server.url.clone());
    server.kill();
    let address = url.trim_start_matches("http://");
    let server = Server::spawn(&workdir, key, workdir.caseload(&["serve", "--listen", address]));
    let mut totals = String::new();
    child.stdout.take().unwrap().read_to_string(&mut totals).unwrap();
    let (code, said) = rest_of(&mut child, rest);
    assert_eq!((code, &*totals), (0, "created 60000  unchanged 0  failed 0\n"), "{said}");
    assert!(said.contains("waiting 2 s: cannot reach "), "{said}");
    assert_eq!(issues_of(&server), 60_000);
    server.terminate();
    workdir.good(&["check"]);
}

fn an_import_that_was_cancelled_is_retried() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("in.jsonl", issues(10_000));
    // The next import waits for the long one, so that it can be cancelled before it begins.
    workdir.write("long.jsonl", issues(20_000).replace('№', "no"));
    server.good(&["bulk", "submit", "import_issues", "long.jsonl"]);
    let mut child = server.caseload(&["issues", "import", "in.jsonl"]).spawn().unwrap();
    let rest = read_until(&mut child, "import ");
    let id = imports_of(&server).swap_remove(0);
    // On a busy machine, a chunk of the long task may have its locks for longer than a write waits.
    let patiently = |args: &[&str]| {
        let is_answered = |output: &Output| !stderr(output).contains("the server answered 503");
        std::iter::repeat_with(|| server.run(args)).find(is_answered).unwrap()
    };
    let cancelled = patiently(&["bulk", "cancel", &id]);
    assert_eq!(cancelled.status.code(), Some(0), "{}", transcript_of(&cancelled));
    let (code, said) = rest_of(&mut child, rest);
    assert_eq!(code, 1, "{said}");
    let hint = format!("hint: `caseload bulk retry {id}` runs the entries that are left\n");
    assert!(said.ends_with(&hint), "{said}");
    let retried = patiently(&["bulk", "retry", &id, "--wait"]);
    assert_eq!(retried.status.code(), Some(0), "{}", transcript_of(&retried));
    assert_eq!(issues_of(&server), 30_000);
}

fn a_file_that_is_submitted_twice_is_one_task() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let text = profiles(20, "twice");
    workdir.write("in.jsonl", &text);
    let submit =
        |more: &[&str]| server.run(&[&["bulk", "submit", "create_core_profiles"], more].concat());
    let first = submit(&["in.jsonl", "--wait"]);
    assert_eq!(first.status.code(), Some(0), "{}", transcript_of(&first));
    for again in [&["in.jsonl"][..], &["in.jsonl", "--wait"]] {
        let output = submit(again);
        assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
        assert_eq!(stdout(&output), stdout(&first));
        let said = stderr(&output);
        assert!(said.starts_with("this file was submitted before, on 20"), "{said}");
        assert!(
            said.contains("nothing was submitted again. To submit it again: --again"),
            "{said}"
        );
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

fn a_file_of_more_than_10_000_entries_is_one_import() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    let text = format!("\n{}{{\"age\":\"30\"}}\n", profiles(10_002, "many"));
    workdir.write("many.jsonl", &text);
    let submit = ["bulk", "submit", "create_core_profiles", "many.jsonl", "--wait"];
    let output = server.run(&submit);
    let mut transcript = transcript_of(&output);
    let again = server.run(&submit);
    assert_eq!(stdout(&again), stdout(&output), "the same import");
    let id = stdout(&output).trim().to_owned();
    for args in [
        &["bulk", "list", "--imports"][..],
        &["bulk", "status", &id],
        &["bulk", "errors", &id],
        &["bulk", "errors", &id, "--summary"],
        &["bulk", "rejects", &id],
        &["bulk", "payload", &id],
        &["bulk", "retry", &id, "--wait"],
        &["bulk", "cancel", &id],
    ] {
        transcript += &server.transcript(args);
    }
    insta::assert_snapshot!("bulk-many", transcript);
    assert_eq!(server.good(&["bulk", "results", &id]).lines().count(), 10_002);

    let elements: Vec<String> = profiles(10_001, "array").lines().map(str::to_owned).collect();
    workdir.write("array.json.zst", zstd(&format!("[{}]", elements.join(" ,\n"))));
    let array = ["bulk", "submit", "create_core_profiles", "array.json.zst", "--wait"];
    let output = server.run(&array);
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    let id = stdout(&output).trim().to_owned();
    assert_eq!(server.good(&["bulk", "results", &id]).lines().count(), 10_001);
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
            // Unread bytes would make the system reset the connection, and the answer with it.
            stream.shutdown(Shutdown::Write).unwrap();
            _ = stream.read_to_end(&mut Vec::new());
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
