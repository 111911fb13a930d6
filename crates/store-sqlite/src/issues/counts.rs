//! Sums of counters over days, and counts through an index. The model says which counters there
//! are; [`super::index`] maintains them. A counter of zero has no row.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;
use caseload_model::issue::Facet;
use rusqlite::{Connection, params, params_from_iter};

use super::sql::Sql;
use crate::Fault;
use caseload_store::query::CounterSum;

/// The sum of the counters.
pub(super) fn total(
    conn: &Connection,
    domain: DomainId,
    sum: &CounterSum<'_>,
) -> Result<u64, Fault> {
    let mut select = conn.prepare_cached(
        "SELECT coalesce(sum(n), 0) FROM issue_counts
         WHERE domain_id = ?1 AND facet = ?2 AND value = ?3 AND day BETWEEN ?4 AND ?5",
    )?;
    let mut total: i64 = 0;
    for (facet, values, sign) in signed(sum) {
        for value in values {
            for days in sum.days.counters() {
                let bound = params![domain.0, facet.code(), value, days.from, days.until];
                total += sign * select.query_row(bound, |row| row.get::<_, i64>(0))?;
            }
        }
    }
    Ok(total.max(0).unsigned_abs())
}

/// The counters of each day.
pub(super) fn by_day(
    conn: &Connection,
    domain: DomainId,
    sum: &CounterSum<'_>,
) -> Result<BTreeMap<i64, i64>, Fault> {
    let mut select = conn.prepare_cached(
        "SELECT day, n FROM issue_counts
         WHERE domain_id = ?1 AND facet = ?2 AND value = ?3 AND day BETWEEN ?4 AND ?5",
    )?;
    let mut days = BTreeMap::new();
    for (facet, values, sign) in signed(sum) {
        for value in values {
            let bound = params![domain.0, facet.code(), value, sum.days.from, sum.days.until];
            let mut rows = select.query(bound)?;
            while let Some(row) = rows.next()? {
                *days.entry(row.get(0)?).or_default() += sign * row.get::<_, i64>(1)?;
            }
        }
    }
    Ok(days)
}

/// The counters that are added, and those that are subtracted.
const fn signed<'q>(sum: &CounterSum<'q>) -> [(Facet, &'q [Vec<u8>], i64); 2] {
    [(sum.facet, sum.values, 1), (Facet::Rating, sum.subtracted_ratings, -1)]
}

/// Runs a statement that counts.
pub(super) fn run(conn: &Connection, sql: &Sql) -> Result<u64, Fault> {
    let count: i64 = conn
        .prepare_cached(&sql.text)?
        .query_row(params_from_iter(&sql.parameters), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}
