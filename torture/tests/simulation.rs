//! Short runs of the simulation, in which every schedule follows from its number.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::process::Command;

/// Plays five hundred schedules.
fn play(first: &str) {
    let simulation = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["simulate", "500", first])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&simulation.stdout);
    let fault = String::from_utf8_lossy(&simulation.stderr);
    assert!(simulation.status.success() && said.contains("every law held"), "{said}{fault}");
}

#[test]
fn simulated_schedules_break_no_law_1() {
    play("1");
}

#[test]
fn simulated_schedules_break_no_law_2() {
    play("501");
}

#[test]
fn simulated_schedules_break_no_law_3() {
    play("1001");
}

#[test]
fn simulated_schedules_break_no_law_4() {
    play("1501");
}
