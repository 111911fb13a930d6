//! Issues: reading entries of `import_issues`, rendering, plans of imports and single writes, and
//! the counters and terms that index an issue. Wire shape: docs/reference.md, "Issue".
//!
//! An issue is rendered once, when it is written; lists only concatenate the stored
//! [`IssueFragments`]. [`IssueColumns`] repeat what filters and sorting need. Invariant: both are
//! made from one reading of one entry, so they always agree.

pub mod attachment_url;
mod columns;
mod counters;
mod custom_field;
mod delete;
mod fragments;
mod head;
mod import;
mod iso_times;
mod limits;
mod list_version;
mod message;
mod number_ranges;
mod number_spans;
mod oldest_first;
mod person;
mod plan;
mod reader;
mod render;
mod terms;
mod view;
pub mod write;

pub use columns::{IssueColumns, IssueFacts, IssueQueue, IssueState};
pub use counters::{
    CounterKey, Facet, SPAN_DAYS, counted_days, counted_text, counter_keys, span_number,
    span_of_day, visit_counters,
};
pub use custom_field::{FieldType, has_value};
pub(crate) use custom_field::{boolean_text, scalar_text};
pub use delete::{IssueDeletePlan, plan_issue_deletes, prepare_issue_deletes};
pub use fragments::{FRAGMENTS, IssueBody, IssueFragments, write_issue};
pub use head::HeadTemplate;
pub use import::{
    AgentMention, AppProfileMention, DeskAddresses, ISSUE_FIELDS, NewIssue, prepare_imports,
    prepare_imports_of,
};
pub use limits::{
    ATTACHMENTS_MAX, CUSTOM_FIELDS_MAX, IssuePart, MESSAGES_MAX, META_KEYS_MAX, TAGS_MAX,
};
pub use list_version::{ListVersion, ListVersionHasher};
pub(crate) use message::is_of_end_user;
pub use number_ranges::{TermRange, numbers_above, numbers_below};
pub use oldest_first::{PlacedRecord, oldest_first, with_iso_times};
pub use plan::{
    App, AppProfileRow, ImportContext, ImportMode, ImportPlan, IssueRow, MissingWindows,
    StoredIssue, TakenTimestamps, TimeWindow, free_ids_needed, named_issue_ids, plan_imports,
};
pub(crate) use terms::with_text_term;
pub use terms::{
    OptionalField, TermKind, choice_term, day_term, field_term, instant_term, number_term,
    span_term, term_day, term_instant, text_term, visit_spans, visit_terms, visit_time,
};
pub use view::{IssueView, TimestampFormat};

/// Longest title, name, comment or note of an issue, in code points.
pub const TEXT_CHARS_MAX: usize = 100_000;
/// Longest number of a custom field, in characters. Numbers are in an index in their order, so no
/// digest can replace a longer one.
pub const CUSTOM_NUMBER_CHARS_MAX: usize = 4000;
/// Longest body of a message, in bytes.
pub const MESSAGE_BODY_BYTES_MAX: usize = 1 << 20;
/// Longest tag, in code points.
pub const TAG_CHARS_MAX: usize = 1000;
/// The latest instant an issue may carry: the end of the year 9999, in milliseconds.
pub const INSTANT_MS_MAX: i64 = crate::time::read::MOMENT_MS_MAX;
/// The `issue_mode` of an issue that came without one. It is shown and found, but not stored.
pub const ISSUE_MODE_DEFAULT: &str = "default";
/// The `assignee_id` of an unassigned issue.
pub const UNASSIGNED: &str = "unassigned";
