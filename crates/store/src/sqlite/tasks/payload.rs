//! Payloads of tasks: compressed blocks of entries. While a task runs they are as they were
//! accepted. When it completes, only the entries that failed or were not processed stay, with their
//! places and exactly as they were sent, so that a retry can run them again.

use std::collections::BTreeSet;

use caseload_model::ids::DomainId;
use caseload_model::payload::Block;
use caseload_model::task::Outcome;
use rusqlite::{Connection, OptionalExtension, params};

use super::records::kind_code;
use super::row::{self, Held};
use crate::{PackedBlock, RecordKind, StoreError, pack_block, unpack_block};

/// What every error record begins with; the index of its entry follows.
const RECORD_BEGIN: &[u8] = b"{\"index\":";

pub(in crate::sqlite) fn payload_block(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
    from_index: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes: Option<Vec<u8>> = conn
        .prepare_cached(
            "SELECT bytes FROM payload_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND last_index >= ?3
             ORDER BY last_index LIMIT 1",
        )?
        .query_row(params![domain.0, task_id, from_index], |row| row.get(0))
        .optional()?;
    bytes.as_deref().map(unpack_block).transpose()
}

/// Leaves of a completed task's payload what a retry needs. Where a fault of the server's ended the
/// task, all of it stays: the payload itself may be what is at fault.
pub(super) fn keep_left(conn: &Connection, held: &Held) -> Result<(), StoreError> {
    if held.task.outcome == Some(Outcome::Failed) {
        return Ok(());
    }
    let left = Left::of(conn, held)?;
    let mut statement = conn.prepare_cached(
        "SELECT seq, first_index, last_index FROM payload_blocks
         WHERE domain_id = ?1 AND task_id = ?2",
    )?;
    let blocks = statement
        .query_map(params![held.domain.0, held.task.id], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<Vec<(i64, u32, u32)>, _>>()?;
    for (seq, first, last) in blocks {
        match left.among(first, last) {
            Among::All => {}
            Among::None => remove(conn, seq)?,
            Among::Some => keep_left_of_block(conn, seq, &left)?,
        }
    }
    Ok(())
}

fn keep_left_of_block(conn: &Connection, seq: i64, left: &Left) -> Result<(), StoreError> {
    let packed: Vec<u8> = conn
        .prepare_cached("SELECT bytes FROM payload_blocks WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0))?;
    let Some(kept) = left.of_block(&packed)? else { return remove(conn, seq) };
    conn.prepare_cached(
        "UPDATE payload_blocks SET first_index = ?2, last_index = ?3, bytes = ?4 WHERE seq = ?1",
    )?
    .execute(params![seq, kept.first_index, kept.last_index, kept.bytes])?;
    Ok(())
}

fn remove(conn: &Connection, seq: i64) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM payload_blocks WHERE seq = ?1")?.execute([seq])?;
    Ok(())
}

/// The entries of a completed task that a retry runs again.
pub(in crate::sqlite) fn entries_left(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
) -> Result<Vec<PackedBlock>, StoreError> {
    let left = Left::of(conn, &row::completed(conn, domain, task_id)?)?;
    let mut statement = conn.prepare_cached(
        "SELECT first_index, last_index, bytes FROM payload_blocks
         WHERE domain_id = ?1 AND task_id = ?2 ORDER BY last_index",
    )?;
    let mut rows = statement.query(params![domain.0, task_id])?;
    let mut blocks = Vec::new();
    while let Some(row) = rows.next()? {
        let (first_index, last_index) = (row.get(0)?, row.get(1)?);
        match left.among(first_index, last_index) {
            Among::All => {
                blocks.push(PackedBlock { first_index, last_index, bytes: row.get(2)? });
            }
            Among::None => {}
            Among::Some => blocks.extend(left.of_block(&row.get::<_, Vec<u8>>(2)?)?),
        }
    }
    Ok(blocks)
}

/// Which entries are left to a retry: those that failed, and all from the first unprocessed one.
struct Left {
    failed: BTreeSet<u32>,
    unprocessed_from: u32,
}

/// How many entries of a run are left.
#[derive(Debug, PartialEq, Eq)]
enum Among {
    All,
    Some,
    None,
}

impl Left {
    fn of(conn: &Connection, held: &Held) -> Result<Self, StoreError> {
        let failed = if held.task.counts.failed == 0 {
            BTreeSet::new()
        } else {
            failed_indexes(conn, held.domain, &held.task.id)?
        };
        let unprocessed_from =
            if held.task.counts.unprocessed == 0 { u32::MAX } else { held.next_index };
        Ok(Self { failed, unprocessed_from })
    }

    fn has(&self, index: u32) -> bool {
        index >= self.unprocessed_from || self.failed.contains(&index)
    }

    /// By the places of the first and the last entry of a block alone.
    fn among(&self, first: u32, last: u32) -> Among {
        if first >= self.unprocessed_from {
            Among::All
        } else if last < self.unprocessed_from && self.failed.range(first..=last).next().is_none() {
            Among::None
        } else {
            Among::Some
        }
    }

    /// What is left of a block.
    fn of_block(&self, packed: &[u8]) -> Result<Option<PackedBlock>, StoreError> {
        let mut block = Block::decode(unpack_block(packed)?)
            .map_err(|e| StoreError::Corrupt(format!("a payload block: {e}")))?;
        block.entries.retain(|entry| self.has(entry.index));
        if block.entries.is_empty() { Ok(None) } else { pack_block(&block).map(Some) }
    }
}

/// Indexes of the entries that have an error record.
fn failed_indexes(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
) -> Result<BTreeSet<u32>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT bytes FROM record_blocks WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3",
    )?;
    let mut rows = statement.query(params![domain.0, task_id, kind_code(RecordKind::Errors)])?;
    let mut indexes = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let text = unpack_block(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let index = index_of(line)
                .ok_or_else(|| StoreError::Corrupt("an error record without index".to_owned()))?;
            indexes.insert(index);
        }
    }
    Ok(indexes)
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
