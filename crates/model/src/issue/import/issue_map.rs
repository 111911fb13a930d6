//! The fields that an entry of `import_issues` may have. Every other member of an entry is a fault,
//! so this list is also what error messages and the `OpenAPI` document know as an issue's fields.

use crate::issue::reader::Map;

/// The fields of an issue.
pub const ISSUE_FIELDS: [&str; 32] = [
    "id",
    "title",
    "tags",
    "app_id",
    "app_publish_id",
    "domain",
    "hs_user_id",
    "author_name",
    "author_email",
    "assignee_id",
    "assignee_name",
    "assignee_email",
    "redacted",
    "state_data",
    "created_at",
    "original_created_at",
    "updated_at",
    "language",
    "platform_type",
    "issue_mode_data",
    "cc",
    "messages",
    "meta",
    "custom_fields",
    "feedback_rating",
    "feedback_comment",
    "queue",
    "private_notes",
    "current_predict_label",
    "original_predict_label",
    "sentiment_analysis",
    "smart_intents",
];

/// The members of an entry, by field.
pub(super) type IssueMap<'j, 'p> = Map<'j, 'p, { ISSUE_FIELDS.len() }>;
