//! `caseload key rotate`: the new key takes over, the old one ends, and no key is lost if the
//! command is killed or its output has no reader.

use std::process::Stdio;
use std::time::{Duration, Instant};

use caseload_teststore::on_each_store;
use serde_json::Value;

use crate::common::{PATIENCE, Server, Workdir, transcript_of};

on_each_store!(blocking: a_replaced_key_ends_at_once_or_after_its_grace);

fn keys(workdir: &Workdir) -> Vec<Value> {
    let list = workdir.good(&["key", "list", "--domain", "acme", "--json"]);
    list.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn works(server: &mut Server, key: &str) -> bool {
    key.clone_into(&mut server.key);
    server.small_call().status.success()
}

fn a_replaced_key_ends_at_once_or_after_its_grace() {
    let workdir = Workdir::new();
    let mut server = workdir.serve();
    let options = ["--name", "exporter", "--access", "admin", "--expires", "90d"];
    let first = workdir.good(&[&["key", "create", "--domain", "acme"], &options[..]].concat());
    let first = first.trim();
    assert!(works(&mut server, first));
    let named = || keys(&workdir).into_iter().filter(|key| key["name"] == "exporter");
    let id = |key: &Value| key["id"].as_str().unwrap().to_owned();
    let old = named().next().unwrap();
    let rotate = |id: &str, more: &[&str]| {
        let printed = workdir.good(&[&["key", "rotate", "--domain", "acme", id], more].concat());
        assert_eq!(printed.lines().count(), 1, "{printed}");
        printed.trim().to_owned()
    };
    let second = rotate(&id(&old), &["--grace", "10m"]);
    assert!(works(&mut server, &second) && works(&mut server, first));
    let [replaced, new] = named().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((&new["access"], &new["expires_at"]), (&"admin".into(), &old["expires_at"]));
    let grace = replaced["expires_at"].as_i64().unwrap() - new["created_at"].as_i64().unwrap();
    assert_eq!((grace, &replaced["state"]), (600_000, &"active".into()));

    let third = rotate(&id(&new), &[]);
    let begun = Instant::now();
    assert!(works(&mut server, &third));
    while works(&mut server, &second) {
        assert!(begun.elapsed() < PATIENCE, "a replaced key still works");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(
        named().map(|key| key["state"].clone()).collect::<Vec<_>>(),
        ["active", "revoked", "active"]
    );
    let again = workdir.run(&["key", "rotate", "--domain", "acme", &id(&new)]);
    assert_eq!(
        (again.status.code(), again.stdout.len()),
        (Some(2), 0),
        "{}",
        transcript_of(&again)
    );
    assert!(workdir.good(&["check"]).contains("domains"));
}

#[test]
fn without_a_reader_nothing_is_replaced() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    workdir.good(&["key", "create", "--domain", "acme"]);
    let before = keys(&workdir);
    let id = before[0]["id"].as_str().unwrap();
    let mut child = workdir.caseload(&["key", "rotate", "--domain", "acme", id]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", transcript_of(&output));
    assert_eq!(keys(&workdir), before);
}

#[test]
fn a_killed_command_replaces_a_key_only_by_one_that_it_printed() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let mut killed = 0;
    for n in 0..40 {
        workdir.good(&["key", "create", "--domain", "acme", "--name", &format!("n{n}")]);
        let named = || {
            let list = keys(&workdir);
            list.into_iter().filter(|key| key["name"] == format!("n{n}")).collect::<Vec<_>>()
        };
        let id = named()[0]["id"].as_str().unwrap().to_owned();
        let mut child = workdir.caseload(&["key", "rotate", "--domain", "acme", &id]);
        let mut child = child.stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(700 * n));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        killed += i32::from(!output.status.success());
        match &named()[..] {
            [old] => assert_eq!(old["state"], "active"),
            [old, new] => {
                assert_eq!((&old["state"], &new["state"]), (&"revoked".into(), &"active".into()));
                assert!(output.stdout.starts_with(b"caseload_"));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(killed > 5, "{killed} were killed");
}
