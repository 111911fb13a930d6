//! `caseload check`: reads all stored data and verifies its rules. Each check is one function in a
//! list and runs in a snapshot of its own, so that writers continue. A check repairs nothing.

mod attachments;
mod issue_terms;
mod issues;
mod profiles;
mod tables;
mod tasks;

use rusqlite::Connection;

use super::engine::Engine;
use crate::Fault;
use caseload_store::check::Findings;
use caseload_store::{CheckReport, StoreError};

/// A check of one part of the stored data.
type Check = fn(&Connection, &mut Findings) -> Result<(), Fault>;

/// All checks, in the order of the report.
const CHECKS: &[(&str, Check)] = &[
    ("the database file", tables::file),
    ("references between tables", tables::references),
    ("domains", tables::domains),
    ("tasks", tasks::tasks),
    ("records of tasks", tasks::records),
    ("core profiles", profiles::core),
    ("identities", profiles::identities),
    ("app profiles", profiles::app),
    ("issues", issues::rows),
    ("counts of issues", issues::counts),
    ("terms of issues", issue_terms::terms),
    ("attachments", attachments::files),
];

pub(super) async fn run(engine: &Engine) -> Result<CheckReport, Fault> {
    let mut report = CheckReport::default();
    for (name, check) in CHECKS {
        let found = engine.read_within(None, move |conn| Ok(run_one(conn, name, *check))).await?;
        report.verified.extend(found.verified);
        report.faults.extend(found.faults);
    }
    Ok(report)
}

fn run_one(conn: &Connection, name: &str, check: Check) -> CheckReport {
    let mut findings = Findings::default();
    let ended = check(conn, &mut findings);
    findings.end(name, ended.map_err(StoreError::from))
}
