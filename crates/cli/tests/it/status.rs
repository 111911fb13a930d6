//! `caseload status`: with a server and without one. Its figures are those of `/metrics`, which
//! have tests of their own.

use std::time::{Duration, Instant};

use caseload_teststore::{Backend, on_each_store};
use serde_json::Value;

use crate::common::{PATIENCE, Workdir};

on_each_store!(blocking: a_status_counts_the_servers_and_the_domains_of_a_store);

fn status(workdir: &Workdir) -> Value {
    serde_json::from_str(&workdir.good(&["status", "--json"])).unwrap()
}

/// Waits until the store has so many servers: a server that listens to a database begins a little
/// after its start.
fn wait_for_servers(workdir: &Workdir, servers: u64) {
    let begun = Instant::now();
    while status(workdir)["servers"] != servers {
        assert!(begun.elapsed() < PATIENCE, "{}", status(workdir));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn a_status_counts_the_servers_and_the_domains_of_a_store() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "beta"]);
    let before = status(&workdir);
    assert_eq!((&before["servers"], &before["domains"]), (&0.into(), &1.into()), "{before}");
    for name in ["tasks_waiting", "tasks_running", "tasks_delayed"] {
        assert_eq!(before[name], 0, "{before}");
    }
    assert!(before["bytes"].as_u64().unwrap() > 4096, "{before}");
    let in_a_file = Backend::current() == Backend::Sqlite;
    assert_eq!(before["free_bytes"].is_u64(), in_a_file, "{before}");
    let server = workdir.serve();
    wait_for_servers(&workdir, 1);
    assert_eq!(status(&workdir)["domains"], 2);
    let line = workdir.good(&["status"]);
    assert!(line.starts_with("1\t2\t0\t0\t0\t"), "{line}");
    let store = before["store"].as_str().unwrap();
    assert!(line.ends_with(&format!("\t{store}\n")) && !store.contains("PASSWORD"), "{line}");
    server.kill();
    wait_for_servers(&workdir, 0);
}

#[test]
fn looking_does_not_stop_a_server_from_starting() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    for _ in 0..4 {
        let looks: Vec<_> =
            (0..4).map(|_| workdir.caseload(&["status"]).spawn().unwrap()).collect();
        let server = crate::common::Server::start(&workdir, String::new());
        for look in looks {
            assert!(look.wait_with_output().unwrap().status.success());
        }
        server.terminate();
    }
}
