//! The check of all stored data: it reads the records and reports violated rules. Both backends
//! store them in the same tables; [`CheckedStore`] has the differences. A check repairs nothing.
//! Invariant: each rule is written once, so that all backends obey the same rules.

pub mod changes;
pub mod checksums;
mod domains;
pub mod issues;
pub mod profiles;
pub mod tables;
pub mod tasks;
pub mod terms;
pub mod webhooks;

use caseload_model::ids::DomainId;

use crate::sql::Sql;
use crate::{CheckReport, StoreError};

/// A snapshot of all stored data. In statements, `i` are issues, `b` their fragments and `c` the
/// clock of their domain. If domains are read one at a time, `?1` is the domain.
pub trait CheckedStore: Sql {
    /// Whether domains are read one at a time, because each may be on another node.
    const BY_DOMAIN: bool;
    /// The names of all tables with records of domains.
    const DOMAIN_TABLES: &'static str;
    /// Whether `b` are the fragments of `i`.
    const IS_BODY: &'static str;
    /// Whether the clock `c` gave out the row of `i`.
    const ROW_IS_GIVEN: &'static str;
    /// Counts the fragments without an issue of a domain, unless foreign keys of the database show
    /// them.
    const STRAY_BODIES: Option<&'static str>;
    /// The counters of issues: domain, facet, value, day and number.
    const COUNTERS: &'static str;
    /// The term sets of issues: domain, kind, value, block, the rows in the set, and rows that are
    /// no longer in it. The parts of a set are adjacent and in the order in which they take effect.
    const ISSUE_SETS: &'static str;
    /// The same of core profiles.
    const PROFILE_SETS: &'static str;

    /// Calls [`text_index::check`](crate::text_index::check) for a domain.
    fn check_text_index(
        &self,
        domain: (DomainId, &str),
        findings: &mut Findings,
    ) -> Result<u64, StoreError>;
}

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
