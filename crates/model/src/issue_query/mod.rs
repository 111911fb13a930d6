//! What a caller asks of the issue list, parsed once into types. `IssueQuery::default()` matches
//! every issue, newest first; each filter narrows it, and all of them hold together. How a query
//! becomes SQL is each backend's business; what it means is [`IssueQuery::matches`], and the two
//! agree. Wire grammar: docs/api.md, "Listing issues".

mod condition;
mod condition_parse;
mod cursor;
mod cursor_paging;
mod custom_fields;
mod custom_fields_parse;
mod decimal;
mod field_matcher;
mod filter_json;
mod fragments;
mod list;
mod matches;
pub(crate) mod parameters;
mod rating;
mod text_matcher;
mod view;

use crate::error_code::ErrorCode;
use crate::issue::IssueState;
use crate::task::words;
use crate::time::UnixMillis;

pub use condition::Condition;
pub use cursor::{Cursor, CursorScope, DamagedCursor, ListPosition};
pub use cursor_paging::CursorPaging;
pub use custom_fields::{Comparison, FieldFilter, FieldTest, FieldTests, FieldType};
pub use decimal::Decimal;
pub(crate) use field_matcher::text_of;
pub use field_matcher::{FieldMatcher, has_value};
pub use fragments::TextSource;
pub(crate) use list::paging;
pub use list::{LIST_PARAMETERS, SINGLE_PARAMETERS, parse_list, parse_single};
pub use matches::SearchableIssue;
pub use rating::RatingSet;
pub use text_matcher::TextMatcher;
pub use view::{IssueView, TimestampFormat};

/// Issues on a page where nothing is said.
pub const PAGE_SIZE_DEFAULT: u64 = 100;
/// Most issues on a page.
pub const PAGE_SIZE_MAX: u64 = 1000;
/// Most that page and page size may come to when multiplied.
pub const PAGE_DEPTH_MAX: u64 = 50_000;

const _: () = assert!(PAGE_SIZE_DEFAULT <= PAGE_SIZE_MAX && PAGE_SIZE_MAX <= PAGE_DEPTH_MAX);

/// A span of time, both ends included; an absent end is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeRange {
    pub since: Option<UnixMillis>,
    pub until: Option<UnixMillis>,
}

impl TimeRange {
    pub fn contains(&self, at: UnixMillis) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at <= until)
    }

    /// Whether it holds every instant.
    pub const fn is_unbounded(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }
}

words! {
    /// The instant that a list is sorted by. Ties go by id, in the same direction.
    SortKey {
        CreationTime = 1 "creation-time",
        StateChangeTime = 2 "state-change-time",
        UpdateTime = 3 "update-time",
    }
}

words! {
    /// The direction of a list.
    SortOrder {
        Ascending = 1 "asc",
        Descending = 2 "desc",
    }
}

/// The order of a list: total, because ids are unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    pub key: SortKey,
    pub order: SortOrder,
}

impl Default for Sort {
    /// Newest first.
    fn default() -> Self {
        Self { key: SortKey::CreationTime, order: SortOrder::Descending }
    }
}

/// Which issues, and in which order. A list of alternatives that is given but empty matches
/// nothing; lists are ascending and without repeats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueQuery {
    /// On `created_at`.
    pub created: TimeRange,
    /// On `updated_at`.
    pub updated: TimeRange,
    /// On `state_data.changed_at`.
    pub changed: TimeRange,
    pub states: Option<Vec<IssueState>>,
    pub ids: Option<Vec<u64>>,
    pub app_ids: Option<Vec<String>>,
    pub platform_types: Option<Vec<String>>,
    pub queue_ids: Option<Vec<String>>,
    /// On `hs_user_id`.
    pub end_user_ids: Option<Vec<String>>,
    /// On `issue_mode_data.issue_mode`.
    pub issue_modes: Option<Vec<String>>,
    pub tags: Condition,
    /// On `language`.
    pub languages: Condition,
    /// On `assignee_id`; an unassigned issue has none.
    pub assignee_ids: Condition,
    /// On the addresses of the agent who is the assignee, folded. Only `or` is ever given.
    pub assignee_emails: Condition,
    /// On `author_email`, folded; an empty one is none. `and` and `nor` are never given.
    pub author_emails: Condition,
    /// Folded texts, each looked for in the bodies of all messages. `exists` is never given.
    pub messages: Condition,
    /// Folded texts, each looked for in the bodies of all private notes. `exists` is never given.
    pub notes: Condition,
    /// Folded texts, looked for in the comment. `or` is never given.
    pub feedback_comment: Condition,
    /// At most one for each type of field; all of them hold.
    pub custom_fields: Vec<FieldFilter>,
    pub rating: Option<RatingSet>,
    pub redacted: Option<bool>,
    pub sort: Sort,
}

/// A page by number. `page` times `page_size` is at most [`PAGE_DEPTH_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    /// From 1.
    pub page: u64,
    /// 1 to [`PAGE_SIZE_MAX`].
    pub page_size: u64,
}

impl Default for Paging {
    fn default() -> Self {
        Self { page: 1, page_size: PAGE_SIZE_DEFAULT }
    }
}

impl Paging {
    /// How many issues stand before the page.
    pub const fn offset(&self) -> u64 {
        (self.page - 1) * self.page_size
    }
}

/// A request for a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRequest {
    pub query: IssueQuery,
    pub view: IssueView,
    pub paging: Paging,
    /// Whether `page` was given.
    pub explicit_paging: bool,
    /// Where the list goes by place and not by page; `paging` then has its size only.
    pub cursor: Option<CursorPaging>,
}

/// What is wrong with one parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterFault {
    /// The name as the caller spelled it.
    pub parameter: String,
    pub code: ErrorCode,
    /// What is wrong and what would be right, as a sentence.
    pub detail: String,
}
