//! Makes the sets of spans of a store from before them, once, after the migration that asks for
//! them: each is the union of sets of days or of numbers. A backend reads and writes the sets, one
//! block of rows after the other.

use std::collections::BTreeMap;

use caseload_model::issue::{TermKind, visit_spans};
use roaring::RoaringBitmap;

use crate::StoreError;
use crate::rowset::encode;

/// The kinds of the sets that are united.
pub const UNITED: [TermKind; 4] =
    [TermKind::Created, TermKind::Updated, TermKind::Changed, TermKind::FieldNumber];

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

    /// The sets as they are stored.
    pub fn finish(self) -> Result<Vec<StoredSet>, StoreError> {
        let stored = |((kind, value), mut rows)| Ok((kind, value, encode(&mut rows)?));
        self.0.into_iter().map(stored).collect()
    }
}
