//! `caseload backup`: a copy during writes, its check, serving it, and every refusal. Also, an
//! interrupted export leaves no file.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Server, Workdir, exists, plain, profiles, signal, transcript_of};

#[test]
fn a_backup_under_writes_is_checked_and_served_like_any_store() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let entry = |n| format!("{{\"title\":\"{n}\",\"created_at\":{n}000}}\n");
    workdir.write("issues.jsonl", (1..=500).map(entry).collect::<String>());
    server.good(&["issues", "import", "issues.jsonl"]);
    for n in 0..4 {
        workdir.write(&format!("{n}.jsonl"), profiles(5000, &format!("p{n}")));
    }
    // These tasks run during the copy.
    for n in 0..4 {
        server.good(&["bulk", "submit", "create_core_profiles", &format!("{n}.jsonl")]);
    }
    let output = workdir.run(&["backup", "backup.db"]);
    assert!(output.status.success(), "{}", transcript_of(&output));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("backed up ") && said.ends_with(" records checked\n"), "{said}");
    assert!(output.stdout.is_empty());
    let exported = server.good(&["issues", "export"]);
    let (status, _) = server.terminate();
    assert!(status.success());

    assert!(workdir.good(&["check", "--store", "sqlite:backup.db"]).contains("issues"));
    // Restore: the copy under the store's name in a new directory, and a server on it.
    let other = Workdir::new();
    std::fs::create_dir(other.path("caseload-data")).unwrap();
    std::fs::copy(workdir.path("backup.db"), other.path("caseload-data/caseload.db")).unwrap();
    let key = other.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    let restored = Server::start(&other, key);
    assert_eq!(restored.good(&["issues", "export"]), exported);
    // The tasks in the copy go on until they complete.
    let begun = Instant::now();
    loop {
        let list = restored.good(&["bulk", "list", "--json"]);
        if list.lines().all(|task| task.contains(r#""status":"completed""#)) {
            assert!(list.lines().all(|task| task.contains(r#""outcome":"succeeded""#)), "{list}");
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{list}");
        std::thread::sleep(Duration::from_millis(100));
    }
    other.good(&["check"]);
}

#[test]
fn a_backup_needs_a_store_and_replaces_no_file_without_overwrite() {
    let _guard = plain();
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    workdir.write("mine.db", "mine");
    let mut transcript = String::new();
    for args in [
        &["backup", "mine.db"][..],
        &["backup", "backup.db", "--store", "sqlite:nowhere.db"],
        &["backup", "no/such/folder.db"],
        &["backup", "caseload-data/caseload.db", "--overwrite"],
        &["backup"],
    ] {
        transcript += &(workdir.transcript(args) + "\n");
    }
    insta::assert_snapshot!("backup-refused", transcript);
    assert_eq!(workdir.read("mine.db"), "mine");
    assert!(!exists(&workdir.path("nowhere.db")), "a missing store is not created for the backup");
    workdir.good(&["backup", "mine.db", "--overwrite"]);
    workdir.good(&["check", "--store", "sqlite:mine.db"]);
}

/// Starts an export, which writes a file and does not end.
fn endless_export(workdir: &Workdir, file: &str) -> std::process::Child {
    // A server that sends the beginning of a stream and then nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, answered) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let body = "{\"id\":1,\"created_at\":1}\n";
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        write!(stream, "{head}{:x}\r\n{body}\r\n", body.len()).unwrap();
        tell.send(()).unwrap();
        // Until the client closes the connection.
        let _ = stream.read(&mut [0; 1]);
    });
    let args = ["issues", "export", "-o", file, "--url", &url, "--domain", "acme"];
    let mut command: Command = workdir.caseload(&[&args[..], &["--api-key", "k"]].concat());
    let child = command.spawn().unwrap();
    answered.recv_timeout(PATIENCE).unwrap();
    assert!(exists(&workdir.path(&format!("{file}.caseload-part"))));
    child
}

#[test]
fn the_rest_of_a_killed_command_is_removed_and_not_that_of_one_that_runs() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let mut killed = endless_export(&workdir, "killed.jsonl");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(exists(&workdir.path("killed.jsonl.caseload-part")), "a kill leaves the file");
    // Files of others with a like name stay.
    workdir.write("mine.part", "mine");
    let running = endless_export(&workdir, "running.jsonl");
    assert!(!exists(&workdir.path("killed.jsonl.caseload-part")), "the next one removes it");
    workdir.good(&["backup", "backup.db"]);
    assert!(
        exists(&workdir.path("running.jsonl.caseload-part")) && exists(&workdir.path("mine.part"))
    );
    let again = workdir.run(&["backup", "running.jsonl"]);
    let said = transcript_of(&again);
    assert!(said.contains("another program is writing running.jsonl.caseload-part"), "{said}");
    signal(&running, "INT");
    running.wait_with_output().unwrap();
    assert!(!exists(&workdir.path("running.jsonl.caseload-part")));
}

#[test]
fn an_interrupted_export_leaves_no_file() {
    let workdir = Workdir::new();
    let child = endless_export(&workdir, "out.jsonl");
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(transcript_of(&output), "exit 130\n--- stderr\nerror: interrupted\n");
    assert!(
        !exists(&workdir.path("out.jsonl.caseload-part")) && !exists(&workdir.path("out.jsonl"))
    );
}
