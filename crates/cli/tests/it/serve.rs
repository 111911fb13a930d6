//! `caseload serve`: a start on a free store, the refusal of a second server and of a port in use,
//! the shutdown within its time limit, and both formats of the log.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use caseload_teststore::on_each_store;

use crate::common::{PATIENCE, Server, Workdir, profiles, redacted, signal};

on_each_store!(blocking:
    sigterm_ends_the_server_with_0_also_in_the_middle_of_a_task,
    a_server_that_was_killed_leaves_its_store_free_for_the_next,
);

#[test]
fn a_second_server_on_the_same_store_is_refused_and_the_first_goes_on() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    let transcript = workdir.transcript(&["serve", "--listen", "127.0.0.1:0"]);
    insta::assert_snapshot!("serve-second", transcript);
    assert_eq!(server.small_call().status.code(), Some(0));
}

#[test]
fn a_port_that_is_in_use_gets_an_error_with_a_hint() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    insta::assert_snapshot!(
        "serve-port-taken",
        workdir.transcript(&["serve", "--listen", &address])
    );
}

fn sigterm_ends_the_server_with_0_also_in_the_middle_of_a_task() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let key = server.key.clone();
    let (status, took) = server.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(took < PATIENCE, "{took:?}");

    let server = Server::start(&workdir, key.clone());
    workdir.write("many.jsonl", profiles(10_000, "term"));
    let task = server.good(&["bulk", "submit", "create_core_profiles", "many.jsonl"]);
    let (status, took) = server.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(took < PATIENCE, "{took:?}");

    let server = Server::start(&workdir, key);
    let begun = Instant::now();
    let record = loop {
        assert!(begun.elapsed() < PATIENCE, "the task does not go on");
        let record = server.good(&["bulk", "status", task.trim()]);
        if record.contains(r#""status":"completed""#) {
            break record;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(record.contains(r#""succeeded":10000"#), "{record}");
}

fn a_server_that_was_killed_leaves_its_store_free_for_the_next() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let key = server.key.clone();
    server.kill();
    assert_eq!(Server::start(&workdir, key).small_call().status.code(), Some(0));
}

/// Starts a server and ends it as soon as it has said the last line of its start; standard error.
fn log_of_a_start(mut command: Command) -> String {
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut output = String::new();
    for line in lines {
        output = output + &line + "\n";
        if line.starts_with("memory budget ") {
            signal(&child, "TERM");
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "{output}");
    output
}

#[test]
fn the_log_is_text_or_json_on_standard_error() {
    let workdir = Workdir::new();
    for (format, first) in [("text", '2'), ("json", '{')] {
        let mut command = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
        command.env("CASELOAD_LOG", "debug").env("CASELOAD_LOG_FORMAT", format);
        let output = log_of_a_start(command);
        let own = ["listening on ", "caseload ", "memory budget "];
        let logged = |line: &&str| !own.iter().any(|begin| line.starts_with(begin));
        for line in output.lines().filter(logged) {
            assert!(line.starts_with(first), "{format}: {line}");
            assert!(!line.contains('\u{1b}'), "{format}: {line}");
        }
    }
}

/// Waits until standard error of a server has a text.
fn said(server: &Server<'_>, text: &str) {
    let begun = Instant::now();
    while !server.log().contains(text) {
        assert!(begun.elapsed() < PATIENCE, "{text} is not in {}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_start_says_what_it_serves_and_how_much_memory_and_how_many_connections_there_are() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    let serve =
        |args: &[&str]| workdir.caseload(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
    let server = Server::spawn(&workdir, key.clone(), serve(&[]));
    let url = &server.url;
    let (version, store) = (env!("CARGO_PKG_VERSION"), "sqlite:caseload-data/caseload.db");
    said(&server, &format!("caseload {version} serves {store} with 1 domain on {url}\n"));
    said(&server, "memory budget 512 MiB, without the page caches of the store; up to ");
    drop(server);
    let server =
        Server::spawn(&workdir, key, serve(&["--memory-budget", "1GiB", "--connections", "100"]));
    said(&server, "memory budget 1024 MiB");
    said(&server, "up to 100 connections");
    for (flag, value, reason) in [
        ("--memory-budget", "1MiB", "at least 32MiB"),
        ("--memory-budget", "many", "such as 512MiB"),
        ("--connections", "1", "16..="),
        ("--connections", "1048576", "file descriptors"),
        ("--admin-listen", "9090", "HOST:PORT"),
    ] {
        let output = serve(&[flag, value]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flag} {value}: {said}");
        assert!(said.contains(reason), "{flag} {value}: {said}");
    }
}

/// The status of a GET.
fn status_of(url: &str, path: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer[9..12].to_owned()
}

#[test]
fn health_and_metrics_may_have_an_address_of_their_own() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    let args = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let server = Server::spawn(&workdir, key, workdir.caseload(&args));
    said(&server, "memory budget ");
    let log = server.log();
    let admin = log.lines().find_map(|line| line.strip_prefix("health and metrics on ")).unwrap();
    for (path, there, here) in [
        ("/healthz", "200", "200"),
        ("/readyz", "200", "200"),
        ("/metrics", "200", "404"),
        ("/v1/acme/issues", "404", "401"),
    ] {
        assert_eq!(status_of(admin, path), there, "{path} at {admin}");
        assert_eq!(status_of(&server.url, path), here, "{path} at {}", server.url);
    }
    let (status, _) = server.terminate();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_server_in_clear_beyond_loopback_starts_only_if_the_operator_says_so() {
    let workdir = Workdir::new();
    let everywhere = "0.0.0.0:0";
    for command in ["serve", "demo"] {
        let refused = workdir.caseload(&[command, "--listen", everywhere]).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        for part in [everywhere, "--tls-cert", "--trusted-proxy", "--insecure-http"] {
            assert!(said.contains(part), "{command}: {part} is not in {said}");
        }
        assert!(!workdir.path("caseload-data").exists(), "{command} made a store");
    }
    workdir.serve();
    for (args, is_said) in [
        (&["--listen", everywhere, "--insecure-http"][..], true),
        (&["--listen", everywhere, "--trusted-proxy", "10.0.0.7"], false),
        (&["--listen", "127.0.0.1:0", "--admin-listen", everywhere], false),
        (&["--listen", "localhost:0"], false),
    ] {
        let output = log_of_a_start(workdir.caseload(&[&["serve"], args].concat()));
        assert_eq!(output.contains("without TLS"), is_said, "{args:?}: {output}");
    }
}

#[test]
fn links_begin_with_the_public_url_and_wrong_addresses_are_refused() {
    let workdir = Workdir::new();
    let key = workdir.serve().key.clone();
    let serve =
        |args: &[&str]| workdir.caseload(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
    let links = ["--public-url", "https://desk.example/x/", "--trusted-proxy", "::1,10.0.0.0/8"];
    let server = Server::spawn(&workdir, key, serve(&links));
    workdir.write("one.jsonl", "{\"identities\":[{\"uid\":\"u\"}]}\n");
    let task = server.good(&["bulk", "submit", "create_core_profiles", "one.jsonl", "--wait"]);
    let record = server.good(&["bulk", "status", task.trim()]);
    let url = "\"self\":\"https://desk.example/x/v2/acme/identity/bulk_actions/";
    assert!(record.contains(url), "{record}");
    for (flag, value, reason) in [
        ("--public-url", "desk.example", "http:// or https://"),
        ("--public-url", "https://desk.example/?a", "a query or a fragment"),
        ("--trusted-proxy", "proxy.example", "is not an address"),
        ("--trusted-proxy", "10.0.0.0/33", "a network such as"),
    ] {
        let output = serve(&[flag, value]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flag} {value}: {said}");
        assert!(said.contains(flag) && said.contains(reason), "{flag} {value}: {said}");
    }
}
