//! The columns of an issue, from the row that holds them and from the head beside it: tags and
//! names stand only there. Checks and edits read issues by these; lists do not. An unreadable head
//! has no tags and no names here; that it is unreadable is for its reader to say.

use caseload_model::issue::{IssueColumns, IssueFacts, IssueQueue, IssueState};
use caseload_model::json::{self, Json};
use caseload_model::time::UnixMillis;
use rusqlite::Row;

use super::page::{FRAGMENTS_COUNT, fragments};
use crate::StoreError;

/// The columns that [`columns`] reads, from the first behind the fragments.
pub(in crate::sqlite) const COLUMNS: &str = "i.id, i.created_at, i.updated_at, i.changed_at, \
     i.state, i.redacted, i.rating, i.original_created_at, i.app_id, i.platform_type, i.queue_id, \
     i.hs_user_id, i.assignee_id, i.language, i.issue_mode, i.author_email";
/// Where what is selected behind them begins.
pub(in crate::sqlite) const BEHIND: usize = FRAGMENTS_COUNT + 16;

/// The columns, from a row that begins with fragments and columns.
pub(in crate::sqlite) fn columns(row: &Row<'_>) -> Result<IssueColumns, StoreError> {
    let at = |place: usize| FRAGMENTS_COUNT + place;
    let time = |place: usize| row.get::<_, i64>(at(place)).map(UnixMillis);
    let code: i64 = row.get(at(4))?;
    let state = IssueState::from_code(code)
        .ok_or_else(|| StoreError::Corrupt(format!("{code} stands for no state of issues")))?;
    let queue_id: Option<String> = row.get(at(10))?;
    let shown = fragments(row)?;
    let head = [b"{", shown.head, b"}"].concat();
    let head = json::parse(&head).unwrap_or(Json::Null);
    let queue = shown.queue.and_then(|queue| json::parse(queue).ok()).unwrap_or(Json::Null);
    Ok(IssueColumns {
        id: row.get::<_, i64>(at(0))?.unsigned_abs(),
        created_at: time(1)?,
        original_created_at: row.get::<_, Option<i64>>(at(7))?.map(UnixMillis),
        app_id: row.get(at(8))?,
        app_publish_id: text(&head, "app_publish_id").unwrap_or_default(),
        facts: IssueFacts {
            updated_at: time(2)?,
            changed_at: time(3)?,
            state,
            assignee_id: row.get(at(12))?,
            assignee_name: text(&head, "assignee_name"),
            queue: queue_id.map(|id| {
                let name = text(&queue, "name").unwrap_or_default();
                IssueQueue { id, name }
            }),
            hs_user_id: row.get(at(11))?,
            author_email: row.get(at(15))?,
            rating: row.get(at(6))?,
            language: row.get(at(13))?,
            platform_type: row.get(at(9))?,
            issue_mode: row.get(at(14))?,
            redacted: row.get(at(5))?,
            tags: match head.get("tags") {
                Some(Json::Array(tags)) => {
                    tags.iter().filter_map(Json::as_str).map(str::to_owned).collect()
                }
                _ => Vec::new(),
            },
        },
    })
}

fn text(map: &Json<'_>, key: &str) -> Option<String> {
    map.get(key).and_then(Json::as_str).map(str::to_owned)
}
