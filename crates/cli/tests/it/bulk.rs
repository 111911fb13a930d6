//! `caseload bulk` against a real server: its output and its exit status.

use std::process::{Command, Stdio};

use caseload_teststore::on_each_store;

use crate::common::{Workdir, profiles, redacted, transcript_of};

on_each_store!(blocking:
    a_task_with_a_wrong_entry_exits_with_1_and_a_hint,
    a_task_may_come_from_standard_input_and_need_not_be_waited_for,
    a_task_can_be_a_dry_run_be_repeated_retried_and_listed,
    mistakes_of_callers_get_a_reason_and_a_hint,
    the_program_ends_without_a_message_when_its_reader_does,
);

const TWO: &str = concat!(
    r#"{"identities":[{"email":"ada@example.org"}],"names":{"first_name":"Ada"}}"#,
    "\n",
    r#"{"identities":[{"email":"bob@example.org"}],"last_country":"Atlantis","age":"30"}"#,
    "\n"
);

fn a_task_with_a_wrong_entry_exits_with_1_and_a_hint() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("two.jsonl", TWO);
    let output = server.run(&["bulk", "submit", "create_core_profiles", "two.jsonl", "--wait"]);
    let task = String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned();
    let mut transcript = transcript_of(&output) + "\n";
    for command in ["status", "results", "errors"] {
        transcript += &(server.transcript(&["bulk", command, &task]) + "\n");
    }
    insta::assert_snapshot!("bulk-two", transcript);
}

fn a_task_may_come_from_standard_input_and_need_not_be_waited_for() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    let args = ["bulk", "submit", "create_core_profiles", "-"];
    let output = server.run_with_input(&args, profiles(5000, "stdin").as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    assert!(output.stderr.is_empty(), "{}", transcript_of(&output));
    let args = [&args[..], &["--wait"]].concat();
    let output = server.run_with_input(&args, profiles(3, "more").as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    let said = String::from_utf8(output.stderr).unwrap();
    // On a slow machine, the task waits for the one before it, and says so.
    assert!(said.ends_with("succeeded: 3 entries, 3 succeeded, 0 failed\n"), "{said}");
}

fn a_task_can_be_a_dry_run_be_repeated_retried_and_listed() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("two.jsonl", TWO);
    let submit = ["bulk", "submit", "create_core_profiles", "two.jsonl"];
    let dry = server.transcript(&[&submit[..], &["--dry-run", "--wait"]].concat());
    let keyed = [&submit[..], &["--wait", "--idempotency-key", "two-1"]].concat();
    let first = server.run(&keyed);
    assert_eq!(first.status.code(), Some(1), "{}", transcript_of(&first));
    let again = server.run(&keyed);
    assert_eq!(again.stdout, first.stdout, "the same task");
    let task = String::from_utf8(first.stdout).unwrap().trim().to_owned();
    let mut transcript = dry + "\n" + &transcript_of(&again) + "\n";
    for args in [
        &["bulk", "retry", &task, "--wait"][..],
        &["bulk", "cancel", &task],
        &["bulk", "list"],
        &["bulk", "list", "--status", "completed", "--page-size", "1", "--json"],
        &["bulk", "list", "--issues"],
        &["bulk", "list", "--status", "done", "--action", "import_issues"],
    ] {
        transcript += &(server.transcript(args) + "\n");
    }
    insta::assert_snapshot!("bulk-again", transcript);
}

fn mistakes_of_callers_get_a_reason_and_a_hint() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let mut server = workdir.serve();
    workdir.write("empty.jsonl", "\n");
    let unknown = "0198f0c2-0000-7000-8000-000000000000";
    let mut transcript = String::new();
    for args in [
        &["bulk", "submit", "create_profiles", "x"][..],
        &["bulk", "submit", "create_core_profiles", "missing.jsonl"],
        &["bulk", "submit", "create_core_profiles", "."],
        &["bulk", "submit", "create_core_profiles", "empty.jsonl"],
        &["bulk", "status", unknown],
        &["bulk", "results", "../../issues"],
        &["bulk", "status", unknown, "--url", "localhost"],
        &["bulk", "status", unknown, "--url", "http://127.0.0.1:1"],
        &["bulk", "status", unknown, "--domain", "Acme"],
        &["bulk", "status", unknown, "--domain", "other"],
        &["issues", "list", "--param", "page-size=0", "--param", "colour=red"],
        &["issues", "list", "--param", "page"],
    ] {
        transcript += &(server.transcript(args) + "\n");
    }
    "wrong".clone_into(&mut server.key);
    transcript += &server.transcript(&["issues", "list"]);
    insta::assert_snapshot!("client-mistakes", transcript);
}

fn the_program_ends_without_a_message_when_its_reader_does() {
    let workdir = Workdir::new();
    let server = workdir.serve();
    workdir.write("many.jsonl", profiles(10_000, "pipe"));
    let task = server.good(&["bulk", "submit", "create_core_profiles", "many.jsonl", "--wait"]);
    let mut child = server.caseload(&["bulk", "results", task.trim()]).spawn().unwrap();
    let head = Command::new("head")
        .args(["-n", "1"])
        .stdin(Stdio::from(child.stdout.take().unwrap()))
        .output()
        .unwrap();
    assert!(head.stdout.starts_with(b"{\"index\":0,"));
    let output = child.wait_with_output().unwrap();
    assert_eq!(transcript_of(&output), "exit 0\n");
}
