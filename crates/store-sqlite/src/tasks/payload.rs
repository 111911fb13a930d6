//! Payloads of tasks: compressed blocks of entries. While a task runs they are as they were
//! accepted. When it completes, only the entries that failed or were not processed stay, with their
//! places and exactly as they were sent, so that a retry can run them again; which those are is
//! said by [`Left`].

use caseload_model::ids::DomainId;
use caseload_model::task::Outcome;
use rusqlite::{Connection, OptionalExtension, params};

use super::row::{self, Held};
use crate::Fault;
use caseload_store::left::{Among, Left};
use caseload_store::records::kind_code;
use caseload_store::{PackedBlock, RecordKind, unpack_block};

pub(crate) fn payload_block(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
    from_index: u32,
) -> Result<Option<Vec<u8>>, Fault> {
    let bytes: Option<Vec<u8>> = conn
        .prepare_cached(
            "SELECT bytes FROM payload_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND last_index >= ?3
             ORDER BY last_index LIMIT 1",
        )?
        .query_row(params![domain.0, task_id, from_index], |row| row.get(0))
        .optional()?;
    Ok(bytes.as_deref().map(unpack_block).transpose()?)
}

/// Leaves of a completed task's payload what a retry needs. Where a fault of the server's ended the
/// task, all of it stays: the payload itself may be what is at fault.
pub(super) fn keep_left(conn: &Connection, held: &Held) -> Result<(), Fault> {
    if held.task.outcome == Some(Outcome::Failed) {
        return Ok(());
    }
    let left = left_of(conn, held)?;
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

fn keep_left_of_block(conn: &Connection, seq: i64, left: &Left) -> Result<(), Fault> {
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

fn remove(conn: &Connection, seq: i64) -> Result<(), Fault> {
    conn.prepare_cached("DELETE FROM payload_blocks WHERE seq = ?1")?.execute([seq])?;
    Ok(())
}

/// The entries of a completed task that a retry runs again.
pub(crate) fn retry_payload(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
) -> Result<Vec<PackedBlock>, Fault> {
    let left = left_of(conn, &row::completed(conn, domain, task_id)?)?;
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

/// Which entries of a completed task are left.
fn left_of(conn: &Connection, held: &Held) -> Result<Left, Fault> {
    let mut left = Left::new(&held.task.counts, held.next_index);
    if held.task.counts.failed > 0 {
        let mut statement = conn.prepare_cached(
            "SELECT bytes FROM record_blocks
             WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3",
        )?;
        let errors = kind_code(RecordKind::Errors);
        let mut rows = statement.query(params![held.domain.0, held.task.id, errors])?;
        while let Some(row) = rows.next()? {
            left.add_failed(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)?;
        }
    }
    Ok(left)
}
