//! The state of a domain that a plan of imports needs, read on the writer's connection: apps, the
//! clock's numbers, the issues that entries name by id, and occupied instants. Most imports bring
//! free ids and rising times and read almost nothing.

use std::collections::HashMap;

use caseload_model::ids::DomainId;
use caseload_model::issue::{App, StoredIssue, TimeWindow};
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use super::page::{FRAGMENTS, FRAGMENTS_COUNT, body};
use crate::Fault;
use caseload_store::issues::ImportState;

/// The state before the first plan.
pub(super) fn known(conn: &Connection, domain: DomainId) -> Result<ImportState, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT a.id, a.publish_id, a.id = d.default_app_id FROM domains d
         JOIN apps a ON a.domain_id = d.id WHERE d.id = ?1 ORDER BY a.created_at, a.id",
    )?;
    let mut rows = statement.query([domain.0])?;
    let mut apps = Vec::new();
    while let Some(row) = rows.next()? {
        apps.push((App { app_id: row.get(0)?, publish_id: row.get(1)? }, row.get(2)?));
    }
    let (last_issue_id, last_app_number): (i64, i64) = conn
        .prepare_cached(
            "SELECT last_issue_id, last_app_number FROM domain_clocks WHERE domain_id = ?1",
        )?
        .query_row([domain.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let max_created_at: Option<i64> = conn
        .prepare_cached("SELECT max(created_at) FROM issues WHERE domain_id = ?1")?
        .query_row([domain.0], |row| row.get(0))?;
    Ok(ImportState::new(apps, last_app_number, last_issue_id, max_created_at.map(UnixMillis))?)
}

/// The stored issues among `ids`.
pub(super) fn stored(
    conn: &Connection,
    domain: DomainId,
    ids: impl Iterator<Item = u64>,
) -> Result<HashMap<u64, StoredIssue>, Fault> {
    let mut find =
        conn.prepare_cached("SELECT row FROM issues WHERE domain_id = ?1 AND id = ?2")?;
    let mut read = conn.prepare_cached(&format!(
        "SELECT {FRAGMENTS}, created_at, original_created_at
         FROM issues JOIN issue_bodies USING (row) WHERE row = ?1"
    ))?;
    let mut stored = HashMap::new();
    for id in ids {
        let row: Option<i64> =
            find.query_row(params![domain.0, id as i64], |row| row.get(0)).optional()?;
        let Some(row) = row else { continue };
        let issue = read.query_row([row], |row| {
            Ok(StoredIssue {
                head: row.get(0)?,
                body: body(row)?,
                created_at: UnixMillis(row.get(FRAGMENTS_COUNT)?),
                original_created_at: row
                    .get::<_, Option<i64>>(FRAGMENTS_COUNT + 1)?
                    .map(UnixMillis),
            })
        })?;
        stored.insert(id, issue);
    }
    Ok(stored)
}

/// The instants of creation in a window.
pub(crate) fn taken(
    conn: &Connection,
    domain: DomainId,
    window: TimeWindow,
) -> Result<Vec<UnixMillis>, Fault> {
    let mut select = conn.prepare_cached(
        "SELECT created_at FROM issues WHERE domain_id = ?1 AND created_at BETWEEN ?2 AND ?3",
    )?;
    let taken = select
        .query_map(params![domain.0, window.from.0, window.until.0], |row| row.get(0))?
        .map(|at| at.map(UnixMillis));
    Ok(taken.collect::<Result<_, _>>()?)
}
