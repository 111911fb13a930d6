//! Domains, keys, apps, agents and checks: on a store that does not exist yet, while a server runs,
//! and with every mistake that an operator can make.

use std::process::Command;
use std::time::{Duration, Instant};

use caseload_teststore::{Backend, on_each_store};

use crate::common::{PATIENCE, Workdir, exists, redacted};

on_each_store!(blocking:
    admin_commands_create_the_store_and_report_each_change,
    keys_created_and_revoked_while_a_server_runs_take_effect,
);

/// Runs commands one after another; returns their transcripts.
fn transcripts(workdir: &Workdir, commands: &[&[&str]]) -> String {
    commands.iter().map(|args| workdir.transcript(args) + "\n").collect()
}

fn admin_commands_create_the_store_and_report_each_change() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let transcript = transcripts(
        &workdir,
        &[
            &["domain", "create", "acme"],
            &["domain", "create", "beta-2"],
            &["domain", "list"],
            &["domain", "edit", "beta-2", "--desk-name", "Help & co"],
            &["domain", "edit", "beta-2", "--desk-email", "help@beta.example"],
            &["domain", "list", "--json"],
            &["domain", "edit", "beta-2", "--desk-email", ""],
            &[
                "domain",
                "create",
                "gamma",
                "--desk-name",
                "Gamma",
                "--desk-email",
                "g@gamma.example",
            ],
            &["domain", "list"],
            &["key", "create", "--domain", "acme", "--name", "exporter", "--access", "read"],
            &["key", "create", "--domain", "acme", "--expires", "90d"],
            &["key", "list", "--domain", "acme"],
            &["key", "list", "--domain", "acme", "--json"],
            &["app", "create", "--domain", "acme", "Shop"],
            &["app", "list", "--domain", "acme"],
            &["agent", "create", "--domain", "acme", "Grace Mbeki", "grace@example.org"],
            &["agent", "list", "--domain", "acme"],
            &["domain", "delete", "beta-2", "--yes"],
            &["domain", "list"],
        ],
    );
    insta::assert_snapshot!("admin-good", transcript);
    // The store's own tests cover the rest of this table.
    let output = workdir.run(&["check"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "the store is sound\n");
    assert!(String::from_utf8_lossy(&output.stdout).contains("2\tdomains\n"));
    let in_a_file = Backend::current() == Backend::Sqlite;
    assert_eq!(exists(&workdir.path("caseload-data/caseload.db")), in_a_file);
}

#[test]
fn a_store_whose_first_command_was_killed_still_opens() {
    let workdir = Workdir::new();
    let mut killed = 0;
    for n in 0..60 {
        let store = format!("sqlite:{n}/caseload.db");
        let mut first =
            workdir.caseload(&["domain", "create", "acme", "--store", &store]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(700 * n));
        first.kill().unwrap();
        killed += i32::from(!first.wait().unwrap().success());
        workdir.good(&["domain", "create", "later", "--store", &store]);
        workdir.good(&["domain", "list", "--store", &store]);
    }
    assert!(killed > 5, "{killed} were killed");
}

#[test]
fn mistakes_of_operators_get_a_reason_and_a_hint() {
    let _guard = redacted();
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let transcript = transcripts(
        &workdir,
        &[
            &["domain", "create", "acme"],
            &["domain", "create", "Acme!"],
            &["domain", "delete", "acme"],
            &["domain", "delete", "nobody", "--yes"],
            &["domain", "edit", "acme"],
            &["domain", "edit", "nobody", "--desk-name", "x"],
            &["domain", "edit", "acme", "--desk-name", " "],
            &["domain", "edit", "acme", "--desk-email", "desk"],
            &["key", "create", "--domain", "nobody"],
            &["key", "create"],
            &["key", "create", "--domain", "acme", "--access", "all"],
            &["key", "create", "--domain", "acme", "--expires", "soon"],
            &["key", "rotate", "--domain", "acme", "key-1"],
            &["key", "rotate", "--domain", "acme", "key-1", "--grace", "90"],
            &["key", "revoke", "--domain", "acme", "key-1"],
            &["agent", "create", "--domain", "acme", "Grace", "grace"],
            &["domain", "list", "--store", "mysql:x"],
            &["serve", "--listen", "nowhere"],
            &["serve", "--query-timeout", "0"],
            &["serve", "--log", "caseload=loud"],
        ],
    );
    insta::assert_snapshot!("admin-mistakes", transcript);
}

#[test]
fn flags_win_over_the_environment() {
    let workdir = Workdir::new();
    let made = |command: &mut Command| command.output().unwrap().status.success();
    let mut by_environment = workdir.caseload(&["domain", "create", "one"]);
    assert!(made(by_environment.env("CASELOAD_STORE", "sqlite:env.db")));
    assert!(exists(&workdir.path("env.db")));
    let mut by_flag = workdir.caseload(&["domain", "create", "one", "--store", "sqlite:flag.db"]);
    assert!(made(by_flag.env("CASELOAD_STORE", "sqlite:env.db")));
    assert!(exists(&workdir.path("flag.db")));
}

#[test]
fn a_flag_of_one_command_has_no_variable() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let mut delete = workdir.caseload(&["domain", "delete", "acme"]);
    let output = delete.env("CASELOAD_YES", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let mut list = workdir.caseload(&["domain", "list"]);
    let output = list.env("CASELOAD_JSON", "1").output().unwrap();
    assert!(output.stdout.starts_with(b"acme\t"));
}

fn keys_created_and_revoked_while_a_server_runs_take_effect() {
    let workdir = Workdir::new();
    let mut server = workdir.serve();
    workdir.good(&["domain", "create", "later"]);
    let key = workdir.good(&["key", "create", "--domain", "acme", "--name", "second"]);
    key.trim().clone_into(&mut server.key);
    assert_eq!(server.small_call().status.code(), Some(0));
    let list = workdir.good(&["key", "list", "--domain", "acme"]);
    let line = list.lines().find(|line| line.ends_with("\tsecond")).unwrap();
    let id = line.split('\t').next().unwrap();
    workdir.good(&["key", "revoke", "--domain", "acme", id]);
    let begun = Instant::now();
    loop {
        let output = server.small_call();
        if output.status.code() == Some(4) {
            assert!(String::from_utf8_lossy(&output.stderr).contains("401"));
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "a revoked key still works");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(workdir.good(&["check"]).contains("domains"));
}

#[test]
fn a_key_is_stored_as_its_hash_only() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme"]);
    let digits = key.trim().strip_prefix("caseload_").unwrap();
    for file in std::fs::read_dir(workdir.path("caseload-data")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let found = bytes.windows(digits.len()).any(|window| window == digits.as_bytes());
        assert!(!found, "the key's text is in the store");
    }
}
