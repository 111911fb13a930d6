//! `caseload demo`: it runs all steps, it can run again, and the commands that it prints work.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use caseload_teststore::Database;

use crate::common::{Workdir, redacted, signal, transcript_of};

const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[test]
fn the_demo_does_its_job_and_may_be_run_twice_in_a_second() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let args = [&["demo", "--exit"], &LISTEN[..]].concat();
    insta::assert_snapshot!("demo", workdir.transcript(&args));
    let output = workdir.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    let store = ["--store", "sqlite:caseload-data/demo.db"];
    let report = workdir.good(&[&["check"], &store[..]].concat());
    assert!(report.contains("20,060\tcore profiles"), "{report}");
    assert_eq!(workdir.good(&[&["domain", "list"], &store[..]].concat()).lines().count(), 1);
}

#[test]
fn two_demos_that_start_at_the_same_moment_share_a_database() {
    let database = Database::empty();
    let workdir = Workdir::new();
    let runs: Vec<_> = (0..2)
        .map(|_| {
            let mut demo = workdir.caseload(&[&["demo", "--exit"], &LISTEN[..]].concat());
            demo.env("CASELOAD_STORE", database.url()).spawn().unwrap()
        })
        .collect();
    let outputs: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().unwrap()).collect();
    for output in outputs {
        assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    }
    let report = workdir.good(&["check", "--store", database.url()]);
    assert!(report.contains("20,060\tcore profiles"), "{report}");
}

#[test]
fn a_demo_that_is_interrupted_in_its_steps_ends_with_130() {
    let workdir = Workdir::new();
    let mut child = workdir.caseload(&[&["demo"], &LISTEN[..]].concat()).spawn().unwrap();
    // A demo without a reader of its steps ends with 0, so the reader stays.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("  server   http://")));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", transcript_of(&output));
}

#[test]
fn the_first_screen_of_the_demo_fits_a_terminal_and_its_commands_work_until_ctrl_c() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut child = workdir.caseload(&["demo", "--listen", &address]).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let serving = said.find(|line| line.starts_with("serving on http://127.0.0.1:"));
    assert!(serving.is_some(), "the demo does not serve");
    // All of standard output is there before that line.
    let mut out = child.stdout.take().unwrap();
    let mut screen = vec![0; 64 << 10];
    let length = out.read(&mut screen).unwrap();
    let screen = String::from_utf8(screen[..length].to_vec()).unwrap();
    insta::assert_snapshot!("demo-screen", screen);
    assert!(screen.contains(&format!("({address} is in use)")), "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() < 80, "a wide line: {line}");
    }
    let below_the_key = screen.lines().skip_while(|line| !line.contains("KEY=caseload_")).count();
    assert!((2..23).contains(&below_the_key), "the key scrolls away: {below_the_key} lines");

    let dry_runs = r#"curl -u "$KEY:" "$URL/v2/acme/identity/bulk_actions?dry_run=true""#;
    let tasks = try_command(&settings(&screen), dry_runs);
    assert!(tasks.contains(r#""file_name":"people-of-a-partner.jsonl""#), "{tasks}");
    let answers = try_commands(&screen);
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let expected = [
        r#""outcome":"completed_with_errors""#,
        r#""pointer":"/last_country""#,
        r#""action":"create_core_profiles""#,
        r#""page-size":2"#,
        r#""next-cursor":"#,
        r#""id":1,"#,
    ];
    assert_eq!(answers.len(), expected.len(), "{answers:#?}");
    for (answer, part) in answers.iter().zip(expected) {
        assert!(answer.contains(part), "{part} is not in {answer}");
        assert!(answer.len() < 32 << 10, "{} bytes: {answer}", answer.len());
    }
    assert!(answers[1].contains(r#""pointer":"/age""#), "{}", answers[1]);
}

/// Runs the commands of the screen in a shell, one by one; returns their outputs.
fn try_commands(screen: &str) -> Vec<String> {
    let whole = screen.replace("\\\n", " ");
    let commands = whole.lines().map(str::trim).filter(|line| line.starts_with("curl "));
    commands.map(|command| try_command(&settings(screen), command)).collect()
}

/// The variables that the commands of the screen need.
fn settings(screen: &str) -> String {
    let is_setting = |line: &&str| ["URL=", "KEY=", "TASK="].iter().any(|n| line.starts_with(n));
    let lines: Vec<&str> = screen.lines().map(str::trim).filter(is_setting).collect();
    lines.join("\n") + "\n"
}

/// Runs a command in a shell; returns its output.
fn try_command(settings: &str, command: &str) -> String {
    let script = format!("{settings}{command} --silent --show-error --fail-with-body");
    let output = Command::new("sh").arg("-c").arg(&script).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command}\n{}", transcript_of(&output));
    String::from_utf8(output.stdout).unwrap()
}
