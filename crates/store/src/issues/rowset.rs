//! Sets of row numbers as they are stored: one blob per block of 65,536 rows. Few rows are a list
//! of their places in the block, many a compressed bitmap. What is read back is what was written,
//! or damage that says so. Nothing here knows of SQL.

use roaring::RoaringBitmap;

use crate::StoreError;

/// Rows of a block are those that share all but these bits.
const BLOCK_BITS: u32 = 16;
/// Up to this many rows are written as a list; beyond, a bitmap is mostly smaller.
const LISTED_MAX: u64 = 8;

/// First byte of a blob: what follows it.
const LIST: u8 = 0;
const BITMAP: u8 = 1;

/// A row number as sets hold it.
pub(crate) fn row_number(row: i64) -> Result<u32, StoreError> {
    u32::try_from(row)
        .map_err(|_| StoreError::Unavailable("the store has no row number left".to_owned()))
}

/// The block a row is in.
pub(crate) const fn block_of(row: u32) -> u32 {
    row >> BLOCK_BITS
}

/// The place of a row in its block.
const fn place_of(row: u32) -> u16 {
    row as u16
}

/// The row at a place of a block.
const fn row_at(block: u32, place: u16) -> u32 {
    block << BLOCK_BITS | place as u32
}

/// Writes the rows of one block.
pub(crate) fn encode(rows: &mut RoaringBitmap) -> Result<Vec<u8>, StoreError> {
    if rows.len() <= LISTED_MAX {
        let places = rows.iter().flat_map(|row| place_of(row).to_le_bytes());
        return Ok(std::iter::once(LIST).chain(places).collect());
    }
    rows.optimize();
    let mut blob = Vec::with_capacity(1 + rows.serialized_size());
    blob.push(BITMAP);
    rows.serialize_into(&mut blob)
        .map_err(|e| StoreError::Unavailable(format!("a set of rows cannot be written: {e}")))?;
    Ok(blob)
}

/// Writes rows of one block, ascending.
pub(crate) fn encode_rows(rows: impl ExactSizeIterator<Item = u32>) -> Result<Vec<u8>, StoreError> {
    if rows.len() as u64 > LISTED_MAX {
        return encode(&mut rows.collect());
    }
    let mut blob = Vec::with_capacity(1 + 2 * rows.len());
    blob.push(LIST);
    rows.for_each(|row| blob.extend_from_slice(&place_of(row).to_le_bytes()));
    Ok(blob)
}

/// Adds the rows of one block to `into`.
pub(crate) fn decode(block: u32, blob: &[u8], into: &mut RoaringBitmap) -> Result<(), StoreError> {
    let damaged = || StoreError::Corrupt("a set of rows cannot be read".to_owned());
    match blob.split_first() {
        Some((&LIST, places)) if places.len() % 2 == 0 => {
            for place in places.chunks_exact(2) {
                into.insert(row_at(block, u16::from_le_bytes([place[0], place[1]])));
            }
            Ok(())
        }
        Some((&BITMAP, bytes)) => {
            *into |= RoaringBitmap::deserialize_from(bytes).map_err(|_| damaged())?;
            Ok(())
        }
        _ => Err(damaged()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_set_is_damage() {
        for blob in [&[][..], &[LIST, 1], &[BITMAP], &[BITMAP, 1, 2, 3], &[7, 0, 0]] {
            let read = decode(0, blob, &mut RoaringBitmap::new());
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{blob:?}");
        }
    }

    proptest! {
        #[test]
        fn sets_are_read_as_they_were_written(
            block in 0..0x1_0000u32,
            lists in proptest::collection::vec(any::<u16>(), 0..20),
            runs in proptest::collection::vec((any::<u16>(), 0..5000u16), 0..3),
        ) {
            let mut rows = RoaringBitmap::new();
            let row = |place: u16| block << BLOCK_BITS | u32::from(place);
            rows.extend(lists.into_iter().map(row));
            for (from, length) in runs {
                rows.insert_range(row(from)..=row(from.saturating_add(length)));
            }
            let mut read = RoaringBitmap::new();
            decode(block, &encode(&mut rows.clone()).unwrap(), &mut read).unwrap();
            prop_assert_eq!(read, rows);
        }
    }
}
