//! One issue at a time, whole: read with its columns and fragments, inserted, replaced. Invariant:
//! whatever is written here is told to the index of what issues are found by, and nowhere else.

use caseload_model::ids::DomainId;
use caseload_model::issue::write::IssueRecord;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::super::columns::{BEHIND, COLUMNS, columns};
use super::super::import::{columns_statement, keep_columns, keep_fragments};
use super::super::page::{FRAGMENTS, body};
use crate::StoreError;
use crate::issues::{Changes, Indexed};

/// The row of an issue and what it holds.
pub(super) fn read(
    conn: &Connection,
    domain: DomainId,
    id: u64,
) -> Result<Option<(i64, IssueRecord)>, StoreError> {
    let Ok(id) = i64::try_from(id) else { return Ok(None) };
    conn.prepare_cached(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.row FROM issues i JOIN issue_bodies b ON b.row = i.row
         WHERE i.domain_id = ?1 AND i.id = ?2"
    ))?
    .query_row(params![domain.0, id], |row| Ok(record(row)))
    .optional()?
    .transpose()
}

/// What the issue in a row holds.
pub(super) fn read_row(conn: &Connection, row: i64) -> Result<IssueRecord, StoreError> {
    let (_, record) = conn
        .prepare_cached(&format!(
            "SELECT {FRAGMENTS}, {COLUMNS}, i.row FROM issues i JOIN issue_bodies b ON b.row = i.row
             WHERE i.row = ?1"
        ))?
        .query_row([row], |row| Ok(record(row)))??;
    Ok(record)
}

/// From a row of fragments, columns and the row's number.
fn record(row: &Row<'_>) -> Result<(i64, IssueRecord), StoreError> {
    let record = IssueRecord { columns: columns(row)?, head: row.get(0)?, body: body(row)? };
    Ok((row.get(BEHIND)?, record))
}

/// Inserts an issue.
pub(super) fn insert(
    conn: &Connection,
    domain: DomainId,
    issue: &IssueRecord,
    index: &mut Changes,
) -> Result<(), StoreError> {
    keep_columns(&mut columns_statement(conn)?, domain, &issue.columns)?;
    let row = conn.last_insert_rowid();
    keep_fragments(conn, row, &issue.head, &issue.body)?;
    change(index, row, None, issue)
}

/// Puts `after` in the place of `before`. Only what an edit may change is written.
pub(super) fn replace(
    conn: &Connection,
    row: i64,
    before: &IssueRecord,
    after: &IssueRecord,
    index: &mut Changes,
) -> Result<(), StoreError> {
    let facts = &after.columns.facts;
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
         queue = ?6, private_notes = ?7 WHERE row = ?1",
    )?
    .execute(params![
        row,
        after.head,
        after.body.messages,
        after.body.meta,
        after.body.custom_fields,
        after.body.queue,
        after.body.private_notes,
    ])?;
    change(index, row, Some(before), after)
}

fn change(
    index: &mut Changes,
    row: i64,
    before: Option<&IssueRecord>,
    after: &IssueRecord,
) -> Result<(), StoreError> {
    let was = before.map(IssueRecord::fragments);
    let before = before.zip(was.as_ref());
    let before = before.map(|(issue, fragments)| Indexed { columns: &issue.columns, fragments });
    let after = Indexed { columns: &after.columns, fragments: &after.fragments() };
    index.change(row, before, Some(after))
}
