//! Kept counts, read as sums over days. What is counted is the model's; how counts follow what is
//! written is in [`super::index`]. A counter that reaches zero is no row.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;
use caseload_model::issue::Facet;
use rusqlite::{Connection, params};

use crate::StoreError;

/// The days `from..=until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    pub(super) from: i64,
    pub(super) until: i64,
}

/// How many issues stand in the counters of these values on these days.
pub(super) fn total(
    conn: &Connection,
    domain: DomainId,
    facet: Facet,
    values: &[Vec<u8>],
    days: Days,
) -> Result<u64, StoreError> {
    let mut select = conn.prepare_cached(
        "SELECT coalesce(sum(n), 0) FROM issue_counts
         WHERE domain_id = ?1 AND facet = ?2 AND value = ?3 AND day BETWEEN ?4 AND ?5",
    )?;
    let mut total = 0;
    for value in values {
        let sum: i64 = select
            .query_row(params![domain.0, facet.code(), value, days.from, days.until], |row| {
                row.get(0)
            })?;
        total += sum.unsigned_abs();
    }
    Ok(total)
}

/// Adds `sign` times the counters of these values to the days they are of.
pub(super) fn add_by_day(
    conn: &Connection,
    domain: DomainId,
    facet: Facet,
    values: &[Vec<u8>],
    days: Days,
    into: &mut BTreeMap<i64, i64>,
    sign: i64,
) -> Result<(), StoreError> {
    let mut select = conn.prepare_cached(
        "SELECT day, n FROM issue_counts
         WHERE domain_id = ?1 AND facet = ?2 AND value = ?3 AND day BETWEEN ?4 AND ?5",
    )?;
    for value in values {
        let mut rows =
            select.query(params![domain.0, facet.code(), value, days.from, days.until])?;
        while let Some(row) = rows.next()? {
            *into.entry(row.get(0)?).or_default() += sign * row.get::<_, i64>(1)?;
        }
    }
    Ok(())
}
