//! Short runs of the proof of the change log on each store. They need the `caseload` program next
//! to this one and a C compiler.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::process::Command;

#[expect(clippy::print_stdout, reason = "the counts are the output of the test")]
fn follow(store: &str, rounds: &str) {
    let following = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["followed", store, rounds, "7"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&following.stdout);
    let fault = String::from_utf8_lossy(&following.stderr);
    let held = following.status.success() && said.contains("each follower has what the export has");
    assert!(held, "{said}{fault}");
    println!("{said}");
}

#[test]
fn a_follower_has_each_change_of_a_killed_sqlite_server() {
    follow("sqlite", "6");
}

#[test]
fn a_follower_has_each_change_of_two_servers_through_a_failover() {
    follow("postgres", "4");
}
