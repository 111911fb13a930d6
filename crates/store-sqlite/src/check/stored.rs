//! The stored data as the checks read it: all domains at once, on one connection. This backend adds
//! only its texts of statements; the checks themselves are in `caseload_store::check`.

use caseload_model::ids::DomainId;
use caseload_store::check::{CheckedStore, Findings};
use caseload_store::{StoreError, text_index};

use crate::domains::DOMAIN_TABLES;
use crate::issues::IssueSource;
use crate::tx::Tx;

impl CheckedStore for Tx<'_> {
    const BY_DOMAIN: bool = false;
    const DOMAIN_TABLES: &'static str = DOMAIN_TABLES;
    const IS_BODY: &'static str = "b.row = i.row";
    const ROW_IS_GIVEN: &'static str = "TRUE";
    const STRAY_BODIES: Option<&'static str> = None;
    const COUNTERS: &'static str = "SELECT domain_id, facet, value, day, n FROM issue_counts";
    const ISSUE_SETS: &'static str =
        "SELECT domain_id, kind, value, block, rows, NULL FROM issue_sets
         UNION ALL SELECT domain_id, kind, value, block, rows, NULL FROM issue_values";
    const PROFILE_SETS: &'static str =
        "SELECT domain_id, kind, value, block, rows, NULL FROM profile_sets";

    fn check_text_index(
        &self,
        domain: (DomainId, &str),
        findings: &mut Findings,
    ) -> Result<u64, StoreError> {
        text_index::check(self, &IssueSource::new(self.0, domain.0), domain, findings)
    }
}
