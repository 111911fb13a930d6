//! `caseload demo`: it does its whole job, may be run again, and what it offers to copy works.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::common::{Place, picture_of, redacted, signal};

const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

#[test]
fn the_demo_does_its_job_and_may_be_run_again() {
    let _guard = redacted();
    let place = Place::new();
    let args = [&["demo", "--exit"], &LISTEN[..]].concat();
    insta::assert_snapshot!("demo", place.picture(&args));
    // Identities of one run differ from those of another only in the second of their start.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let output = place.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", picture_of(&output));
    let store = ["--store", "sqlite:caseload-data/demo.db"];
    let report = place.good(&[&["check"], &store[..]].concat());
    assert!(report.contains("20,000\tcore profiles"), "{report}");
    assert_eq!(place.good(&[&["domain", "list"], &store[..]].concat()).lines().count(), 1);
}

#[test]
fn every_command_that_the_demo_prints_works_until_ctrl_c() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut child = place.caseload(&["demo", "--listen", &address]).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let serving = said.find(|line| line.starts_with("serving on http://127.0.0.1:"));
    assert!(serving.is_some(), "the demo does not serve");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let taken = format!("({address} is taken)");
    assert!(lines.any(|line| line.ends_with(&taken)), "it does not say why it has another port");
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

/// Runs a command as a shell would; what it printed.
fn try_command(settings: &str, command: &str) -> String {
    let script = format!("{settings}{command} --silent --show-error --fail-with-body");
    let output = Command::new("sh").arg("-c").arg(&script).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command}\n{}", picture_of(&output));
    String::from_utf8(output.stdout).unwrap()
}
