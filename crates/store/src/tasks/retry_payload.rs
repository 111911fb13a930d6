//! The payload of a retry: the entries of a completed task that failed or were not processed, with
//! their indexes and exactly as they were sent. When a task completes, its payload is cut down to
//! them. Most blocks stay or go by the indexes of their first and last entry alone; only a block
//! with some entries to retry is unpacked.

use std::collections::BTreeSet;

use caseload_model::payload::{Block, CorruptBlock};
use caseload_model::task::{Outcome, TaskStatus};

use super::accept::{packed_bytes, payload_ranges};
use super::records::{PackedRecords, kind_code};
use super::statements::{LockedTask, TaskStore};
use crate::checksum::{PAYLOAD_BLOCKS, RECORD_BLOCKS};
use crate::sql::Row;
use crate::{EntryStates, PackedBlock, RecordKind, StoreError, pack_block, unpack_block, values};

/// The first bytes of every error record; the index of its entry follows.
const RECORD_BEGIN: &[u8] = b"{\"index\":";
/// Blocks that are read together to be cut down.
const BLOCKS_AT_ONCE: usize = 8;

/// How many entries of a block a retry runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    All,
    Some,
    None,
}

/// Cuts the payload of a task that completes down to the entries of its retry. After a fault of the
/// server's all of it stays: the payload itself may be the cause. That of a dry
/// run stays for its run.
pub(super) fn trim(
    store: &impl TaskStore,
    locked: &LockedTask,
    unsaved: &[PackedRecords],
) -> Result<(), StoreError> {
    if locked.task.outcome == Some(Outcome::Failed) || locked.task.dry_run {
        return Ok(());
    }
    let (domain, id) = (store.domain(), &locked.task.id);
    let entries = EntryStates::of(store, locked, unsaved)?;
    let (mut spent, mut cut) = (Vec::new(), Vec::new());
    for (first, last) in payload_ranges(store, id)? {
        match entries.share_of(first, last) {
            Share::All => {}
            Share::None => spent.push(i64::from(last)),
            Share::Some => cut.push(i64::from(last)),
        }
    }
    let mut rest = Vec::new();
    for last_indexes in cut.chunks(BLOCKS_AT_ONCE) {
        let select = format!(
            "SELECT {} FROM payload_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND last_index = ANY (?3) ORDER BY last_index",
            PAYLOAD_BLOCKS.select()
        );
        let blocks = store.list(&select, values![domain, id, last_indexes], payload_block)?;
        for block in blocks {
            rest.extend(entries.cut(&block.bytes)?);
        }
    }
    spent.append(&mut cut);
    if spent.is_empty() {
        return Ok(());
    }
    // Deleted first: a block that is cut down may have the key of another one that goes.
    let removed = store.list(
        "DELETE FROM payload_blocks
         WHERE domain_id = ?1 AND task_id = ?2 AND last_index = ANY (?3) RETURNING length(bytes)",
        values![domain, id, spent],
        |row| row.get::<i64>(0),
    )?;
    store.insert_payload(id, &rest)?;
    store.store_bytes(packed_bytes(&rest) - removed.iter().sum::<i64>())
}

/// The failed and the unprocessed entries of a task so far.
pub fn entry_states(store: &impl TaskStore, id: &str) -> Result<EntryStates, StoreError> {
    let Some(task) = store.read(id)? else {
        return Ok(EntryStates { failed: BTreeSet::new(), unprocessed_from: 0 });
    };
    EntryStates::of(store, &task, &[])
}

/// The whole payload of a completed dry run.
pub fn whole_payload(store: &impl TaskStore, id: &str) -> Result<Vec<PackedBlock>, StoreError> {
    let gone = || StoreError::NotFound { what: format!("the whole payload of the dry run {id}") };
    let task = store
        .read(id)?
        .filter(|found| found.task.status == TaskStatus::Completed && found.task.dry_run)
        .ok_or_else(gone)?;
    let (blocks, mut entries) = (stored_blocks(store, id)?, 0);
    for block in &blocks {
        // The indexes of its entries have gaps if the dry run is itself a retry.
        let unpacked = Block::decode(unpack_block(&block.bytes)?).map_err(damaged)?;
        entries += unpacked.entries.len();
    }
    if entries == task.task.counts.total as usize { Ok(blocks) } else { Err(gone()) }
}

fn stored_blocks(store: &impl TaskStore, id: &str) -> Result<Vec<PackedBlock>, StoreError> {
    let select = format!(
        "SELECT {} FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2 ORDER BY last_index",
        PAYLOAD_BLOCKS.select()
    );
    store.list(&select, values![store.domain(), id], payload_block)
}

/// The payload of the retry of a completed task.
pub fn retry_payload(store: &impl TaskStore, id: &str) -> Result<Vec<PackedBlock>, StoreError> {
    let task = store
        .read(id)?
        .filter(|found| found.task.status == TaskStatus::Completed)
        .ok_or_else(|| StoreError::NotFound { what: format!("a completed task {id}") })?;
    let entries = EntryStates::of(store, &task, &[])?;
    let mut blocks = Vec::new();
    for block in stored_blocks(store, id)? {
        match entries.share_of(block.first_index, block.last_index) {
            Share::All => blocks.push(block),
            Share::None => {}
            Share::Some => blocks.extend(entries.cut(&block.bytes)?),
        }
    }
    Ok(blocks)
}

pub(crate) fn payload_block(row: &dyn Row) -> Result<PackedBlock, StoreError> {
    PAYLOAD_BLOCKS.require(row)?;
    Ok(PackedBlock { first_index: row.get(2)?, last_index: row.get(3)?, bytes: row.get(4)? })
}

impl EntryStates {
    /// Of a completed task. `unsaved` are records of it that are not stored yet.
    fn of(
        store: &impl TaskStore,
        locked: &LockedTask,
        unsaved: &[PackedRecords],
    ) -> Result<Self, StoreError> {
        let counts = &locked.task.counts;
        let unprocessed_from = if counts.unprocessed == 0 { u32::MAX } else { locked.next_index };
        let mut entries = Self { failed: BTreeSet::new(), unprocessed_from };
        if counts.failed > 0 {
            let select = format!(
                "SELECT {} FROM record_blocks
                 WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3",
                RECORD_BLOCKS.select()
            );
            let errors = kind_code(RecordKind::Errors);
            store.each(&select, values![store.domain(), locked.task.id, errors], &mut |row| {
                RECORD_BLOCKS.require(row)?;
                entries.add_failed(row.get(6)?)
            })?;
            for block in unsaved.iter().filter(|block| block.kind == RecordKind::Errors) {
                entries.add_failed(&block.bytes)?;
            }
        }
        Ok(entries)
    }

    /// Adds the entries that a block of error records reports.
    fn add_failed(&mut self, packed: &[u8]) -> Result<(), StoreError> {
        let text = unpack_block(packed)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let index = index_of(line)
                .ok_or_else(|| StoreError::Corrupt("an error record without index".to_owned()))?;
            self.failed.insert(index);
        }
        Ok(())
    }

    /// Whether a retry runs this entry again.
    fn contains(&self, index: u32) -> bool {
        index >= self.unprocessed_from || self.failed.contains(&index)
    }

    /// By the indexes of the first and the last entry of a block alone.
    fn share_of(&self, first: u32, last: u32) -> Share {
        if first >= self.unprocessed_from {
            Share::All
        } else if last < self.unprocessed_from && self.failed.range(first..=last).next().is_none() {
            Share::None
        } else {
            Share::Some
        }
    }

    /// A block without the entries that are not run again; `None` if none is left.
    fn cut(&self, packed: &[u8]) -> Result<Option<PackedBlock>, StoreError> {
        let mut block = Block::decode(unpack_block(packed)?).map_err(damaged)?;
        block.entries.retain(|entry| self.contains(entry.index));
        if block.entries.is_empty() { Ok(None) } else { pack_block(&block).map(Some) }
    }
}

fn damaged(error: CorruptBlock) -> StoreError {
    StoreError::Corrupt(format!("a payload block: {error}"))
}

fn index_of(record: &[u8]) -> Option<u32> {
    let digits = record.strip_prefix(RECORD_BEGIN)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{EntryStates, Share, index_of};

    #[test]
    fn a_block_stays_goes_or_is_cut_by_its_first_and_last_index() {
        let entries = |failed: &[u32], unprocessed_from| EntryStates {
            failed: failed.iter().copied().collect(),
            unprocessed_from,
        };
        for (entries, first, last, share) in [
            (entries(&[], u32::MAX), 0, 9, Share::None),
            (entries(&[10], u32::MAX), 0, 9, Share::None),
            (entries(&[9], u32::MAX), 0, 9, Share::Some),
            (entries(&[], 10), 0, 9, Share::None),
            (entries(&[], 9), 0, 9, Share::Some),
            (entries(&[3], 10), 10, 19, Share::All),
            (entries(&[], 0), 0, 9, Share::All),
        ] {
            assert_eq!(entries.share_of(first, last), share, "{first}..={last}");
        }
        let some = entries(&[3], 8);
        assert!(some.contains(3) && some.contains(8) && !some.contains(7));
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
