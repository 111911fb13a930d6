//! An issue's columns, from the columns that a backend stores and from the fragments. Only the
//! fragments contain tags and names. Checks and edits read issues this way; lists do not. If the
//! head is unreadable, tags and names are empty; the caller reports the damage.

use caseload_model::issue::{IssueColumns, IssueFacts, IssueFragments, IssueQueue, IssueState};
use caseload_model::json::{self, Json};
use caseload_model::time::UnixMillis;

use crate::StoreError;

/// The stored columns of a row.
#[derive(Debug)]
pub struct StoredColumns {
    pub id: i64,
    pub created_at: i64,
    pub updated_at: i64,
    pub changed_at: i64,
    pub state: i64,
    pub redacted: bool,
    pub rating: Option<u8>,
    pub original_created_at: Option<i64>,
    pub app_id: String,
    pub platform_type: Option<String>,
    pub queue_id: Option<String>,
    pub hs_user_id: String,
    pub assignee_id: Option<String>,
    pub language: Option<String>,
    pub issue_mode: Option<String>,
    pub author_email: String,
}

impl StoredColumns {
    /// Adds the values that only the fragments contain.
    pub fn columns(self, shown: &IssueFragments<'_>) -> Result<IssueColumns, StoreError> {
        let code = self.state;
        let state = IssueState::from_code(code).ok_or_else(|| {
            StoreError::Corrupt(format!("{code} is not the code of a state of issues"))
        })?;
        let head = [b"{", shown.head, b"}"].concat();
        let head = json::parse(&head).unwrap_or(Json::Null);
        let queue = shown.queue.and_then(|queue| json::parse(queue).ok()).unwrap_or(Json::Null);
        Ok(IssueColumns {
            id: self.id.unsigned_abs(),
            created_at: UnixMillis(self.created_at),
            original_created_at: self.original_created_at.map(UnixMillis),
            app_id: self.app_id,
            app_publish_id: text(&head, "app_publish_id").unwrap_or_default(),
            facts: IssueFacts {
                updated_at: UnixMillis(self.updated_at),
                changed_at: UnixMillis(self.changed_at),
                state,
                assignee_id: self.assignee_id,
                assignee_name: text(&head, "assignee_name"),
                queue: self.queue_id.map(|id| {
                    let name = text(&queue, "name").unwrap_or_default();
                    IssueQueue { id, name }
                }),
                hs_user_id: self.hs_user_id,
                author_email: self.author_email,
                rating: self.rating,
                language: self.language,
                platform_type: self.platform_type,
                issue_mode: self.issue_mode,
                redacted: self.redacted,
                tags: match head.get("tags") {
                    Some(Json::Array(tags)) => {
                        tags.iter().filter_map(Json::as_str).map(str::to_owned).collect()
                    }
                    _ => Vec::new(),
                },
            },
        })
    }
}

fn text(map: &Json<'_>, key: &str) -> Option<String> {
    map.get(key).and_then(Json::as_str).map(str::to_owned)
}
