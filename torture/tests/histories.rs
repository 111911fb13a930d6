//! Short runs of the history checker on each store, so that the program stays usable. They need the
//! `caseload` program next to this one and a C compiler.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::process::Command;

fn record(store: &str, rounds: &str) {
    let recording = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["histories", store, rounds, "1"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&recording.stdout);
    let fault = String::from_utf8_lossy(&recording.stderr);
    let held = recording.status.success() && said.contains("every history has an order");
    assert!(held, "{said}{fault}");
}

#[test]
fn histories_on_sqlite_have_an_order() {
    record("sqlite", "3");
}

#[test]
fn histories_on_postgres_have_an_order_through_a_failover() {
    record("postgres", "2");
}
