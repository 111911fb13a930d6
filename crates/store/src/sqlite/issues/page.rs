//! Fragments of issues, from the rows that hold them straight into a page.

use caseload_model::issue::{IssueBody, IssueFragments, ListStamp, write_issue};
use caseload_model::issue_query::{IssueView, Position, SortKey};
use caseload_model::time::UnixMillis;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};

use crate::{StepForm, StoreError};

/// The columns that [`fragments`] reads, in its order.
pub(in crate::sqlite) const FRAGMENTS: &str = "head, messages, meta, custom_fields, feedback, \
     queue, private_notes, predict_labels, sentiment_analysis, smart_intents";
/// How many there are: what a query selects behind them begins here.
pub(in crate::sqlite) const FRAGMENTS_COUNT: usize = 10;

/// Fragments, from a row that begins with [`FRAGMENTS`].
pub(in crate::sqlite) fn fragments<'r>(row: &'r Row<'_>) -> rusqlite::Result<IssueFragments<'r>> {
    let optional = |column: usize| -> rusqlite::Result<Option<&'r [u8]>> {
        row.get_ref(column)?.as_blob_or_null().map_err(FromSqlError::into)
    };
    let blob = |column: usize| -> rusqlite::Result<&'r [u8]> {
        row.get_ref(column)?.as_blob().map_err(FromSqlError::into)
    };
    Ok(IssueFragments {
        head: blob(0)?,
        messages: blob(1)?,
        meta: blob(2)?,
        custom_fields: blob(3)?,
        feedback: optional(4)?,
        queue: optional(5)?,
        private_notes: optional(6)?,
        predict_labels: optional(7)?,
        sentiment_analysis: optional(8)?,
        smart_intents: optional(9)?,
    })
}

/// The fragments behind the head, from a row that begins with [`FRAGMENTS`].
pub(super) fn body(row: &Row<'_>) -> rusqlite::Result<IssueBody> {
    Ok(IssueBody {
        messages: row.get(1)?,
        meta: row.get(2)?,
        custom_fields: row.get(3)?,
        feedback: row.get(4)?,
        queue: row.get(5)?,
        private_notes: row.get(6)?,
        predict_labels: row.get(7)?,
        sentiment_analysis: row.get(8)?,
        smart_intents: row.get(9)?,
    })
}

/// Bytes of most issues.
const ISSUE_BYTES_USUAL: usize = 4096;

/// Issues as they are written, one after another.
#[derive(Default)]
pub(super) struct Written {
    pub(super) body: Vec<u8>,
    pub(super) stamp: ListStamp,
}

/// Appends the issues of these rows, until there are `bytes_max`. The answer is how many.
pub(super) fn write_rows(
    conn: &Connection,
    rows: &[i64],
    view: IssueView,
    (form, bytes_max): (StepForm, usize),
    out: &mut Written,
) -> Result<usize, StoreError> {
    let mut select = conn.prepare_cached(&select(view))?;
    // Room for most pages: growing would copy what is there. Room that is not used costs nothing.
    out.body.reserve(bytes_max.min(rows.len() * ISSUE_BYTES_USUAL));
    for (n, row) in rows.iter().enumerate() {
        if n > 0 && out.body.len() >= bytes_max {
            return Ok(n);
        }
        if form == StepForm::Commas && !out.body.is_empty() {
            out.body.push(b',');
        }
        let mut found = select.query([row])?;
        let Some(found) = found.next()? else {
            return Err(StoreError::Corrupt("an issue without fragments".to_owned()));
        };
        let issue = fragments(found)?;
        write_issue(&issue, &view, &mut out.body);
        out.stamp.add(&issue);
        if form == StepForm::Lines {
            out.body.push(b'\n');
        }
    }
    Ok(rows.len())
}

/// Where the issue of this row stands in lists sorted by `key`.
pub(super) fn position(conn: &Connection, row: i64, key: SortKey) -> Result<Position, StoreError> {
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
        Ok(Position { at: UnixMillis(found.get(column)?), id: id.unsigned_abs() })
    })?)
}

/// Selects what the view shows and nothing else: long fragments lie on pages of their own, which
/// are only read where they are needed.
fn select(view: IssueView) -> String {
    let shown = |shown: bool, column: &'static str, hidden: &'static str| {
        if shown { column } else { hidden }
    };
    format!(
        "SELECT head, {}, meta, {}, {}, {}, {}, {}, {}, {} FROM issue_bodies WHERE row = ?1",
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
