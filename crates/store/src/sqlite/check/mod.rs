//! `caseload check`: verifies the laws of the stored data, reading everything. Each check is one
//! function in a list; it runs in a snapshot of its own beside whatever is written meanwhile. A
//! check only looks: nothing is repaired.

mod attachments;
mod issue_terms;
mod issues;
mod profiles;
mod tables;
mod tasks;

use rusqlite::Connection;

use super::engine::Engine;
use crate::{CheckReport, StoreError};

/// Faults that one check names; the rest is counted.
const FAULTS_NAMED_MAX: usize = 100;

/// What a check adds to.
pub(super) struct Findings {
    report: CheckReport,
    named: usize,
    more: u64,
}

impl Findings {
    /// Notes that `count` records were looked at for `what`.
    pub(super) fn verified(&mut self, what: &str, count: u64) {
        self.report.verified.push((what.to_owned(), count));
    }

    /// Notes a broken law, as a sentence naming domain and record.
    pub(super) fn fault(&mut self, fault: String) {
        if self.named < FAULTS_NAMED_MAX {
            self.named += 1;
            self.report.faults.push(fault);
        } else {
            self.more += 1;
        }
    }
}

/// One check: a law of the stored data.
type Check = fn(&Connection, &mut Findings) -> Result<(), StoreError>;

/// All of them, in the order of the report.
const CHECKS: &[(&str, Check)] = &[
    ("the database file", tables::file),
    ("references between tables", tables::references),
    ("domains", tables::domains),
    ("tasks", tasks::laws),
    ("records of tasks", tasks::records),
    ("core profiles", profiles::core),
    ("identities", profiles::identities),
    ("app profiles", profiles::app),
    ("issues", issues::rows),
    ("counts of issues", issues::counts),
    ("terms of issues", issue_terms::terms),
    ("attachments", attachments::files),
];

pub(super) async fn run(engine: &Engine) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::default();
    for (name, check) in CHECKS {
        let found = engine.read_within(None, move |conn| Ok(run_one(conn, name, *check))).await?;
        report.verified.extend(found.verified);
        report.faults.extend(found.faults);
    }
    Ok(report)
}

/// A check that cannot go on because of damage says so and leaves the others to run.
fn run_one(conn: &Connection, name: &str, check: Check) -> CheckReport {
    let mut findings = Findings { report: CheckReport::default(), named: 0, more: 0 };
    if let Err(e) = check(conn, &mut findings) {
        findings.report.faults.push(format!("{name}: the check had to stop: {e}"));
    }
    if findings.more > 0 {
        findings.report.faults.push(format!("{name}: {} more faults", findings.more));
    }
    findings.report
}
