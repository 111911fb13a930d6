//! Of the sizes of a request, those of the body, the file of an import and the attachment can be
//! configured; the entries and the message body have fixed limits.

use crate::common::{Server, Workdir, transcript_of};

#[test]
fn body_file_and_attachment_are_the_sizes_that_can_be_configured() {
    let workdir = Workdir::new();
    let help = workdir.good(&["serve", "--help"]);
    let sizes: Vec<&str> = help
        .split_whitespace()
        .zip(help.split_whitespace().skip(1))
        .filter(|(_, unit)| *unit == "<BYTES>")
        .map(|(flag, _)| flag)
        .collect();
    assert_eq!(sizes, ["--body-limit", "--import-limit", "--attachment-limit"]);
    for flag in ["--entry-limit", "--profile-limit", "--issue-limit", "--message-limit"] {
        let output = workdir.run(&["serve", flag, "1000"]);
        assert_eq!(output.status.code(), Some(2), "{flag}: {}", transcript_of(&output));
    }
}

#[test]
fn a_larger_body_limit_leaves_the_limits_of_entries_as_they_are() {
    let workdir = Workdir::new();
    workdir.good(&["domain", "create", "acme"]);
    let key = workdir.good(&["key", "create", "--domain", "acme"]).trim().to_owned();
    let large = |bytes: usize| format!("{{\"user_persona\":\"{}\"}}\n", "x".repeat(bytes));
    workdir.write("entry.jsonl", large(257 << 10));
    workdir.write("many.jsonl", large(1000).repeat(30));
    let message = "x".repeat((1 << 20) + 1);
    let issue = format!("{{\"title\":\"T\",\"messages\":[{{\"body\":\"{message}\"}}]}}\n");
    workdir.write("message.jsonl", issue);
    for (limit, many, entry) in [("20000", Some(2), Some(2)), ("1000000000", Some(1), Some(1))] {
        let mut serve = workdir.caseload(&["serve", "--listen", "127.0.0.1:0"]);
        serve.args(["--body-limit", limit, "--attachment-limit", "10"]);
        let server = Server::spawn(&workdir, key.clone(), serve);
        let submit = |file| server.run(&["bulk", "submit", "create_core_profiles", file, "--wait"]);
        let output = submit("many.jsonl");
        assert_eq!(output.status.code(), many, "{}", transcript_of(&output));
        let output = submit("entry.jsonl");
        assert_eq!(output.status.code(), entry, "{}", transcript_of(&output));
        if entry == Some(1) {
            let task = String::from_utf8(output.stdout).unwrap();
            assert!(server.good(&["bulk", "errors", task.trim()]).contains("too_large"));
            let output = server.run(&["issues", "import", "message.jsonl"]);
            assert_eq!(output.status.code(), Some(1), "{}", transcript_of(&output));
        }
        server.terminate();
    }
}
