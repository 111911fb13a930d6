//! `caseload demo`: it runs all steps, it can run again, and the commands that it prints work.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::{Workdir, redacted, signal, transcript_of};

const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[test]
fn the_demo_does_its_job_and_may_be_run_again() {
    let _guard = redacted();
    let workdir = Workdir::new();
    let args = [&["demo", "--exit"], &LISTEN[..]].concat();
    insta::assert_snapshot!("demo", workdir.transcript(&args));
    // The identities of two runs differ in the second of the start.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let output = workdir.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", transcript_of(&output));
    let store = ["--store", "sqlite:caseload-data/demo.db"];
    let report = workdir.good(&[&["check"], &store[..]].concat());
    assert!(report.contains("20,000\tcore profiles"), "{report}");
    assert_eq!(workdir.good(&[&["domain", "list"], &store[..]].concat()).lines().count(), 1);
}

#[test]
fn every_command_that_the_demo_prints_works_until_ctrl_c() {
    let workdir = Workdir::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut child = workdir.caseload(&["demo", "--listen", &address]).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let serving = said.find(|line| line.starts_with("serving on http://127.0.0.1:"));
    assert!(serving.is_some(), "the demo does not serve");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let taken = format!("({address} is in use)");
    assert!(
        lines.any(|line| line.ends_with(&taken)),
        "the demo does not say why it has another port"
    );
    let mut settings = String::new();
    let mut tried = Vec::new();
    for line in lines {
        let command = line.trim();
        if command.starts_with("URL=") || command.starts_with("KEY=") {
            settings = settings + command + "\n";
        } else if command.starts_with("curl ") {
            tried.push(try_command(&settings, command));
        }
        if command.contains("sort-order=asc") {
            signal(&child, "INT");
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(tried.len(), 8, "{tried:#?}");
    let answers = [
        r#""action":"create_core_profiles""#,
        r#""succeeded":10000"#,
        r#""outcome":"created""#,
        "[]",
        r#""page-size":2"#,
        r#""feedback_rating":"#,
        r#""id":1,"#,
        r#""total-hits":"#,
    ];
    for (answer, part) in tried.iter().zip(answers) {
        assert!(answer.contains(part), "{part} is not in {answer}");
    }
}

/// Runs a command in a shell; returns its output.
fn try_command(settings: &str, command: &str) -> String {
    let script = format!("{settings}{command} --silent --show-error --fail-with-body");
    let output = Command::new("sh").arg("-c").arg(&script).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command}\n{}", transcript_of(&output));
    String::from_utf8(output.stdout).unwrap()
}
