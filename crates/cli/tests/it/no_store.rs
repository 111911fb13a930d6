//! A folder or a database without a store: the commands that work on a store say so and make
//! nothing, and only those that are there to make one do.

use caseload_teststore::{Database, query};

use crate::common::{Server, Workdir, transcript_of};

/// Every command that needs a store, except those that make one.
const COMMANDS: &[&[&str]] = &[
    &["domain", "list"],
    &["domain", "edit", "acme", "--desk-name", "Shop"],
    &["domain", "delete", "acme", "--yes"],
    &["key", "create", "--domain", "acme"],
    &["key", "list", "--domain", "acme"],
    &["key", "rotate", "--domain", "acme", "key-1"],
    &["key", "revoke", "--domain", "acme", "key-1"],
    &["app", "create", "--domain", "acme", "Shop"],
    &["app", "list", "--domain", "acme"],
    &["agent", "create", "--domain", "acme", "Grace", "grace@example.org"],
    &["agent", "list", "--domain", "acme"],
    &["backup", "backup.db"],
    &["check"],
    &["status"],
    &["distribute"],
    &["issues", "list", "--explain", "--domain", "acme"],
];

fn files(workdir: &Workdir) -> usize {
    std::fs::read_dir(workdir.path(".")).unwrap().count()
}

#[test]
fn every_command_in_a_folder_without_a_store_says_so_and_makes_no_file() {
    let workdir = Workdir::new();
    for command in COMMANDS {
        let output = workdir.run(command);
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains("there is no store at caseload-data/caseload.db\n"), "{said}");
        assert!(said.contains("--store") && said.contains("CASELOAD_STORE"), "{said}");
        assert_eq!(files(&workdir), 0, "{command:?} made a file");
    }
    let output = workdir.run(&["copy", "--from", "sqlite:none.db", "--to", "sqlite:new/new.db"]);
    let said = transcript_of(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("there is no store at none.db\n"), "{said}");
    assert!(said.contains("--from") && said.contains("CASELOAD_FROM"), "{said}");
    assert_eq!(files(&workdir), 0);
}

#[test]
fn a_path_that_is_not_a_store_gets_the_reason() {
    let workdir = Workdir::new();
    workdir.write("empty.db", "");
    for (store, reason) in [
        ("sqlite:.", "there is no store at .: it is a folder"),
        ("sqlite:empty.db", "there is no store at empty.db: the file has no tables of a store"),
        ("sqlite:empty.db/x.db", "there is no store at empty.db/x.db\n"),
    ] {
        let output = workdir.run(&["domain", "list", "--store", store]);
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
        assert_eq!(files(&workdir), 1, "{store}");
    }
}

#[test]
fn a_file_of_another_format_is_named_and_stays_as_it_is() {
    let workdir = Workdir::new();
    workdir.write("notes.txt", "a letter");
    for command in [&["domain", "list"][..], &["check"], &["domain", "create", "acme"]] {
        let output = workdir.run(&[command, &["--store", "sqlite:notes.txt"]].concat());
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(
            said.contains("notes.txt: the file is not a SQLite database\nhint: choose"),
            "{said}"
        );
        assert_eq!((workdir.read("notes.txt"), files(&workdir)), ("a letter".to_owned(), 1));
    }
}

#[test]
fn every_command_on_a_database_without_a_store_says_so_and_makes_no_table() {
    let workdir = Workdir::new();
    let database = Database::empty();
    let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    for command in COMMANDS {
        let mut run = workdir.caseload(command);
        let output = run.env("CASELOAD_STORE", database.url()).output().unwrap();
        let said = transcript_of(&output);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains("there is no store at postgres://"), "{said}");
        assert!(said.contains("the database is empty"), "{said}");
        assert!(said.contains("--store") && said.contains("CASELOAD_STORE"), "{said}");
        assert_eq!(query(database.url(), tables), ["0"], "{command:?} made a table");
    }
    let copy = ["copy", "--from", database.url(), "--to", "sqlite:new.db"];
    let output = workdir.run(&copy);
    assert_eq!(output.status.code(), Some(2), "{}", transcript_of(&output));
    assert_eq!(query(database.url(), tables), ["0"]);
    assert_eq!(files(&workdir), 0);
    let copy = ["copy", "--from", "sqlite:none.db", "--to", database.url()];
    let output = workdir.run(&copy);
    assert_eq!(output.status.code(), Some(2), "{}", transcript_of(&output));
    assert_eq!(query(database.url(), tables), ["0"]);
}

#[test]
fn serve_and_domain_create_make_a_store() {
    for command in ["serve", "domain create"] {
        let workdir = Workdir::new();
        if command == "serve" {
            Server::start(&workdir, String::new()).terminate();
        } else {
            workdir.good(&["domain", "create", "acme"]);
        }
        workdir.good(&["check"]);
        let database = Database::empty();
        let mut make = match command {
            "serve" => workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]),
            _ => workdir.caseload(&["domain", "create", "acme"]),
        };
        make.env("CASELOAD_STORE", database.url());
        if command == "serve" {
            Server::spawn(&workdir, String::new(), make).terminate();
        } else {
            assert!(make.output().unwrap().status.success());
        }
        workdir.good(&["check", "--store", database.url()]);
    }
}
