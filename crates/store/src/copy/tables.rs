//! The tables and columns that a copy transfers, in an order in which every row comes after the
//! rows that it refers to. Both backends have these tables. If a backend stores a value elsewhere
//! or under another number, its own `copy` module says so. Invariant: every table and column of a
//! backend is listed here or among the backend's own; a test compares the lists with the
//! catalogues.

/// The contents of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number; a truth value is 0 or 1.
    Integer,
    /// UTF-8.
    Text,
    Bytes,
    /// A number that only orders the rows of a domain.
    Order,
    /// The row number of an issue or of a core profile.
    Row,
    /// A block of 65,536 row numbers.
    Block,
    /// A set of rows of one block. The column of kind [`Kind::Block`] names the block.
    RowSet,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
    pub nullable: bool,
}

/// A table.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [Column],
    /// Whether the table is in the fingerprint of the source. These tables are small, and every
    /// change of the store changes one of them, so that a resumed copy detects a changed source.
    pub in_fingerprint: bool,
}

impl Table {
    /// Whether its row numbers are those of core profiles and not of issues.
    pub fn is_of_profiles(&self) -> bool {
        matches!(self.name, "core_profiles" | "profile_sets")
    }

    /// The position of a column.
    pub fn offset_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

const fn integer(name: &'static str) -> Column {
    Column { name, kind: Kind::Integer, nullable: false }
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: Kind::Text, nullable: false }
}

const fn bytes(name: &'static str) -> Column {
    Column { name, kind: Kind::Bytes, nullable: false }
}

const fn of_kind(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: false }
}

const fn or_null(column: Column) -> Column {
    Column { nullable: true, ..column }
}

const fn small(name: &'static str, columns: &'static [Column]) -> Table {
    Table { name, columns, in_fingerprint: true }
}

const fn large(name: &'static str, columns: &'static [Column]) -> Table {
    Table { name, columns, in_fingerprint: false }
}

/// Marks every issue for the text index, which a target builds again from its issues.
pub const MARK_TEXTS: &str = "INSERT INTO issue_text_marks (domain_id, first_row, last_row, erased)
     SELECT i.domain_id, min(i.row), max(i.row), FALSE FROM issues i GROUP BY i.domain_id";

/// All tables, in the order in which they are copied.
pub static TABLES: &[Table] = &[
    small(
        "domains",
        &[
            integer("id"),
            text("name"),
            text("default_app_id"),
            integer("created_at"),
            text("desk_name"),
            or_null(text("desk_email")),
            or_null(integer("quota_bytes")),
            or_null(integer("quota_tasks")),
            or_null(integer("rate_limit")),
            or_null(text("placeholders")),
        ],
    ),
    small("domain_removals", &[integer("removed_id")]),
    small(
        "domain_clocks",
        &[
            integer("domain_id"),
            integer("last_issue_id"),
            integer("last_core_profile_id"),
            integer("last_created_at"),
            integer("last_change_at"),
            integer("last_app_number"),
            integer("last_live_created_at"),
            integer("stored_bytes"),
            integer("last_position"),
            integer("dropped_position"),
        ],
    ),
    small(
        "keys",
        &[
            integer("domain_id"),
            text("id"),
            bytes("hash"),
            text("name"),
            integer("write_access"),
            integer("created_at"),
            or_null(integer("last_used_at")),
            or_null(integer("expires_at")),
            or_null(integer("revoked_at")),
            or_null(integer("admin_access")),
        ],
    ),
    small(
        "sessions",
        &[
            integer("domain_id"),
            bytes("hash"),
            text("key_id"),
            integer("kind"),
            integer("expires_at"),
        ],
    ),
    small(
        "apps",
        &[
            integer("domain_id"),
            text("id"),
            text("publish_id"),
            text("title"),
            integer("created_at"),
        ],
    ),
    small(
        "agents",
        &[integer("domain_id"), text("id"), text("name"), text("email"), integer("created_at")],
    ),
    small("queues", &[integer("domain_id"), text("id"), text("name"), integer("created_at")]),
    small(
        "views",
        &[
            integer("domain_id"),
            text("id"),
            text("key_id"),
            integer("list"),
            text("name"),
            text("query"),
            integer("created_at"),
            integer("updated_at"),
        ],
    ),
    small(
        "idempotency_keys",
        &[
            integer("domain_id"),
            text("key"),
            bytes("content"),
            text("location"),
            bytes("answer"),
            integer("expires_at"),
            integer("checksum"),
        ],
    ),
    small(
        "webhooks",
        &[
            integer("domain_id"),
            text("id"),
            integer("created_at"),
            text("url"),
            integer("resources"),
            integer("actions"),
            integer("include_record"),
            integer("paused"),
            or_null(text("pause_reason")),
            integer("position"),
            integer("failures"),
            or_null(integer("next_try_at")),
            or_null(integer("retry_until")),
            integer("test_asked"),
            bytes("secret"),
            or_null(bytes("old_secret")),
            or_null(integer("old_secret_until")),
            integer("attempts"),
        ],
    ),
    small(
        "webhook_deliveries",
        &[
            integer("domain_id"),
            text("webhook_id"),
            integer("number"),
            integer("at"),
            integer("duration_ms"),
            text("message_id"),
            or_null(integer("changes")),
            or_null(integer("first_position")),
            or_null(integer("last_position")),
            or_null(integer("status")),
            text("answer"),
        ],
    ),
    large(
        "changes",
        &[
            integer("domain_id"),
            integer("last_position"),
            integer("first_position"),
            integer("at"),
            bytes("bytes"),
            integer("checksum"),
        ],
    ),
    large(
        "change_records",
        &[
            integer("domain_id"),
            integer("resource"),
            integer("id"),
            integer("last_position"),
            or_null(integer("lowest")),
            or_null(integer("highest")),
        ],
    ),
    small("uploads", &[integer("domain_id"), text("id"), integer("touched_at")]),
    small("dry_runs", &[integer("domain_id"), text("id"), or_null(integer("ended_at"))]),
    small(
        "tasks",
        &[
            integer("domain_id"),
            text("id"),
            of_kind("seq", Kind::Order),
            integer("family"),
            integer("action"),
            integer("writes"),
            integer("dry_run"),
            integer("status"),
            or_null(integer("outcome")),
            integer("total"),
            integer("succeeded"),
            integer("failed"),
            integer("unprocessed"),
            integer("next_index"),
            integer("created_at"),
            or_null(integer("queued_at")),
            or_null(integer("started_at")),
            or_null(integer("completed_at")),
            or_null(integer("expires_at")),
            integer("attempts"),
            integer("not_before"),
            or_null(text("parent_id")),
            or_null(integer("cancel_at")),
            integer("purge"),
            or_null(text("retried_by")),
            integer("warnings"),
            integer("deaths"),
            or_null(integer("next_try_at")),
            or_null(text("run_by")),
            or_null(text("file_name")),
            or_null(integer("content_length")),
            or_null(text("submitted_key")),
            or_null(text("submitted_key_name")),
            or_null(integer("upsert")),
            or_null(text("import_id")),
            or_null(integer("changes_before")),
        ],
    ),
    small(
        "imports",
        &[
            integer("domain_id"),
            text("id"),
            integer("family"),
            integer("action"),
            integer("dry_run"),
            integer("upsert"),
            text("file"),
            or_null(bytes("digest")),
            integer("created_at"),
            integer("expires_at"),
            or_null(text("parent_id")),
            or_null(text("retried_by")),
            or_null(text("run_by")),
            or_null(text("repeat_of")),
            or_null(text("file_name")),
            or_null(integer("content_length")),
            or_null(text("submitted_key")),
            or_null(text("submitted_key_name")),
            integer("without_id"),
            or_null(bytes("sketch")),
            or_null(text("doubles_of")),
            or_null(integer("doubles_at")),
            or_null(integer("doubles")),
        ],
    ),
    large("dry_run_state", &[integer("domain_id"), text("run_id"), bytes("key"), bytes("value")]),
    large(
        "payload_blocks",
        &[
            integer("domain_id"),
            text("task_id"),
            integer("first_index"),
            integer("last_index"),
            bytes("bytes"),
            integer("checksum"),
        ],
    ),
    large(
        "record_blocks",
        &[
            integer("domain_id"),
            text("task_id"),
            integer("kind"),
            integer("first_index"),
            integer("next_index"),
            integer("lines"),
            bytes("bytes"),
            integer("checksum"),
        ],
    ),
    large(
        "core_profiles",
        &[
            of_kind("row", Kind::Row),
            integer("domain_id"),
            integer("id"),
            integer("created_at"),
            integer("updated_at"),
            bytes("fields"),
            integer("checksum"),
        ],
    ),
    large(
        "profile_sets",
        &[
            integer("domain_id"),
            integer("kind"),
            bytes("value"),
            of_kind("block", Kind::Block),
            of_kind("rows", Kind::RowSet),
        ],
    ),
    large("identities", &[integer("domain_id"), bytes("key"), integer("core_profile_id")]),
    large(
        "app_profiles",
        &[
            integer("domain_id"),
            text("pid"),
            text("app_id"),
            text("name"),
            bytes("emails"),
            integer("created_at"),
            integer("updated_at"),
            bytes("fields"),
            integer("checksum"),
            integer("fields_checksum"),
        ],
    ),
    large(
        "app_profile_identities",
        &[integer("domain_id"), bytes("key"), text("pid"), integer("kind")],
    ),
    large(
        "issues",
        &[
            of_kind("row", Kind::Row),
            integer("domain_id"),
            integer("id"),
            integer("created_at"),
            integer("updated_at"),
            integer("changed_at"),
            integer("state"),
            integer("redacted"),
            or_null(integer("rating")),
            or_null(integer("original_created_at")),
            text("app_id"),
            or_null(text("platform_type")),
            or_null(text("queue_id")),
            text("hs_user_id"),
            or_null(text("assignee_id")),
            or_null(text("language")),
            or_null(text("issue_mode")),
            text("author_email"),
        ],
    ),
    large(
        "issue_bodies",
        &[
            integer("domain_id"),
            of_kind("row", Kind::Row),
            bytes("head"),
            bytes("messages"),
            bytes("meta"),
            bytes("custom_fields"),
            or_null(bytes("feedback")),
            or_null(bytes("queue")),
            or_null(bytes("private_notes")),
            or_null(bytes("predict_labels")),
            or_null(bytes("sentiment_analysis")),
            or_null(bytes("smart_intents")),
            bytes("checksums"),
        ],
    ),
    large(
        "issue_counts",
        &[integer("domain_id"), integer("facet"), bytes("value"), integer("day"), integer("n")],
    ),
    large(
        "issue_sets",
        &[
            integer("domain_id"),
            integer("kind"),
            bytes("value"),
            of_kind("block", Kind::Block),
            of_kind("rows", Kind::RowSet),
        ],
    ),
    large(
        "issue_values",
        &[
            integer("domain_id"),
            integer("kind"),
            of_kind("block", Kind::Block),
            bytes("value"),
            of_kind("rows", Kind::RowSet),
        ],
    ),
    small(
        "attachments",
        &[
            integer("domain_id"),
            text("id"),
            or_null(integer("issue_id")),
            text("file_name"),
            text("content_type"),
            integer("size"),
            integer("created_at"),
        ],
    ),
    large(
        "attachment_pieces",
        &[
            integer("domain_id"),
            text("attachment_id"),
            integer("number"),
            bytes("bytes"),
            integer("checksum"),
        ],
    ),
];
