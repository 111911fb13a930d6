//! Domains, keys, apps, agents and checks: on a store that is not there yet, beside a running
//! server, and with everything that can be wrong about them.

use std::process::Command;
use std::time::{Duration, Instant};

use caseload_teststore::{Backend, on_each_store};

use crate::common::{Place, exists, redacted};

on_each_store!(blocking:
    admin_commands_make_the_store_and_tell_what_they_did,
    keys_made_and_revoked_beside_a_running_server_take_effect,
);

/// Runs commands one after another; their pictures together.
fn pictures(place: &Place, commands: &[&[&str]]) -> String {
    commands.iter().map(|args| place.picture(args) + "\n").collect()
}

fn admin_commands_make_the_store_and_tell_what_they_did() {
    let _guard = redacted();
    let place = Place::new();
    let picture = pictures(
        &place,
        &[
            &["domain", "create", "acme"],
            &["domain", "create", "beta-2"],
            &["domain", "list"],
            &["domain", "list", "--json"],
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
    insta::assert_snapshot!("admin-good", picture);
    // How much there is to verify is the store's affair; its own tests look at it.
    let output = place.run(&["check"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "the store is sound\n");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1\tdomains\n"));
    let in_a_file = Backend::current() == Backend::Sqlite;
    assert_eq!(exists(&place.path("caseload-data/caseload.db")), in_a_file);
}

#[test]
fn a_store_whose_first_command_was_killed_opens_all_the_same() {
    let place = Place::new();
    let mut killed = 0;
    for n in 0..60 {
        let store = format!("sqlite:{n}/caseload.db");
        let mut first = place.caseload(&["domain", "list", "--store", &store]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(700 * n));
        first.kill().unwrap();
        killed += i32::from(!first.wait().unwrap().success());
        place.good(&["domain", "create", "acme", "--store", &store]);
    }
    assert!(killed > 5, "{killed} were killed");
}

#[test]
fn mistakes_of_operators_get_a_reason_and_a_hint() {
    let _guard = redacted();
    let place = Place::new();
    place.good(&["domain", "create", "acme"]);
    let picture = pictures(
        &place,
        &[
            &["domain", "create", "acme"],
            &["domain", "create", "Acme!"],
            &["domain", "delete", "acme"],
            &["domain", "delete", "nobody", "--yes"],
            &["key", "create", "--domain", "nobody"],
            &["key", "create"],
            &["key", "create", "--domain", "acme", "--access", "all"],
            &["key", "create", "--domain", "acme", "--expires", "soon"],
            &["key", "revoke", "--domain", "acme", "key-1"],
            &["agent", "create", "--domain", "acme", "Grace", "grace"],
            &["domain", "list", "--store", "mysql:x"],
            &["serve", "--listen", "nowhere"],
            &["serve", "--query-timeout", "0"],
            &["serve", "--log", "caseload=loud"],
        ],
    );
    insta::assert_snapshot!("admin-mistakes", picture);
}

#[test]
fn flags_win_over_the_environment() {
    let place = Place::new();
    let made = |command: &mut Command| command.output().unwrap().status.success();
    let mut by_environment = place.caseload(&["domain", "create", "one"]);
    assert!(made(by_environment.env("CASELOAD_STORE", "sqlite:env.db")));
    assert!(exists(&place.path("env.db")));
    let mut by_flag = place.caseload(&["domain", "create", "one", "--store", "sqlite:flag.db"]);
    assert!(made(by_flag.env("CASELOAD_STORE", "sqlite:env.db")));
    assert!(exists(&place.path("flag.db")));
}

fn keys_made_and_revoked_beside_a_running_server_take_effect() {
    let place = Place::new();
    let mut server = place.serve();
    place.good(&["domain", "create", "later"]);
    let key = place.good(&["key", "create", "--domain", "acme", "--name", "second"]);
    key.trim().clone_into(&mut server.key);
    assert_eq!(server.small_call().status.code(), Some(0));
    let list = place.good(&["key", "list", "--domain", "acme"]);
    let line = list.lines().find(|line| line.ends_with("\tsecond")).unwrap();
    let id = line.split('\t').next().unwrap();
    place.good(&["key", "revoke", "--domain", "acme", id]);
    let begun = Instant::now();
    loop {
        let output = server.small_call();
        if output.status.code() == Some(3) {
            assert!(String::from_utf8_lossy(&output.stderr).contains("401"));
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(7), "a revoked key still works");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(place.good(&["check"]).contains("domains"));
}

#[test]
fn a_key_is_stored_as_its_hash_only() {
    let place = Place::new();
    place.good(&["domain", "create", "acme"]);
    let key = place.good(&["key", "create", "--domain", "acme"]);
    let digits = key.trim().strip_prefix("caseload_").unwrap();
    for file in std::fs::read_dir(place.path("caseload-data")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let found = bytes.windows(digits.len()).any(|window| window == digits.as_bytes());
        assert!(!found, "the key's text is in the store");
    }
}
