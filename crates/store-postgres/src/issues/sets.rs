//! Reads sets of rows: a base for each term and block, and the deltas of transactions since the
//! base was written. Invariant: base and deltas give the same set before and after compaction.

use std::collections::BTreeMap;

use caseload_model::issue::TermKind;
use caseload_model::issue_query::SortKey;
use roaring::RoaringBitmap;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use caseload_store::StoreError;
use caseload_store::query::Leaf;
use caseload_store::rowset::decode;

/// The columns that [`visit`] reads, of a base and of a delta.
pub(super) const BASE: &str = "value, block, 0::bigint AS seq, rows, NULL::bytea";
pub(super) const DELTA: &str = "value, block, seq, entered, gone";

/// The blocks of a domain that may have rows, as a table.
const BLOCKS: &str = "generate_series(0, (SELECT last_issue_row >> 16 FROM domain_clocks
     WHERE domain_id = $1)) AS blocks(block)";

/// Bases and deltas of a kind whose values pass a predicate. The rows of one set are adjacent and
/// in the order in which they take effect. The domain is bound at 1, the kind at 2.
pub(super) fn select(kind: TermKind, predicate: &str) -> String {
    let base = if kind.is_sparse() {
        format!(
            "SELECT v.value, v.block, 0::bigint AS seq, v.rows, NULL::bytea FROM {BLOCKS}
             CROSS JOIN LATERAL (SELECT value, block, rows FROM issue_values
             WHERE domain_id = $1 AND kind = $2 AND block = blocks.block AND {predicate}
             OFFSET 0) v"
        )
    } else {
        format!("SELECT {BASE} FROM issue_sets WHERE domain_id = $1 AND kind = $2 AND {predicate}")
    };
    format!(
        "{base} UNION ALL SELECT {DELTA} FROM issue_set_deltas
         WHERE domain_id = $1 AND kind = $2 AND {predicate} ORDER BY 1, 2, 3"
    )
}

/// [`select`] of a range of values, from $3 on and before $4.
pub(super) fn select_range(kind: TermKind) -> String {
    select(kind, "value >= $3 AND value < $4")
}

/// The question for the terms of all leaves: each term with the number of its leaf.
pub(super) struct TermQuestion<'l> {
    leaves: Vec<i64>,
    kinds: Vec<i16>,
    values: Vec<&'l [u8]>,
    sparse: bool,
}

impl<'l> TermQuestion<'l> {
    pub(super) fn new(leaves: &[&'l Leaf]) -> Self {
        let (numbers, kinds, values) = (Vec::new(), Vec::new(), Vec::new());
        let mut terms = Self { leaves: numbers, kinds, values, sparse: false };
        for (number, leaf) in leaves.iter().enumerate() {
            let Leaf::Term { kind, values } = leaf else { continue };
            terms.sparse |= kind.is_sparse();
            for value in values {
                terms.leaves.push(number as i64);
                terms.kinds.push(kind.code() as i16);
                terms.values.push(value);
            }
        }
        terms
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// As [`select`], followed by the number of the leaf.
    pub(super) fn select(&self) -> String {
        let terms = "unnest($2::bigint[], $3::smallint[], $4::bytea[]) AS t(n, kind, value)";
        let of_term = "domain_id = $1 AND kind = t.kind AND value = t.value";
        let mut halves = vec![
            format!(
                "SELECT t.value, s.block, 0::bigint, s.rows, NULL::bytea, t.n, t.kind FROM {terms}
                 CROSS JOIN LATERAL (SELECT block, rows FROM issue_sets WHERE {of_term} OFFSET 0) s"
            ),
            format!(
                "SELECT t.value, s.block, s.seq, s.entered, s.gone, t.n, t.kind FROM {terms}
                 CROSS JOIN LATERAL (SELECT block, seq, entered, gone FROM issue_set_deltas
                 WHERE {of_term} OFFSET 0) s"
            ),
        ];
        if self.sparse {
            halves.push(format!(
                "SELECT t.value, s.block, 0::bigint, s.rows, NULL::bytea, t.n, t.kind
                 FROM {BLOCKS} CROSS JOIN {terms}
                 CROSS JOIN LATERAL (SELECT block, rows FROM issue_values
                 WHERE block = blocks.block AND {of_term} OFFSET 0) s"
            ));
        }
        format!("{} ORDER BY 6, 7, 1, 2, 3", halves.join(" UNION ALL "))
    }

    pub(super) fn parameters<'p>(&'p self, domain: &'p i64) -> [&'p (dyn ToSql + Sync); 4] {
        [domain, &self.leaves, &self.kinds, &self.values]
    }

    /// The set of each of `leaves` leaves; empty for one that has no terms.
    pub(super) fn answers(leaves: usize, found: &[Row]) -> Result<Vec<RoaringBitmap>, StoreError> {
        let mut answers = vec![RoaringBitmap::new(); leaves];
        let leaf = |row: &Row| row.get::<_, i64>(5);
        for of_leaf in found.chunk_by(|a, b| leaf(a) == leaf(b)) {
            let number = of_leaf.first().map_or(0, leaf);
            if let Some(answer) = answers.get_mut(number as usize) {
                *answer = union(of_leaf)?;
            }
        }
        Ok(answers)
    }
}

/// A set while it is read.
#[derive(Debug, Default)]
struct PartialSet {
    of: Option<(Vec<u8>, u32)>,
    rows: RoaringBitmap,
}

/// The union of all sets, from rows of [`select`].
pub(super) fn union(found: &[Row]) -> Result<RoaringBitmap, StoreError> {
    let mut all = RoaringBitmap::new();
    visit(found, |_, rows| all |= rows)?;
    Ok(all)
}

/// The set of each value, from rows of [`select`].
pub(super) fn by_value(found: &[Row]) -> Result<BTreeMap<Vec<u8>, RoaringBitmap>, StoreError> {
    let mut sets = BTreeMap::<Vec<u8>, RoaringBitmap>::new();
    visit(found, |value, rows| *sets.entry(value.to_vec()).or_default() |= rows)?;
    sets.retain(|_, rows| !rows.is_empty());
    Ok(sets)
}

/// Visits value and rows of each block.
pub(super) fn visit(
    found: &[Row],
    mut show: impl FnMut(&[u8], &RoaringBitmap),
) -> Result<(), StoreError> {
    let mut set = PartialSet::default();
    for row in found {
        let (value, block): (&[u8], i64) = (row.get(0), row.get(1));
        let block = block_number(block)?;
        let same = set.of.as_ref().is_some_and(|of| of.0 == value && of.1 == block);
        if !same {
            if let Some((value, _)) = &set.of {
                show(value, &set.rows);
            }
            set = PartialSet { of: Some((value.to_vec(), block)), rows: RoaringBitmap::new() };
        }
        apply(block, row.get(3), row.get(4), &mut set.rows)?;
    }
    if let Some((value, _)) = &set.of {
        show(value, &set.rows);
    }
    Ok(())
}

/// Adds the entered rows of a block to a set and removes those that left it.
pub(crate) fn apply(
    block: u32,
    entered: Option<&[u8]>,
    gone: Option<&[u8]>,
    rows: &mut RoaringBitmap,
) -> Result<(), StoreError> {
    if let Some(entered) = entered {
        decode(block, entered, rows)?;
    }
    if let Some(gone) = gone {
        let mut leaving = RoaringBitmap::new();
        decode(block, gone, &mut leaving)?;
        *rows -= leaving;
    }
    Ok(())
}

pub(crate) fn block_number(block: i64) -> Result<u32, StoreError> {
    u32::try_from(block).map_err(|_| StoreError::Corrupt("a block without a number".to_owned()))
}

/// The kind of term for the days of a time.
pub(super) const fn kind_of(key: SortKey) -> TermKind {
    match key {
        SortKey::CreationTime => TermKind::Created,
        SortKey::UpdateTime => TermKind::Updated,
        SortKey::StateChangeTime => TermKind::Changed,
    }
}
