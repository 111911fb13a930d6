//! Checksums of stored rows (XXH3), which show damage. A statement that writes a row writes its
//! checksum; reads whose bytes are served or changed compare it, and the check compares all of
//! them. Both backends store the same checksums.
//!
//! A checksum is a hash of most columns of the row plus the sum of the others. The columns that are
//! summed are numbers that a statement changes without reading the row: it adds the difference. A
//! single wrong bit changes the hash or the sum.

use caseload_model::ids::DomainId;
use caseload_model::issue::{AppProfileRow, FRAGMENTS, IssueFragments};
use caseload_model::issue_query::IssueView;
use caseload_model::task::{Task, TaskOrigin};
use caseload_model::time::UnixMillis;
use twox_hash::XxHash3_64;

use crate::sql::{Row, Value};
use crate::{StoreError, values};

/// Mixes the hash of a value into that of the values before it.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// The parts that a null and a number have in the hash.
const NULL: u64 = 0x2545_f491_4f6c_dd1d;
const NUMBER: u64 = 0xd6e8_feb8_6659_fd93;
/// The highest bits are free, so that no statement that adds to a checksum overflows.
const FREE_BITS: u32 = 2;

/// The checksum of these values. It is not negative.
pub fn of(values: &[Value<'_>]) -> i64 {
    let hash = values.iter().fold(0_u64, |before, value| {
        let hash = match value {
            Value::Int(number) => number.cast_unsigned() ^ NUMBER,
            Value::Text(text) => XxHash3_64::oneshot(text.as_bytes()),
            Value::Bytes(bytes) => XxHash3_64::oneshot(bytes),
            // No column has a list.
            Value::Null | Value::Ints(_) | Value::Texts(_) | Value::Blobs(_) => NULL,
        };
        (before.rotate_left(23) ^ hash).wrapping_mul(STEP)
    });
    (hash >> FREE_BITS).cast_signed()
}

/// These values and their checksum.
pub fn sealed<'v>(values: &[Value<'v>]) -> Vec<Value<'v>> {
    values.iter().copied().chain([Value::Int(of(values))]).collect()
}

/// The largest number of hashed columns.
const COLUMNS_MAX: usize = 18;

/// The checksum of a core profile without its time of creation, which is summed.
pub fn of_core_profile(domain: DomainId, id: i64, updated_at: UnixMillis, fields: &[u8]) -> i64 {
    of(values![domain, id, updated_at, fields])
}

/// Fails if a core profile that was found by its id does not have its checksum: what
/// [`CORE_PROFILES`] requires of a row, from values that are read anyway.
pub fn require_core_profile(
    (domain, id): (DomainId, i64),
    (created_at, updated_at): (UnixMillis, UnixMillis),
    fields: &[u8],
    stored: i64,
) -> Result<(), StoreError> {
    let sum = of_core_profile(domain, id, updated_at, fields).wrapping_add(created_at.0);
    if stored == sum {
        return Ok(());
    }
    let named = [domain.0.to_string(), id.to_string()];
    Err(StoreError::Corrupt(CORE_PROFILES.fault_of(&named)))
}

/// The checksum of the columns of an app profile that are written once.
pub fn of_app_profile(domain: DomainId, profile: &AppProfileRow, created_at: UnixMillis) -> i64 {
    let AppProfileRow { pid, app_id, name, emails, .. } = profile;
    of(values![domain, pid, app_id, name, emails, created_at])
}

/// The checksum of the fields of an app profile.
pub fn of_app_profile_fields(
    domain: DomainId,
    pid: &str,
    updated_at: UnixMillis,
    fields: &[u8],
) -> i64 {
    of(values![domain, pid, updated_at, fields])
}

/// The checksum of the key and the file of a task ([`TASK_ORIGINS`]).
pub fn of_task_origin(domain: DomainId, task: &Task) -> i64 {
    let TaskOrigin { file_name, content_length, submitted_by } = &task.origin;
    let by = submitted_by.as_ref();
    let (key, name) = (by.map(|by| by.key_id.as_str()), by.map(|by| by.key_name.as_str()));
    of(values![domain, task.id, file_name, *content_length, key, name])
}

/// The columns of a table that a checksum covers.
#[derive(Debug)]
pub struct RowSum {
    pub table: &'static str,
    /// The hashed columns, then the summed ones. The first names the domain, the second the row.
    pub columns: &'static [&'static str],
    /// How many of the columns are hashed.
    pub hashed: usize,
    /// The column of the checksum.
    pub checksum: &'static str,
}

impl RowSum {
    const fn hashed(table: &'static str, columns: &'static [&'static str]) -> Self {
        Self { table, columns, hashed: columns.len(), checksum: "checksum" }
    }

    /// The columns and the checksum, for a statement that reads them.
    pub fn select(&self) -> String {
        format!("{}, {}", self.columns.join(", "), self.checksum)
    }

    /// The same of a table that the statement names otherwise.
    pub fn select_of(&self, name: &str) -> String {
        let columns = self.columns.iter().chain([&self.checksum]);
        columns.map(|column| format!("{name}.{column}")).collect::<Vec<_>>().join(", ")
    }

    /// How many columns that are: further columns of a query begin here.
    pub const fn width(&self) -> usize {
        self.columns.len() + 1
    }

    /// Whether a row that begins with [`RowSum::select`] has its checksum.
    pub fn holds(&self, row: &dyn Row) -> Result<bool, StoreError> {
        self.holds_at(row, 0)
    }

    fn holds_at(&self, row: &dyn Row, first: usize) -> Result<bool, StoreError> {
        let end = first + self.columns.len();
        let mut values = [Value::Null; COLUMNS_MAX];
        for (value, column) in values.iter_mut().zip(first..first + self.hashed) {
            *value = row.value(column)?;
        }
        let mut sum = of(&values[..self.hashed]);
        for column in first + self.hashed..end {
            sum = sum.wrapping_add(row.get::<Option<i64>>(column)?.unwrap_or_default());
        }
        Ok(sum == row.get::<i64>(end)?)
    }

    /// Fails if the row is damaged.
    pub fn require(&self, row: &dyn Row) -> Result<(), StoreError> {
        self.require_at(row, 0)
    }

    /// The same of a row that has the columns from `first` on.
    pub fn require_at(&self, row: &dyn Row, first: usize) -> Result<(), StoreError> {
        if self.holds_at(row, first)? {
            return Ok(());
        }
        Err(StoreError::Corrupt(self.fault_at(row, first)))
    }

    /// A sentence about a row that does not have its checksum.
    pub fn fault(&self, row: &dyn Row) -> String {
        self.fault_at(row, 0)
    }

    fn fault_at(&self, row: &dyn Row, first: usize) -> String {
        let shown = |column: usize| match row.value(first + column) {
            Ok(Value::Int(number)) => number.to_string(),
            Ok(Value::Bytes(bytes)) => format!("\"{}\"", bytes.escape_ascii()),
            Ok(Value::Text(text)) => format!("{text:?}"),
            _ => "?".to_owned(),
        };
        self.fault_of(&[shown(0), shown(1)])
    }

    /// The sentence about the row whose first columns have these values.
    fn fault_of(&self, values: &[String]) -> String {
        let named = self.columns.iter().zip(values);
        let named: Vec<_> = named.map(|(name, value)| format!("{name} {value}")).collect();
        format!(
            "a row of {} ({}) does not have its {}",
            self.table,
            named.join(", "),
            self.checksum
        )
    }
}

pub static DOMAINS: RowSum = RowSum::hashed(
    "domains",
    &[
        "id",
        "name",
        "default_app_id",
        "created_at",
        "desk_name",
        "desk_email",
        "quota_bytes",
        "quota_tasks",
        "rate_limit",
    ],
);
pub static KEYS: RowSum = RowSum {
    table: "keys",
    columns: &[
        "domain_id",
        "id",
        "hash",
        "name",
        "write_access",
        "created_at",
        "expires_at",
        "last_used_at",
        "revoked_at",
        "admin_access",
    ],
    hashed: 7,
    checksum: "checksum",
};
pub static SESSIONS: RowSum =
    RowSum::hashed("sessions", &["domain_id", "hash", "key_id", "kind", "expires_at"]);
pub static APPS: RowSum =
    RowSum::hashed("apps", &["domain_id", "id", "publish_id", "title", "created_at"]);
pub static AGENTS: RowSum =
    RowSum::hashed("agents", &["domain_id", "id", "name", "email", "created_at"]);
pub static QUEUES: RowSum = RowSum::hashed("queues", &["domain_id", "id", "name", "created_at"]);
pub static IDEMPOTENCY_KEYS: RowSum = RowSum::hashed(
    "idempotency_keys",
    &["domain_id", "key", "content", "location", "answer", "expires_at"],
);
pub static TASKS: RowSum = RowSum {
    table: "tasks",
    columns: &[
        "domain_id",
        "id",
        "family",
        "action",
        "writes",
        "dry_run",
        "total",
        "created_at",
        "expires_at",
        "parent_id",
        "outcome",
        "succeeded",
        "failed",
        "unprocessed",
        "completed_at",
        "next_index",
        "attempts",
        "warnings",
        "queued_at",
        "started_at",
        "upsert",
    ],
    hashed: 18,
    checksum: "checksum",
};
pub static TASK_ORIGINS: RowSum = RowSum {
    table: "tasks",
    columns: &[
        "domain_id",
        "id",
        "file_name",
        "content_length",
        "submitted_key",
        "submitted_key_name",
    ],
    hashed: 6,
    checksum: "origin_checksum",
};
pub static PAYLOAD_BLOCKS: RowSum = RowSum::hashed(
    "payload_blocks",
    &["domain_id", "task_id", "first_index", "last_index", "bytes"],
);
pub static RECORD_BLOCKS: RowSum = RowSum::hashed(
    "record_blocks",
    &["domain_id", "task_id", "kind", "first_index", "next_index", "lines", "bytes"],
);
pub static CORE_PROFILES: RowSum = RowSum {
    table: "core_profiles",
    columns: &["domain_id", "id", "updated_at", "fields", "created_at"],
    hashed: 4,
    checksum: "checksum",
};
pub static APP_PROFILES: RowSum =
    RowSum::hashed("app_profiles", &["domain_id", "pid", "app_id", "name", "emails", "created_at"]);
pub static APP_PROFILE_FIELDS: RowSum = RowSum {
    table: "app_profiles",
    columns: &["domain_id", "pid", "updated_at", "fields"],
    hashed: 4,
    checksum: "fields_checksum",
};
pub static ATTACHMENTS: RowSum = RowSum {
    table: "attachments",
    columns: &["domain_id", "id", "issue_id", "file_name", "content_type", "size", "created_at"],
    hashed: 5,
    checksum: "checksum",
};
pub static ATTACHMENT_PIECES: RowSum =
    RowSum::hashed("attachment_pieces", &["domain_id", "attachment_id", "number", "bytes"]);

/// All of them, except for clocks, whose columns differ between the backends. Issues have a
/// checksum for each fragment, and the check compares their columns with the fragments; counters,
/// term sets and identities are compared with the issues and profiles.
pub static ROW_SUMS: [&RowSum; 16] = [
    &DOMAINS,
    &KEYS,
    &SESSIONS,
    &APPS,
    &AGENTS,
    &QUEUES,
    &IDEMPOTENCY_KEYS,
    &TASKS,
    &TASK_ORIGINS,
    &PAYLOAD_BLOCKS,
    &RECORD_BLOCKS,
    &CORE_PROFILES,
    &APP_PROFILES,
    &APP_PROFILE_FIELDS,
    &ATTACHMENTS,
    &ATTACHMENT_PIECES,
];

/// The numbers of a domain's clock that every backend has. Their sum is its checksum.
pub const CLOCK_COLUMNS: [&str; 8] = [
    "domain_id",
    "last_issue_id",
    "last_core_profile_id",
    "last_created_at",
    "last_change_at",
    "last_app_number",
    "last_live_created_at",
    "stored_bytes",
];

/// The beginning of a statement that sets columns of clocks to expressions, and the checksum with
/// them.
pub fn set_clock(columns: &[(&str, &str)]) -> String {
    let sets = columns.iter().map(|(column, expression)| format!("{column} = {expression}, "));
    let added = columns.iter().map(|(column, expression)| format!(" + ({expression}) - {column}"));
    let (sets, added) = (sets.collect::<String>(), added.collect::<String>());
    format!("UPDATE domain_clocks SET {sets}checksum = checksum{added}")
}

/// Bytes of the checksum of a fragment.
const FRAGMENT_SUM_BYTES: usize = 4;

/// The checksums of the fragments of an issue, as they are stored with it.
pub type FragmentSums = [u8; FRAGMENTS * FRAGMENT_SUM_BYTES];

/// The checksums of all fragments.
pub fn of_fragments(issue: &IssueFragments<'_>) -> FragmentSums {
    let mut sums = [0; FRAGMENTS * FRAGMENT_SUM_BYTES];
    for (fragment, sum) in issue.all().iter().zip(sums.chunks_exact_mut(FRAGMENT_SUM_BYTES)) {
        sum.copy_from_slice(&fragment_sum(*fragment));
    }
    sums
}

/// Fails if a fragment that `view` shows does not have its checksum.
pub fn require_fragments(
    issue: &IssueFragments<'_>,
    view: &IssueView,
    stored: &[u8],
) -> Result<(), StoreError> {
    let shown = [
        true,
        !view.exclude_messages,
        true,
        view.custom_fields,
        view.feedback,
        view.queue,
        view.private_notes,
        view.predict_labels,
        view.sentiment_analysis,
        view.smart_intents,
    ];
    let mut sums = stored.chunks_exact(FRAGMENT_SUM_BYTES);
    let holds = issue.all().iter().zip(shown).all(|(fragment, shown)| {
        sums.next().is_some_and(|sum| !shown || sum == fragment_sum(*fragment))
    });
    if holds && stored.len() == FRAGMENTS * FRAGMENT_SUM_BYTES {
        return Ok(());
    }
    let head = &issue.head[..issue.head.len().min(HEAD_BYTES_SHOWN)];
    Err(StoreError::Corrupt(format!(
        "a fragment of the issue that begins with {} does not have its checksum",
        head.escape_ascii()
    )))
}

/// Bytes of a head that a fault shows: the id is in them.
const HEAD_BYTES_SHOWN: usize = 24;

fn fragment_sum(fragment: Option<&[u8]>) -> [u8; FRAGMENT_SUM_BYTES] {
    let hash = fragment.map_or(NULL, XxHash3_64::oneshot);
    // Truncation: any bits of the hash are as good.
    (hash as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_row_changes_its_checksum() {
        let (text, bytes) = ("Grüße", vec![7_u8; 300]);
        let sum = of(values![1_i64, text, bytes, None::<i64>]);
        assert!(sum >= 0);
        for bit in 0..64 {
            assert_ne!(sum, of(values![1_i64 ^ (1 << bit), text, bytes, None::<i64>]), "{bit}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(sum, of(values![1_i64, text, flipped, None::<i64>]), "{bit}");
        }
        assert_ne!(sum, of(values![1_i64, text, bytes, 0_i64]), "null is not zero");
    }

    #[test]
    fn a_view_compares_only_the_fragments_that_it_shows() {
        let issue = IssueFragments {
            head: b"\"id\":1",
            messages: b"[]",
            meta: b"{}",
            custom_fields: b"{}",
            feedback: None,
            queue: None,
            private_notes: Some(b"[1]"),
            predict_labels: None,
            sentiment_analysis: None,
            smart_intents: None,
        };
        let sums = of_fragments(&issue);
        let damaged = IssueFragments { private_notes: Some(b"[3]"), ..issue };
        let without = IssueView::default();
        let with = IssueView { private_notes: true, ..without };
        assert!(require_fragments(&damaged, &without, &sums).is_ok());
        assert!(require_fragments(&damaged, &with, &sums).is_err());
        assert!(require_fragments(&issue, &with, &sums).is_ok());
        assert!(require_fragments(&issue, &with, &sums[..36]).is_err());
    }
}
