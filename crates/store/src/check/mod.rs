//! The rules of stored data that do not depend on the backend. A backend reads its records and
//! passes them to the functions here, which report violated rules. A check repairs nothing.
//! Invariant: each rule is written once, so that all backends obey the same rules.

pub mod checksums;
pub mod issues;
pub mod profiles;
pub mod tables;
pub mod tasks;
pub mod terms;

use crate::{CheckReport, StoreError};

/// The most faults that one check names; further faults are only counted.
const FAULTS_NAMED_MAX: usize = 100;

/// The results of one check.
#[derive(Debug, Default)]
pub struct Findings {
    report: CheckReport,
    named: usize,
    more: u64,
}

impl Findings {
    /// Records that `count` records of `what` were read.
    pub fn verified(&mut self, what: &str, count: u64) {
        self.report.verified.push((what.to_owned(), count));
    }

    /// Records a violated rule. The sentence names the domain and the record.
    pub fn fault(&mut self, fault: String) {
        if self.named < FAULTS_NAMED_MAX {
            self.named += 1;
            self.report.faults.push(fault);
        } else {
            self.more += 1;
        }
    }

    /// The report of the check `name`. If damage stopped the check, the report says so, and the
    /// other checks still run.
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
