//! The records of tasks: compressed blocks in, compressed blocks out. How they are cut and packed
//! is said by [`Records`]; here they are stored, and read block by block.

use caseload_model::ids::DomainId;
use rusqlite::{Connection, OptionalExtension, params};

use crate::Fault;
use caseload_store::records::{Records, kind_code};
use caseload_store::{HEADER_BYTES_MAX, unpacked_size};
use caseload_store::{RecordBlock, RecordBlockSize, RecordKind, unpack_block};

/// Stores the blocks; all of them are closed.
pub(super) fn keep(
    conn: &Connection,
    records: &Records,
    domain: DomainId,
    task_id: &str,
) -> Result<(), Fault> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO record_blocks
         (domain_id, task_id, kind, first_index, next_index, lines, bytes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for block in records.packed() {
        insert.execute(params![
            domain.0,
            task_id,
            kind_code(block.kind),
            block.first_index,
            block.next_index,
            block.lines,
            block.bytes,
        ])?;
    }
    Ok(())
}

pub(crate) fn record_block(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
    kind: RecordKind,
    from_index: u32,
) -> Result<Option<RecordBlock>, Fault> {
    let found: Option<(u32, Vec<u8>)> = conn
        .prepare_cached(
            "SELECT next_index, bytes FROM record_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3 AND first_index >= ?4
             ORDER BY first_index LIMIT 1",
        )?
        .query_row(params![domain.0, task_id, kind_code(kind), from_index], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((next_index, bytes)) = found else { return Ok(None) };
    Ok(Some(RecordBlock { lines: unpack_block(&bytes)?, next_index }))
}

pub(crate) fn record_sizes(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
    kind: RecordKind,
) -> Result<Vec<RecordBlockSize>, Fault> {
    let mut blocks = conn.prepare_cached(
        "SELECT first_index, substr(bytes, 1, ?4) FROM record_blocks
         WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3 ORDER BY first_index",
    )?;
    let header = HEADER_BYTES_MAX as i64;
    let mut rows = blocks.query(params![domain.0, task_id, kind_code(kind), header])?;
    let mut sizes = Vec::new();
    while let Some(row) = rows.next()? {
        let bytes = unpacked_size(&row.get::<_, Vec<u8>>(1)?)?;
        sizes.push(RecordBlockSize { first_index: row.get(0)?, bytes });
    }
    Ok(sizes)
}
