//! Files attached to messages, in pieces of one megabyte, so no file is ever whole in memory. A
//! file is staged piece by piece while it arrives. The command that adds its message claims it in
//! the same transaction. Unclaimed files are removed after an hour. Invariant: a claimed file has
//! an issue, and pieces from 0 on without a gap that add up to its size.

use caseload_model::ids::DomainId;
use caseload_model::issue::write::Attachment;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use super::domains;
use crate::Fault;
use caseload_store::{StageAttachment, StoreError};

/// How long a staged file waits for its message, in milliseconds.
const STAGED_MS_MAX: i64 = 3_600_000;
/// Files that one step of a purge removes: about 100 MiB at most.
const PURGED_FILES: u32 = 4;

pub(super) fn stage(conn: &Connection, command: &StageAttachment) -> Result<(), Fault> {
    let StageAttachment { domain, id, number, bytes, now } = command;
    domains::demand(conn, *domain)?;
    if *number == 0 {
        conn.prepare_cached(
            "INSERT INTO attachments (domain_id, id, file_name, content_type, size, created_at)
             VALUES (?1, ?2, '', '', 0, ?3)",
        )?
        .execute(params![domain.0, id, now.0])?;
    }
    let grown = conn
        .prepare_cached(
            "UPDATE attachments SET size = size + ?3
             WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NULL",
        )?
        .execute(params![domain.0, id, bytes.len() as i64])?;
    if grown == 0 {
        return Err(StoreError::AttachmentLost.into());
    }
    conn.prepare_cached(
        "INSERT INTO attachment_pieces (domain_id, attachment_id, number, bytes)
         VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![domain.0, id, number, bytes])?;
    Ok(())
}

/// Attaches staged files to an issue.
pub(super) fn claim(
    conn: &Connection,
    domain: DomainId,
    issue_id: u64,
    files: &[Attachment],
) -> Result<(), Fault> {
    for file in files {
        let claimed = conn
            .prepare_cached(
                "UPDATE attachments SET issue_id = ?3, file_name = ?4, content_type = ?5
                 WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NULL AND size = ?6",
            )?
            .execute(params![
                domain.0,
                file.id,
                issue_id as i64,
                file.file_name,
                file.content_type,
                file.size as i64
            ])?;
        if claimed == 0 {
            return Err(StoreError::AttachmentLost.into());
        }
    }
    Ok(())
}

/// Removes these files if they are only staged.
pub(super) fn discard(conn: &Connection, domain: DomainId, ids: &[String]) -> Result<(), Fault> {
    for id in ids {
        let gone = conn
            .prepare_cached(
                "DELETE FROM attachments
                 WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NULL",
            )?
            .execute(params![domain.0, id])?;
        if gone > 0 {
            conn.prepare_cached(
                "DELETE FROM attachment_pieces WHERE domain_id = ?1 AND attachment_id = ?2",
            )?
            .execute(params![domain.0, id])?;
        }
    }
    Ok(())
}

/// Removes some unclaimed staged files. Returns whether there were any.
pub(super) fn purge(conn: &Connection, now: UnixMillis) -> Result<bool, Fault> {
    let stale = conn
        .prepare_cached(
            "SELECT domain_id, id FROM attachments
             WHERE issue_id IS NULL AND created_at <= ?1 LIMIT ?2",
        )?
        .query_map(params![now.0 - STAGED_MS_MAX, PURGED_FILES], |row| {
            Ok((DomainId(row.get(0)?), row.get::<_, String>(1)?))
        })?
        .collect::<Result<Vec<_>, _>>()?;
    for (domain, id) in &stale {
        discard(conn, *domain, std::slice::from_ref(id))?;
    }
    Ok(!stale.is_empty())
}

/// A file of a message.
pub(super) fn get(
    conn: &Connection,
    domain: DomainId,
    id: &str,
) -> Result<Option<Attachment>, Fault> {
    Ok(conn
        .prepare_cached(
            "SELECT id, file_name, content_type, size FROM attachments
             WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NOT NULL",
        )?
        .query_row(params![domain.0, id], |row| {
            Ok(Attachment {
                id: row.get(0)?,
                file_name: row.get(1)?,
                content_type: row.get(2)?,
                size: row.get::<_, i64>(3)?.unsigned_abs(),
            })
        })
        .optional()?)
}

/// A piece of a file.
pub(super) fn piece(
    conn: &Connection,
    domain: DomainId,
    id: &str,
    number: u32,
) -> Result<Option<Vec<u8>>, Fault> {
    Ok(conn
        .prepare_cached(
            "SELECT bytes FROM attachment_pieces
             WHERE domain_id = ?1 AND attachment_id = ?2 AND number = ?3",
        )?
        .query_row(params![domain.0, id, number], |row| row.get(0))
        .optional()?)
}
