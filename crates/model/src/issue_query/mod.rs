//! A request for the list of issues: query parameters read into types, and their meaning. A
//! backend turns an [`IssueQuery`] into SQL; [`IssueQuery::matches`] defines which issues that SQL
//! must find. Wire grammar: docs/api.md, "Listing issues".

mod columns;
mod condition;
mod cursor;
pub(crate) mod cursor_paging;
mod custom_fields;
mod durations;
mod error_list;
mod filters;
mod fragment_reader;
mod grouping;
mod list;
mod matches;
mod message_list;
mod query;
mod rating;
mod searched_texts;

pub use crate::issue::{IssueView, TimestampFormat};
pub use crate::parameters::{
    PAGE_DEPTH_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, Paging, ParameterFault,
};
pub use columns::{COLUMNS_DEFAULT, COLUMNS_MAX, columns_pattern};
pub(crate) use columns::{ColumnSet, Inside};
pub(crate) use condition::ALL_KEYS;
pub use condition::{Compared, Condition, ConditionKey, ConditionRules, TextMatcher};
pub use cursor::{Cursor, CursorId, CursorScope, DamagedCursor, ListPosition};
pub use cursor_paging::{CursorPaging, ListScope};
pub use custom_fields::{
    Comparison, FieldFilter, FieldGroups, FieldMatcher, FieldTest, FieldTests,
};
pub(crate) use custom_fields::{DROPDOWN, NUMBER, TEXT, TypeTests, holds_for, parse_groups};
pub use durations::{
    DURATION_GROUPS, DURATION_PARAMETERS, DamagedIssue, Durations, DurationsRequest,
    parse_durations,
};
pub use error_list::{
    ERROR_LIST_PARAMETERS, ErrorFilter, ErrorListRequest, ErrorPages, RESULT_PARAMETERS,
    parse_error_list, parse_results,
};
pub use filters::{FilterKind, ISSUE_FILTERS, IssueFilter, Part, with_filters};
pub use fragment_reader::TextSource;
pub use grouping::{
    COUNT_PARAMETERS, CountRequest, CountedGroup, GROUPS_DEFAULT, GROUPS_MAX, Group, GroupValue,
    Grouping, Period, Zone, parse_counts,
};
pub(crate) use list::sort;
pub use list::{LIST_PARAMETERS, ListRequest, SINGLE_PARAMETERS, parse_list, parse_single};
pub use matches::SearchableIssue;
pub use message_list::{MESSAGE_LIST_PARAMETERS, MessageListRequest, parse_message_list};
pub use query::{IssueQuery, Person, Sort, SortKey, SortOrder, TimeRange};
pub use rating::RatingSet;
pub use searched_texts::SearchedTexts;
