//! One issue at a time, whole: read with its columns and fragments, inserted, replaced. Invariant:
//! whatever is written here is told to the index of what issues are found by, and nowhere else.

use caseload_model::ids::DomainId;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{IssueBody, IssueColumns, IssueFacts, IssueQueue, IssueState};
use caseload_model::json::{self, Json};
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::super::import::{columns_statement, keep_columns, keep_fragments};
use super::super::index::{Changes, Indexed};
use super::super::page::{FRAGMENTS, FRAGMENTS_COUNT};
use crate::StoreError;

/// The columns that [`record`] reads behind the fragments.
const COLUMNS: &str = "i.row, i.id, i.created_at, i.updated_at, i.changed_at, i.state, \
     i.redacted, i.rating, i.original_created_at, i.app_id, i.platform_type, i.queue_id, \
     i.hs_user_id, i.assignee_id, i.language, i.issue_mode, i.author_email";

/// The row of an issue and what it holds.
pub(super) fn read(
    conn: &Connection,
    domain: DomainId,
    id: u64,
) -> Result<Option<(i64, IssueRecord)>, StoreError> {
    let Ok(id) = i64::try_from(id) else { return Ok(None) };
    conn.prepare_cached(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS} FROM issues i JOIN issue_bodies b ON b.row = i.row
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
            "SELECT {FRAGMENTS}, {COLUMNS} FROM issues i JOIN issue_bodies b ON b.row = i.row
             WHERE i.row = ?1"
        ))?
        .query_row([row], |row| Ok(record(row)))??;
    Ok(record)
}

fn record(row: &Row<'_>) -> Result<(i64, IssueRecord), StoreError> {
    let at = |place: usize| FRAGMENTS_COUNT + place;
    let time = |place: usize| row.get::<_, i64>(at(place)).map(UnixMillis);
    let body = IssueBody {
        messages: row.get(1)?,
        meta: row.get(2)?,
        custom_fields: row.get(3)?,
        feedback: row.get(4)?,
        queue: row.get(5)?,
        private_notes: row.get(6)?,
        predict_labels: row.get(7)?,
        sentiment_analysis: row.get(8)?,
        smart_intents: row.get(9)?,
    };
    let head: Vec<u8> = row.get(0)?;
    let map = [b"{", head.as_slice(), b"}"].concat();
    let map = json::parse(&map).map_err(|_| damaged("a head that is no JSON"))?;
    let text = |key: &str| map.get(key).and_then(Json::as_str).map(str::to_owned);
    let tags = match map.get("tags") {
        Some(Json::Array(tags)) => tags.iter().filter_map(Json::as_str).map(str::to_owned),
        _ => return Err(damaged("a head without tags")),
    };
    let tags = tags.collect();
    let queue_name = body.queue.as_deref().and_then(|queue| json::parse(queue).ok());
    let queue_name = queue_name.as_ref().and_then(|queue| queue.get("name")).and_then(Json::as_str);
    let queue_id: Option<String> = row.get(at(11))?;
    let queue_name = queue_name.unwrap_or_default();
    let state = IssueState::from_code(row.get(at(5))?).ok_or_else(|| damaged("no known state"))?;
    let columns = IssueColumns {
        id: row.get::<_, i64>(at(1))?.unsigned_abs(),
        created_at: time(2)?,
        original_created_at: row.get::<_, Option<i64>>(at(8))?.map(UnixMillis),
        app_id: row.get(at(9))?,
        app_publish_id: text("app_publish_id").unwrap_or_default(),
        facts: IssueFacts {
            updated_at: time(3)?,
            changed_at: time(4)?,
            state,
            assignee_id: row.get(at(13))?,
            assignee_name: text("assignee_name"),
            queue: queue_id.map(|id| IssueQueue { id, name: queue_name.to_owned() }),
            hs_user_id: row.get(at(12))?,
            author_email: row.get(at(16))?,
            rating: row.get(at(7))?,
            language: row.get(at(14))?,
            platform_type: row.get(at(10))?,
            issue_mode: row.get(at(15))?,
            redacted: row.get(at(6))?,
            tags,
        },
    };
    Ok((row.get(at(0))?, IssueRecord { columns, head, body }))
}

fn damaged(what: &str) -> StoreError {
    StoreError::Corrupt(format!("an issue has {what}"))
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
