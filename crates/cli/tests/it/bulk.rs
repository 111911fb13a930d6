//! `caseload bulk` against a real server: what it prints and how it exits.

use std::process::{Command, Stdio};

use caseload_teststore::on_each_store;

use crate::common::{Place, picture_of, profiles, redacted};

on_each_store!(blocking:
    a_task_with_a_wrong_entry_exits_with_1_and_tells_where_to_look,
    a_task_may_come_from_standard_input_and_need_not_be_waited_for,
    a_task_is_tried_repeated_retried_and_listed,
    mistakes_of_callers_get_a_reason_and_a_hint,
    a_reader_that_goes_away_ends_the_program_quietly,
);

const TWO: &str = concat!(
    r#"{"identities":[{"email":"ada@example.org"}],"names":{"first_name":"Ada"}}"#,
    "\n",
    r#"{"identities":[{"email":"bob@example.org"}],"last_country":"Atlantis","age":"30"}"#,
    "\n"
);

fn a_task_with_a_wrong_entry_exits_with_1_and_tells_where_to_look() {
    let _guard = redacted();
    let place = Place::new();
    let server = place.serve();
    place.write("two.jsonl", TWO);
    let output = server.run(&["bulk", "submit", "create_core_profiles", "two.jsonl", "--wait"]);
    let task = String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned();
    let mut picture = picture_of(&output) + "\n";
    for command in ["status", "results", "errors"] {
        picture += &(server.picture(&["bulk", command, &task]) + "\n");
    }
    insta::assert_snapshot!("bulk-two", picture);
}

fn a_task_may_come_from_standard_input_and_need_not_be_waited_for() {
    let place = Place::new();
    let server = place.serve();
    let args = ["bulk", "submit", "create_core_profiles", "-"];
    let output = server.run_with_input(&args, profiles(5000, "stdin").as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", picture_of(&output));
    assert!(output.stderr.is_empty(), "{}", picture_of(&output));
    let args = [&args[..], &["--wait"]].concat();
    let output = server.run_with_input(&args, profiles(3, "more").as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", picture_of(&output));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "succeeded: 3 entries, 3 succeeded, 0 failed\n");
}

fn a_task_is_tried_repeated_retried_and_listed() {
    let _guard = redacted();
    let place = Place::new();
    let server = place.serve();
    place.write("two.jsonl", TWO);
    let submit = ["bulk", "submit", "create_core_profiles", "two.jsonl"];
    let dry = server.picture(&[&submit[..], &["--dry-run", "--wait"]].concat());
    let keyed = [&submit[..], &["--wait", "--idempotency-key", "two-1"]].concat();
    let first = server.run(&keyed);
    assert_eq!(first.status.code(), Some(1), "{}", picture_of(&first));
    let again = server.run(&keyed);
    assert_eq!(again.stdout, first.stdout, "the same task");
    let task = String::from_utf8(first.stdout).unwrap().trim().to_owned();
    let mut picture = dry + "\n" + &picture_of(&again) + "\n";
    for args in [
        &["bulk", "retry", &task, "--wait"][..],
        &["bulk", "cancel", &task],
        &["bulk", "list"],
        &["bulk", "list", "--status", "completed", "--page-size", "1", "--json"],
        &["bulk", "list", "--issues"],
        &["bulk", "list", "--status", "done", "--action", "import_issues"],
    ] {
        picture += &(server.picture(args) + "\n");
    }
    insta::assert_snapshot!("bulk-again", picture);
}

fn mistakes_of_callers_get_a_reason_and_a_hint() {
    let _guard = redacted();
    let place = Place::new();
    let mut server = place.serve();
    place.write("empty.jsonl", "\n");
    let unknown = "0198f0c2-0000-7000-8000-000000000000";
    let mut picture = String::new();
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
        picture += &(server.picture(args) + "\n");
    }
    "wrong".clone_into(&mut server.key);
    picture += &server.picture(&["issues", "list"]);
    insta::assert_snapshot!("client-mistakes", picture);
}

fn a_reader_that_goes_away_ends_the_program_quietly() {
    let place = Place::new();
    let server = place.serve();
    place.write("many.jsonl", profiles(10_000, "pipe"));
    let task = server.good(&["bulk", "submit", "create_core_profiles", "many.jsonl", "--wait"]);
    let mut child = server.caseload(&["bulk", "results", task.trim()]).spawn().unwrap();
    let head = Command::new("head")
        .args(["-n", "1"])
        .stdin(Stdio::from(child.stdout.take().unwrap()))
        .output()
        .unwrap();
    assert!(head.stdout.starts_with(b"{\"index\":0,"));
    let output = child.wait_with_output().unwrap();
    assert_eq!(picture_of(&output), "exit 0\n");
}
