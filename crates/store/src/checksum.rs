//! Checksums of rows that are served as they are stored (XXH3), which show damage. A statement that
//! writes such a row writes its checksum; reads whose bytes are served or changed compare it, and
//! the check compares all of them. Both backends store the same checksums.

use caseload_model::ids::DomainId;
use caseload_model::issue::{AppProfileRow, FRAGMENTS, IssueFragments};
use caseload_model::issue_query::IssueView;
use caseload_model::time::UnixMillis;
use twox_hash::XxHash3_64;

use crate::sql::{Row, Value};
use crate::{StoreError, values};

/// Mixes the hash of a value into that of the values before it.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// The parts that a null and a number have in the hash.
const NULL: u64 = 0x2545_f491_4f6c_dd1d;
const NUMBER: u64 = 0xd6e8_feb8_6659_fd93;
/// The highest bits are free, so that a checksum is not negative.
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

/// The largest number of columns of a checksum.
const COLUMNS_MAX: usize = 7;

/// The checksum of a core profile without its time of creation, which the sets of terms have.
pub fn of_core_profile(domain: DomainId, id: i64, updated_at: UnixMillis, fields: &[u8]) -> i64 {
    of(values![domain, id, updated_at, fields])
}

/// Fails if a core profile that was found by its id does not have its checksum: what
/// [`CORE_PROFILES`] requires of a row, from values that are read anyway.
pub fn require_core_profile(
    (domain, id): (DomainId, i64),
    updated_at: UnixMillis,
    fields: &[u8],
    stored: i64,
) -> Result<(), StoreError> {
    if stored == of_core_profile(domain, id, updated_at, fields) {
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

/// The columns of a table that a checksum covers.
#[derive(Debug)]
pub struct RowSum {
    pub table: &'static str,
    /// The first names the domain, the second the row.
    pub columns: &'static [&'static str],
    /// The column of the checksum.
    pub checksum: &'static str,
}

impl RowSum {
    const fn of(table: &'static str, columns: &'static [&'static str]) -> Self {
        Self { table, columns, checksum: "checksum" }
    }

    /// The columns and the checksum, for a statement that reads them.
    pub fn select(&self) -> String {
        format!("{}, {}", self.columns.join(", "), self.checksum)
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
        for (value, column) in values.iter_mut().zip(first..end) {
            *value = row.value(column)?;
        }
        Ok(of(&values[..self.columns.len()]) == row.get::<i64>(end)?)
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

pub static IDEMPOTENCY_KEYS: RowSum = RowSum::of(
    "idempotency_keys",
    &["domain_id", "key", "content", "location", "answer", "expires_at"],
);
pub static PAYLOAD_BLOCKS: RowSum =
    RowSum::of("payload_blocks", &["domain_id", "task_id", "first_index", "last_index", "bytes"]);
pub static RECORD_BLOCKS: RowSum = RowSum::of(
    "record_blocks",
    &["domain_id", "task_id", "kind", "first_index", "next_index", "lines", "bytes"],
);
pub static CORE_PROFILES: RowSum =
    RowSum::of("core_profiles", &["domain_id", "id", "updated_at", "fields"]);
pub static APP_PROFILES: RowSum =
    RowSum::of("app_profiles", &["domain_id", "pid", "app_id", "name", "emails", "created_at"]);
pub static APP_PROFILE_FIELDS: RowSum = RowSum {
    checksum: "fields_checksum",
    ..RowSum::of("app_profiles", &["domain_id", "pid", "updated_at", "fields"])
};
/// Positions are not in it: they are known only when the row is written.
pub static CHANGES: RowSum = RowSum::of("changes", &["domain_id", "at", "bytes"]);
pub static ATTACHMENT_PIECES: RowSum =
    RowSum::of("attachment_pieces", &["domain_id", "attachment_id", "number", "bytes"]);

/// All of them. Issues have a checksum for each fragment.
pub static ROW_SUMS: [&RowSum; 8] = [
    &IDEMPOTENCY_KEYS,
    &PAYLOAD_BLOCKS,
    &RECORD_BLOCKS,
    &CORE_PROFILES,
    &APP_PROFILES,
    &APP_PROFILE_FIELDS,
    &ATTACHMENT_PIECES,
    &CHANGES,
];

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
