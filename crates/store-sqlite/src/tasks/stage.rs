//! Payloads on their way in. Blocks of a long upload are kept before its task is accepted, under
//! the id that the task will have; a row in `uploads` marks them as nobody's. Accepting the task
//! removes that row in the task's own transaction. Invariant: blocks belong to a task or to an
//! upload, never to both, and those of an upload that ended otherwise go in small steps.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use super::super::domains;
use crate::Fault;
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::{CreateTask, PackedBlock, StagePayload, StoreError};

/// Milliseconds after which an upload without a new block is given up.
const IDLE_MS: i64 = 3_600_000;
/// Blocks that one step removes: a few milliseconds.
const STEP_BLOCKS: u32 = 1;

pub(crate) fn stage(conn: &Connection, command: &StagePayload) -> Result<(), Fault> {
    domains::demand(conn, command.domain)?;
    let accepted = conn
        .prepare_cached("SELECT 1 FROM tasks WHERE domain_id = ?1 AND id = ?2")?
        .exists(params![command.domain.0, command.task_id])?;
    if accepted {
        return Err(StoreError::AlreadyExists { what: format!("task {}", command.task_id) }.into());
    }
    conn.prepare_cached(
        "INSERT INTO uploads (domain_id, id, touched_at) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET touched_at = excluded.touched_at",
    )?
    .execute(params![command.domain.0, command.task_id, command.now.0])?;
    keep_blocks(conn, command.domain, &command.task_id, &command.blocks)?;
    failpoint::reached(Failpoint::StageBeforeCommit);
    Ok(())
}

/// Makes the staged blocks the task's; the index of their first entry, where there are any.
pub(super) fn take(conn: &Connection, command: &CreateTask) -> Result<Option<u32>, Fault> {
    if command.staged == 0 {
        return Ok(None);
    }
    let uploads = conn
        .prepare_cached("DELETE FROM uploads WHERE domain_id = ?1 AND id = ?2 AND touched_at > 0")?
        .execute(params![command.domain.0, command.id])?;
    let (blocks, first): (u32, Option<u32>) = conn
        .prepare_cached(
            "SELECT count(*), min(first_index) FROM payload_blocks
             WHERE domain_id = ?1 AND task_id = ?2",
        )?
        .query_row(params![command.domain.0, command.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if uploads == 0 || blocks != command.staged {
        return Err(StoreError::UploadLost.into());
    }
    Ok(first)
}

pub(super) fn keep_blocks(
    conn: &Connection,
    domain: DomainId,
    task_id: &str,
    blocks: &[PackedBlock],
) -> Result<(), Fault> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO payload_blocks (domain_id, task_id, first_index, last_index, bytes)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for block in blocks {
        assert!(block.first_index <= block.last_index, "a payload block ends before it begins");
        insert.execute(params![
            domain.0,
            task_id,
            block.first_index,
            block.last_index,
            block.bytes
        ])?;
    }
    Ok(())
}

/// No server sends to any upload: called before one starts.
pub(crate) fn void_uploads(conn: &Connection) -> Result<(), Fault> {
    conn.execute("UPDATE uploads SET touched_at = 0", [])?;
    Ok(())
}

/// One step of removing an upload; false where nothing is left of it.
pub(crate) fn discard(conn: &Connection, domain: DomainId, task_id: &str) -> Result<bool, Fault> {
    let staged = conn
        .prepare_cached("UPDATE uploads SET touched_at = 0 WHERE domain_id = ?1 AND id = ?2")?
        .execute(params![domain.0, task_id])?;
    if staged == 0 {
        return Ok(false);
    }
    remove_step(conn, domain.0, task_id)?;
    Ok(true)
}

/// One step of removing uploads that were given up; false where there are none.
pub(super) fn purge(conn: &Connection, now: UnixMillis) -> Result<bool, Fault> {
    let given_up: Option<(i64, String)> = conn
        .prepare_cached("SELECT domain_id, id FROM uploads WHERE touched_at <= ?1 LIMIT 1")?
        .query_row([now.0.saturating_sub(IDLE_MS)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((domain, id)) = given_up else { return Ok(false) };
    conn.prepare_cached("UPDATE uploads SET touched_at = 0 WHERE domain_id = ?1 AND id = ?2")?
        .execute(params![domain, id])?;
    remove_step(conn, domain, &id)?;
    Ok(true)
}

/// Removes some blocks, or with none left the upload itself.
fn remove_step(conn: &Connection, domain: i64, task_id: &str) -> Result<(), Fault> {
    let removed = conn
        .prepare_cached(
            "DELETE FROM payload_blocks WHERE seq IN
             (SELECT seq FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2 LIMIT ?3)",
        )?
        .execute(params![domain, task_id, STEP_BLOCKS])?;
    if removed == 0 {
        conn.prepare_cached("DELETE FROM uploads WHERE domain_id = ?1 AND id = ?2")?
            .execute(params![domain, task_id])?;
    }
    failpoint::reached(Failpoint::DiscardBeforeCommit);
    Ok(())
}
