//! `caseload copy`: a server on the copy answers as before, a copy that was killed at any moment
//! continues, and every refusal has a reason.

use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Server, Workdir, exists, plain, profiles, signal, transcript_of};

const FROM_TO: [&str; 5] =
    ["copy", "--from", "sqlite:caseload-data/caseload.db", "--to", "sqlite:moved/caseload.db"];

/// Fills a store with records of every kind; returns its export and the key of its domain.
pub(crate) fn filled(workdir: &Workdir) -> (String, String) {
    let server = workdir.serve();
    let entry = |n| format!("{{\"title\":\"{n}\",\"created_at\":{n}000,\"tags\":[\"t{n}\"]}}\n");
    workdir.write("issues.jsonl", (1..=900).map(entry).collect::<String>());
    server.good(&["issues", "import", "issues.jsonl"]);
    workdir.write("profiles.jsonl", profiles(9000, "p"));
    server.good(&["bulk", "submit", "create_core_profiles", "profiles.jsonl", "--wait"]);
    let (exported, key) = (server.good(&["issues", "export"]), server.key.clone());
    let (status, _) = server.terminate();
    assert!(status.success());
    (exported, key)
}

#[test]
fn a_store_that_moved_is_served_as_it_was() {
    let workdir = Workdir::new();
    let (exported, key) = filled(&workdir);
    let output = workdir.run(&FROM_TO);
    assert!(output.status.success(), "{}", transcript_of(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in ["900\t", "9,000\t", "1\t"] {
        assert!(table.lines().any(|row| row.starts_with(line)), "{table}");
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let stages = ["checking the source\n", "copying rows\n", "comparing rows\n"];
    assert!(stages.iter().all(|stage| said.contains(stage)), "{said}");
    assert!(said.contains("(1 run); both stores hold the same data;"), "{said}");

    let mut serve = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("CASELOAD_STORE", "sqlite:moved/caseload.db");
    let moved = Server::spawn(&workdir, key, serve);
    assert_eq!(moved.good(&["issues", "export"]), exported);
    assert_eq!(moved.good(&["bulk", "list", "--json"]).lines().count(), 1);
    assert!(moved.terminate().0.success());
    workdir.good(&["check", "--store", "sqlite:moved/caseload.db"]);
}

#[test]
fn a_copy_that_is_killed_at_any_moment_goes_on_and_loses_nothing() {
    let workdir = Workdir::new();
    filled(&workdir);
    let begun = Instant::now();
    let whole = workdir.good(&FROM_TO);
    let mut takes = begun.elapsed();
    let (mut round, mut killed) = (0, 0);
    while round < 4 || killed < 8 {
        std::fs::remove_dir_all(workdir.path("moved")).unwrap();
        for kill in 0..6_u32 {
            let mut child = workdir.caseload(&FROM_TO).spawn().unwrap();
            std::thread::sleep(takes * (8 * (kill + 1) + round % 8) / 64);
            child.kill().unwrap();
            if child.wait().unwrap().code().is_some() {
                // It ended first: the machine is less busy now than during the measurement.
                takes /= 2;
                break;
            }
            killed += 1;
        }
        let output = workdir.run(&FROM_TO);
        if output.status.success() {
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                whole,
                "{}",
                transcript_of(&output)
            );
        } else {
            // One of the killed runs had just finished.
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("is not empty"), "{said}");
        }
        workdir.good(&["check", "--store", "sqlite:moved/caseload.db"]);
        round += 1;
    }
}

#[test]
fn an_interrupted_copy_says_how_to_continue_and_its_target_cannot_be_opened() {
    let workdir = Workdir::new();
    filled(&workdir);
    let child = workdir.caseload(&FROM_TO).spawn().unwrap();
    let begun = Instant::now();
    let lock = workdir.path("moved/caseload.db-wal");
    while !exists(&lock) || std::fs::metadata(&lock).unwrap().len() < 1 << 16 {
        assert!(begun.elapsed() < PATIENCE, "no copy begins");
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    // On a fast machine the copy may have finished first.
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.ends_with("hint: the same command continues the copy\n"), "{said}");
        workdir.good(&FROM_TO);
    }
    workdir.good(&["check", "--store", "sqlite:moved/caseload.db"]);
}

#[test]
fn a_copy_that_is_refused_gets_a_reason() {
    let _guard = plain();
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    workdir.good(&["domain", "create", "other", "--store", "sqlite:other.db"]);
    let here = "sqlite:caseload-data/caseload.db";
    let mut transcript = String::new();
    for args in [
        &["copy", "--from", here][..],
        &["copy", "--from", here, "--to", "mysql:x"],
        &["copy", "--from", here, "--to", here],
        &["copy", "--from", "sqlite:nowhere.db", "--to", "sqlite:new.db"],
        &["copy", "--from", here, "--to", "sqlite:other.db"],
        &["copy", "--from", here, "--to", "sqlite:other.db", "--restart"],
    ] {
        transcript += &(workdir.transcript(args) + "\n");
    }
    insta::assert_snapshot!("copy-refused", transcript);
    assert!(!exists(&workdir.path("nowhere.db")) && !exists(&workdir.path("new.db")));
    let server = Server::start(&workdir, String::new());
    let output = workdir.run(&["copy", "--from", here, "--to", "sqlite:new.db"]);
    assert_eq!(
        transcript_of(&output),
        format!(
            "exit 2\n--- stderr\nerror: no copy was made: a server, or another copy, uses {here}; \
             stop it first\n"
        )
    );
    assert!(server.terminate().0.success());
}
