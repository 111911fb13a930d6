//! The stored data as the checks read it: domain by domain, and rows as the database sends them.
//! Counters and term sets are the sums of base rows and deltas.

use std::pin::pin;

use caseload_model::ids::DomainId;
use caseload_store::check::{CheckedStore, Findings};
use caseload_store::sql::{Row, Sql, Value};
use caseload_store::{StoreError, text_index};
use futures_util::TryStreamExt as _;

use crate::domains::DOMAIN_TABLES;
use crate::engine::{BlockingClient, store_error};
use crate::tx::{DomainTx, ReadRow, bound, native, parameters};

/// All stored data, in a snapshot. Rows are read while the database sends them.
#[derive(Debug)]
pub(super) struct Stored<'c>(pub(super) &'c BlockingClient<'c>);

impl Sql for Stored<'_> {
    fn change(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.0.change(sql, values)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: &mut dyn FnMut(&dyn Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let bound = bound(values);
        self.0.wait(async {
            let mut rows = pin!(self.0.client().stream(&native(sql), parameters(&bound)).await?);
            while let Some(row) = rows.try_next().await.map_err(store_error)? {
                read(&ReadRow(&row))?;
            }
            Ok(())
        })
    }
}

impl CheckedStore for Stored<'_> {
    const BY_DOMAIN: bool = true;
    const DOMAIN_TABLES: &'static str = DOMAIN_TABLES;
    const IS_BODY: &'static str = "b.domain_id = ?1 AND b.row = i.row";
    const ROW_IS_GIVEN: &'static str = "i.row <= c.last_issue_row";
    const STRAY_BODIES: Option<&'static str> = Some(
        "SELECT b.domain_id, count(*) FROM issue_bodies b WHERE b.domain_id = ?1 AND NOT EXISTS
         (SELECT 1 FROM issues i WHERE i.domain_id = ?1 AND i.row = b.row) GROUP BY b.domain_id",
    );
    const COUNTERS: &'static str = "SELECT domain_id, facet, value, day, sum(n)::bigint FROM
         (SELECT domain_id, facet, value, day, n FROM issue_counts WHERE domain_id = ?1
          UNION ALL
          SELECT domain_id, facet, value, day, n FROM issue_count_deltas WHERE domain_id = ?1) c
         GROUP BY domain_id, facet, value, day HAVING sum(n) <> 0";
    const ISSUE_SETS: &'static str =
        "SELECT domain_id, kind, value, block, rows, NULL::bytea, 0::bigint AS seq
         FROM issue_sets WHERE domain_id = ?1
         UNION ALL SELECT domain_id, kind, value, block, rows, NULL, 0
         FROM issue_values WHERE domain_id = ?1
         UNION ALL SELECT domain_id, kind, value, block, entered, gone, seq
         FROM issue_set_deltas WHERE domain_id = ?1 ORDER BY kind, value, block, seq";
    const PROFILE_SETS: &'static str =
        "SELECT domain_id, kind, value, block, rows, NULL FROM profile_sets WHERE domain_id = ?1";

    fn check_text_index(
        &self,
        domain: (DomainId, &str),
        findings: &mut Findings,
    ) -> Result<u64, StoreError> {
        let source = DomainTx { db: self.0, domain: domain.0 };
        text_index::check(self.0, &source, domain, findings)
    }
}
