//! An issue's columns, from the columns that are stored and from the fragments. Only the fragments
//! contain tags and names. Checks and edits read issues this way; lists do not. If the head is
//! unreadable, tags and names are empty; the caller reports the damage.

use caseload_model::issue::{IssueColumns, IssueFacts, IssueFragments, IssueQueue, IssueState};
use caseload_model::json::{self, Json};

use crate::StoreError;
use crate::sql::Row;

/// The fragments of an issue and their checksums, with which the rows of checks and edits begin.
pub const FRAGMENTS: &str = "b.head, b.messages, b.meta, b.custom_fields, b.feedback, b.queue, \
     b.private_notes, b.predict_labels, b.sentiment_analysis, b.smart_intents, b.checksums";
/// The number of these columns.
pub const FRAGMENTS_COUNT: usize = 11;
/// The columns that follow them.
pub const COLUMNS: &str = "i.id, i.created_at, i.updated_at, i.changed_at, i.state, i.redacted, \
     i.rating, i.original_created_at, i.app_id, i.platform_type, i.queue_id, i.hs_user_id, \
     i.assignee_id, i.language, i.issue_mode, i.author_email";
/// The index of the first column after these.
pub const COLUMNS_END: usize = FRAGMENTS_COUNT + 16;

/// The fragments, from a row that begins with [`FRAGMENTS`].
pub fn fragments(row: &dyn Row) -> Result<IssueFragments<'_>, StoreError> {
    Ok(IssueFragments {
        head: row.get(0)?,
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

/// The checksums of the fragments, from such a row.
pub fn sums(row: &dyn Row) -> Result<&[u8], StoreError> {
    row.get(FRAGMENTS_COUNT - 1)
}

/// The columns, from a row that begins with [`FRAGMENTS`] and [`COLUMNS`].
pub fn columns(row: &dyn Row) -> Result<IssueColumns, StoreError> {
    let at = |place: usize| FRAGMENTS_COUNT + place;
    let shown = fragments(row)?;
    let head = [b"{", shown.head, b"}"].concat();
    let head = json::parse(&head).unwrap_or(Json::Null);
    let queue = shown.queue.and_then(|queue| json::parse(queue).ok()).unwrap_or(Json::Null);
    let code = row.get(at(4))?;
    let state = IssueState::from_code(code).ok_or_else(|| {
        StoreError::Corrupt(format!("{code} is not the code of a state of issues"))
    })?;
    let queue_of = |id: String| {
        let name = text(&queue, "name").unwrap_or_default();
        IssueQueue { id, name }
    };
    Ok(IssueColumns {
        id: row.get(at(0))?,
        created_at: row.get(at(1))?,
        original_created_at: row.get(at(7))?,
        app_id: row.get(at(8))?,
        app_publish_id: text(&head, "app_publish_id").unwrap_or_default(),
        facts: IssueFacts {
            updated_at: row.get(at(2))?,
            changed_at: row.get(at(3))?,
            state,
            redacted: row.get(at(5))?,
            rating: row.get(at(6))?,
            platform_type: row.get(at(9))?,
            queue: row.get::<Option<String>>(at(10))?.map(queue_of),
            hs_user_id: row.get(at(11))?,
            assignee_id: row.get(at(12))?,
            assignee_name: text(&head, "assignee_name"),
            language: row.get(at(13))?,
            issue_mode: row.get(at(14))?,
            author_email: row.get(at(15))?,
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
