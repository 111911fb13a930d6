//! The laws of stored data, as far as they can be told without knowing how it is stored: a
//! backend's check reads its records and asks here what is wrong with them. A check only looks:
//! nothing is repaired. Invariant: a law is written once, so that every backend is held to the
//! same.

pub mod issues;
pub mod profiles;
pub mod tasks;
pub mod terms;

use crate::{CheckReport, StoreError};

/// Faults that one check names; the rest is counted.
const FAULTS_NAMED_MAX: usize = 100;

/// What a check adds to.
#[derive(Debug, Default)]
pub struct Findings {
    report: CheckReport,
    named: usize,
    more: u64,
}

impl Findings {
    /// Notes that `count` records were looked at for `what`.
    pub fn verified(&mut self, what: &str, count: u64) {
        self.report.verified.push((what.to_owned(), count));
    }

    /// Notes a broken law, as a sentence naming domain and record.
    pub fn fault(&mut self, fault: String) {
        if self.named < FAULTS_NAMED_MAX {
            self.named += 1;
            self.report.faults.push(fault);
        } else {
            self.more += 1;
        }
    }

    /// What the check called `name` comes to. One that cannot go on because of damage says so and
    /// leaves the others to run.
    pub fn end(mut self, name: &str, ended: Result<(), StoreError>) -> CheckReport {
        if let Err(e) = ended {
            self.report.faults.push(format!("{name}: the check had to stop: {e}"));
        }
        if self.more > 0 {
            self.report.faults.push(format!("{name}: {} more faults", self.more));
        }
        self.report
    }
}
