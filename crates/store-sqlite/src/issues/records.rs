//! Reads and replaces whole issues, one at a time. The caller updates the index.

use caseload_model::ids::DomainId;
use caseload_model::issue::IssueFragments;
use caseload_model::issue::write::IssueRecord;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::Fault;
use crate::tx::ReadRow;
use caseload_store::checksum;
use caseload_store::issues::{
    COLUMNS, COLUMNS_END, FRAGMENTS, Replacement, columns, record_fragments,
};

/// The row of an issue and its record.
pub(super) fn read(
    conn: &Connection,
    domain: DomainId,
    id: u64,
) -> Result<Option<(u32, IssueRecord)>, Fault> {
    let Ok(id) = i64::try_from(id) else { return Ok(None) };
    conn.prepare_cached(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.row FROM issues i JOIN issue_bodies b ON b.row = i.row
         WHERE i.domain_id = ?1 AND i.id = ?2"
    ))?
    .query_row(params![domain.0, id], |row| Ok(record(row)))
    .optional()?
    .transpose()
}

/// The record in a row.
pub(super) fn read_row(conn: &Connection, row: u32) -> Result<IssueRecord, Fault> {
    let (_, record) = conn
        .prepare_cached(&format!(
            "SELECT {FRAGMENTS}, {COLUMNS}, i.row FROM issues i JOIN issue_bodies b ON b.row = i.row
             WHERE i.row = ?1"
        ))?
        .query_row([row], |row| Ok(record(row)))??;
    Ok(record)
}

/// From a row with fragments, columns and the row's number.
fn record(row: &Row<'_>) -> Result<(u32, IssueRecord), Fault> {
    let (head, body) = record_fragments(&ReadRow(row))?;
    Ok((row.get(COLUMNS_END)?, IssueRecord { columns: columns(&ReadRow(row))?, head, body }))
}

/// Replaces an issue. Writes only the values that an edit may change.
pub(super) fn replace(conn: &Connection, replaced: &Replacement) -> Result<(), Fault> {
    let Replacement { row, issue: IssueRecord { columns, head, body } } = replaced;
    let facts = &columns.facts;
    conn.prepare_cached(
        "UPDATE issues SET updated_at = ?2, changed_at = ?3, state = ?4, assignee_id = ?5,
         queue_id = ?6 WHERE row = ?1",
    )?
    .execute(params![
        row,
        facts.updated_at.0,
        facts.changed_at.0,
        facts.state.code(),
        facts.assignee_id,
        facts.queue.as_ref().map(|queue| &queue.id),
    ])?;
    conn.prepare_cached(
        "UPDATE issue_bodies SET head = ?2, messages = ?3, meta = ?4, custom_fields = ?5,
         queue = ?6, private_notes = ?7, checksums = ?8 WHERE row = ?1",
    )?
    .execute(params![
        row,
        head,
        body.messages,
        body.meta,
        body.custom_fields,
        body.queue,
        body.private_notes,
        checksum::of_fragments(&IssueFragments::new(head, body)),
    ])?;
    Ok(())
}
