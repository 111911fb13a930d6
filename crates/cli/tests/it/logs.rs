//! The log: the end of each request, of each task and each change by an administrator is a line at
//! `info`.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use caseload_teststore::on_each_store;
use serde_json::Value;

use crate::common::{PATIENCE, Server, Workdir, profiles};

on_each_store!(blocking:
    the_end_of_a_task_is_a_line_at_info,
);

/// Waits for a number of lines in the log of a server that have this message.
fn lines(server: &Server<'_>, message: &str, count: usize) -> Vec<Value> {
    matching(server, message, count, |_| true)
}

/// Waits for the line at the end of a task. Other tasks may end before it.
fn end_of(server: &Server<'_>, task: &str) -> Value {
    matching(server, "a task ended", 1, |fields| fields["task_id"] == task).remove(0)
}

/// Waits for a number of lines that have this message, and fields that are wanted.
fn matching(
    server: &Server<'_>,
    message: &str,
    count: usize,
    wanted: impl Fn(&Value) -> bool,
) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let log = server.log();
        let found: Vec<Value> = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["fields"]["message"] == message && wanted(&line["fields"]))
            .collect();
        if found.len() >= count {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{message} is not in the log: {log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn the_end_of_a_task_is_a_line_at_info() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    let args = ["serve", "--listen", "127.0.0.1:0", "--log", "info", "--log-format", "json"];
    let server = Server::spawn(&workdir, key, workdir.caseload(&args));
    workdir.write("two.jsonl", profiles(1, "log") + "{\"age\":\"30\"}\n");
    let submit = ["bulk", "submit", "create_core_profiles"];
    let task = server.run(&[&submit[..], &["two.jsonl", "--wait"]].concat()).stdout;
    let task = String::from_utf8(task).unwrap().trim().to_owned();
    let line = end_of(&server, &task);
    assert_eq!(line["level"], "INFO");
    let fields = &line["fields"];
    for (name, value) in [
        ("domain", Value::from("acme")),
        ("action", "create_core_profiles".into()),
        ("outcome", "completed_with_errors".into()),
        ("total", 2.into()),
        ("succeeded", 1.into()),
        ("failed", 1.into()),
        ("unprocessed", 0.into()),
        ("dry_run", false.into()),
    ] {
        assert_eq!(fields[name], value, "{name}: {line}");
    }
    for duration in ["duration_ms", "waited_ms"] {
        assert!(fields[duration].as_i64().is_some_and(|ms| (0..600_000).contains(&ms)), "{line}");
    }

    // A task that is cancelled while it waits for others ends, too.
    let message = r#"{"body":"m","created_at":1,"origin":"end-user"}"#;
    let issue = |n| format!("{{\"title\":\"{n}\",\"created_at\":{n},\"messages\":[{message}]}}\n");
    workdir.write("next.jsonl", profiles(10_000, "next"));
    for (file, first) in [("one.jsonl", 0), ("two.jsonl", 10_000)] {
        workdir.write(file, (first..first + 10_000).map(issue).collect::<String>());
        server.good(&["bulk", "submit", "import_issues", file]);
    }
    let waiting = server.good(&[&submit[..], &["next.jsonl"]].concat());
    server.good(&["bulk", "cancel", waiting.trim()]);
    let end = end_of(&server, waiting.trim());
    assert_eq!(end["fields"]["outcome"], "cancelled", "{end}");
    assert_eq!(end["fields"]["unprocessed"], 10_000, "{end}");
    assert!(!server.log().contains(&server.key), "the log has the key");
}

/// Sends a head without a key that works, and returns the status line.
fn status_of(server: &Server<'_>, authorization: &str) -> String {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!(
        "GET /v1/acme/issues HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{authorization}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn failed_authentications_are_logged_with_their_address_once_a_second() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    let args = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json"];
    let server = Server::spawn(&workdir, key, workdir.caseload(&args));
    let begun = Instant::now();
    let secret = "Authorization: Bearer caseload_not-a-key\r\n";
    for authorization in [secret, "", secret, secret, secret, secret] {
        assert_eq!(status_of(&server, authorization), "HTTP/1.1 401 Unauthorized");
    }
    let found = lines(&server, "a request did not authenticate", 1);
    assert_eq!(found[0]["level"], "WARN", "{}", found[0]);
    assert_eq!(found[0]["fields"]["peer"], "127.0.0.1", "{}", found[0]);
    let logged = lines(&server, "a request did not authenticate", 1).len() as u64;
    assert!(logged <= begun.elapsed().as_secs() + 1, "{}", server.log());
    assert!(!server.log().contains("not-a-key"), "{}", server.log());
}

#[test]
fn a_revoked_key_that_is_used_is_logged() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    let args = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json"];
    let server = Server::spawn(&workdir, key.clone(), workdir.caseload(&args));
    assert_eq!(server.small_call().status.code(), Some(0));
    let list = workdir.good(&["key", "list", "--domain", "acme"]);
    let id = list.split('\t').next().unwrap();
    workdir.good(&["key", "revoke", "--domain", "acme", id]);
    let begun = Instant::now();
    while status_of(&server, &format!("Authorization: Bearer {key}\r\n")).contains(" 200 ") {
        assert!(begun.elapsed() < PATIENCE, "a revoked key still works");
        std::thread::sleep(Duration::from_millis(100));
    }
    let found = lines(&server, "a revoked key was used", 1);
    assert_eq!((&found[0]["level"], &found[0]["fields"]["key"]), (&"WARN".into(), &id.into()));
    assert!(!server.log().contains(&key), "the log has the key");
}

#[test]
fn each_change_by_an_administrator_is_a_line_at_info_without_the_key() {
    let workdir = Workdir::new();
    let run = |args: &[&str]| {
        let mut command = workdir.caseload(args);
        let output = command.env("CASELOAD_LOG", "info").output().unwrap();
        let (out, log) = (output.stdout, output.stderr);
        (String::from_utf8(out).unwrap().trim().to_owned(), String::from_utf8(log).unwrap())
    };
    let has = |log: &str, words: &[&str]| {
        let found = log
            .lines()
            .any(|line| line.contains(" INFO ") && words.iter().all(|word| line.contains(word)));
        assert!(found, "{words:?} is not in {log}");
    };
    let (_, log) = run(&["domain", "create", "acme"]);
    has(&log, &["a domain was created", "acme"]);
    let (key, log) = run(&["key", "create", "--domain", "acme", "--access", "read"]);
    has(&log, &["a key was created", "acme", "key-", "read"]);
    assert!(!log.contains(&key) && !log.contains(key.trim_start_matches("caseload_")), "{log}");
    let (list, log) = run(&["key", "list", "--domain", "acme"]);
    assert!(!log.contains("INFO"), "a list changes nothing: {log}");
    let id = list.split('\t').next().unwrap().to_owned();
    let (_, log) = run(&["key", "revoke", "--domain", "acme", &id]);
    let revoked = |line: &str| line.contains(" WARN ") && line.contains("a key was revoked");
    assert!(log.lines().any(|line| revoked(line) && line.contains(&id)), "{log}");
    let (app, log) = run(&["app", "create", "--domain", "acme", "Shop"]);
    has(&log, &["an app was created", "acme", &app]);
    let (agent, log) = run(&["agent", "create", "--domain", "acme", "Grace", "grace@example.org"]);
    has(&log, &["an agent was created", "acme", &agent]);
    let (_, log) = run(&["domain", "edit", "acme", "--desk-name", "Shop"]);
    has(&log, &["the desk of a domain was changed", "acme"]);
    let (_, log) = run(&["domain", "delete", "acme", "--yes"]);
    has(&log, &["a domain was deleted", "acme"]);

    let quiet = workdir.run(&["domain", "create", "quiet"]);
    assert_eq!(String::from_utf8(quiet.stderr).unwrap(), "created domain quiet\n");
}

/// Sends a request and returns the whole answer.
fn ask(server: &Server<'_>, request: &str) -> String {
    let mut stream =
        std::net::TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    let rest = "\r\nHost: x\r\nConnection: close\r\n";
    stream.write_all(request.replacen("\r\n", rest, 1).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_end_of_each_request_is_a_line_at_info_without_query_and_key() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    let list = workdir.good(&["key", "list", "--domain", "acme"]);
    let key_id = list.split('\t').next().unwrap();
    let flags = ["--log", "warn,access=info", "--log-format", "json"];
    let proxy = ["--trusted-proxy", "127.0.0.1"];
    let serve = [&["serve", "--listen", "127.0.0.1:0"], &flags[..], &proxy].concat();
    let server = Server::spawn(&workdir, key.clone(), workdir.caseload(&serve));
    let head = format!(
        "Authorization: Bearer {key}\r\nX-Request-Id: mine\r\nX-Forwarded-For: 192.0.2.7\r\n"
    );
    let answer =
        ask(&server, &format!("GET /v1/acme/issues/?tags=whose-tag HTTP/1.1\r\n{head}\r\n"));
    let body = answer.split_once("\r\n\r\n").unwrap().1.len();
    let form = "title=a&message-body=b";
    let post = format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}", 22);
    ask(&server, &format!("POST /v1/acme/issues HTTP/1.1\r\n{head}{post}\r\n\r\n{form}"));
    ask(&server, "GET /v1/acme/issues HTTP/1.1\r\n\r\n");
    ask(&server, "HEAD /healthz HTTP/1.1\r\n\r\n");
    let found = lines(&server, "a request ended", 4);
    let line = |at: usize, name: &str| {
        let line = &found[at];
        [line, &line["fields"]].into_iter().find_map(|map| map.get(name)).cloned()
    };
    for (at, name, value) in [
        (0, "level", Value::from("INFO")),
        (0, "target", "access".into()),
        (0, "request_id", "mine".into()),
        (0, "method", "GET".into()),
        (0, "path", "/v1/acme/issues/".into()),
        (0, "route", "/v1/{domain}/issues".into()),
        (0, "domain", "acme".into()),
        (0, "key", key_id.into()),
        (0, "client", "192.0.2.7".into()),
        (0, "status", 200.into()),
        (0, "sent", body.into()),
        (0, "received", 0.into()),
        (1, "method", "POST".into()),
        (1, "received", form.len().into()),
        (2, "status", 401.into()),
        (2, "client", "127.0.0.1".into()),
        (3, "method", "HEAD".into()),
        (3, "sent", 0.into()),
        (3, "route", "/healthz".into()),
    ] {
        assert_eq!(line(at, name), Some(value), "{at} {name}: {}", found[at]);
    }
    for line in &found {
        let fields = &line["fields"];
        assert!(fields["duration_ms"].as_u64().is_some_and(|ms| ms < 60_000), "{line}");
        assert!(fields.get("cut").is_none(), "{line}");
    }
    assert_eq!((line(2, "key"), line(2, "domain")), (None, None), "{}", found[2]);
    let log = server.log();
    for secret in [&key, "whose-tag", "the server has started"] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
}

#[test]
fn by_default_a_warning_names_its_request_and_no_request_has_a_line_of_its_own() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    for (format, named) in [
        ("text", r#" request_id="mine" method=GET path="/v1/acme/issues""#),
        ("json", r#","request_id":"mine","method":"GET","path":"/v1/acme/issues"}"#),
    ] {
        let args = ["serve", "--listen", "127.0.0.1:0", "--log-format", format];
        let server = Server::spawn(&workdir, key.clone(), workdir.caseload(&args));
        ask(&server, "GET /v1/acme/issues?tags=whose-tag HTTP/1.1\r\nX-Request-Id: mine\r\n\r\n");
        let begun = Instant::now();
        while !server.log().contains("did not authenticate") {
            assert!(begun.elapsed() < PATIENCE, "{}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        let log = server.log();
        let line = log.lines().find(|line| line.contains("did not authenticate")).unwrap();
        assert!(line.ends_with(named), "{line}");
        assert!(format == "text" || serde_json::from_str::<Value>(line).is_ok(), "{line}");
        assert!(!log.contains("a request ended") && !log.contains("whose-tag"), "{log}");
    }
}
