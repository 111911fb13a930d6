//! Fragments of issues, from the rows that hold them straight into a page.

use caseload_model::issue::{IssueFragments, write_issue};
use caseload_model::issue_query::IssueView;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};

use crate::StoreError;

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

/// Appends the issues of these rows, with commas between them.
pub(super) fn write_rows(
    conn: &Connection,
    rows: &[i64],
    view: IssueView,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let mut select = conn.prepare_cached(&select(view))?;
    for row in rows {
        if !out.is_empty() {
            out.push(b',');
        }
        let mut found = select.query([row])?;
        let Some(found) = found.next()? else {
            return Err(StoreError::Corrupt("an issue without fragments".to_owned()));
        };
        write_issue(&fragments(found)?, &view, out);
    }
    Ok(())
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
