//! `caseload upgrade --check`: its words for each kind of store, and that it leaves the store as it
//! is. No older release exists, so a test removes the record of the store's version.

use std::collections::BTreeMap;
use std::process::Output;
use std::time::Instant;

use caseload_teststore::{Backend, StorePlace, on_each_store};
use serde_json::Value;

use crate::common::{PATIENCE, Server, Workdir, transcript_of};

on_each_store!(blocking:
    a_current_store_has_nothing_to_upgrade_with_and_without_a_server,
    an_older_store_is_upgraded_by_the_next_start_and_not_by_the_check,
    a_store_that_this_program_cannot_open_is_refused_with_a_way_out,
);

/// A store of this program, and a folder to run the program in.
struct Case {
    workdir: Workdir,
    place: StorePlace,
}

impl Case {
    fn new() -> Self {
        let case = Self { workdir: Workdir::new(), place: Backend::current().place() };
        assert!(case.run(&["domain", "create", "acme"]).status.success());
        case
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = self.workdir.caseload(args);
        command.env("CASELOAD_STORE", self.place.url()).output().unwrap()
    }

    fn check(&self) -> Output {
        self.run(&["upgrade", "--check"])
    }

    fn state(&self) -> Value {
        let output = self.run(&["upgrade", "--check", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The files of the store with their bytes; none of a database. A reader may leave an empty log
    /// and the index of one.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let Some(file) = self.place.url().strip_prefix("sqlite:") else { return BTreeMap::new() };
        let folder = std::path::Path::new(file).parent().unwrap();
        let file = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        };
        let files = std::fs::read_dir(folder).unwrap().map(|entry| file(entry.unwrap()));
        files.filter(|(name, bytes)| !name.ends_with("-shm") && !bytes.is_empty()).collect()
    }
}

fn a_current_store_has_nothing_to_upgrade_with_and_without_a_server() {
    let case = Case::new();
    let before = case.files();
    let found = case.state();
    assert_eq!(found["state"], "current", "{found}");
    assert_eq!(found["store_version"], found["program_version"], "{found}");
    assert_eq!(found["servers"], 0, "{found}");
    let in_a_file = Backend::current() == Backend::Sqlite;
    assert_eq!(found["free_bytes"].is_u64(), in_a_file, "{found}");
    assert!(found["bytes"].as_u64().unwrap() > 4096, "{found}");
    assert_eq!(case.files(), before);

    let mut serve = case.workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("CASELOAD_STORE", case.place.url());
    let server = Server::spawn(&case.workdir, String::new(), serve);
    let begun = Instant::now();
    while case.state()["servers"] != 1 {
        assert!(begun.elapsed() < PATIENCE, "{}", case.state());
    }
    server.terminate();
}

fn an_older_store_is_upgraded_by_the_next_start_and_not_by_the_check() {
    let case = Case::new();
    case.place.execute("DELETE FROM caseload_migrations");
    let before = case.files();
    for _ in 0..2 {
        let output = case.check();
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        for words in ["upgrade\t0\t1\t0\t", "the next start", "back it up", "only a backup leads"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert_eq!(said.contains("disk has"), Backend::current() == Backend::Postgres, "{said}");
    }
    assert_eq!(case.files(), before);
}

fn a_store_that_this_program_cannot_open_is_refused_with_a_way_out() {
    let newer = "INSERT INTO caseload_migrations VALUES (2, 5)";
    let unreleased = "UPDATE caseload_migrations SET digest = 5 WHERE version = 1";
    for (statement, reason, way_out) in [
        (newer, "upgraded it to version 2", "restore a backup from before the upgrade"),
        (unreleased, "a build before 0.1.0 wrote it", "import the files into a new store"),
        ("DROP TABLE caseload_migrations", "a build before 0.1.0 wrote it", "into a new store"),
    ] {
        let case = Case::new();
        case.place.execute(statement);
        let check = case.check();
        assert_eq!(check.status.code(), Some(2), "{}", transcript_of(&check));
        let serve = case.run(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(serve.status.code(), Some(3), "{}", transcript_of(&serve));
        for said in [transcript_of(&check), transcript_of(&serve)] {
            assert!(said.contains(reason) && said.contains(way_out), "{said}");
            assert!(!said.contains("nothing to do"), "{said}");
        }
    }
}

#[test]
fn the_check_makes_no_store() {
    let workdir = Workdir::new();
    let output = workdir.run(&["upgrade", "--check", "--store", "sqlite:new/caseload.db"]);
    let said = transcript_of(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no store at"), "{said}");
    assert!(!crate::common::exists(&workdir.path("new")));
    let output = workdir.run(&["upgrade"]);
    let said = transcript_of(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--check"), "{said}");
}
