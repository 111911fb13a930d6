//! A short run of the attack on replicas, so that the program stays usable: a server is killed, the
//! database restarts, and every law is checked once. It needs a cluster that no other test uses,
//! and the `caseload` program next to this one.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::process::Command;

#[test]
fn two_rounds_of_the_attack_on_replicas_break_no_law() {
    let attack = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["replicas", "2", "1"])
        .env_remove("TEST_DATABASE_URL")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&attack.stdout);
    let fault = String::from_utf8_lossy(&attack.stderr);
    assert!(attack.status.success() && said.contains("every law held"), "{said}{fault}");
}
