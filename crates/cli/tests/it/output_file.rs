//! `-o FILE` of each command that has it: the file gets the bytes of standard output, when all of
//! them are there.

use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Workdir, exists, profiles, transcript_of};

#[test]
fn a_file_gets_the_bytes_of_standard_output_once_they_are_complete() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("good.jsonl", profiles(2, "o"));
    workdir.write("tried.jsonl", profiles(2, "t"));
    workdir.write("bad.csv", "email,age\no@example.org,old\n");
    workdir.write("issues.jsonl", r#"{"id":1,"title":"No mail","created_at":1767225600000}"#);
    server.good(&["issues", "import", "issues.jsonl"]);
    let submit = |file| {
        // The server has the payload of a dry run for as long as its results.
        let dry_run = if file == "tried.jsonl" { &["--dry-run"][..] } else { &[] };
        let args = [&["bulk", "submit", "create_core_profiles", file, "--wait"], dry_run].concat();
        String::from_utf8(server.run(&args).stdout).unwrap().trim().to_owned()
    };
    server.good(&["bulk", "submit", "create_core_profiles", "good.jsonl", "--wait"]);
    let (task, import) = (submit("tried.jsonl"), submit("bad.csv"));
    for command in [
        &["bulk", "results", &task][..],
        &["bulk", "errors", &import],
        &["bulk", "errors", &import, "--summary"],
        &["bulk", "payload", &task],
        &["bulk", "rejects", &import],
        &["profiles", "export"],
        &["profiles", "export", "--format", "csv"],
        &["issues", "export"],
        &["issues", "list"],
        &["issues", "list", "--explain"],
    ] {
        let bytes = server.good(command);
        assert!(!bytes.is_empty(), "{command:?}");
        assert_eq!(server.good(&[command, &["-o", "-"]].concat()), bytes, "{command:?}");
        workdir.write("out", "an old file, which is longer than the new one ".repeat(100));
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(workdir.path("out"), private).unwrap();
        assert_eq!(server.good(&[command, &["-o", "out"]].concat()), "", "{command:?}");
        assert_eq!(workdir.read("out"), bytes, "{command:?}");
        let mode = workdir.path("out").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{command:?}");
        server.good(&[command, &["-o", "/dev/null"]].concat());
        // The command fails after it has begun the file.
        let nowhere = ["-o", "out", "--domain", "nobody"];
        let output = server.run(&[command, &nowhere].concat());
        assert!(!output.status.success(), "{command:?}: {}", transcript_of(&output));
        assert_eq!(workdir.read("out"), bytes, "{command:?}");
    }
    assert!(!exists(&workdir.path("-")) && !exists(&workdir.path("out.caseload-part")));
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_link_stays_a_link_to_the_file_that_it_names() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("file", "old");
    std::os::unix::fs::symlink("file", workdir.path("link")).unwrap();
    server.good(&["profiles", "export", "-o", "link"]);
    assert!(workdir.path("link").is_symlink());
    assert_eq!(workdir.read("file"), "");
}
