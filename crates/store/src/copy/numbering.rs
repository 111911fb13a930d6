//! Renumbers the rows of issues and of core profiles for a copy between backends. SQLite numbers
//! those of all domains in one sequence, PostgreSQL those of each domain. Row sets store the
//! numbers in blocks of 65,536. Each domain is therefore shifted by whole blocks, to the end of the
//! domain before it: every row stays at its position in its block, and row sets are shifted instead
//! of rebuilt. Digests use numbers relative to the first block of the domain.

use std::collections::BTreeMap;

use roaring::RoaringBitmap;

use super::rows::{Row, Rows, Value};
use super::tables::{Kind, Table};
use crate::StoreError;
use crate::rowset::{decode, encode};

/// Bits of a row number that are its position in the block.
const BLOCK_BITS: u32 = 16;

/// The smallest and the largest row number of a domain's issues or core profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowSpan {
    pub of_profiles: bool,
    pub domain: i64,
    pub least: i64,
    pub largest: i64,
}

/// Reads the spans of all domains, in order: domain, smallest and largest row, and whether they are
/// those of core profiles.
pub const ROW_SPANS: &str =
    "SELECT domain_id, min(row), max(row), FALSE FROM issues GROUP BY domain_id
     UNION ALL SELECT domain_id, min(row), max(row), TRUE FROM core_profiles GROUP BY domain_id
     ORDER BY 1";

/// The number of blocks by which the rows of each domain are shifted: those of profiles, or those
/// of issues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockShifts(BTreeMap<(bool, i64), i64>);

impl RowSpan {
    const fn key(&self) -> (bool, i64) {
        (self.of_profiles, self.domain)
    }
}

impl BlockShifts {
    /// Shifts each domain to block 0.
    pub fn to_first_block(spans: &[RowSpan]) -> Self {
        let shift = |span: &RowSpan| (span.key(), -(span.least >> BLOCK_BITS));
        Self(spans.iter().map(shift).collect())
    }

    /// Shifts each domain to the block after the domain before it.
    pub fn consecutive(spans: &[RowSpan]) -> Self {
        let mut next = [0; 2];
        let mut moves = BTreeMap::new();
        for span in spans {
            let next = &mut next[usize::from(span.of_profiles)];
            let (first, last) = (span.least >> BLOCK_BITS, span.largest >> BLOCK_BITS);
            moves.insert(span.key(), *next - first);
            *next += last - first + 1;
        }
        Self(moves)
    }

    fn of(&self, of_profiles: bool, domain: i64) -> i64 {
        self.0.get(&(of_profiles, domain)).copied().unwrap_or(0)
    }

    /// Returns the rows with shifted numbers. Order numbers become null, because the target assigns
    /// its own.
    pub fn apply(&self, table: &Table, rows: &Rows) -> Result<Rows, StoreError> {
        let mut moved = Rows::new(table.columns.len());
        for row in rows.iter() {
            for (place, column) in table.columns.iter().enumerate() {
                match column.kind {
                    Kind::Order => moved.push(Value::Null),
                    kind => self.push(table, row, place, kind, &mut moved)?,
                }
            }
        }
        moved.next.clone_from(&rows.next);
        Ok(moved)
    }

    fn push(
        &self,
        table: &Table,
        row: Row<'_>,
        place: usize,
        kind: Kind,
        into: &mut Rows,
    ) -> Result<(), StoreError> {
        let of = |name| table.offset_of(name).map_or(0, |place| row.integer(place));
        let blocks = self.of(table.is_of_profiles(), of("domain_id"));
        match (kind, row.value(place)) {
            (Kind::Row, Value::Integer(number)) => {
                into.push(Value::Integer(number + (blocks << BLOCK_BITS)));
            }
            (Kind::Block, Value::Integer(block)) => into.push(Value::Integer(block + blocks)),
            (Kind::RowSet, Value::Bytes(set)) => {
                into.push(Value::Bytes(&shifted_set(set, of("block"), blocks)?));
            }
            (_, value) => into.push(value),
        }
        Ok(())
    }
}

fn shifted_set(set: &[u8], block: i64, blocks: i64) -> Result<Vec<u8>, StoreError> {
    let number = |block: i64| {
        u32::try_from(block)
            .ok()
            .filter(|block| *block <= u32::MAX >> BLOCK_BITS)
            .ok_or_else(|| StoreError::Unavailable("the row numbers are exhausted".to_owned()))
    };
    let (from, to) = (number(block)?, number(block + blocks)?);
    let mut rows = RoaringBitmap::new();
    decode(from, set, &mut rows)?;
    let place = |row: u32| row & ((1 << BLOCK_BITS) - 1);
    let moved = rows.iter().map(|row| to << BLOCK_BITS | place(row));
    encode(&mut moved.collect())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::copy::tables::TABLES;

    fn span(domain: i64, least: i64, largest: i64) -> RowSpan {
        RowSpan { of_profiles: false, domain, least, largest }
    }

    #[test]
    fn domains_follow_each_other_without_gaps() {
        let profiles = RowSpan { of_profiles: true, ..span(4, 70_000, 70_001) };
        let spans = [span(1, 1, 70_000), span(4, 5, 5), profiles, span(7, 200_000, 200_001)];
        let moves = BlockShifts::consecutive(&spans);
        assert_eq!([1, 4, 7, 9].map(|domain| moves.of(false, domain)), [0, 2, 0, 0]);
        assert_eq!([1, 4].map(|domain| moves.of(true, domain)), [0, -1]);
        let moves = BlockShifts::to_first_block(&spans);
        assert_eq!([1, 4, 7, 9].map(|domain| moves.of(false, domain)), [0, 0, -3, 0]);
        assert_eq!([1, 4].map(|domain| moves.of(true, domain)), [0, -1]);
    }

    proptest! {
        #[test]
        fn a_row_set_is_shifted_with_its_rows(
            places in proptest::collection::vec(any::<u16>(), 1..300),
            block in 0..9_i64,
            blocks in 0..9_i64,
        ) {
            let table = TABLES.iter().find(|table| table.name == "issue_sets").unwrap();
            let numbers = |block: i64| -> RoaringBitmap {
                places.iter().map(|place| (block as u32) << 16 | u32::from(*place)).collect()
            };
            let mut rows = Rows::new(5);
            let set = encode(&mut numbers(block)).unwrap();
            for value in [Value::Integer(3), Value::Integer(1), Value::Bytes(b"v")] {
                rows.push(value);
            }
            rows.push(Value::Integer(block));
            rows.push(Value::Bytes(&set));
            let moves = BlockShifts(BTreeMap::from([((false, 3), blocks)]));
            let moved = moves.apply(table, &rows).unwrap();
            let row = moved.iter().next().unwrap();
            prop_assert_eq!(row.integer(3), block + blocks);
            let expected = encode(&mut numbers(block + blocks)).unwrap();
            prop_assert_eq!(row.value(4), Value::Bytes(&expected));
        }
    }
}
