//! What is left of a completed task to its retry: the entries that failed and those that were not
//! processed, exactly as they were sent. Says so of whole blocks by their places alone where that
//! is possible, and cuts a block down where it is not. Knows neither where blocks are kept nor why
//! the task ended.

use std::collections::BTreeSet;

use caseload_model::payload::Block;
use caseload_model::task::Counts;

use crate::{PackedBlock, StoreError, pack_block, unpack_block};

/// What every error record begins with; the index of its entry follows.
const RECORD_BEGIN: &[u8] = b"{\"index\":";

/// Which entries are left to a retry: those that failed, and all from the first unprocessed one.
#[derive(Debug)]
pub struct Left {
    failed: BTreeSet<u32>,
    unprocessed_from: u32,
}

/// How many entries of a run are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    All,
    Some,
    None,
}

impl Left {
    /// Of a task with these counts whose next entry would be `next_index`. Which ones failed is
    /// told by [`Left::add_failed`].
    pub fn new(counts: &Counts, next_index: u32) -> Self {
        let unprocessed_from = if counts.unprocessed == 0 { u32::MAX } else { next_index };
        Self { failed: BTreeSet::new(), unprocessed_from }
    }

    /// Adds the entries that a stored block of error records is about.
    pub fn add_failed(&mut self, packed: &[u8]) -> Result<(), StoreError> {
        let text = unpack_block(packed)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let index = index_of(line)
                .ok_or_else(|| StoreError::Corrupt("an error record without index".to_owned()))?;
            self.failed.insert(index);
        }
        Ok(())
    }

    fn has(&self, index: u32) -> bool {
        index >= self.unprocessed_from || self.failed.contains(&index)
    }

    /// By the places of the first and the last entry of a block alone.
    pub fn among(&self, first: u32, last: u32) -> Among {
        if first >= self.unprocessed_from {
            Among::All
        } else if last < self.unprocessed_from && self.failed.range(first..=last).next().is_none() {
            Among::None
        } else {
            Among::Some
        }
    }

    /// What is left of a block.
    pub fn of_block(&self, packed: &[u8]) -> Result<Option<PackedBlock>, StoreError> {
        let mut block = Block::decode(unpack_block(packed)?)
            .map_err(|e| StoreError::Corrupt(format!("a payload block: {e}")))?;
        block.entries.retain(|entry| self.has(entry.index));
        if block.entries.is_empty() { Ok(None) } else { pack_block(&block).map(Some) }
    }
}

fn index_of(record: &[u8]) -> Option<u32> {
    let digits = record.strip_prefix(RECORD_BEGIN)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Among, Left, index_of};

    #[test]
    fn a_block_is_kept_dropped_or_looked_into_by_its_places() {
        let left = |failed: &[u32], unprocessed_from| Left {
            failed: failed.iter().copied().collect(),
            unprocessed_from,
        };
        for (left, first, last, among) in [
            (left(&[], u32::MAX), 0, 9, Among::None),
            (left(&[10], u32::MAX), 0, 9, Among::None),
            (left(&[9], u32::MAX), 0, 9, Among::Some),
            (left(&[], 10), 0, 9, Among::None),
            (left(&[], 9), 0, 9, Among::Some),
            (left(&[3], 10), 10, 19, Among::All),
            (left(&[], 0), 0, 9, Among::All),
        ] {
            assert_eq!(left.among(first, last), among, "{first}..={last}");
        }
        assert!(left(&[3], 8).has(3) && left(&[3], 8).has(8) && !left(&[3], 8).has(7));
    }

    #[test]
    fn the_index_of_a_record_is_its_first_member() {
        for (record, index) in [
            (&br#"{"index":0,"line":1}"#[..], Some(0)),
            (br#"{"index":9999,"errors":[{"index":3}]}"#, Some(9999)),
            (br#"{"line":1,"index":4}"#, None),
            (br#"{"index":,"line":1}"#, None),
            (br#"{"index":4294967296,"line":1}"#, None),
            (br#"{"index":12"#, None),
        ] {
            assert_eq!(index_of(record), index, "{}", String::from_utf8_lossy(record));
        }
    }
}
