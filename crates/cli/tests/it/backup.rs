//! `caseload backup`: beside a server that is written to, checked, served as a store of its own,
//! and everything it refuses. And what an interrupted export leaves behind.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, Place, Server, exists, picture_of, plain, profiles, signal};

#[test]
fn a_backup_under_writes_is_checked_and_served_like_any_store() {
    let place = Place::new();
    let server = place.serve();
    let entry = |n| format!("{{\"title\":\"{n}\",\"created_at\":{n}000}}\n");
    place.write("issues.jsonl", (1..=500).map(entry).collect::<String>());
    server.good(&["issues", "import", "issues.jsonl"]);
    for n in 0..4 {
        place.write(&format!("{n}.jsonl"), profiles(5000, &format!("p{n}")));
    }
    // Tasks run while the copy is made.
    for n in 0..4 {
        server.good(&["bulk", "submit", "create_core_profiles", &format!("{n}.jsonl")]);
    }
    let output = place.run(&["backup", "backup.db"]);
    assert!(output.status.success(), "{}", picture_of(&output));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("backed up ") && said.ends_with(" records checked\n"), "{said}");
    assert!(output.stdout.is_empty());
    let exported = server.good(&["issues", "export"]);
    let (status, _) = server.terminate();
    assert!(status.success());

    assert!(place.good(&["check", "--store", "sqlite:backup.db"]).contains("issues"));
    // Restoring: a new place, the file under the store's name, a server.
    let other = Place::new();
    std::fs::create_dir(other.path("caseload-data")).unwrap();
    std::fs::copy(place.path("backup.db"), other.path("caseload-data/caseload.db")).unwrap();
    let key = other.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    let restored = Server::start(&other, key);
    assert_eq!(restored.good(&["issues", "export"]), exported);
    // What the copy held of tasks goes on to its end.
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
fn a_backup_replaces_nothing_unasked_and_needs_a_store() {
    let _guard = plain();
    let place = Place::new();
    place.good(&["domain", "create", "acme"]);
    place.write("mine.db", "mine");
    let mut picture = String::new();
    for args in [
        &["backup", "mine.db"][..],
        &["backup", "backup.db", "--store", "sqlite:nowhere.db"],
        &["backup", "no/such/folder.db"],
        &["backup", "caseload-data/caseload.db", "--overwrite"],
        &["backup"],
    ] {
        picture += &(place.picture(args) + "\n");
    }
    insta::assert_snapshot!("backup-refused", picture);
    assert_eq!(place.read("mine.db"), "mine");
    assert!(!exists(&place.path("nowhere.db")), "a missing store is not made to be copied");
    place.good(&["backup", "mine.db", "--overwrite"]);
    place.good(&["check", "--store", "sqlite:mine.db"]);
}

#[test]
fn an_interrupted_export_leaves_no_file() {
    let place = Place::new();
    // A server that answers the beginning of a stream and then nothing.
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
        // Until the client goes away.
        let _ = stream.read(&mut [0; 1]);
    });
    let args = ["issues", "export", "-o", "out.jsonl", "--url", &url, "--domain", "acme"];
    let mut command: Command = place.caseload(&[&args[..], &["--api-key", "k"]].concat());
    let child = command.spawn().unwrap();
    answered.recv_timeout(PATIENCE).unwrap();
    assert!(exists(&place.path("out.jsonl.part")));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(picture_of(&output), "exit 130\n--- stderr\nerror: interrupted\n");
    assert!(!exists(&place.path("out.jsonl.part")) && !exists(&place.path("out.jsonl")));
}
