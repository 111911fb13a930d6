//! Renders pages straight from the rows that hold the fragments.

use std::rc::Rc;

use caseload_model::issue_query::{IssueView, ListPosition, SortKey};
use caseload_model::time::UnixMillis;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Rows, params_from_iter};

use super::sql::Sql;
use crate::Fault;
use crate::tx::ReadRow;
use caseload_store::StoreError;
use caseload_store::issues::{FRAGMENTS_COUNT, fragments, sums};
use caseload_store::query::{RenderedPage, Rendering};

/// Bytes of most issues.
const ISSUE_BYTES_USUAL: usize = 4096;

/// Rows as a parameter of `rarray`: one statement reads them all, in this order; `CROSS JOIN` keeps
/// the planner from reordering.
pub(crate) fn numbers(rows: impl IntoIterator<Item = impl Into<i64>>) -> Rc<Vec<Value>> {
    Rc::new(rows.into_iter().map(|row| Value::Integer(row.into())).collect())
}

/// Renders the issues of these rows.
pub(super) fn render_rows(
    conn: &Connection,
    rows: &[u32],
    rendering: &Rendering,
) -> Result<RenderedPage, Fault> {
    let mut select =
        conn.prepare_cached(&select(rendering.view, "SELECT value AS row FROM rarray(?1)"))?;
    let found = select.query([numbers(rows.iter().copied())])?;
    let page = render(conn, found, rows.len(), rendering)?;
    Ok(RenderedPage { found: rows.len(), ..page })
}

/// Renders the rows that a statement selects, at most `limit`. One statement is much faster than
/// selecting row numbers first.
pub(super) fn render_scan(
    conn: &Connection,
    sql: &Sql,
    limit: u64,
    rendering: &Rendering,
) -> Result<RenderedPage, Fault> {
    let mut select = conn.prepare_cached(&select(rendering.view, &sql.text))?;
    let found = select.query(params_from_iter(&sql.parameters))?;
    render(conn, found, limit as usize, rendering)
}

/// Renders the issues that are found, until the page is full. Of the others it says only whether
/// there are any.
fn render(
    conn: &Connection,
    mut found: Rows<'_>,
    found_max: usize,
    rendering: &Rendering,
) -> Result<RenderedPage, Fault> {
    let mut out = RenderedPage::default();
    // Room for most pages, because growing would copy the page. Unused room costs nothing.
    let room = found_max.min(rendering.issues_max) * ISSUE_BYTES_USUAL;
    out.body.reserve(rendering.bytes_max.min(room));
    let mut last = None;
    while let Some(row) = found.next()? {
        out.found += 1;
        if row.get_ref(0)? == ValueRef::Null {
            return Err(StoreError::Corrupt("an issue without fragments".to_owned()).into());
        }
        let read = ReadRow(row);
        if !out.add(&fragments(&read)?, sums(&read)?, rendering)? {
            break;
        }
        last = Some(row.get(FRAGMENTS_COUNT)?);
    }
    drop(found);
    out.last = last.map(|row| position(conn, row, rendering.key)).transpose()?;
    Ok(out)
}

/// The position of the issue in this row in lists sorted by `key`.
fn position(conn: &Connection, row: u32, key: SortKey) -> Result<ListPosition, Fault> {
    let mut select = conn.prepare_cached(
        "SELECT id, created_at, changed_at, updated_at FROM issues WHERE row = ?1",
    )?;
    let column = match key {
        SortKey::CreationTime => 1,
        SortKey::StateChangeTime => 2,
        SortKey::UpdateTime => 3,
    };
    Ok(select.query_row([row], |found| {
        let id: i64 = found.get(0)?;
        Ok(ListPosition { at: UnixMillis(found.get(column)?), id: id.unsigned_abs() })
    })?)
}

/// Selects the shown fragments of the rows of `wanted`, in its order. Long fragments are on pages
/// of their own, which SQLite reads only if they are selected. The left join returns nulls for an
/// issue without fragments and preserves the order of `wanted`.
pub(super) fn select(view: IssueView, wanted: &str) -> String {
    let shown = |shown: bool, column: &'static str, hidden: &'static str| {
        if shown { column } else { hidden }
    };
    format!(
        "SELECT head, {}, meta, {}, {}, {}, {}, {}, {}, {}, checksums, wanted.row
         FROM ({wanted}) wanted LEFT JOIN issue_bodies b ON b.row = wanted.row",
        shown(!view.exclude_messages, "messages", "x''"),
        shown(view.custom_fields, "custom_fields", "x''"),
        shown(view.feedback, "feedback", "NULL"),
        shown(view.queue, "queue", "NULL"),
        shown(view.private_notes, "private_notes", "NULL"),
        shown(view.predict_labels, "predict_labels", "NULL"),
        shown(view.sentiment_analysis, "sentiment_analysis", "NULL"),
        shown(view.smart_intents, "smart_intents", "NULL"),
    )
}
