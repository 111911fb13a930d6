//! Reads issues, the records that they refer to, and the counters for the check. The checks of the
//! file and of references cover the uniqueness of ids and times, and fragments without an issue.

use caseload_model::ids::ISSUE_ID_COUNTED_MAX;
use rusqlite::Connection;

use super::Findings;
use crate::Fault;
use crate::issues::{COLUMNS, COLUMNS_END, FRAGMENTS, FRAGMENTS_COUNT, columns, fragments, sums};
use caseload_store::check::issues as rules;

/// Each issue, its fragments and its references.
pub(super) fn rows(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut statement = conn.prepare(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, d.name, b.row IS NOT NULL,
         i.id <= c.last_issue_id OR i.id > {ISSUE_ID_COUNTED_MAX},
         i.created_at <= c.last_created_at,
         EXISTS (SELECT 1 FROM apps x WHERE x.domain_id = d.id AND x.id = i.app_id),
         i.queue_id IS NULL OR
         EXISTS (SELECT 1 FROM queues x WHERE x.domain_id = d.id AND x.id = i.queue_id),
         i.assignee_id IS NULL OR
         EXISTS (SELECT 1 FROM agents x WHERE x.domain_id = d.id AND x.id = i.assignee_id)
         FROM issues i JOIN domains d ON d.id = i.domain_id
         JOIN domain_clocks c ON c.domain_id = d.id LEFT JOIN issue_bodies b ON b.row = i.row"
    ))?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let id: i64 = row.get(FRAGMENTS_COUNT)?;
        let domain: String = row.get(COLUMNS_END)?;
        let mut broken = |rule: &str| {
            findings.fault(format!("domain {domain}, issue {id}: {rule}"));
        };
        for (place, rule) in rules::REFERENCES.iter().enumerate() {
            if !row.get::<_, bool>(COLUMNS_END + 2 + place)? {
                broken(rule);
            }
        }
        if !row.get::<_, bool>(COLUMNS_END + 1)? {
            broken(rules::NO_FRAGMENTS);
            continue;
        }
        rules::disagreements(&columns(row)?, &fragments(row)?, sums(row)?, &mut broken);
    }
    findings.verified("issues", count);
    Ok(())
}

/// The stored counters equal the counted issues.
pub(super) fn counts(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut counted = rules::ExpectedCounters::default();
    let mut statement = conn.prepare(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.domain_id
         FROM issues i JOIN issue_bodies b ON b.row = i.row"
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        counted.add(row.get(COLUMNS_END)?, &columns(row)?);
    }
    let mut statement = conn.prepare(
        "SELECT c.domain_id, c.facet, c.value, c.day, c.n, d.name
         FROM issue_counts c JOIN domains d ON d.id = c.domain_id",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let name: String = row.get(5)?;
        let key = (row.get(1)?, row.get(2)?, row.get(3)?);
        counted.compare(findings, (row.get(0)?, &name), key, row.get(4)?);
    }
    let mut known = conn.prepare("SELECT name FROM domains WHERE id = ?1")?;
    counted.missing(findings, |domain| {
        known.query_map([domain], |row| row.get::<_, String>(0))?.next().transpose()
    })?;
    findings.verified("counts of issues", count);
    Ok(())
}
