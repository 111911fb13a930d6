//! The exit status of every command: 0 done, 1 done with failed entries, 2 the caller's mistake, 3
//! server, network or store, 4 not allowed, 130 interrupted.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Server, Workdir, signal, transcript_of};

const GOOD: &str = "{\"identities\":[{\"uid\":\"a\"}]}\n";
const TASK: &str = "0198f0c2-0000-7000-8000-000000000000";

/// Every command that calls a server.
const CLIENT_COMMANDS: &[&[&str]] = &[
    &["bulk", "submit", "create_core_profiles", "good.jsonl"],
    &["bulk", "status", TASK],
    &["bulk", "results", TASK],
    &["bulk", "errors", TASK],
    &["bulk", "cancel", TASK],
    &["bulk", "retry", TASK],
    &["bulk", "list"],
    &["issues", "list"],
    &["issues", "get", "1"],
    &["issues", "import", "issues.jsonl"],
    &["issues", "export"],
];

/// Every command that opens a store and is not a server.
const STORE_COMMANDS: &[&[&str]] = &[
    &["domain", "create", "later"],
    &["domain", "list"],
    &["domain", "edit", "acme", "--desk-name", "Shop"],
    &["domain", "delete", "later", "--yes"],
    &["key", "create", "--domain", "acme"],
    &["key", "list", "--domain", "acme"],
    &["key", "rotate", "--domain", "acme", "key-1"],
    &["key", "revoke", "--domain", "acme", "key-1"],
    &["app", "create", "--domain", "acme", "Shop"],
    &["app", "list", "--domain", "acme"],
    &["agent", "create", "--domain", "acme", "Grace", "grace@example.org"],
    &["agent", "list", "--domain", "acme"],
    &["check"],
    &["status"],
    &["backup", "backup.db"],
    &["issues", "list", "--explain", "--domain", "acme"],
];

fn assert_exit(output: &Output, exit: i32, what: &[&str]) {
    assert_eq!(output.status.code(), Some(exit), "{what:?}: {}", transcript_of(output));
}

fn files(workdir: &Workdir) {
    workdir.write("good.jsonl", GOOD);
    workdir.write("bad.jsonl", "{\"age\":\"30\"}\n");
    workdir.write("empty.jsonl", "\n");
    workdir.write("cut.json", "[{},");
    workdir.write("issues.jsonl", "{\"title\":\"T\",\"created_at\":1700000000000}\n");
    workdir.write("bad-issues.jsonl", "{\"title\":7}\n");
    workdir.write("big.jsonl", format!("{{\"x\":\"{}\"}}\n", "x".repeat(40_000)));
}

#[test]
fn the_exit_status_is_one_of_done_mistake_failure_and_refusal() {
    let workdir = Workdir::new();
    files(&workdir);
    workdir.good(&["domain", "create", "acme"]);
    let key = |access| {
        let args = ["key", "create", "--domain", "acme", "--access", access];
        workdir.good(&args).trim().to_owned()
    };
    let mut serve = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("CASELOAD_BODY_LIMIT", "20000");
    let mut server = Server::spawn(&workdir, key("write"), serve);
    let submit = ["bulk", "submit", "create_core_profiles"];
    let keyed = |file| [&submit[..], &[file, "--idempotency-key", "k"]].concat();
    let failed = server.run(&[&submit[..], &["bad.jsonl", "--wait"]].concat());
    let task = String::from_utf8(failed.stdout.clone()).unwrap().trim().to_owned();
    assert_exit(&failed, 1, &["a task with a failed entry"]);
    for (exit, command) in [
        (0, &keyed("good.jsonl")[..]),
        (0, &["bulk", "status", &task]),
        (0, &["bulk", "results", &task]),
        (0, &["bulk", "errors", &task]),
        (0, &["bulk", "list"]),
        (0, &["issues", "import", "issues.jsonl"]),
        (0, &["issues", "list"]),
        (0, &["issues", "get", "1"]),
        (0, &["issues", "export"]),
        (0, &["openapi"]),
        (0, &["--version"]),
        (1, &["bulk", "retry", &task, "--wait"]),
        (1, &["issues", "import", "bad-issues.jsonl"]),
        // Flags and files.
        (2, &["bulk", "submit", "make", "good.jsonl"]),
        (2, &["bulk"]),
        (2, &["issues", "list", "--colour"]),
        (2, &["serve", "--rate-limit", "many"]),
        (2, &["serve", "--listen", "nowhere"]),
        (2, &["serve", "--log", "loud=loud"]),
        (2, &[&submit[..], &["missing.jsonl"]].concat()),
        (2, &[&submit[..], &["empty.jsonl"]].concat()),
        (2, &[&submit[..], &["cut.json"]].concat()),
        (2, &["issues", "import", "."]),
        (2, &["issues", "export", "-o", "no/folder.jsonl"]),
        (2, &["issues", "list", "--url", "localhost"]),
        // 400, 404, 409, 413 and 422.
        (2, &["issues", "list", "--param", "page-size=0"]),
        (2, &["bulk", "list", "--status", "done"]),
        (2, &["issues", "get", "4711"]),
        (2, &["bulk", "status", TASK]),
        (2, &["bulk", "cancel", &task]),
        (2, &[&submit[..], &["big.jsonl"]].concat()),
        (2, &keyed("bad.jsonl")),
        // The network.
        (3, &["issues", "list", "--url", "http://127.0.0.1:1"]),
        // 403: a key of another domain.
        (4, &["issues", "list", "--domain", "other"]),
    ] {
        assert_exit(&server.run(command), exit, command);
    }
    server.key = key("read");
    for (exit, command) in [
        (4, &["bulk", "submit", "create_core_profiles", "good.jsonl"][..]),
        (4, &["issues", "import", "issues.jsonl"]),
        (0, &["issues", "list"]),
        (0, &["bulk", "submit", "create_core_profiles", "good.jsonl", "--dry-run"]),
    ] {
        assert_exit(&server.run(command), exit, command);
    }
    "wrong".clone_into(&mut server.key);
    for command in CLIENT_COMMANDS {
        assert_exit(&server.run(command), 4, command);
    }
}

#[test]
fn a_command_without_its_server_or_store_ends_with_3_or_2() {
    let workdir = Workdir::new();
    files(&workdir);
    for command in CLIENT_COMMANDS {
        let mut run = workdir.caseload(command);
        run.args(["--url", "http://127.0.0.1:1", "--domain", "acme", "--api-key", "k"]);
        assert_exit(&run.output().unwrap(), 3, command);
    }
    workdir.write("text.db", "not a database at all ".repeat(999));
    for command in STORE_COMMANDS {
        let mut run = workdir.caseload(command);
        assert_exit(&run.env("CASELOAD_STORE", "sqlite:text.db").output().unwrap(), 3, command);
        let nobody = "postgres://u:p@127.0.0.1:1/d";
        let mut run = workdir.caseload(command);
        assert_exit(&run.env("CASELOAD_STORE", nobody).output().unwrap(), 3, command);
        let mut run = workdir.caseload(command);
        assert_exit(&run.env("CASELOAD_STORE", "mysql:x").output().unwrap(), 2, command);
    }
}

/// Starts a command, waits until it has connected to a silent server, and interrupts it.
fn interrupted(mut command: Command, silent: &TcpListener) -> Output {
    let child = command.spawn().unwrap();
    let begun = Instant::now();
    silent.set_nonblocking(true).unwrap();
    let _connection = loop {
        match silent.accept() {
            Ok(connection) => break connection,
            Err(_) => assert!(begun.elapsed() < PATIENCE, "the command does not connect"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    // No connection of this command may pass for one of the next.
    while silent.accept().is_ok() {}
    output
}

#[test]
fn every_command_that_is_interrupted_ends_with_130() {
    let workdir = Workdir::new();
    files(&workdir);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for command in CLIENT_COMMANDS {
        let mut run = workdir.caseload(command);
        run.args(["--url", &format!("http://{address}"), "--domain", "acme", "--api-key", "k"]);
        let output = interrupted(run, &silent);
        assert_exit(&output, 130, command);
        assert!(transcript_of(&output).contains("interrupted"), "{}", transcript_of(&output));
    }
    let store = format!("postgres://u:p@{address}/d");
    let copy = ["copy", "--from", &store, "--to", "sqlite:new.db"];
    for command in STORE_COMMANDS.iter().copied().chain([&copy[..]]) {
        let mut run = workdir.caseload(command);
        run.env("CASELOAD_STORE", &store);
        let output = interrupted(run, &silent);
        assert_exit(&output, 130, command);
        assert!(transcript_of(&output).contains("interrupted"), "{}", transcript_of(&output));
    }
}

/// Waits until a command handles the signal INT, as Linux says, and a little longer, so that it
/// usually is at work then.
fn wait_until_interruptible(child: &Child) {
    const INT: u64 = 1 << 1;
    let begun = Instant::now();
    while let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", child.id())) {
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & INT != 0 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the command does not handle INT");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(500));
}

#[test]
fn a_command_that_waits_for_its_input_or_for_a_reader_of_its_output_is_interrupted_too() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    for command in
        [&["issues", "import", "-"][..], &["bulk", "submit", "create_core_profiles", "-", "--wait"]]
    {
        let mut run = server.caseload(command);
        let mut child = run.stdin(Stdio::piped()).spawn().unwrap();
        let _open = child.stdin.take();
        wait_until_interruptible(&child);
        signal(&child, "INT");
        assert_exit(&child.wait_with_output().unwrap(), 130, command);
    }
    // More than a pipe takes, without a reader.
    let issue = format!("{{\"title\":\"{}\",\"created_at\":1}}\n", "x".repeat(2_000));
    workdir.write("issues.jsonl", issue.repeat(200));
    server.good(&["issues", "import", "issues.jsonl"]);
    let mut child = server.caseload(&["issues", "export"]).spawn().unwrap();
    // The output has begun, so signals are handled; soon after, the pipe is full.
    let mut unread = child.stdout.take().unwrap();
    unread.read_exact(&mut [0]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "INT");
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < PATIENCE, "the command does not end");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(130));
}
