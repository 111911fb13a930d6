//! `caseload copy`: a store that moved is served as it was, a copy that is killed at any moment
//! goes on, and everything that is refused says why.

use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Place, Server, exists, picture_of, plain, profiles, signal};

const FROM_TO: [&str; 5] =
    ["copy", "--from", "sqlite:caseload-data/caseload.db", "--to", "sqlite:moved/caseload.db"];

/// A server whose store has some of everything; what it exports.
fn filled(place: &Place) -> (String, String) {
    let server = place.serve();
    let entry = |n| format!("{{\"title\":\"{n}\",\"created_at\":{n}000,\"tags\":[\"t{n}\"]}}\n");
    place.write("issues.jsonl", (1..=900).map(entry).collect::<String>());
    server.good(&["issues", "import", "issues.jsonl"]);
    place.write("profiles.jsonl", profiles(9000, "p"));
    server.good(&["bulk", "submit", "create_core_profiles", "profiles.jsonl", "--wait"]);
    let (exported, key) = (server.good(&["issues", "export"]), server.key.clone());
    let (status, _) = server.terminate();
    assert!(status.success());
    (exported, key)
}

#[test]
fn a_store_that_moved_is_served_as_it_was() {
    let place = Place::new();
    let (exported, key) = filled(&place);
    let output = place.run(&FROM_TO);
    assert!(output.status.success(), "{}", picture_of(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in ["900\t", "9,000\t", "1\t"] {
        assert!(table.lines().any(|row| row.starts_with(line)), "{table}");
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let stages = ["checking the source\n", "copying rows\n", "comparing rows\n"];
    assert!(stages.iter().all(|stage| said.contains(stage)), "{said}");
    assert!(said.contains("(1 run); both ends hold the same;"), "{said}");

    let mut serve = place.caseload(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("CASELOAD_STORE", "sqlite:moved/caseload.db");
    let moved = Server::spawn(&place, key, serve);
    assert_eq!(moved.good(&["issues", "export"]), exported);
    assert_eq!(moved.good(&["bulk", "list", "--json"]).lines().count(), 1);
    assert!(moved.terminate().0.success());
    place.good(&["check", "--store", "sqlite:moved/caseload.db"]);
}

#[test]
fn a_copy_that_is_killed_at_any_moment_goes_on_and_loses_nothing() {
    let place = Place::new();
    filled(&place);
    let begun = Instant::now();
    let whole = place.good(&FROM_TO);
    let takes = begun.elapsed();
    let mut runs_before_the_last = 0;
    for round in 0..4_u32 {
        std::fs::remove_dir_all(place.path("moved")).unwrap();
        for kill in 0..6_u32 {
            let mut child = place.caseload(&FROM_TO).spawn().unwrap();
            let part = Duration::from_millis(u64::from(3 * round + kill)) + takes * (kill + 1) / 8;
            std::thread::sleep(part);
            child.kill().unwrap();
            if child.wait().unwrap().success() {
                break;
            }
            runs_before_the_last += 1;
        }
        let output = place.run(&FROM_TO);
        if output.status.success() {
            assert_eq!(String::from_utf8_lossy(&output.stdout), whole, "{}", picture_of(&output));
        } else {
            // One of the killed ones had just come to its end.
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("is not empty"), "{said}");
        }
        place.good(&["check", "--store", "sqlite:moved/caseload.db"]);
    }
    assert!(runs_before_the_last > 4, "{runs_before_the_last} runs were killed");
}

#[test]
fn an_interrupted_copy_says_how_to_go_on_and_the_target_is_no_store_until_then() {
    let place = Place::new();
    filled(&place);
    let child = place.caseload(&FROM_TO).spawn().unwrap();
    let begun = Instant::now();
    let lock = place.path("moved/caseload.db-wal");
    while !exists(&lock) || std::fs::metadata(&lock).unwrap().len() < 1 << 16 {
        assert!(begun.elapsed() < PATIENCE, "no copy begins");
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    // A machine that is fast enough was done before.
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(
            said.ends_with("hint: the same command goes on where this one stopped\n"),
            "{said}"
        );
        place.good(&FROM_TO);
    }
    place.good(&["check", "--store", "sqlite:moved/caseload.db"]);
}

#[test]
fn what_cannot_be_copied_gets_a_reason() {
    let _guard = plain();
    let place = Place::new();
    place.good(&["domain", "create", "acme"]);
    place.good(&["domain", "create", "other", "--store", "sqlite:other.db"]);
    let here = "sqlite:caseload-data/caseload.db";
    let mut picture = String::new();
    for args in [
        &["copy", "--from", here][..],
        &["copy", "--from", here, "--to", "mysql:x"],
        &["copy", "--from", here, "--to", here],
        &["copy", "--from", "sqlite:nowhere.db", "--to", "sqlite:new.db"],
        &["copy", "--from", here, "--to", "sqlite:other.db"],
        &["copy", "--from", here, "--to", "sqlite:other.db", "--restart"],
    ] {
        picture += &(place.picture(args) + "\n");
    }
    insta::assert_snapshot!("copy-refused", picture);
    assert!(!exists(&place.path("nowhere.db")) && !exists(&place.path("new.db")));
    let server = Server::start(&place, String::new());
    let output = place.run(&["copy", "--from", here, "--to", "sqlite:new.db"]);
    assert_eq!(
        picture_of(&output),
        format!(
            "exit 2\n--- stderr\nerror: no copy was made: a server, or another copy, uses {here}; \
             stop it first\n"
        )
    );
    assert!(server.terminate().0.success());
}
