//! Makes the sets of spans of a store from before them, once, after the migration that asks for
//! them: each is the union of sets of days or of numbers. A backend reads and writes the sets, one
//! block of rows after the other.

use std::collections::BTreeMap;

use caseload_model::issue::{TermKind, visit_spans};
use roaring::RoaringBitmap;

use crate::rowset::encode;
use crate::sql::Sql;
use crate::{StoreError, values};

/// The name of these sets among the incomplete indexes.
const SPANS: &str = "issue spans";

/// The kinds of the sets that are united.
pub const UNITED: [TermKind; 4] =
    [TermKind::Created, TermKind::Updated, TermKind::Changed, TermKind::FieldNumber];

/// Whether the sets are to be made.
pub fn spans_are_missing(sql: &impl Sql) -> Result<bool, StoreError> {
    let select = "SELECT 1 FROM incomplete_indexes WHERE name = ?1";
    Ok(sql.find(select, values![SPANS], |_| Ok(()))?.is_some())
}

/// Takes the task of making them, in the transaction that does it. False if it was done already.
pub fn take_missing_spans(sql: &impl Sql) -> Result<bool, StoreError> {
    Ok(sql.change("DELETE FROM incomplete_indexes WHERE name = ?1", values![SPANS])? > 0)
}

/// Kind, value and stored form of a set.
pub type StoredSet = (TermKind, Vec<u8>, Vec<u8>);

/// The sets of one block.
#[derive(Debug, Default)]
pub struct SpanSets(BTreeMap<(TermKind, Vec<u8>), RoaringBitmap>);

impl SpanSets {
    /// Adds the set of a day or of a number.
    pub fn add(&mut self, kind: TermKind, value: &[u8], rows: &RoaringBitmap) {
        visit_spans(kind, value, &mut |kind, span| {
            *self.0.entry((kind, span.to_vec())).or_default() |= rows;
        });
    }

    pub fn finish(self) -> Result<Vec<StoredSet>, StoreError> {
        let stored = |((kind, value), mut rows)| Ok((kind, value, encode(&mut rows)?));
        self.0.into_iter().map(stored).collect()
    }
}
