//! An issue's columns, from a row that has its columns and fragments.

use caseload_model::issue::IssueColumns;
use rusqlite::Row;

use super::page::{FRAGMENTS_COUNT, fragments};
use crate::Fault;
use caseload_store::StoreError;
use caseload_store::issues::StoredColumns;

/// The columns that [`columns`] reads; they follow the fragments.
pub(crate) const COLUMNS: &str = "i.id, i.created_at, i.updated_at, i.changed_at, \
     i.state, i.redacted, i.rating, i.original_created_at, i.app_id, i.platform_type, i.queue_id, \
     i.hs_user_id, i.assignee_id, i.language, i.issue_mode, i.author_email";
/// The index of the first column after these.
pub(crate) const COLUMNS_END: usize = FRAGMENTS_COUNT + 16;

/// The columns, from a row that begins with fragments and columns.
pub(crate) fn columns(row: &Row<'_>) -> Result<IssueColumns, Fault> {
    let at = |place: usize| FRAGMENTS_COUNT + place;
    let stored = StoredColumns {
        id: row.get(at(0))?,
        created_at: row.get(at(1))?,
        updated_at: row.get(at(2))?,
        changed_at: row.get(at(3))?,
        state: row.get(at(4))?,
        redacted: match row.get::<_, i64>(at(5))? {
            0 => false,
            1 => true,
            _ => return Err(StoreError::Corrupt("a truth value is a number".to_owned()).into()),
        },
        rating: row.get(at(6))?,
        original_created_at: row.get(at(7))?,
        app_id: row.get(at(8))?,
        platform_type: row.get(at(9))?,
        queue_id: row.get(at(10))?,
        hs_user_id: row.get(at(11))?,
        assignee_id: row.get(at(12))?,
        language: row.get(at(13))?,
        issue_mode: row.get(at(14))?,
        author_email: row.get(at(15))?,
    };
    Ok(stored.columns(&fragments(row)?)?)
}
