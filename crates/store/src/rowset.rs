//! Sets of row numbers in their stored form: one blob per block of 65,536 rows, either a list of
//! offsets in the block or a compressed bitmap, whichever is shorter. Invariant: a decoded set is
//! the encoded one, or decoding reports damage. No SQL here.

use std::collections::BTreeMap;
use std::io::Read as _;

use roaring::RoaringBitmap;

use crate::StoreError;

/// The rows of a block share all bits but these.
const BLOCK_BITS: u32 = 16;
/// Every bitmap has at least this many bytes: shorter lists need no comparison.
const BITMAP_BYTES_MIN: usize = 16;
/// Bytes of a bitmap with one bit for each row of a block.
const BLOCK_BYTES: usize = 1 << (BLOCK_BITS - 3);

/// Lists of these lengths are decoded as the array container of a bitmap; a bitmap stores longer
/// ones in another form.
const ARRAY_LENGTH_MIN: usize = 32;
const ARRAY_LENGTH_MAX: usize = 4096;

/// The cookie of a serialized bitmap without runs, and the bytes before its first container if it
/// has one container.
const BITMAP_COOKIE: u32 = 12_346;
const BITMAP_HEAD_BYTES: u32 = 16;
/// The lower half of the cookie of one with runs.
const RUNS_COOKIE: u16 = 12_347;

/// The first byte of a blob names its form. To append larger rows to a list, append the bytes of
/// their list without its first byte.
pub const LIST: u8 = 0;
const BITMAP: u8 = 1;

/// A row number as sets store it.
pub fn row_number(row: i64) -> Result<u32, StoreError> {
    u32::try_from(row)
        .map_err(|_| StoreError::Unavailable("the store has no row number left".to_owned()))
}

/// The block a row is in.
pub const fn block_of(row: u32) -> u32 {
    row >> BLOCK_BITS
}

/// The offset of a row in its block.
pub const fn offset_of(row: u32) -> u16 {
    row as u16
}

/// The row at an offset of a block.
const fn row_at(block: u32, offset: u16) -> u32 {
    block << BLOCK_BITS | offset as u32
}

/// Encodes the rows of one block.
pub fn encode(rows: &mut RoaringBitmap) -> Result<Vec<u8>, StoreError> {
    let listed_bytes = rows.len() as usize * size_of::<u16>();
    let is_short = listed_bytes <= BITMAP_BYTES_MIN;
    if !is_short {
        rows.optimize();
    }
    if is_short || listed_bytes <= rows.serialized_size() {
        let offsets = rows.iter().flat_map(|row| offset_of(row).to_le_bytes());
        return Ok(std::iter::once(LIST).chain(offsets).collect());
    }
    let mut blob = Vec::with_capacity(1 + rows.serialized_size());
    blob.push(BITMAP);
    rows.serialize_into(&mut blob)
        .map_err(|e| StoreError::Unavailable(format!("a set of rows cannot be written: {e}")))?;
    Ok(blob)
}

/// Encodes ascending rows of one block.
pub fn encode_rows(rows: impl ExactSizeIterator<Item = u32>) -> Result<Vec<u8>, StoreError> {
    let listed_bytes = rows.len() * size_of::<u16>();
    if listed_bytes > BITMAP_BYTES_MIN {
        return encode(&mut rows.collect());
    }
    let mut blob = Vec::with_capacity(1 + listed_bytes);
    blob.push(LIST);
    rows.for_each(|row| blob.extend_from_slice(&offset_of(row).to_le_bytes()));
    Ok(blob)
}

/// The decoded form of a blob.
enum Content<'b> {
    /// Offsets in the block, ascending, two bytes each.
    Offsets(&'b [[u8; 2]]),
    Rows(RoaringBitmap),
}

fn content(block: u32, blob: &[u8]) -> Result<Content<'_>, StoreError> {
    match blob.split_first() {
        Some((&LIST, bytes)) => match bytes.as_chunks() {
            (offsets, []) => Ok(Content::Offsets(offsets)),
            _ => Err(damaged()),
        },
        Some((&BITMAP, bytes)) => {
            let rows = RoaringBitmap::deserialize_from(bytes).map_err(|_| damaged())?;
            // A bitmap has whole rows, which have to be those of the block.
            let is_of_block = |row| block_of(row) == block;
            let is_sound = has_right_head(bytes, &rows)
                && rows.min().is_none_or(is_of_block)
                && rows.max().is_none_or(is_of_block);
            is_sound.then_some(Content::Rows(rows)).ok_or_else(damaged)
        }
        _ => Err(damaged()),
    }
}

/// Whether the head of a container of runs is the one that its rows have. The reader of bitmaps
/// ignores some of its bits, so that a wrong one would not be seen. The cookie is followed by a
/// byte of flags, one for each container, by the key of the container, and by its length less one.
fn has_right_head(bytes: &[u8], rows: &RoaringBitmap) -> bool {
    let [a, b, _, _, flags, _, _, low, high, ..] = bytes else { return true };
    let has_runs = u16::from_le_bytes([*a, *b]) == RUNS_COOKIE;
    let length = u64::from(u16::from_le_bytes([*low, *high])) + 1;
    !has_runs || (*flags == 1 && length == rows.len())
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a set of rows cannot be read".to_owned())
}

/// Adds the rows of one block to `into`.
pub fn decode(block: u32, blob: &[u8], into: &mut RoaringBitmap) -> Result<(), StoreError> {
    // A larger number would be that of another block.
    if block > u32::from(u16::MAX) {
        return Err(damaged());
    }
    *into |= match content(block, blob)? {
        Content::Offsets(offsets) => listed(block, offsets)?,
        Content::Rows(rows) => rows,
    };
    Ok(())
}

/// Adds the entered rows of a block to a set and removes those that left it.
pub fn apply_delta(
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

/// The rows at these offsets.
fn listed(block: u32, offsets: &[[u8; 2]]) -> Result<RoaringBitmap, StoreError> {
    if !(ARRAY_LENGTH_MIN..=ARRAY_LENGTH_MAX).contains(&offsets.len()) {
        let rows = offsets.iter().map(|offset| row_at(block, u16::from_le_bytes(*offset)));
        return RoaringBitmap::from_sorted_iter(rows).map_err(|_| damaged());
    }
    // With a header, such a list is a serialized bitmap. Deserializing it is much faster than
    // inserting row by row.
    let key_and_last = block | (offsets.len() as u32 - 1) << 16;
    let head = [BITMAP_COOKIE, 1, key_and_last, BITMAP_HEAD_BYTES].map(u32::to_le_bytes);
    RoaringBitmap::deserialize_from(head.as_flattened().chain(offsets.as_flattened()))
        .map_err(|_| damaged())
}

/// Builds the union of many stored sets in plain bit arrays, which is much faster than adding each
/// set to a bitmap.
#[derive(Debug, Default)]
pub struct RowSetBuilder {
    /// A bit for each offset of a block.
    blocks: BTreeMap<u32, Box<[u8; BLOCK_BYTES]>>,
    dense: RoaringBitmap,
}

impl RowSetBuilder {
    /// Adds the rows of one block.
    pub fn add(&mut self, block: u32, blob: &[u8]) -> Result<(), StoreError> {
        match content(block, blob)? {
            Content::Offsets(offsets) => {
                let bits = self.block(block);
                for offset in offsets {
                    set(bits, u16::from_le_bytes(*offset));
                }
            }
            Content::Rows(rows) => self.dense |= rows,
        }
        Ok(())
    }

    /// Adds one row.
    pub fn insert(&mut self, row: u32) {
        set(self.block(block_of(row)), offset_of(row));
    }

    fn block(&mut self, block: u32) -> &mut [u8; BLOCK_BYTES] {
        self.blocks.entry(block).or_insert_with(|| Box::new([0; BLOCK_BYTES]))
    }

    pub fn finish(self) -> RoaringBitmap {
        let mut rows = self.dense;
        for (block, bits) in self.blocks {
            rows |= RoaringBitmap::from_lsb0_bytes(row_at(block, 0), &*bits);
        }
        rows
    }
}

fn set(bits: &mut [u8; BLOCK_BYTES], offset: u16) {
    bits[usize::from(offset / 8)] |= 1 << (offset % 8);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_blob_that_is_not_a_set_is_reported_as_damage() {
        let unsorted = &[LIST, 2, 0, 1, 0];
        let offsets = (0..100_u8).rev().flat_map(|offset| [offset, 0]);
        let long: Vec<u8> = std::iter::once(LIST).chain(offsets).collect();
        for blob in
            [&[][..], &[LIST, 1], &[BITMAP], &[BITMAP, 1, 2, 3], &[7, 0, 0], unsorted, &long]
        {
            let read = decode(0, blob, &mut RoaringBitmap::new());
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{blob:?}");
        }
    }

    #[test]
    fn each_wrong_bit_of_a_set_of_runs_is_damage_or_another_set() {
        let rows: RoaringBitmap = (70..900).chain(2_000..2_600).collect();
        let blob = encode(&mut rows.clone()).unwrap();
        assert_eq!(u16::from_le_bytes([blob[1], blob[2]]), RUNS_COOKIE);
        for bit in 0..8 * blob.len() {
            let mut wrong = blob.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let mut read = RoaringBitmap::new();
            assert!(decode(0, &wrong, &mut read).is_err() || read != rows, "bit {bit}");
        }
    }

    #[test]
    fn a_list_is_continued_by_one_of_larger_rows() {
        let mut blob = encode_rows([3, 70].into_iter()).unwrap();
        let more = encode_rows([71, 900].into_iter()).unwrap();
        assert_eq!((blob[0], more[0]), (LIST, LIST));
        blob.extend_from_slice(&more[1..]);
        let mut rows = RoaringBitmap::new();
        decode(1, &blob, &mut rows).unwrap();
        assert_eq!(rows, [3, 70, 71, 900].map(|offset| row_at(1, offset)).into_iter().collect());
    }

    proptest! {
        #[test]
        fn sets_are_read_as_they_were_written(
            block in 0..0x1_0000u32,
            lists in proptest::collection::vec(any::<u16>(), 0..90),
            runs in proptest::collection::vec((any::<u16>(), 0..5000u16), 0..3),
        ) {
            let mut rows = RoaringBitmap::new();
            let row = |offset: u16| block << BLOCK_BITS | u32::from(offset);
            rows.extend(lists.into_iter().map(row));
            for (from, length) in runs {
                rows.insert_range(row(from)..=row(from.saturating_add(length)));
            }
            let mut read = RoaringBitmap::new();
            decode(block, &encode(&mut rows.clone()).unwrap(), &mut read).unwrap();
            prop_assert_eq!(&read, &rows);
            let dense = encode(&mut (row(0)..=row(500)).collect()).unwrap();
            prop_assert!(decode(block ^ 1, &dense, &mut read).is_err());
            let others: RoaringBitmap = [row(0), row(9), row(u16::MAX)].into_iter().collect();
            let mut gathered = RowSetBuilder::default();
            for set in [&rows, &others, &rows] {
                gathered.add(block, &encode(&mut set.clone()).unwrap()).unwrap();
            }
            gathered.insert(5);
            let mut all = rows | others;
            all.insert(5);
            prop_assert_eq!(gathered.finish(), all);
        }
    }
}
