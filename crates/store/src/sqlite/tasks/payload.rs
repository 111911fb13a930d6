//! Payloads of tasks: compressed blocks of entries. While a task runs they are as they were
//! accepted. When it completes, only the entries that failed stay, with their places and exactly as
//! they were sent, so that a retry can run them again.

use std::collections::HashSet;

use caseload_model::ids::DomainId;
use caseload_model::payload::Block;
use rusqlite::{Connection, OptionalExtension, params};

use super::records::kind_code;
use crate::{RecordKind, StoreError, pack_block, unpack_block};

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

/// Leaves of a completed task's payload what failed.
pub(super) fn keep_failed(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
    failed: u32,
) -> Result<(), StoreError> {
    if failed == 0 {
        conn.prepare_cached("DELETE FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2")?
            .execute(params![domain.0, task_id])?;
        return Ok(());
    }
    let failed = failed_indexes(conn, domain, task_id)?;
    let mut statement = conn
        .prepare_cached("SELECT seq FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2")?;
    let blocks = statement
        .query_map(params![domain.0, task_id], |row| row.get(0))?
        .collect::<Result<Vec<i64>, _>>()?;
    blocks.into_iter().try_for_each(|seq| keep_failed_of_block(conn, seq, &failed))
}

fn keep_failed_of_block(
    conn: &Connection,
    seq: i64,
    failed: &HashSet<u32>,
) -> Result<(), StoreError> {
    let packed: Vec<u8> = conn
        .prepare_cached("SELECT bytes FROM payload_blocks WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0))?;
    let mut block = Block::decode(unpack_block(&packed)?)
        .map_err(|e| StoreError::Corrupt(format!("a payload block: {e}")))?;
    let entries = block.entries.len();
    block.entries.retain(|entry| failed.contains(&entry.index));
    if block.entries.is_empty() {
        conn.prepare_cached("DELETE FROM payload_blocks WHERE seq = ?1")?.execute([seq])?;
    } else if block.entries.len() < entries {
        let kept = pack_block(&block)?;
        conn.prepare_cached(
            "UPDATE payload_blocks SET first_index = ?2, last_index = ?3, bytes = ?4
             WHERE seq = ?1",
        )?
        .execute(params![seq, kept.first_index, kept.last_index, kept.bytes])?;
    }
    Ok(())
}

/// Indexes of the entries that have an error record.
fn failed_indexes(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
) -> Result<HashSet<u32>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT bytes FROM record_blocks WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3",
    )?;
    let mut rows = statement.query(params![domain.0, task_id, kind_code(RecordKind::Errors)])?;
    let mut indexes = HashSet::new();
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
    use super::index_of;

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
